/** Ready servers are read again within one resync interval, not all at once after a start. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { inputsOf } from '../decision/inputs.ts';
import type { Objects } from './objects.ts';
import type { Timers } from './timers.ts';

export function spread(listed: readonly VirtualServer[], objects: Objects, timers: Timers, intervalMs: number): void {
  for (const object of listed) {
    if (object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') !== true) continue;
    const at = timers.now() + timers.random() * intervalMs;
    objects.remember(object.metadata.uid, {
      failures: 0,
      next: { action: 'readServer', at, inputs: inputsOf(object) },
    });
  }
}
