import { describe, expect, it } from 'vitest';
import { createBackoff, pause } from '../../../src/base/backoff.ts';

const take = (count: number, next: () => number) => Array.from({ length: count }, next);

describe('createBackoff', () => {
  it('doubles up to its bound, and begins anew after a reset', () => {
    const backoff = createBackoff({ minMs: 100, maxMs: 1000, random: () => 1 });
    expect(take(6, () => backoff.next())).toEqual([100, 200, 400, 800, 1000, 1000]);
    backoff.reset();
    expect(backoff.next()).toBe(100);
  });

  it('takes between half and the whole of a pause', () => {
    expect(createBackoff({ minMs: 100, maxMs: 1000, random: () => 0 }).next()).toBe(50);
    const backoff = createBackoff({ minMs: 100, maxMs: 100 });
    for (const ms of take(100, () => backoff.next())) {
      expect(ms).toBeGreaterThanOrEqual(50);
      expect(ms).toBeLessThanOrEqual(100);
    }
  });

  it('obeys a lower bound for one pause', () => {
    const backoff = createBackoff({ minMs: 400, maxMs: 1000, random: () => 1 });
    expect([backoff.next(), backoff.next(500), backoff.next()]).toEqual([400, 500, 1000]);
  });

  it('stays finite in an outage of any length', () => {
    const backoff = createBackoff({ minMs: 100, maxMs: 1000, random: () => 1 });
    expect(take(5000, () => backoff.next()).at(-1)).toBe(1000);
  });
});

describe('pause', () => {
  it('ends at once when the signal fires, before or while it waits', async () => {
    const stopping = new AbortController();
    const waiting = pause(3_600_000, stopping.signal);
    stopping.abort();
    await waiting;
    await pause(3_600_000, stopping.signal);
    expect(stopping.signal.aborted).toBe(true);
  });
});
