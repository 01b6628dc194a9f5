/** The size of a real heap, in a separate process: V8's flags hold for the whole process. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** Keeps up to 30,000 objects at a time, as many as a burst of orders, and prints the largest young generation (MiB). */
const BUSY = `
  import { getHeapSpaceStatistics } from 'node:v8';
  const { keepHeapSmall } = await import(process.argv[1]);
  if (process.argv[2] === 'small') keepHeapSmall();
  let kept = [];
  let largest = 0;
  for (let round = 0; round < 150; round++) {
    for (let i = 0; i < 20_000; i++) kept.push({ round, text: 'x' + i, list: [1, 2, 3] });
    if (kept.length > 30_000) kept = [];
    await new Promise((resolve) => setImmediate(resolve));
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    largest = Math.max(largest, young.space_size);
  }
  console.log(largest / 2 ** 20);
`;

async function largestYoung(mode: 'small' | 'default'): Promise<number> {
  const module = join(import.meta.dirname, '../../../src/base/small-heap.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', BUSY, module, mode]);
  return Number(stdout);
}

it('bounds the young generation of a busy process', async () => {
  const [small, usual] = [await largestYoung('small'), await largestYoung('default')];
  expect(small).toBeGreaterThan(0);
  // Between two looks, it may double again.
  expect(small).toBeLessThanOrEqual(32);
  expect(usual).toBeGreaterThan(small);
});
