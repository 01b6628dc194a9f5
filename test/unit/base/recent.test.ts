import { describe, expect, it } from 'vitest';
import { Recent } from '../../../src/base/recent.ts';

describe('Recent', () => {
  it('returns what was added, and undefined for anything else', () => {
    const recent = new Recent<string, number>(2);
    recent.set('a', 1);
    expect(recent.get('a')).toBe(1);
    expect(recent.get('b')).toBeUndefined();
  });

  it('forgets the oldest entry beyond its size', () => {
    const recent = new Recent<string, number>(2);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('c', 3);
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([undefined, 2, 3]);
  });

  it('forgets nothing when the value of a known key changes', () => {
    const recent = new Recent<string, number>(2);
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('b', 3);
    expect(['a', 'b'].map((key) => recent.get(key))).toEqual([1, 3]);
  });
});
