/** A small part of the simulation, with new seeds each day; `npm run test:lives` runs any number of lives. */
import { expect, it } from 'vitest';
import { run } from '../../lives/run.ts';

const LIVES = 250;
const DAY_MS = 86_400_000;

it(`loses no server and orders each server only once in ${LIVES} simulated lives`, async () => {
  const first = Math.floor(Date.now() / DAY_MS) * 1000;
  let lives = 0;
  const members = { created: 0, deleted: 0 };
  for (let seed = first; lives < LIVES; seed++) {
    const result = await run({ seed });
    expect(result.violations, `replay: npm run test:lives -- --replay ${seed}`).toEqual([]);
    lives += result.lives;
    members.created += result.members?.created ?? 0;
    members.deleted += result.members?.deleted ?? 0;
  }
  // Sets that never change anything would prove nothing.
  expect(members.created).toBeGreaterThan(10);
  expect(members.deleted).toBeGreaterThan(1);
  process.stdout.write(
    `simulation: ${lives} lives from seed ${first}; npm run test:lives -- --lives 100000 runs the full set\n`,
  );
}, 600_000);

it('replays a seed exactly', async () => {
  const [first, second] = [await run({ seed: 7, trace: true }), await run({ seed: 7, trace: true })];
  expect(first.trace.length).toBeGreaterThan(100);
  expect(second.trace).toEqual(first.trace);
});
