/** Part 1: one operator, and one fault at one request of a scenario, after which the operator is restarted. */
import type { Arena } from './arena.ts';
import { faultsAt, isKill, strike, type CrashFault } from './faults.ts';
import { checkTunnel } from './oracles.ts';
import type { Part, Result } from './plan.ts';
import { SCENARIOS, situationAt, type Scenario } from './scenarios.ts';
import { Stage } from './stage.ts';
import type { Interceptor } from './traffic.ts';

interface Point {
  /** Label of the request; the first request with this label is hit. */
  label: string;
  fault: CrashFault;
}

const BOUND_MS = 90_000;

export const crash: Part = {
  name: 'crash',
  scenarios: Object.keys(SCENARIOS),
  faultsAt,
  situationAt,
  run(name, point) {
    const scenario = SCENARIOS[name];
    const fault = point && faultsAt(point.label).find((known) => known === point.fault);
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
  const { act: _, ...unusual } = scenario;
  const stage = await Stage.open({ arena, name, boundMs: BOUND_MS, intercept, ...unusual });
  // An operator that survived the fault is restarted too: nothing may depend on what it remembers.
  stage.tend = async () => {
    if (state !== 'struck') return;
    state = 'over';
    if (point !== undefined && !isKill(point.fault)) await stage.restart(stage.leader);
  };
  const act = async (): Promise<void> => {
    await scenario.act(stage);
    if (point !== undefined && state !== 'waiting') stage.violations.push(...checkTunnel(point, stage.traffic.labels));
  };
  return stage.play({ act }, () => point === undefined || state !== 'waiting');
}
