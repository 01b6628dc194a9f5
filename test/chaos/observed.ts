/** Scenarios in which the operator only observes for a while; added to those in `scenarios.ts`. */
import { begin, removed, stopped } from './acts.ts';
import type { Scenario } from './scenarios.ts';
import type { Stage } from './stage.ts';

/** What acts: an order, a DELETE, and a write to the cluster that is neither a status nor an Event. */
const ACTS = /^provider:(POST-servers|DELETE-server)|^kube:(?!POST-event)(POST|PATCH|DELETE)/;

/** Stops the operator if one runs, and starts one with these flags besides its own; resolves with the number of requests before. */
async function restarted(stage: Stage, ...flags: string[]): Promise<number> {
  await stopped(stage);
  const replica = stage.leader;
  replica.further = flags;
  const { length } = stage.traffic.labels;
  replica.start();
  return length;
}

/** An operator observes `web` until it has reported, and another one acts. */
async function observed(stage: Stage, act: () => Promise<unknown>): Promise<void> {
  const from = await restarted(stage, '--observe-only');
  await act();
  await stage.reaches('web', 'ObserveOnly');
  const to = await restarted(stage);
  const acts = stage.traffic.labels.slice(from, to).filter((label) => ACTS.test(label));
  for (const label of acts) stage.violations.push(`the operator only observes, and sent ${label}`);
}

export const OBSERVED: Readonly<Record<string, Scenario>> = {
  'observed-order': {
    async act(stage) {
      await stage.people.putSecret();
      await observed(stage, () => stage.people.apply('web'));
      await stage.rests('web');
      await removed(stage, 'web');
    },
  },
  'observed-deletion': {
    async act(stage) {
      await begin(stage);
      await stage.people.apply('web');
      await stage.rests('web');
      await observed(stage, () => stage.people.remove('web'));
      await stage.gone('web');
    },
  },
};
