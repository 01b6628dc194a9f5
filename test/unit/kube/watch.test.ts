import { describe, expect, it } from 'vitest';
import { createLineSplitter } from '../../../src/kube/watch.ts';

/** Feeds `text` in chunks of `size` bytes. */
function splitAt(text: string, size: number): string[] {
  const split = createLineSplitter(1024);
  const bytes = Buffer.from(text);
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += size) lines.push(...split(bytes.subarray(start, start + size)));
  return lines;
}

describe('createLineSplitter', () => {
  it('returns the same lines however the bytes are split, even in the middle of characters', () => {
    const text = '{"a":"ä"}\n{"b":"日本語 🎉"}\n{}\n';
    for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
      expect(splitAt(text, size)).toEqual(['{"a":"ä"}', '{"b":"日本語 🎉"}', '{}']);
    }
  });

  it('holds back an unfinished line until it is complete', () => {
    const split = createLineSplitter(1024);
    expect(split(Buffer.from('one\ntw'))).toEqual(['one']);
    expect(split(Buffer.from('o'))).toEqual([]);
    expect(split(Buffer.from('\nthree'))).toEqual(['two']);
  });

  it('skips empty lines', () => {
    expect(splitAt('\n\na\n\n', 2)).toEqual(['a']);
  });

  it('rejects an endless line', () => {
    const split = createLineSplitter(10);
    split(Buffer.from('123456'));
    expect(() => split(Buffer.from('789012'))).toThrow('a line of more than 10 bytes');
  });
});
