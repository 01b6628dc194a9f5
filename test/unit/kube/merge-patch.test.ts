import { describe, expect, it } from 'vitest';
import { isDeepEqual, mergePatch } from '../../../src/kube/merge-patch.ts';

describe('mergePatch', () => {
  it.each([
    ['nothing for equal objects', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, {}],
    ['what is new', {}, { a: { b: [] } }, { a: { b: [] } }],
    ['null for what is gone', { a: 1, b: { c: 1 } }, {}, { a: null, b: null }],
    ['a field set to undefined as gone', { a: 1 }, { a: undefined }, { a: null }],
    ['no null for what was undefined before', { a: undefined }, {}, {}],
    [
      'only what differs in nested objects',
      { a: { b: 1, c: 2, d: 3 } },
      { a: { b: 1, c: 9 } },
      { a: { c: 9, d: null } },
    ],
    ['a changed list whole', { a: [1, 2, 3] }, { a: [1, 2] }, { a: [1, 2] }],
    ['a list that differs in an object inside', { a: [{ b: 1 }] }, { a: [{ b: 2 }] }, { a: [{ b: 2 }] }],
    ['an object in place of a list', { a: [] }, { a: {} }, { a: {} }],
    ['an object in place of a text', { a: 'x' }, { a: { b: 1 } }, { a: { b: 1 } }],
    [
      'zero, false and the empty text as values',
      { a: 1, b: true, c: 'x' },
      { a: 0, b: false, c: '' },
      { a: 0, b: false, c: '' },
    ],
  ])('gives %s', (_, previous, next, patch) => {
    expect(mergePatch(previous, next)).toEqual(patch);
  });

  it('empties an object in place, for a patch with an empty object would change nothing', () => {
    expect(mergePatch({ a: { b: 1 } }, { a: {} })).toEqual({ a: { b: null } });
  });
});

describe('isDeepEqual', () => {
  it('tells a list from an object and takes undefined for absent', () => {
    expect(isDeepEqual([], {})).toBe(false);
    expect(isDeepEqual({ a: undefined }, {})).toBe(true);
    expect(isDeepEqual({ a: null }, {})).toBe(false);
    expect(isDeepEqual([1, [2]], [1, [2]])).toBe(true);
    expect(isDeepEqual([1, 2], [1])).toBe(false);
  });
});
