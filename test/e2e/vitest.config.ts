/**
 * Configuration of the tests in real pods. They share one cluster and one operator, so files run one at a time. Run by
 * `npm run test:e2e`.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'e2e',
    root: import.meta.dirname,
    include: ['*.test.ts'],
    retry: 0,
    fileParallelism: false,
    // Upper bounds only: pods start, leases expire and namespaces end at their own pace.
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
