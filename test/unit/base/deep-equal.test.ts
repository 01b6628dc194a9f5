import { describe, expect, it } from 'vitest';
import { isDeepEqual } from '../../../src/base/deep-equal.ts';

describe('isDeepEqual', () => {
  it('distinguishes a list from an object and treats undefined as absent', () => {
    expect(isDeepEqual([], {})).toBe(false);
    expect(isDeepEqual({ a: undefined }, {})).toBe(true);
    expect(isDeepEqual({ a: null }, {})).toBe(false);
    expect(isDeepEqual([1, [2]], [1, [2]])).toBe(true);
    expect(isDeepEqual([1, 2], [1])).toBe(false);
  });
});
