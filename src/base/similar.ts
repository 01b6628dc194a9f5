/** Finds the intended word for a mistyped one. Pure. */
import { distance } from 'fastest-levenshtein';

/** Maximum number of edits per five letters of a mistyped word; with more, the guess would mislead. */
const EDITS_OF_FIVE = 2;

/** The candidate closest to the word; undefined if none is close enough. */
export function similarTo(word: string, candidates: readonly string[]): string | undefined {
  const far = (candidate: string): number => distance(word.toLowerCase(), candidate.toLowerCase());
  const [nearest] = [...candidates].sort((a, b) => far(a) - far(b));
  return nearest !== undefined && far(nearest) * 5 <= nearest.length * EDITS_OF_FIVE ? nearest : undefined;
}
