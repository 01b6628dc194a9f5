/**
 * `npm run performance -- RESULTS.json...`: takes over results of benchmarks, and writes the figures and the plot of
 * docs/reference/performance.md. Without arguments it writes both again from the figures that it took over last.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { picture, withFigures } from './page.ts';
import { figuresOf, parseResults, type Figures } from './results.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const PAGE = join(DOCS, 'reference/performance.md');
const FIGURES = join(DOCS, 'reference/performance.json');
const PICTURE = join(DOCS, 'pictures/performance.svg');

/** Path to content, as the figures that were taken over last require it. */
export async function performancePages(): Promise<Map<string, string>> {
  const figures = JSON.parse(await readFile(FIGURES, 'utf8')) as Figures[];
  return new Map([
    [PAGE, withFigures(await readFile(PAGE, 'utf8'), figures)],
    [PICTURE, picture(figures)],
  ]);
}

async function takeOver(files: string[]): Promise<void> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  await writeFile(FIGURES, `${JSON.stringify(figuresOf(texts.flatMap(parseResults)), null, 2)}\n`);
}

if (import.meta.main) {
  const files = process.argv.slice(2);
  if (files.length > 0) await takeOver(files);
  for (const [path, content] of await performancePages()) await writeFile(path, content);
}
