/** Makes untrusted text safe for status, Events and messages. Pure. */
import { printable } from './printable.ts';

/**
 * Cuts text to at most `bound` UTF-16 units, which are at least as many as the characters that a schema counts. The
 * result is printable and valid Unicode, because JSON and the API server would change half a character.
 */
export function cut(text: string, bound: number): string {
  return printable(text)
    .slice(0, bound)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed();
}

/** Ends the last sentence of a text with a full stop, exactly once, so that another sentence can follow. */
export function ended(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed === '' || /[.!?…]["')]?$/.test(trimmed) ? trimmed : `${trimmed.replace(/[,;:]+$/, '')}.`;
}

/** The text as the start of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
