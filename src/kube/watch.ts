/** Runs one watch until it ends. */
import type { Timers } from '../base/timers.ts';
import { KubeError, networkError, statusError, type StatusBody } from './error.ts';
import type { KubeHttp } from './http.ts';
import { collectionOf, type KubeObject, type Resource } from './resource.ts';

const NEWLINE = 0x0a;

export type WatchEvent<T> = { type: 'upsert' | 'gone'; object: T } | { type: 'bookmark'; resourceVersion: string };

interface WatchOptions {
  namespace: string | undefined;
  resourceVersion: string;
  timeoutSeconds: number;
  /** The watch is aborted when nothing, not even a bookmark, has arrived for this long. */
  silenceMs: number;
  /** Maximum bytes of an event. */
  maxBytes: number;
  signal: AbortSignal;
  timers: Pick<Timers, 'set' | 'clear'>;
}

/**
 * Watches until the API server closes the connection, then returns. Throws KubeError in any other case: `Expired` if a
 * relist is needed, `TooLarge` for an event of more than `maxBytes`.
 */
export async function watchOnce<T extends KubeObject>(
  http: KubeHttp,
  resource: Resource<T>,
  { namespace, resourceVersion, timeoutSeconds, silenceMs, maxBytes, signal: outer, timers }: WatchOptions,
  onEvent: (event: WatchEvent<T>) => void,
  onContact: () => void,
): Promise<void> {
  const silence = new AbortController();
  const signal = AbortSignal.any([outer, silence.signal]);
  const query = { watch: true, allowWatchBookmarks: true, resourceVersion, timeoutSeconds };
  const split = createLineSplitter(maxBytes);
  const body = await http.stream({ path: collectionOf(resource, namespace), query, signal });
  const listen = () => timers.set(() => silence.abort(), silenceMs);
  let timer = listen();
  try {
    onContact();
    for await (const chunk of body) {
      timers.clear(timer);
      timer = listen();
      onContact();
      for (const line of split(chunk)) {
        // A handler may stop the informer in the middle of a chunk.
        if (signal.aborted) return;
        onEvent(parseEvent(line, resource));
      }
    }
  } catch (error) {
    if (error instanceof KubeError) throw error;
    if (silence.signal.aborted) throw new KubeError('Unreachable', `the watch was silent for ${silenceMs} ms`);
    throw networkError('watch', error);
  } finally {
    timers.clear(timer);
  }
}

function parseEvent<T extends KubeObject>(line: string, { parse }: Resource<T>): WatchEvent<T> {
  const { type, object } = parseLine(line);
  if (type === 'ADDED' || type === 'MODIFIED') return { type: 'upsert', object: parse(object) };
  if (type === 'DELETED') return { type: 'gone', object: parse(object) };
  if (type === 'ERROR') {
    const status = (object ?? {}) as StatusBody;
    throw statusError(status.code ?? 500, status);
  }
  const version = (object as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
  if (type === 'BOOKMARK' && version) return { type: 'bookmark', resourceVersion: version };
  throw new KubeError('BadResponse', 'the watch sent an event of an unknown form');
}

function parseLine(line: string): { type?: string; object?: unknown } {
  try {
    return (JSON.parse(line) as { type?: string; object?: unknown } | null) ?? {};
  } catch {
    throw new KubeError('BadResponse', 'a line of the watch is not JSON');
  }
}

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
