/** Cuts text to a bound without leaving half a character, which JSON and the API server would turn into another text. */

/** At most `bound` UTF-16 units, which are never fewer than the characters that a schema counts; always valid Unicode. */
export function cut(text: string, bound: number): string {
  return text
    .slice(0, bound)
    .replace(/[\uD800-\uDBFF]$/, '')
    .toWellFormed();
}
