import { describe, expect, it } from 'vitest';
import { backoffDelay, pause } from '../../../src/base/backoff.ts';
import { FakeTimers } from '../../fixtures/timers.ts';

describe('backoffDelay', () => {
  const backoff = { baseMs: 500, maxMs: 60_000 };

  it.each([
    { failures: 0, random: 0, delay: 250, reason: 'the first delay is at least half of the base' },
    { failures: 0, random: 0.5, delay: 375, reason: 'the random value scales it' },
    { failures: 0, random: 1, delay: 500, reason: 'the first delay is at most the base' },
    { failures: 1, random: 0, delay: 500, reason: 'each failure doubles the delay' },
    { failures: 5, random: 0, delay: 8_000, reason: 'each failure doubles the delay' },
    { failures: 7, random: 0, delay: 30_000, reason: 'the maximum limits the delay' },
    { failures: 7, random: 1, delay: 60_000, reason: 'the maximum limits the delay' },
    { failures: 5_000, random: 0, delay: 30_000, reason: 'many failures cause no overflow' },
  ])('is $delay ms after $failures failures with random value $random: $reason', ({ failures, random, delay }) => {
    expect(backoffDelay(failures, backoff, random)).toBe(delay);
  });

  it('applies the given jitter range', () => {
    const narrow = { ...backoff, jitter: [0.9, 1.1] } as const;
    expect([0, 0.5, 1].map((random) => Math.round(backoffDelay(1, narrow, random)))).toEqual([900, 1000, 1100]);
    expect(backoffDelay(1, { ...backoff, jitter: [1, 1] }, 0.3)).toBe(1000);
  });
});

describe('pause', () => {
  it('ends immediately when the signal fires, before or during the pause', async () => {
    const timers = new FakeTimers();
    const stopping = new AbortController();
    const waiting = pause(3_600_000, stopping.signal, timers);
    stopping.abort();
    await waiting;
    await pause(3_600_000, stopping.signal, timers);
    expect(timers.pending).toBe(0);
  });

  it('ends after the delay', async () => {
    const timers = new FakeTimers();
    const waiting = pause(1_000, new AbortController().signal, timers);
    timers.advance(1_000);
    await waiting;
    expect(timers.pending).toBe(0);
  });
});
