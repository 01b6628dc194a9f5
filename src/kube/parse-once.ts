/** Parses each JSON text once, also if it arrives twice: as the answer to a write, and by a watch. */
import { Recent } from '../base/recent.ts';
import { KubeError } from './error.ts';

/** How many texts are kept with their values. A watch reports a write a few events before or after its answer. */
const RECENT = 128;

/**
 * Returns a function that returns the same value again for a text that it has parsed shortly before. Do not change the
 * value. The function throws KubeError `BadResponse` for anything that is not JSON.
 */
export function createParseOnce(): (text: string) => unknown {
  const recent = new Recent<string, unknown>(RECENT);
  return (text) => {
    // An answer ends with a line feed, and the object in an event does not.
    const key = text.endsWith('\n') ? text.slice(0, -1) : text;
    const known = recent.get(key);
    if (known !== undefined) return known;
    const value = parseJson(key);
    recent.set(key, value);
    return value;
  };
}

/** Throws KubeError `BadResponse` for anything that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a Secret.
    throw new KubeError('BadResponse', 'the answer is not JSON');
  }
}
