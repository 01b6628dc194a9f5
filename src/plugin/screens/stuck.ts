/** Why a server or a set makes no progress until the user acts, and what to do. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { Stuck } from './follow.ts';
import { nextSteps } from '../state/next-steps.ts';
import { inWords, paused, stalled } from '../state/readiness.ts';

/** `where`: flags such as ` -n team`. `now`: ms since the epoch. Undefined if the operator reports no such cause. */
export function stuckServer(object: VirtualServer, where: string, now: number): Stuck | undefined {
  const cause = paused(object) ?? stalled(object);
  if (cause === undefined) return undefined;
  const { name } = object.metadata;
  return { name, reason: cause.reason, message: inWords(cause), steps: nextSteps(object, where, now) };
}

/** Names the command that shows the members, which have the commands for the cause. */
export function stuckSet(set: VirtualServerSet, where: string): Stuck | undefined {
  const pause = paused(set);
  const cause = pause ?? stalled(set);
  if (cause === undefined) return undefined;
  const { name } = set.metadata;
  const resume = pause === undefined ? [] : [`kubectl vps rollout resume ${name}${where}`];
  const steps = [...resume, `kubectl vps status set/${name}${where}`];
  return { name: `set/${name}`, reason: cause.reason, message: inWords(cause), steps };
}
