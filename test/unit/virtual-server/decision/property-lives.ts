/** Many random lives of one object, seed by seed. */
import { Life } from './property-life.ts';

const STEPS = 100;

/**
 * Resolves with the number of lives that met each action. Rejects with the story of the first life that breaks a
 * promise.
 */
export async function live(first: number, runs: number): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  for (let seed = first; seed < first + runs; seed++) {
    const life = new Life(seed);
    try {
      for (let step = 0; step < STEPS; step++) await life.step();
    } catch (error) {
      throw new Error(`seed ${seed} (PROPERTY_SEED=${seed} runs it alone):\n${life.story.join('\n')}`, {
        cause: error,
      });
    }
    for (const action of life.actions) seen.set(action, (seen.get(action) ?? 0) + 1);
  }
  return seen;
}

/** A generator that no longer reaches an action proves nothing about it. */
export const ACTIONS = [
  'claim',
  'create',
  'adopt',
  'pollTask',
  'readServer',
  'deleteServer',
  'release',
  'record',
  'park',
  'wait',
];
