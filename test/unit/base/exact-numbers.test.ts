import { describe, expect, it } from 'vitest';
import { parseExact, toTask } from '../../../src/base/exact-numbers.ts';

describe('parseExact', () => {
  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['[1, {"a": 123456789012345678901234567890}]', [1, { a: '123456789012345678901234567890' }]],
    ['{"a": "9007199254740993", "b": 1.5}', { a: '9007199254740993', b: 1.5 }],
    ['0.12345678901234567', Number('0.12345678901234567')],
    ['1e300', 1e300],
    ['1234567890123456', 1234567890123456],
    ['null', null],
  ])('reads %s', (text, value) => {
    expect(parseExact(text)).toEqual(value);
  });

  it('rejects what is not JSON', () => {
    expect(() => parseExact('{"a": 9007199254740993')).toThrow(SyntaxError);
    expect(() => parseExact('')).toThrow(SyntaxError);
  });
});

describe('a task number', () => {
  it.each([
    [7, 7],
    ['7', 7],
    ['007', 7],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', '9007199254740993'],
    ['00018446744073709551615', '18446744073709551615'],
    [-1, undefined],
    [1.5, undefined],
    [2 ** 53, undefined],
    ['1e3', undefined],
    ['', undefined],
    ['9'.repeat(41), undefined],
    [null, undefined],
  ])('%j is read as %j', (value, task) => {
    expect(toTask(value)).toBe(task);
  });
});
