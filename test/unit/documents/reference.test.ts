/**
 * Holds the reference pages against the code: every reason, annotation and field, and the generated parts. Of all pages,
 * checks how they begin.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { INPUT_ANNOTATIONS } from '../../../src/api/annotations.ts';
import { REASONS, SET_REASONS } from '../../../src/api/conditions.ts';
import * as names from '../../../src/api/names.ts';
import { CHANGEABLE_ADVANCED, inPlaceOf, orderBody, ORDERED_FIELDS } from '../../../src/api/ordered-fields.ts';
import { recordSchema } from '../../../src/api/record.ts';
import { catalogSpecSchema, catalogStatusSchema } from '../../../src/api/server-catalog.ts';
import { setSpecSchema, setStatusSchema } from '../../../src/api/virtual-server-set.ts';
import { specSchema, statusSchema } from '../../../src/api/virtual-server.ts';
import { changeBody } from '../../../src/virtual-server/decision/change-fields.ts';
import { ONE, OTHER } from '../../fixtures/ordered-values.ts';
import { generatedPages } from '../../../tools/docs/main.ts';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
const reasons = Object.keys({ ...REASONS, ...SET_REASONS });
const annotations = Object.entries(names)
  .filter(([constant]) => constant.endsWith('_ANNOTATION'))
  .map(([, name]) => name);

it('the table in design.md has each field of the record', async () => {
  const page = await read('docs/concepts/design.md');
  const [, table = ''] = /\n\| field \| meaning \|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const named = table
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const { shape } = recordSchema as unknown as { shape: object };
  expect(named.sort()).toEqual(Object.keys(shape).sort());
});

it('the generated parts are up to date', async () => {
  for (const [path, page] of await generatedPages())
    expect(await readFile(path, 'utf8'), `${path} is stale, run: npm run docs`).toBe(page);
});

describe('docs/reference/providers.md', async () => {
  const page = await read('docs/reference/providers.md');
  const [ordered = '', changed = ''] = ['The fields of an order', 'The fields of a change'].map(
    (title) => page.split(`### ${title}\n`)[1]?.split('\n### ')[0],
  );
  const rowsWith = (section: string, name: string): string[] =>
    section.split('\n').filter((line) => line.startsWith('|') && line.split('|')[1]?.includes(`\`${name}\``));

  it.each(
    Object.keys(
      orderBody({
        ...ONE,
        sshKeysFrom: ONE.sshKeys,
        userDataFrom: ONE.userData,
        advanced: { ...ONE.advanced, ...OTHER.advanced },
      }),
    ),
  )('has a row for the field %s of an order', (name) => {
    expect(rowsWith(ordered, name)).toHaveLength(1);
  });

  it('has a row for each field of a change', () => {
    const fields = ['product', 'diskSize', 'serverName', ...CHANGEABLE_ADVANCED.map((field) => `advanced.${field}`)];
    const body = changeBody(fields.map((field) => ({ field, from: '', to: '1', needsOff: false })));
    const { specs = {}, ...plain } = body;
    const names = [...Object.keys(plain), ...Object.keys(specs).map((name) => `specs.${name}`)];
    expect(names).toHaveLength(fields.length);
    for (const name of names) expect(rowsWith(changed, name), name).toHaveLength(1);
  });

  it.each(['/zones', '/hosts', '/pricing', '/servers', '/servers/IDENTIFIER/power', '/servers/IDENTIFIER'])(
    'names the call /beta/vps%s, which the specification does not have',
    (path) => {
      expect(page).toContain(`/beta/vps${path}\``);
    },
  );
});

describe('the fields that the API server locks after an order', () => {
  const fieldsIn = (text: string): string[] => [...text.matchAll(/`([a-zA-Z][\w.]*)`/g)].map(([, name = '']) => name);

  it('are all in the row of their policy in guards.md', async () => {
    const [, row = ''] =
      /^\| `vps-operator-ordered-fields` \|(.*)$/m.exec(await read('docs/reference/guards.md')) ?? [];
    expect(fieldsIn(row)).toEqual(ORDERED_FIELDS);
  });

  it('and never change in place are all in change.md', async () => {
    const page = await read('docs/how-to/change.md');
    const [, list = ''] = /^These fields stay as ordered: ([^]*?`)\.\s/m.exec(page) ?? [];
    const never = ORDERED_FIELDS.filter((field) => inPlaceOf(field) === undefined);
    expect(fieldsIn(list)).toEqual([...never, 'advanced.hostServer']);
  });
});

describe('docs/reference/reasons.md', async () => {
  const page = await read('docs/reference/reasons.md');
  const paragraphs = [...page.matchAll(/^### (.*)\n([^]*?)(?=^##|$(?![^]))/gm)];

  it('has exactly one paragraph for each reason', () => {
    expect(paragraphs.map(([, reason = '']) => reason).sort()).toEqual([...reasons].sort());
  });

  it.each(paragraphs.map(([, reason = '', text = '']) => [reason, text]))(
    'shows a message of %s, and explains it',
    (_reason, text) => {
      expect(text).toMatch(/^<!-- .* -->\n```text\n.+\n```\n\n.+\n<!-- .* -->\n\n\S/);
    },
  );

  it('lists each reason once, with a link to its paragraph', () => {
    const listed = [...page.matchAll(/^\| \[`(\w+)`\]\(#(\w+)\) \| \S/gm)];
    expect(listed.map(([, reason = '']) => reason).sort()).toEqual([...reasons].sort());
    for (const [, reason = '', anchor] of listed) expect(anchor).toBe(reason.toLowerCase());
  });
});

it.each(['README.md', 'docs/reference/reasons.md'])('%s lists no reason that does not exist', async (file) => {
  const tables = [...(await read(file)).matchAll(/^\| reason .*\n(?:\|.*\n)+/gm)];
  const listed = tables.flatMap(([table]) => [...table.matchAll(/^\| \[?`(\w+)`/gm)].map(([, reason = '']) => reason));
  expect(listed).not.toEqual([]);
  expect(listed.filter((reason) => !reasons.includes(reason))).toEqual([]);
});

describe('docs/reference/annotations.md', async () => {
  const page = await read('docs/reference/annotations.md');

  it('names every annotation, and none that does not exist', () => {
    const named = new Set([...page.matchAll(/\bvps-operator\.dev\/([a-z-]*[a-z])/g)].map(([name]) => name));
    expect([...named].sort()).toEqual([...annotations].sort());
  });

  it.each(INPUT_ANNOTATIONS)('has a row and a section with a command for %s', (name) => {
    const [, word = ''] = name.split('/');
    expect(page).toContain(`\n| [\`${name}\`](#${word}) | `);
    const [, section = ''] = page.split(`\n## ${word}\n`);
    const [commands = ''] = section.split('\n## ');
    expect(commands).toContain(`kubectl annotate --overwrite vps web ${name}=`);
  });
});

it.each([
  ['VirtualServer spec', specSchema],
  ['VirtualServer status', statusSchema],
  ['VirtualServerSet spec', setSpecSchema],
  ['VirtualServerSet status', setStatusSchema],
  ['ServerCatalog spec', catalogSpecSchema],
  ['ServerCatalog status', catalogStatusSchema],
])('docs/reference/api.md has every field of %s', async (heading, { shape }) => {
  const [, after = ''] = (await read('docs/reference/api.md')).split(`\n### ${heading}\n`);
  const [section = ''] = after.split('\n### ');
  const fields = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, field]) => field);
  expect(fields).toEqual(Object.keys(shape));
});

it('docs/reference/api.md says of each field whether it changes in place', async () => {
  const page = await read('docs/reference/api.md');
  const changesOf = (heading: string): Record<string, string> => {
    const section = (page.split(`\n### ${heading}\n`)[1] ?? '').split('\n### ')[0] ?? '';
    const rows = [...section.matchAll(/^\| `(\w+)` \|.*\| (in place: `\w+`|until the order|always) \|/gm)];
    return Object.fromEntries(rows.map(([, field = '', change = '']) => [field, change] as const));
  };
  for (const field of ORDERED_FIELDS) {
    const policy = inPlaceOf(field)?.policy;
    const says = policy === undefined ? 'until the order' : `in place: \`${policy}\``;
    expect(changesOf('VirtualServer spec')[field], field).toBe(says);
  }
  const advanced = Object.fromEntries(CHANGEABLE_ADVANCED.map((field) => [field, 'in place: `AllowStop`']));
  expect(changesOf('VirtualServer spec.advanced')).toEqual({ hostServer: 'until the order', ...advanced });
});

const pages = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md')).sort();

it.each(pages)('docs/%s begins with its title and with a sentence that says who it is for', async (page) => {
  const [title, blank, purpose] = (await read(`docs/${page}`)).split('\n');
  expect([title, blank, purpose]).toEqual([expect.stringMatching(/^# \S/), '', expect.stringMatching(/^For \S/)]);
});
