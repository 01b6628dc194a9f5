/** What a slow step reports. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { reporting } from '../../../../tools/control-plane/progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('tells at intervals what is awaited and for how long, until it ends', async () => {
  const lines: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  let done = '';
  const result = reporting(
    (line) => lines.push(line),
    'downloading',
    () => promise,
    () => done,
  );
  await vi.advanceTimersByTimeAsync(75_000);
  expect(lines).toHaveLength(7);
  expect([lines[0], lines[6]]).toEqual(['downloading (0m10s so far)', 'downloading (1m10s so far)']);
  done = '3 of 5 files';
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines[7]).toBe('downloading (1m20s so far, 3 of 5 files)');
  resolve('done');
  expect(await result).toBe('done');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toHaveLength(8);
});
