/** The first part: one fault at one request of a scenario, with one operator, which is then started again. */
import type { Arena } from './arena.ts';
import { CRASH_FAULTS, isKill, strike, type CrashFault } from './faults.ts';
import type { Part, Result } from './plan.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import { Stage } from './stage.ts';
import type { Interceptor } from './traffic.ts';

interface Point {
  /** Of the request: the first of this label. */
  label: string;
  fault: CrashFault;
}

const BOUND_MS = 90_000;

export const crash: Part = {
  name: 'crash',
  scenarios: Object.keys(SCENARIOS),
  faults: CRASH_FAULTS,
  run(name, point) {
    const scenario = SCENARIOS[name];
    const fault = CRASH_FAULTS.find((known) => known === point?.fault);
    if (scenario === undefined || (point !== undefined && fault === undefined)) return undefined;
    return (arena, stage) => run(scenario, point && fault && { label: point.label, fault }, arena, stage);
  },
};

async function run(scenario: Scenario, point: Point | undefined, arena: Arena, name: string): Promise<Result> {
  let state: 'waiting' | 'striking' | 'struck' | 'over' = 'waiting';
  const intercept: Interceptor = async (label, exchange, sender) => {
    if (state !== 'waiting' || point?.label !== label) return false;
    state = 'striking';
    await strike(point.fault, exchange, async ({ journal }) => {
      await sender.kill();
      if (!journal) await sender.loseJournal();
      sender.start();
    }).finally(() => (state = 'struck'));
    return true;
  };
  const { provider, flags } = scenario;
  const unusual = { ...(provider && { provider }), ...(flags && { flags }) };
  const stage = await Stage.open({ arena, name, boundMs: BOUND_MS, intercept, ...unusual });
  // A process that lived through the fault is started anew as well: what it knows of it must not be lost with it.
  stage.tend = async () => {
    if (state !== 'struck') return;
    state = 'over';
    if (point !== undefined && !isKill(point.fault)) await stage.restart(stage.leader);
  };
  return stage.play(scenario, () => point === undefined || state !== 'waiting');
}
