/**
 * After a start, spreads the reads of Ready servers over one resync interval. Each server keeps its place in the
 * interval, so that many restarts cause as few reads as one.
 */
import { createHash } from 'node:crypto';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { inputsOf } from '../decision/inputs.ts';
import { NEW_MEMO } from '../decision/memo.ts';
import type { Objects } from './objects.ts';

/** `now` in ms since the epoch; `intervalOf`: the resync interval of a namespace (ms). */
export function spread(
  listed: readonly VirtualServer[],
  objects: Pick<Objects, 'remember'>,
  now: number,
  intervalOf: (namespace: string) => number,
): void {
  for (const object of listed) {
    const { metadata, status } = object;
    if (status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') !== true)
      continue;
    // Edited while no operator was running: act on the edit without delay.
    if (status.observedGeneration !== metadata.generation) continue;
    const at = nextTurn(metadata.uid, now, intervalOf(metadata.namespace));
    objects.remember(metadata.uid, {
      ...NEW_MEMO,
      plan: { operation: 'look', from: now, at, inputs: inputsOf(object) },
    });
  }
}

/** The next time at which this object's part of the interval has passed; a function of the clock, not of the start. */
function nextTurn(uid: string, now: number, interval: number): number {
  const part = createHash('sha256').update(uid).digest().readUInt32BE() / 2 ** 32;
  const since = (now - part * interval) % interval;
  return now + interval - since;
}
