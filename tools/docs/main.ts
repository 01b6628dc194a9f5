/** `npm run docs`: writes the generated pages and parts of pages in docs/reference. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiPage } from './api.ts';

const REFERENCE = join(import.meta.dirname, '../../docs/reference');

/** Path to content of the pages, with every generated part as it should be. */
export function generatedPages(): Map<string, string> {
  return new Map([[join(REFERENCE, 'api.md'), apiPage()]]);
}

if (import.meta.main) for (const [path, page] of generatedPages()) await writeFile(path, page);
