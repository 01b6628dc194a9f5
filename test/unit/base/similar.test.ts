/** Which word a mistyped one means. */
import { expect, it } from 'vitest';
import { MAX_COMPARED, similarTo } from '../../../src/base/similar.ts';

it.each([
  ['wbe', ['db', 'web', 'wb-1'], 'web'],
  ['WBE', ['web'], 'web'],
  ['we', ['web', 'db'], 'web'],
  ['webb', ['web', 'db'], 'web'],
  ['bew', ['web'], undefined],
  ['web', ['db'], undefined],
  ['wbe', [], undefined],
  ['sttaus', ['start', 'status'], 'status'],
  ['stat', ['start', 'status'], 'status'],
  ['VPSX', ['VPS', 'VPSX16', 'VPSX4'], 'VPSX4'],
  ['s', ['ss', 'status'], undefined],
  ['ab', ['ba'], 'ba'],
  ['a', ['b'], undefined],
])('%j among %j means %j', (word, candidates, meant) => {
  expect(similarTo(word, candidates)).toBe(meant);
});

it('finds two letters in the wrong order also among more names than are compared', () => {
  const names = Array.from({ length: MAX_COMPARED + 1 }, (_, index) => `x${index}`);
  expect(similarTo('wbe', [...names, 'web'])).toBe('web');
});
