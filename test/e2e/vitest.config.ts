/** The tests in real pods: one cluster and one operator, so one file at a time. Run by `npm run test:e2e`. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'e2e',
    root: import.meta.dirname,
    include: ['*.test.ts'],
    retry: 0,
    fileParallelism: false,
    // Bounds of waits that are in vain: pods start, leases expire and namespaces end in their own time.
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
