/** Text of others without the characters that a terminal or a reader of a log obeys instead of showing. Pure. */

/** Control characters, line breaks of Unicode, and characters that turn text around or have no width. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** On one line, with a blank in the place of such characters. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, ' ');
}

/**
 * JSON, or YAML that quotes such texts, as the same data without such characters; the line breaks of its layout stay. Tags
 * beyond 16 bits stay as well: they steer nothing, and kubectl reads no YAML with escaped surrogates.
 */
export function escaped(text: string): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNPRINTABLE, (run) => run.replace(/[^\n\uD800-\uDFFF]/g, escape));
}
