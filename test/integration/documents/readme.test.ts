/** Holds README.md and the other documents against the code: links, commands, flags. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { REASONS } from '../../../src/api/conditions.ts';
import * as names from '../../../src/api/names.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { specSchema } from '../../../src/api/virtual-server.ts';

const ROOT = join(import.meta.dirname, '../../..');
const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
const pages = [
  ...(await readdir(ROOT)),
  ...(await readdir(join(ROOT, 'docs'), { recursive: true })).map((page) => `docs/${page}`),
].filter((name) => name.endsWith('.md'));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

describe('the README', () => {
  it('gives the operator flags that it accepts', () => {
    const command = /^\$ node dist\/operator\.js (.*)$/m.exec(readme)?.[1] ?? '';
    expect(parseConfig(command.split(' '), {})).toMatchObject({ kind: 'run' });
  });

  it('names only npm commands that exist', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
    for (const file of ['README.md', 'CONTRIBUTING.md']) {
      const named = [...(await read(file)).matchAll(/\bnpm (?:run )?([a-z-]+)/g)].map(([, name = '']) => name);
      expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    }
  });

  it('names every reason, annotation and spec field', () => {
    const inCode = (text: string) => readme.includes(`\`${text}`);
    expect(Object.keys(REASONS).filter((reason) => !inCode(reason))).toEqual([]);
    const annotations = Object.entries(names).filter(([name]) => name.endsWith('_ANNOTATION'));
    expect(annotations.map(([, value]) => value).filter((value) => !inCode(value))).toEqual([]);
    expect(Object.keys(specSchema.shape).filter((field) => !inCode(field))).toEqual([]);
  });

  it('names no reason that does not exist', () => {
    const table = readme.slice(readme.indexOf('| reason |'), readme.indexOf('## When the answer'));
    const named = table.split('\n').flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)]);
    expect(named.map(([, reason = '']) => reason).filter((reason) => !(reason in REASONS))).toEqual([]);
  });

  it('links only to files and headings that exist, as do all other pages', async () => {
    for (const file of pages) {
      for (const [, target = ''] of (await read(file)).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
        const [path = '', anchor] = target.split('#');
        const text = await read(path === '' ? file : join(dirname(file), path));
        const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
          title
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        );
        if (anchor !== undefined) expect(anchors, `${file}: ${target}`).toContain(anchor);
      }
    }
  });
});

describe('the documents', () => {
  it('are all reachable from the README or CONTRIBUTING.md', async () => {
    const texts = await Promise.all(['README.md', 'CONTRIBUTING.md'].map(read));
    const linked = new Set(
      texts.flatMap((text) => [...text.matchAll(/\]\((docs\/[\w/-]+\.md)/g)].map(([, page]) => page)),
    );
    expect(pages.filter((page) => page.startsWith('docs/') && !linked.has(page))).toEqual([]);
  });

  it('have exactly one paragraph per reason in the runbook', async () => {
    const runbook = await read('docs/reference/reasons.md');
    // The runbook's paragraphs on alerts are covered by test/integration/monitoring.
    const described = [...runbook.matchAll(/^### (?!VPSOperator)(\w+)$/gm)].map(([, reason = '']) => reason);
    expect(described.sort()).toEqual(Object.keys(REASONS).sort());
  });

  it('show the same flags as --help', async () => {
    const help = parseConfig(['--help'], {});
    expect(await read('docs/reference/flags.md')).toContain(
      `\`\`\`text\n${help.kind === 'help' ? help.text : ''}\n\`\`\`\n`,
    );
  });
});
