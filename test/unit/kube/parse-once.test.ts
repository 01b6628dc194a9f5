import { describe, expect, it } from 'vitest';
import { createParseOnce } from '../../../src/kube/parse-once.ts';

describe('parseOnce', () => {
  it('returns one value for a text that arrives twice', () => {
    const parse = createParseOnce();
    const answer = parse('{"a":{"b":1}}\n');
    expect(answer).toEqual({ a: { b: 1 } });
    expect(parse('{"a":{"b":1}}')).toBe(answer);
  });

  it('tells texts apart that differ in one character', () => {
    const parse = createParseOnce();
    expect(parse('{"a":1}')).toEqual({ a: 1 });
    expect(parse('{"a":2}')).toEqual({ a: 2 });
  });

  it('keeps a limited number of texts', () => {
    const parse = createParseOnce();
    const first = parse('{"index":-1}');
    for (let index = 0; index < 1000; index += 1) parse(`{"index":${index}}`);
    expect(parse('{"index":-1}')).not.toBe(first);
  });

  it('does not quote a text that is not JSON, because it may be a Secret', () => {
    const parse = createParseOnce();
    expect(() => parse('{"password":"hunter2"')).toThrow('the answer is not JSON');
  });
});
