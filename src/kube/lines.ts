/** Splits a stream of bytes into lines. */
import { KubeError } from './error.ts';

const NEWLINE = 0x0a;
/** etcd stores no object of more than 1.5 MiB by default. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Feeds chunks in, gets the complete lines out; the rest is kept for the next chunk. It splits bytes, not text, so a
 * character that lies across two chunks stays whole. Throws KubeError `BadResponse` for an endless line.
 */
export function createLineSplitter(maxBytes = MAX_LINE_BYTES): (chunk: Buffer) => string[] {
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
      if (restBytes > maxBytes) throw new KubeError('BadResponse', `a line of more than ${maxBytes} bytes`);
    }
    return lines;
  };
}
