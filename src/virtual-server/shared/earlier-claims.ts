/** The orders that an earlier process has claimed, and that this one finds when it starts. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { knownRecord } from '../decision/known-record.ts';
import { withEvidence } from '../decision/memo.ts';
import { wasRead } from '../decision/server-status.ts';
import { claimSince, hasClaim } from '../decision/view.ts';
import type { Objects } from './objects.ts';

/**
 * Notes since when the earlier process can have sent nothing more, which is before the first visit: so even processes that never live long
 * come to repeat an order. `since`: no process has led since then, on the monotonic clock (ms).
 */
export function recallClaims(
  listed: readonly VirtualServer[],
  objects: Pick<Objects, 'memo' | 'remember'>,
  since: number,
): void {
  for (const object of listed) {
    const record = knownRecord(object);
    if (record === undefined || !hasClaim(record) || wasRead(object, record)) continue;
    const { uid } = object.metadata;
    objects.remember(uid, withEvidence(objects.memo(uid), { claim: claimSince(record, since) }));
  }
}
