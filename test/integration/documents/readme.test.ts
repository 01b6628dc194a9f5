/** Holds README.md and the other documents against the code: links, commands, flags. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/config.ts';

const ROOT = join(import.meta.dirname, '../../..');
const pages = [
  ...(await readdir(ROOT)),
  ...(await readdir(join(ROOT, 'docs'), { recursive: true })).map((page) => `docs/${page}`),
].filter((name) => name.endsWith('.md'));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

describe('the README', () => {
  it('names only npm commands that exist', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
    for (const file of ['README.md', 'CONTRIBUTING.md']) {
      const named = [...(await read(file)).matchAll(/\bnpm (?:run )?([a-z-]+)/g)].map(([, name = '']) => name);
      expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    }
  });

  it('offers few pages for each wish', async () => {
    const rows = (await read('README.md')).split('\n').filter((line) => line.startsWith('| '));
    const links = rows.map((row) => row.match(/\]\(/g)?.length ?? 0);
    expect(Math.max(...links)).toBe(4);
  });

  it('links only to files and headings that exist, as do all other pages', async () => {
    for (const file of pages) {
      // A pattern in code may look like a link.
      const prose = (await read(file)).replaceAll(/`[^`\n]*`/g, '');
      for (const [, target = ''] of prose.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
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

  it('start the operator with flags that it accepts', async () => {
    const texts = await Promise.all(pages.map(read));
    const commands = texts.flatMap((text) => [...text.matchAll(/^\s*\$ node dist\/operator\.js (--.*)$/gm)]);
    expect(commands).not.toEqual([]);
    for (const [, flags = ''] of commands) expect(parseConfig(flags.split(' '), {})).toMatchObject({ kind: 'run' });
  });

  it('show the same flags as --help', async () => {
    const help = parseConfig(['--help'], {});
    expect(await read('docs/reference/flags.md')).toContain(
      `\`\`\`text\n${help.kind === 'help' ? help.text : ''}\n\`\`\`\n`,
    );
  });
});
