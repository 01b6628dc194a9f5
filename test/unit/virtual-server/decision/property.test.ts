/** Random lives of one object: the operator keeps its promises, whatever is lost, forgotten or answered. */
import { describe, expect, it } from 'vitest';
import { ACTIONS, live } from './property-lives.ts';

/** test/exhaustive runs the other lives. */
const RUNS = 200;

describe('the promises', () => {
  it('hold in random lives with crashes, losses, edits and every outcome', async () => {
    const seed = process.env.PROPERTY_SEED;
    const seen = await (seed === undefined ? live(1, RUNS) : live(Number(seed), 1));
    if (seed === undefined) expect(ACTIONS.filter((action) => (seen.get(action) ?? 0) < RUNS / 8)).toEqual([]);
  });
});
