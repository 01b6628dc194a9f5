/** `npm run docs`: writes the generated pages and parts of pages in docs/reference. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiPage } from './api.ts';
import { withMessages } from './reasons.ts';

const REFERENCE = join(import.meta.dirname, '../../docs/reference');

/** Path to content of the pages, with every generated part as it should be. */
export async function generatedPages(): Promise<Map<string, string>> {
  const reasons = join(REFERENCE, 'reasons.md');
  return new Map([
    [join(REFERENCE, 'api.md'), apiPage()],
    [reasons, withMessages(await readFile(reasons, 'utf8'))],
  ]);
}

if (import.meta.main) for (const [path, page] of await generatedPages()) await writeFile(path, page);
