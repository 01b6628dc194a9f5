import { describe, expect, it } from 'vitest';
import { createLineSplitter } from '../../../src/kube/lines.ts';

/** Feeds `text` in pieces of `size` bytes. */
function splitAt(text: string, size: number): string[] {
  const split = createLineSplitter(1024);
  const bytes = Buffer.from(text);
  const lines: string[] = [];
  for (let start = 0; start < bytes.length; start += size) lines.push(...split(bytes.subarray(start, start + size)));
  return lines;
}

describe('createLineSplitter', () => {
  it('gives the same lines however the bytes are cut, through the middle of characters too', () => {
    const text = '{"a":"ä"}\n{"b":"日本語 🎉"}\n{}\n';
    for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
      expect(splitAt(text, size)).toEqual(['{"a":"ä"}', '{"b":"日本語 🎉"}', '{}']);
    }
  });

  it('keeps an unfinished line back until its end comes', () => {
    const split = createLineSplitter(1024);
    expect(split(Buffer.from('one\ntw'))).toEqual(['one']);
    expect(split(Buffer.from('o'))).toEqual([]);
    expect(split(Buffer.from('\nthree'))).toEqual(['two']);
  });

  it('passes over empty lines', () => {
    expect(splitAt('\n\na\n\n', 2)).toEqual(['a']);
  });

  it('refuses a line without end', () => {
    const split = createLineSplitter(10);
    split(Buffer.from('123456'));
    expect(() => split(Buffer.from('789012'))).toThrow('a line of more than 10 bytes');
  });
});
