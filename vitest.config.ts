/**
 * Three projects: `unit` needs nothing, `integration` shares one real API server between its files, and so does
 * `exhaustive`, which looks at every case where the other two look at the telling ones; only `.ci/run` runs it.
 * `isolate: false`: files that share a worker share its modules, which cost more to load than most files to run.
 */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    retry: 0,
    // Most tests wait for timers and sockets rather than compute.
    maxWorkers: Math.max(6, availableParallelism()),
    // A test that waits for a condition ends when it is met; these only bound a wait that is in vain.
    testTimeout: 60_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000, interval: 50 } },
    projects: [
      {
        extends: true,
        test: { name: 'unit', isolate: false, include: ['test/unit/**/*.test.ts'] },
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
          // A test goes through very many cases.
          testTimeout: 300_000,
        },
      },
    ],
  },
});
