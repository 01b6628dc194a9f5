import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/kube/error.ts';
import { parsePartially, type JsonPath } from '../../../src/kube/partial-json.ts';

const nothing = (): boolean => false;

/** The text in pieces of this many bytes. */
async function* pieces(text: string, bytes: number): AsyncGenerator<Buffer> {
  const whole = Buffer.from(text);
  for (let start = 0; start < whole.length; start += bytes)
    yield await Promise.resolve(whole.subarray(start, start + bytes));
}

describe('partial JSON', () => {
  const VALUE = {
    text: 'ü "quoted" \\ \n 😀',
    numbers: [0, -1, 1.5, 1e21, 1e-7],
    nested: [{ a: { b: [[], {}, null, true, false] } }],
    '': 'an empty key',
    __proto__x: 1,
  };

  it.each([1, 2, 3, 7, 1000])('is the whole of it if all is used, in pieces of %i bytes', async (bytes) => {
    expect(await parsePartially(pieces(JSON.stringify(VALUE, null, 1), bytes), nothing)).toEqual(VALUE);
  });

  it('leaves out what is not used, by its path', async () => {
    const isUnused = ([list, index, field, key]: JsonPath): boolean =>
      list === 'items' &&
      (field === 'large' || (field === 'rows' && Number(key) >= 2) || (index === 1 && field === 'b'));
    const items = [
      { large: { any: [1, { large: 2 }] }, b: 1, rows: [1, 2, 3, 4] },
      { a: { large: 1 }, b: 2, large: 'text' },
    ];
    const text = JSON.stringify({ large: 1, items });
    expect(await parsePartially(pieces(text, 5), isUnused)).toEqual({
      large: 1,
      items: [{ b: 1, rows: [1, 2] }, { a: { large: 1 } }],
    });
  });

  it.each(['', '{', '{"a":1', '{"a":1}}', '{"a":1}{"a":1}', '<html>secret</html>', '[1,]', '"\\u12"', '{"a" 1}'])(
    'is refused if it is not JSON, without a quote: %s',
    async (text) => {
      const error = await parsePartially(pieces(text, 3), nothing).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(KubeError);
      expect(error).toMatchObject({ code: 'BadResponse', message: 'the answer is not JSON' });
    },
  );

  it('passes on the error of a body that breaks off', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield await Promise.resolve(Buffer.from('{"a":'));
      throw new Error('connection lost');
    }
    await expect(parsePartially(broken(), nothing)).rejects.toThrow('connection lost');
  });
});
