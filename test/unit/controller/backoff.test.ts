import { describe, expect, it } from 'vitest';
import { backoffDelay } from '../../../src/controller/backoff.ts';

describe('backoffDelay', () => {
  const backoff = { baseMs: 500, maxMs: 60_000 };

  it.each([
    { failures: 0, random: 0, delay: 250, reason: 'the first delay is at least half of the base' },
    { failures: 0, random: 0.5, delay: 375, reason: 'chance moves it' },
    { failures: 1, random: 0, delay: 500, reason: 'each failure doubles it' },
    { failures: 5, random: 0, delay: 8_000, reason: 'each failure doubles it' },
    { failures: 7, random: 0, delay: 30_000, reason: 'the maximum bounds it' },
    { failures: 5_000, random: 0, delay: 30_000, reason: 'countless failures are no overflow' },
  ])('is $delay ms after $failures failures with chance $random: $reason', ({ failures, random, delay }) => {
    expect(backoffDelay(failures, backoff, random)).toBe(delay);
  });
});
