/** How late reads of tasks and servers are. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isPaused } from '../decision/inputs.ts';
import { isLetGo } from '../decision/running.ts';
import type { Memo } from '../decision/memo.ts';

/** How late the most overdue read of a task or a server is (ms); 0 if none is late. `now` is in ms since the epoch. */
export function pollLagMs(objects: readonly VirtualServer[], memo: (uid: string) => Memo, now: number): number {
  let lag = 0;
  for (const object of objects) {
    const { plan } = memo(object.metadata.uid);
    if (plan?.operation !== 'follow' && plan?.operation !== 'look') continue;
    if (now - plan.at > lag && !isPaused(object) && !isLetGo(object)) lag = now - plan.at;
  }
  return lag;
}
