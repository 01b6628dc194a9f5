/** Parsing of the Retry-After header. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { retryAfter } from '../../../src/provider/failure.ts';

const HOUR_MS = 3_600_000;

describe('Retry-After', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ['0', 0],
    ['17', 17_000],
    [' 5 ', 5000],
    ['99999999', HOUR_MS],
    ['9'.repeat(400), HOUR_MS],
    ['-5', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['soon', undefined],
    [undefined, undefined],
    [['3', '9'], 3000],
  ])('%j is %j ms', (header, ms) => {
    expect(retryAfter(header)).toBe(ms);
  });

  it.each([
    ['Wed, 01 Jan 2025 00:00:30 GMT', 30_000],
    ['Wednesday, 01-Jan-25 00:00:30 GMT', 30_000],
    ['Wed, 01 Jan 2025 12:00:00 GMT', HOUR_MS],
    ['Tue, 31 Dec 2024 23:00:00 GMT', 0],
  ])('%s counts from now', (header, ms) => {
    vi.useFakeTimers({ now: new Date('2025-01-01T00:00:00Z'), toFake: ['Date'] });
    expect(retryAfter(header)).toBe(ms);
  });
});
