import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/base/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['1ms', 1],
    ['500ms', 500],
    ['60s', 60_000],
    ['10m', 600_000],
    ['1h', 3_600_000],
    ['1m30s', 90_000],
    ['1h1m1s1ms', 3_661_001],
    ['2m5ms', 120_005],
    ['0h1s', 1_000],
    ['090s', 90_000],
    ['576h', 2_073_600_000],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    ['', 'nothing'],
    ['60', 'no unit'],
    ['s', 'no number'],
    ['0s', 'not above 0'],
    ['-1s', 'not above 0'],
    ['1.5s', 'not whole'],
    ['1s1m', 'wrong order'],
    ['1s 1ms', 'a space'],
    ['1d', 'no such unit'],
    ['60S', 'no such unit'],
    ['576h1ms', 'more than 24 days'],
    ['999999999999999999999h', 'more than 24 days'],
  ])('rejects "%s": %s', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});
