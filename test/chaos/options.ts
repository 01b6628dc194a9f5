/** Parses the command line of the chaos runs. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface ChaosOptions {
  /** Decides which plans run, and in which order. */
  seed: number;
  /** Maximum number of plans. */
  plans: number;
  /** Maximum share of all plans, 0 to 1. */
  fraction: number;
  /** No plan starts after this time (ms). */
  budgetMs: number;
  /** Maximum number of scenarios that are recorded and so have plans. */
  scenarios: number;
  /** Number of plans to run in parallel. */
  jobs: number;
  /** Only plans of this part, from 1 to `shards`. */
  shard: number;
  shards: number;
  /** Runs only these plans. */
  ids: string[];
  /** Only lists the plans. */
  list: boolean;
  /** Runs only plans whose id contains this text. */
  only: string;
}

export const USAGE = `usage: npm run test:chaos -- [options]
  --plan ID       run this plan (may be repeated)
  --list          print the ids of all plans and run none
  --only TEXT     only plans whose id contains TEXT, such as crash/life/ or stale/
  --seed N        chooses the plans and their order; default: the current minute
  --plans N       at most N plans
  --fraction F    at most this share of all plans, such as 0.1
  --shard K/M     the K-th of M parts, each of the same plans in every run: all plans together take hours
  --minutes M     start no plan after M minutes
  --scenarios N   only plans of N scenarios
  --jobs N        plans in parallel; default 4 per processor, since they mostly wait`;

/** Undefined if the arguments are invalid. */
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
        shard: { type: 'string', default: '1/1' },
        minutes: number,
        scenarios: number,
        jobs: number,
      },
    });
    const options = {
      seed: Number(values.seed ?? Math.floor(Date.now() / 60_000)),
      plans: Number(values.plans ?? Infinity),
      fraction: Number(values.fraction ?? 1),
      ...shardOf(values.shard),
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

/** Not numbers if the text is not such a part. */
function shardOf(text: string): { shard: number; shards: number } {
  const [, shard = NaN, shards = NaN] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).map(Number);
  return shard >= 1 && shard <= shards ? { shard, shards } : { shard: NaN, shards: NaN };
}
