import { expect, it } from 'vitest';
import { runWhole, SUITES, type Steps } from '../../../tools/test.ts';

/** What a run does, in order. Each step counts one passed and one failed test. */
async function order(suite: keyof typeof SUITES): Promise<{ done: string[]; counts: object }> {
  const done: string[] = [];
  const steps: Steps = {
    build(programs) {
      done.push(`build ${Object.keys(programs).length > 0 ? 'programs' : 'nothing'}`);
      return Promise.resolve();
    },
    test(projects) {
      done.push(`test ${projects.join(' ')}`);
      return Promise.resolve({ passed: 1, failed: 1 });
    },
  };
  const counts = await runWhole(SUITES[suite], steps);
  return { done, counts };
}

it('runs the unit tests before Go builds anything, and adds up both results', async () => {
  expect(await order('usual')).toEqual({
    done: ['test unit', 'build programs', 'test integration'],
    counts: { passed: 2, failed: 2 },
  });
});

it('builds nothing with Go for the quick tests', async () => {
  expect((await order('quick')).done).toEqual(['test unit']);
});

it('builds the programs first for tests that all need them', async () => {
  expect((await order('exhaustive')).done).toEqual(['build programs', 'test exhaustive']);
  expect((await order('gitops')).done).toEqual(['build programs', 'test gitops']);
});
