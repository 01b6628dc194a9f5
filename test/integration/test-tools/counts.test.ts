import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCounts, type TestCounts } from '../../../tools/counts.ts';

let folder: string;
beforeEach(async () => {
  // Inside the checkout, so that the temporary projects find vitest.
  folder = await mkdtemp(join(import.meta.dirname, 'project-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs vitest on a project with these files, and counts. */
async function count(files: Record<string, string>): Promise<TestCounts & { exitCode: number | null }> {
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, name), `import { it } from 'vitest';\n${text}`);
  }
  if (!files['vitest.config.mjs']) await writeFile(join(folder, 'vitest.config.mjs'), 'export default {};');
  const report = join(folder, 'report.json');
  const args = ['run', `--root=${folder}`, '--reporter=json', `--outputFile=${report}`];
  const vitest = spawn('vitest', args, { stdio: 'ignore' });
  const exitCode = await new Promise<number | null>((resolve) => vitest.once('exit', resolve));
  return { ...(await readCounts(report, exitCode ?? 1)), exitCode };
}

describe('the counts of a run', () => {
  it('include the tests of all files, with the skipped ones apart', async () => {
    const counts = await count({
      'a.test.mjs': 'it("a", () => {}); it("b", () => {}); it.skip("c", () => {});',
      'b.test.mjs': 'it("d", () => { throw new Error("no"); }); it("e", () => {});',
    });
    expect(counts).toEqual({ passed: 3, failed: 1, skipped: 1, exitCode: 1 });
  });

  it('include one failure for a file that cannot be loaded', async () => {
    const counts = await count({ 'a.test.mjs': 'it("a", () => {});', 'b.test.mjs': 'import "./absent.mjs";' });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0, exitCode: 1 });
  });

  it('include one failure if the global setup fails', async () => {
    const counts = await count({
      'a.test.mjs': 'it("a", () => {});',
      'setup.mjs': 'export default () => { throw new Error("no control plane"); };',
      'vitest.config.mjs': 'export default { test: { globalSetup: "./setup.mjs" } };',
    });
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 0, exitCode: 1 });
  });

  it('include one failure for an error outside of every test', async () => {
    const counts = await count({
      'a.test.mjs': 'it("a", () => { void Promise.reject(new Error("unhandled")); });',
    });
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 0, exitCode: 1 });
  });
});
