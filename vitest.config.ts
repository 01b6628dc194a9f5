/**
 * Five projects: `unit` needs nothing; the others each share one real API server between their files. `exhaustive` covers
 * every case where `unit` and `integration` cover representative ones. `third-party` runs the code of other projects, and
 * `gitops` complete programs of theirs; only these two build programs with Go.
 * `isolate: false`: files in the same worker share modules, which take longer to load than most files take to run.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    retry: 0,
    // Most tests wait for timers and sockets rather than compute.
    maxWorkers: Math.max(6, availableParallelism()),
    // Only upper bounds: a test that waits for a condition ends when the condition is met.
    testTimeout: 120_000,
    // On a busy machine, a control plane with the guards takes 80 s to start.
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          isolate: false,
          include: ['test/unit/**/*.test.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          isolate: false,
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'exhaustive',
          isolate: false,
          include: ['test/exhaustive/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
          // Each test covers a large number of cases, whose waits have bounds of their own that tell what they waited for. A test
          // of 8 s took 80 s beside five others on two cores, and more than 300 s when the machine was slow.
          testTimeout: 600_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'third-party',
          isolate: false,
          include: ['test/third-party/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
          testTimeout: 300_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'gitops',
          isolate: false,
          include: ['test/gitops/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
          testTimeout: 300_000,
          // The first run builds the tools.
          hookTimeout: 60 * 60_000,
        },
      },
    ],
  },
});
