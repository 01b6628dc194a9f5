/** The tables of rights in docs/concepts/security.md. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { covers, type Grant, type Use } from './rights.ts';

const DOCUMENT = join(import.meta.dirname, '../../../docs/concepts/security.md');

/** Compares each table with the one below its marker in the document; `--update` writes it there. */
export async function expectTables(tables: [name: string, table: string][]): Promise<void> {
  const text = await readFile(DOCUMENT, 'utf8');
  const updated = tables.reduce((now, [name, table]) => {
    const marker = `<!-- rights of ${name}: generated -->`;
    const [before = '', after = ''] = now.split(marker);
    return `${before}${marker}\n\n${table}\n\n${after.slice(after.indexOf('<!-- end -->'))}`;
  }, text);
  await expect(updated).toMatchFileSnapshot(DOCUMENT);
}

/** Merges the watched namespaces: the operator need not do everything in each of them. */
export function watchedAsOne<T extends Grant | Use>(rights: T[], namespaces: string[]): T[] {
  const name = (role: string): string =>
    namespaces.reduce((now, namespace) => now.replace(`Role ${namespace}/`, 'Role {watched}/'), role);
  const renamed = rights.map((right) => ({ ...right, role: name(right.role) }));
  return [...new Map(renamed.map((right) => [JSON.stringify(right), right])).values()];
}

/** A Markdown table with a row for each grant, and the requests that needed it. */
export function rightsTable(grants: Grant[], uses: Use[]): string {
  const rows = grants.map((grant) => {
    const seen = new Set(uses.filter((use) => covers(grant, use)).map(({ request }) => `\`${request}\``));
    const what = grant.name === undefined ? grant.resource : `${grant.resource} ${grant.name}`;
    return `| ${grant.role} | ${grant.verb} | ${what} | ${[...seen].sort().join('<br>')} |`;
  });
  return ['| granted by | verb | resource | requests that it allowed |', '|---|---|---|---|', ...rows].join('\n');
}
