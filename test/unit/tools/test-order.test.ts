import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runWhole, SUITES, type Steps } from '../../../tools/test.ts';

/** What a run does, in order. Each step counts one passed and one failed test. */
async function order(suite: keyof typeof SUITES): Promise<{ done: string[]; counts: object }> {
  const done: string[] = [];
  const steps: Steps = {
    build(programs) {
      if (Object.keys(programs).length > 0) done.push('build programs');
      return Promise.resolve();
    },
    test(projects) {
      done.push(`test ${projects.join(' ')}`);
      return Promise.resolve({ passed: 1, failed: 1, skipped: 1 });
    },
  };
  const counts = await runWhole(SUITES[suite], steps);
  return { done, counts };
}

it('runs the unit tests before those that need a control plane, and adds up both results', async () => {
  expect(await order('usual')).toEqual({
    done: ['test unit', 'test integration'],
    counts: { passed: 2, failed: 2, skipped: 2 },
  });
});

it('builds no programs of others for the tests that do not need them', async () => {
  expect((await order('quick')).done).toEqual(['test unit']);
  expect((await order('exhaustive')).done).toEqual(['test exhaustive']);
});

it('builds the programs first for tests that all need them', async () => {
  expect((await order('third-party')).done).toEqual(['build programs', 'test third-party']);
  expect((await order('gitops')).done).toEqual(['build programs', 'test gitops']);
});

it('needs no program of others for the tests in these folders', async () => {
  const needs: string[] = [];
  for (const folder of ['unit', 'integration', 'exhaustive']) {
    const root = join(import.meta.dirname, '../..', folder);
    for (const file of (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.ts'))) {
      const text = await readFile(join(root, file), 'utf8');
      if (/from '.*(\/go-programs?|third-party\/(helm|judge|promql))\.ts'/.test(text)) needs.push(`${folder}/${file}`);
    }
  }
  expect(needs).toEqual([]);
});
