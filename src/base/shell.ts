/** Words of commands that a reader copies into a POSIX shell. */

/** True when the shell takes the word as it stands. */
export function isPlain(word: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(word);
}

/** Quotes a word where the shell would change it. */
export function quoted(word: string): string {
  return isPlain(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
