import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../../src/plugin/cluster/merge-patch.ts';

describe('mergePatch', () => {
  it.each([
    ['nothing for equal objects', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, {}],
    ['new fields', {}, { a: { b: [] } }, { a: { b: [] } }],
    ['null for removed fields', { a: 1, b: { c: 1 } }, {}, { a: null, b: null }],
    ['null for a field set to undefined', { a: 1 }, { a: undefined }, { a: null }],
    ['no null for a field that was undefined before', { a: undefined }, {}, {}],
    [
      'only the differences in nested objects',
      { a: { b: 1, c: 2, d: 3 } },
      { a: { b: 1, c: 9 } },
      { a: { c: 9, d: null } },
    ],
    ['a changed list as a whole', { a: [1, 2, 3] }, { a: [1, 2] }, { a: [1, 2] }],
    ['a list that differs in an object inside', { a: [{ b: 1 }] }, { a: [{ b: 2 }] }, { a: [{ b: 2 }] }],
    ['an object that replaces a list', { a: [] }, { a: {} }, { a: {} }],
    ['an object that replaces a string', { a: 'x' }, { a: { b: 1 } }, { a: { b: 1 } }],
    [
      'zero, false and the empty string as values',
      { a: 1, b: true, c: 'x' },
      { a: 0, b: false, c: '' },
      { a: 0, b: false, c: '' },
    ],
  ])('returns %s', (_, previous, next, patch) => {
    expect(mergePatch(previous, next)).toEqual(patch);
  });

  it('removes the fields of an emptied object, because an empty object in a patch changes nothing', () => {
    expect(mergePatch({ a: { b: 1 } }, { a: {} })).toEqual({ a: { b: null } });
  });
});
