/** Makes untrusted text safe for status, Events, messages, terminals and shells. Pure. */

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

/** The text, or of one with more than `bound` UTF-16 units its start and a checksum (32-bit FNV-1a): texts that differ later differ in it. */
export function abridged(text: string, bound: number): string {
  if (text.length <= bound) return cut(text, bound);
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  const sum = (hash >>> 0).toString(16).padStart(8, '0');
  return `${cut(text, bound - sum.length)}${sum}`;
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

/* Removes characters from untrusted text that a terminal or log viewer interprets instead of showing. Pure. */

/** Control characters, Unicode line breaks, and characters that reverse text or have no width. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** The text on one line, with such characters replaced by a space. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/**
 * Escapes such characters in JSON, or in YAML that quotes such texts, without changing the data. The line breaks of the
 * layout stay. Tag characters beyond 16 bits stay too: they are harmless, and kubectl cannot read YAML with escaped
 * surrogates.
 */
export function escaped(text: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNPRINTABLE, (run) => run.replace(/[^\n\uD800-\uDFFF]/g, escape));
}

/* Words of commands that a reader copies into a POSIX shell. */

/** True when the shell takes the word as it stands. */
export function isPlain(word: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(word);
}

/** Quotes a word where the shell would change it. */
export function quoted(word: string): string {
  return isPlain(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
