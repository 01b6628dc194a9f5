/** Random lives of one object: whatever is lost, forgotten or answered, what the operator promises holds. */
import { describe, expect, it } from 'vitest';
import { Life } from './property-life.ts';

const RUNS = 800;
const STEPS = 100;

describe('the promises', () => {
  it('hold in random lives with crashes, losses, edits and every outcome', async () => {
    const first = Number(process.env.PROPERTY_SEED ?? 1);
    const runs = process.env.PROPERTY_SEED === undefined ? RUNS : 1;
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
    // A generator that no longer reaches an action proves nothing about it.
    const all = [
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
    if (runs > 1) expect(all.filter((action) => (seen.get(action) ?? 0) < 100)).toEqual([]);
  });
});
