/** All plans: enumerated from recordings, and looked up by id. */
import type { Arena } from './arena.ts';
import { crash } from './crash.ts';
import type { Part, Run } from './plan.ts';
import { replicas } from './replicas.ts';
import { stale } from './stale.ts';

const PARTS: readonly Part[] = [crash, stale, replicas];

export interface Plan {
  /** Identifies the plan, so that it can be run again. */
  id: string;
  run: Run;
}

export interface Recording extends Recordable {
  labels: readonly string[];
}

/** Undefined if no plan has this id. */
export function parsePlan(id: string): Plan | undefined {
  const [partName, scenario = '', ...rest] = id.split('/');
  const part = PARTS.find(({ name }) => name === partName);
  const fault = rest.at(-1) ?? '';
  const label = rest.slice(0, -1).join('/');
  const known = part?.scenarios.includes(scenario) === true && part.faultsAt(label).includes(fault) && label !== '';
  const run = known ? part.run(scenario, { label, fault }) : undefined;
  return run && { id, run };
}

type SideBySide = <T>(items: readonly T[], work: (item: T, index: number) => Promise<void>) => Promise<void>;

interface Recordable {
  part: Part;
  scenario: string;
}

export const RECORDABLE: readonly Recordable[] = PARTS.flatMap((part) =>
  part.scenarios.map((scenario) => ({ part, scenario })),
);

/** Runs each of these scenarios once without a fault. Throws if one of them fails. */
export async function record(
  arena: Arena,
  wanted: readonly Recordable[],
  sideBySide: SideBySide,
): Promise<Recording[]> {
  const recordings: Recording[] = [];
  await sideBySide(wanted, async ({ part, scenario }, index) => {
    const result = await part.run(scenario)?.(arena, `record-${process.pid}-${index}`);
    if (result?.kind === 'failed')
      throw new Error(`scenario ${part.name}/${scenario} fails without a fault: ${result.why}\n${result.dump}`);
    recordings[index] = { part, scenario, labels: result?.labels ?? [] };
  });
  return recordings;
}

/** Every fault at the first request of every label, once in each situation. */
export function enumerate(recordings: readonly Recording[]): Plan[] {
  const played = new Set<string>();
  return recordings.flatMap(({ part, scenario, labels }) =>
    [...new Set(labels)].flatMap((label) => {
      const before = labels.slice(0, labels.indexOf(label));
      const situation = `${part.name} ${part.situationAt?.(scenario, label, before) ?? `${scenario} ${label}`}`;
      if (played.has(situation)) return [];
      played.add(situation);
      return part.faultsAt(label).flatMap((fault) => parsePlan(`${part.name}/${scenario}/${label}/${fault}`) ?? []);
    }),
  );
}
