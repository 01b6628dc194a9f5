/** How late reads of tasks and servers are. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isLetGo, isPaused } from '../../api/server-state.ts';
import type { Memo } from '../decision/types.ts';

/** How late the most overdue read of a task or a server is (ms); 0 if none is late. `now` is in ms since the epoch. */
export function pollLagMs(objects: readonly VirtualServer[], memo: (uid: string) => Memo, now: number): number {
  let lag = 0;
  for (const object of objects) {
    const { next } = memo(object.metadata.uid);
    if (next?.action !== 'pollTask' && next?.action !== 'readServer') continue;
    if (now - next.at > lag && !isPaused(object) && !isLetGo(object)) lag = now - next.at;
  }
  return lag;
}
