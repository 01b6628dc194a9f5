/** A few worlds in which other versions of the operator run at times; `npm run test:lives` has them among its own. */
import { expect, it } from 'vitest';
import { run } from '../../lives/run.ts';

const UPGRADES = 10;
const LEFT = 2;
/** In few worlds, an upgrade finds what only conditions say. This one has been among them; otherwise the search takes longer. */
const FIRST = 8;

it('forgets nothing and cancels nothing wrongly over upgrades and downgrades', async () => {
  const total = { upgrades: 0, downgrades: 0, left: 0 };
  for (let seed = FIRST; total.upgrades < UPGRADES || total.downgrades === 0 || total.left < LEFT; seed++) {
    const result = await run({ seed, withVersions: true });
    expect(result.violations, `replay: npm run test:lives -- --with-versions --replay ${seed}`).toEqual([]);
    for (const key of ['upgrades', 'downgrades', 'left'] as const) total[key] += result[key];
  }
}, 600_000);
