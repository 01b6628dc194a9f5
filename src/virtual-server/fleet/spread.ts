/** After a start, spreads the reads of Ready servers over one resync interval. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { inputsOf } from '../decision/inputs.ts';
import type { Objects } from './objects.ts';
import type { Timers } from '../../base/timers.ts';

export function spread(listed: readonly VirtualServer[], objects: Objects, timers: Timers, intervalMs: number): void {
  for (const object of listed) {
    const { metadata, status } = object;
    if (status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') !== true)
      continue;
    // Edited while no operator was running: act on the edit without delay.
    if (status.observedGeneration !== metadata.generation) continue;
    const from = timers.now();
    const at = from + timers.random() * intervalMs;
    objects.remember(metadata.uid, {
      failures: 0,
      next: { action: 'readServer', from, at, inputs: inputsOf(object) },
    });
  }
}
