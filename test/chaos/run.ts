/** Records the scenarios, enumerates the plans, selects by seed, runs plans in parallel, and reports the results. */
import { createHash } from 'node:crypto';
import type { Arena } from './arena.ts';
import { Random } from '../lives/random.ts';
import type { ChaosOptions } from './options.ts';
import { enumerate, parsePlan, record, RECORDABLE, type Plan, type Recording } from './plans.ts';

interface Counts {
  passed: number;
  failed: number;
}

type Tell = (line: string) => void;

/**
 * A plan whose request did not arrive is run up to this many times: two processes never act in exactly the same order.
 */
const TRIES = 3;

export async function runChaos(arena: Arena, options: ChaosOptions, tell: Tell): Promise<Counts> {
  const beganAt = Date.now();
  const whole = options.ids.length > 0 ? options.ids.map(named) : await allPlans(arena, options, tell);
  if (options.list) {
    for (const { id } of whole) tell(id);
    return { passed: 0, failed: 0 };
  }
  const part = whole.filter(({ id }) => options.ids.length > 0 || isInShard(id, options));
  const count = Math.ceil(Math.min(options.plans, part.length * options.fraction));
  const chosen = options.ids.length > 0 ? whole : shuffled(part, options.seed).slice(0, count);
  tell(`running ${chosen.length} of ${whole.length} plans, seed ${options.seed}, ${options.jobs} in parallel`);
  const counts = { passed: 0, failed: 0, unmet: 0 };
  const startedAt = Date.now();
  await sideBySide(chosen, options.jobs, async (plan, index) => {
    if (Date.now() - beganAt > options.budgetMs) return;
    counts[await runAndTell(plan, arena, `chaos-${process.pid}-${index}`, tell)] += 1;
    const done = counts.passed + counts.failed + counts.unmet;
    if (done % 50 === 0) tell(`${done} plans done, ${rate(done, startedAt)}`);
  });
  const done = counts.passed + counts.failed + counts.unmet;
  const share = ((100 * done) / Math.max(1, whole.length)).toFixed(1);
  tell(`ran ${done} of ${whole.length} plans (${share} %), seed ${options.seed}, ${rate(done, startedAt)}`);
  if (counts.unmet > 0)
    tell(
      `${counts.unmet} of them never saw their request; they prove nothing and count neither as passed nor as failed`,
    );
  return { passed: counts.passed, failed: counts.failed };
}

/** By a hash of the id: which requests a recording meets changes a little from run to run. */
function isInShard(id: string, { shard, shards }: ChaosOptions): boolean {
  return createHash('sha256').update(id).digest().readUInt32BE() % shards === shard - 1;
}

function named(id: string): Plan {
  const plan = parsePlan(id);
  if (plan === undefined) throw new Error(`${id} is not a plan; --list prints all plans`);
  return plan;
}

function rate(done: number, startedAt: number): string {
  return `${((done * 60_000) / Math.max(1, Date.now() - startedAt)).toFixed(0)} plans a minute`;
}

async function allPlans(arena: Arena, options: ChaosOptions, tell: Tell): Promise<Plan[]> {
  const { only, scenarios } = options;
  const asked = RECORDABLE.filter(({ part, scenario }) => mayContain(`${part.name}/${scenario}/`, only));
  const wanted = shuffled(asked, options.seed).slice(0, scenarios);
  const recordings = await record(arena, wanted, (items, work) => sideBySide(items, options.jobs, work));
  for (const recording of recordings) tell(folding(recording));
  const requests = recordings.reduce((sum, { labels }) => sum + labels.length, 0);
  const labels = recordings.reduce((sum, recording) => sum + new Set(recording.labels).size, 0);
  const plans = enumerate(recordings).filter(({ id }) => id.includes(only));
  tell(
    `recorded ${wanted.length} of ${RECORDABLE.length} scenarios: ${requests} requests, folded to ${labels} labels, ${plans.length} plans`,
  );
  return plans;
}

/** Whether ids with this prefix can contain the text. */
function mayContain(beginning: string, text: string): boolean {
  const isBeginning = /^(crash|stale|replicas)\//.test(text);
  return !isBeginning || beginning.startsWith(text) || text.startsWith(beginning);
}

function folding({ part, scenario, labels }: Recording): string {
  return `recorded ${part.name}/${scenario}: ${labels.length} requests, ${new Set(labels).size} labels`;
}

async function runAndTell(plan: Plan, arena: Arena, name: string, tell: Tell): Promise<'passed' | 'failed' | 'unmet'> {
  for (let attempt = 1; ; attempt++) {
    const result = await plan.run(arena, `${name}-${attempt}`);
    if (result.kind === 'failed') {
      tell(`FAILED ${plan.id}\n${result.why}\n${result.dump}\nreplay: npm run test:chaos -- --plan '${plan.id}'`);
      return 'failed';
    }
    if (result.kind === 'passed') return 'passed';
    if (attempt === TRIES) {
      tell(`never met: ${plan.id}`);
      return 'unmet';
    }
  }
}

async function sideBySide<T>(
  items: readonly T[],
  jobs: number,
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) await work(item, index);
  };
  await Promise.all(Array.from({ length: jobs }, worker));
}

/** Fisher-Yates shuffle with a seeded generator: the same seed gives the same order. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = new Random(seed);
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = random.int(0, last);
    [result[last], result[other]] = [result[other] as T, result[last] as T];
  }
  return result;
}
