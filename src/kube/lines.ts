/** Splits a stream of bytes into lines. */
import { KubeError } from './error.ts';

const NEWLINE = 0x0a;

/**
 * Returns a function that takes a chunk and returns the complete lines; it keeps the rest for the next chunk. It splits
 * bytes, not text, so a character that spans two chunks stays intact. Throws KubeError `TooLarge` for a line of more
 * than `maxBytes`.
 */
export function createLineSplitter(maxBytes: number): (chunk: Buffer) => string[] {
  let rest: Buffer[] = [];
  let restBytes = 0;

  return (chunk) => {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      const line = rest.length === 0 ? tail.toString() : Buffer.concat([...rest, tail]).toString();
      if (line !== '') lines.push(line);
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      rest.push(chunk.subarray(start));
      restBytes += chunk.length - start;
      if (restBytes > maxBytes) throw new KubeError('TooLarge', `a line of more than ${maxBytes} bytes`);
    }
    return lines;
  };
}
