/** What a run of the tests leaves out for lack of a program on this machine. A skipped test that goes unnoticed proves nothing. */
import { appendFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Names the file that collects what the test files of a run report, one line each. */
export const SKIPPED_FILE = 'VPS_OPERATOR_SKIPPED_FILE';

/** Called by a test file when it is loaded. `what`: what the skipped tests test; `lack`: what they need, with the package. */
export function reportSkipped(what: string, lack: string): void {
  const line = `${what}: ${lack}`;
  const file = process.env[SKIPPED_FILE];
  // Without such a run, as in an editor.
  if (file === undefined) console.warn(`skipped: ${line}`);
  else appendFileSync(file, `${line}\n`);
}

/** The reports in that file, each once: several workers load the same file. */
export async function skippedIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return [...new Set(text.split('\n').filter((line) => line !== ''))].sort();
}
