/** What the command line of the chaos runs says. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface ChaosOptions {
  /** Chooses which part of the whole is run, and in which order. */
  seed: number;
  /** How many plans, at most. */
  plans: number;
  /** Which share of all plans, at most. */
  fraction: number;
  /** No plan is begun when this much time has gone by (ms). */
  budgetMs: number;
  /** How many scenarios are recorded, and so have plans, at most. */
  scenarios: number;
  /** How many plans run side by side. */
  jobs: number;
  /** Run just these. */
  ids: string[];
  /** Only say which plans there are. */
  list: boolean;
  /** Only plans whose id contains this. */
  only: string;
}

export const USAGE = `usage: npm run test:chaos -- [options]
  --plan ID       run this plan (may be repeated)
  --list          print the ids of all plans and run none
  --only TEXT     only plans whose id contains TEXT, such as crash/life/ or stale/
  --seed N        chooses the plans and their order; default: the present minute
  --plans N       at most N plans
  --fraction F    at most this share of all plans, such as 0.1
  --minutes M     begin no plan after M minutes
  --scenarios N   only plans of N scenarios
  --jobs N        plans side by side; default 4 for each processor, since they mostly wait`;

/** Undefined when the arguments make no sense. */
export function parseOptions(argv: readonly string[]): ChaosOptions | undefined {
  const number = { type: 'string' } as const;
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        plan: { type: 'string', multiple: true },
        list: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
        seed: number,
        plans: number,
        fraction: number,
        minutes: number,
        scenarios: number,
        jobs: number,
      },
    });
    const options = {
      seed: Number(values.seed ?? Math.floor(Date.now() / 60_000)),
      plans: Number(values.plans ?? Infinity),
      fraction: Number(values.fraction ?? 1),
      budgetMs: Number(values.minutes ?? Infinity) * 60_000,
      scenarios: Number(values.scenarios ?? Infinity),
      jobs: Number(values.jobs ?? 4 * availableParallelism()),
      ids: values.plan ?? [],
      list: values.list,
      only: values.only,
    };
    return Object.values(options).some(Number.isNaN) ? undefined : options;
  } catch {
    return undefined;
  }
}
