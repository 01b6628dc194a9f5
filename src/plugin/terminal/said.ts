/** What a screen has said already: a paragraph appears on it once. Pure. */
import { clean } from './terminal.ts';

export class Said {
  readonly #texts: string[] = [];

  /** Counts the text as said. */
  add(text: string): void {
    this.#texts.push(clean(text));
  }

  /** Counts the text as said, and gives what is new in it: nothing, the words after an earlier text, or all of it. */
  say(text: string): string {
    const words = clean(text);
    const isOld = this.#texts.some((earlier) => contains(earlier, words));
    const shared = Math.max(0, ...this.#texts.map((earlier) => (begins(words, earlier) ? earlier.length : 0)));
    this.add(words);
    return isOld ? '' : words.slice(shared).replace(/^[\s.,:;]+/, '');
  }
}

const contains = (text: string, part: string): boolean => {
  const at = text.indexOf(part);
  return at >= 0 && begins(text.slice(at), part);
};

/** `vs1` does not begin `vs10`. */
const begins = (text: string, part: string): boolean => text.startsWith(part) && !/^\w/.test(text.slice(part.length));
