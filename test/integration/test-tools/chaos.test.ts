/** A small part of `npm run test:chaos`, another one every day: real operators, and a fault at one request of a life. */
import { expect, inject, it } from 'vitest';
import { openArena } from '../../chaos/arena.ts';
import { runChaos } from '../../chaos/run.ts';

const BUDGET_MS = 15_000;
/** Each has to be recorded before there are plans for it. */
const SCENARIOS = 2;
const JOBS = 4;

it('keeps its promises in a part of the chaos plans, chosen by the day', { timeout: 180_000 }, async () => {
  const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Date.now() / 86_400_000));
  const arena = await openArena(inject('kubeconfigPath'));
  const said: string[] = [];
  const all = { plans: Infinity, fraction: 1, ids: [], list: false, only: '' };
  const options = { ...all, seed, scenarios: SCENARIOS, budgetMs: BUDGET_MS, jobs: JOBS };
  try {
    const { passed, failed } = await runChaos(arena, options, (line) => {
      said.push(line);
      process.stderr.write(`chaos: ${line.split('\n')[0] ?? ''}\n`);
    });
    expect(failed, said.filter((line) => line.startsWith('FAILED')).join('\n\n')).toBe(0);
    expect(passed).toBeGreaterThan(0);
  } finally {
    await arena.close();
  }
});
