/** Text of others as status, Events and messages may carry it. Pure. */
import { printable } from './printable.ts';

/**
 * At most `bound` UTF-16 units, which are never fewer than the characters that a schema counts. Always valid Unicode, since
 * JSON and the API server would turn half a character into another text; and printable.
 */
export function cut(text: string, bound: number): string {
  return printable(text)
    .slice(0, bound)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed();
}
