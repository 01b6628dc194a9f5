/** Finds the word that was meant by a mistyped one. Pure. */
import { distance } from 'fastest-levenshtein';

/** Edits, of five letters, that a mistyped word may have; with more of them the guess misleads. */
const EDITS_OF_FIVE = 2;

/** The candidate that differs little from the word; undefined where there is none. */
export function similarTo(word: string, candidates: readonly string[]): string | undefined {
  const far = (candidate: string): number => distance(word.toLowerCase(), candidate.toLowerCase());
  const [nearest] = [...candidates].sort((a, b) => far(a) - far(b));
  return nearest !== undefined && far(nearest) * 5 <= nearest.length * EDITS_OF_FIVE ? nearest : undefined;
}
