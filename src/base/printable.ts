/** Removes characters from untrusted text that a terminal or log viewer interprets instead of showing. Pure. */

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
