/** The random lives of test/unit/virtual-server/decision, including those that the unit tests skip. */
import { expect, it } from 'vitest';
import { ACTIONS, live } from '../unit/virtual-server/decision/property-lives.ts';

const RUNS = 2_000;

it(
  'keeps its guarantees in random lives with crashes, losses, edits and every outcome',
  { timeout: 300_000 },
  async () => {
    const seen = await live(1, RUNS);
    expect(ACTIONS.filter((action) => (seen.get(action) ?? 0) < RUNS / 8)).toEqual([]);
  },
);
