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
    const isOld = this.#texts.some((earlier) => earlier.includes(words));
    const shared = Math.max(0, ...this.#texts.map((earlier) => (words.startsWith(earlier) ? earlier.length : 0)));
    this.add(words);
    return isOld ? '' : words.slice(shared).replace(/^[\s.,:;]+/, '');
  }
}
