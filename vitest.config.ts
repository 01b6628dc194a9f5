/**
 * Three projects: `unit` needs nothing, `integration` shares one real API server between its files, and so does
 * `exhaustive`, which looks at every case where the other two look at the telling ones; only `.ci/run` runs it.
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
        // Files that share a worker share its modules: loading them anew for each file took half of all the time.
        test: { name: 'unit', include: ['test/unit/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'exhaustive',
          include: ['test/exhaustive/**/*.test.ts'],
          globalSetup: ['test/integration/global-setup.ts'],
          // A test goes through very many cases.
          testTimeout: 300_000,
        },
      },
    ],
  },
});
