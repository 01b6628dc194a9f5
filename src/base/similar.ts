/** Finds the intended word for a mistyped one. Pure. */
import { distance } from 'fastest-levenshtein';

/** Maximum number of edits per five letters of a mistyped word; with more, the guess would mislead. */
const EDITS_OF_FIVE = 2;

/**
 * Maximum number of candidates that are compared, and of characters per word. A provider may list any number of names of
 * any length, and comparing them blocks the process.
 */
export const MAX_COMPARED = 2_000;
const MAX_LENGTH = 256;

/** The candidate closest to the word; undefined if none is close enough. */
export function similarTo(word: string, candidates: readonly string[]): string | undefined {
  // A swap of two letters counts as two edits, which are too many for a short name: `wbe` means `web`.
  const swapped = candidates.find((candidate) => isOneSwap(word, candidate));
  if (swapped !== undefined) return swapped;
  // What is missing at the end was left out rather than mistyped: `stat` means `status`, and not `start`.
  const longer = candidates.filter((candidate) => candidate.toLowerCase().startsWith(word.toLowerCase()));
  const likely = [...closest(word, longer, 1), ...closest(word, candidates, 1)];
  return likely.find((candidate) => edits(word, candidate) * 5 <= candidate.length * EDITS_OF_FIVE);
}

/**
 * At most `count` candidates, the closest first. Only the `MAX_COMPARED` candidates whose lengths differ least from that of
 * the word are considered.
 */
export function closest(word: string, candidates: readonly string[], count: number): string[] {
  // Two words are at least as far apart as their lengths.
  const byLength = Map.groupBy(candidates, ({ length }) => Math.abs(length - word.length));
  let compared = 0;
  let nearest: { candidate: string; edits: number }[] = [];
  for (const [least, group] of [...byLength].sort(([a], [b]) => a - b)) {
    const last = nearest[count - 1];
    if (compared === MAX_COMPARED || (last !== undefined && last.edits <= least)) break;
    const some = group.slice(0, MAX_COMPARED - compared);
    compared += some.length;
    const more = some.map((candidate) => ({ candidate, edits: edits(word, candidate) }));
    nearest = [...nearest, ...more].sort((a, b) => a.edits - b.edits).slice(0, count);
  }
  return nearest.map(({ candidate }) => candidate);
}

function edits(word: string, candidate: string): number {
  const [a, b] = [word, candidate].map((text) => text.slice(0, MAX_LENGTH).toLowerCase());
  return distance(a ?? '', b ?? '');
}

/** True if the words differ only in two neighboring letters that changed places. */
function isOneSwap(word: string, candidate: string): boolean {
  if (word.length !== candidate.length || word.length > MAX_LENGTH) return false;
  const [a, b] = [word.toLowerCase(), candidate.toLowerCase()];
  let at = 0;
  while (at < a.length && a.charAt(at) === b.charAt(at)) at += 1;
  return a !== b && a.slice(0, at) + a.charAt(at + 1) + a.charAt(at) + a.slice(at + 2) === b;
}
