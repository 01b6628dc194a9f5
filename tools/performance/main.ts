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

/** Path to content of the pages. `files`: results to take over; without any, the figures that were taken over last. */
export async function performancePages(files: readonly string[] = []): Promise<Map<string, string>> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  const figures =
    texts.length > 0
      ? figuresOf(texts.flatMap(parseResults))
      : (JSON.parse(await readFile(FIGURES, 'utf8')) as Figures[]);
  return new Map([
    [FIGURES, `${JSON.stringify(figures, null, 2)}\n`],
    [PAGE, withFigures(await readFile(PAGE, 'utf8'), figures)],
    [PICTURE, picture(figures)],
  ]);
}

if (import.meta.main)
  for (const [path, content] of await performancePages(process.argv.slice(2))) await writeFile(path, content);
