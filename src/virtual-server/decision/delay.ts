/** How long a deleted object keeps its server, from `spec.deletionDelay`. Pure. */
import { durationMs } from '../../base/duration.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { clockOf, expiryOf, timeOf } from './expiry.ts';
import { isToCancelNow, takerOf } from './inputs.ts';
import { endOf, type Memo } from './memo.ts';
import { cancelIsForbidden, type View } from './view.ts';

/**
 * When the operator may cancel the server of a deleted object (ms since the epoch): at the end of the delay, or at its
 * expiry, whichever comes first. Undefined without a delay.
 */
export function delayEndOf(object: VirtualServer, record: ServerRecord | undefined): number | undefined {
  const { deletionTimestamp } = object.metadata;
  const { deletionDelay, deletionPolicy } = object.spec;
  if (deletionTimestamp === undefined || deletionDelay === undefined || deletionPolicy === 'Retain') return undefined;
  if (record === undefined || isToCancelNow(object, record)) return undefined;
  const since = timeOf(deletionTimestamp);
  return since && Math.min(since + durationMs(deletionDelay), expiryOf(object, record) ?? Infinity);
}

/** The times that RFC 3339 can express (ms since the epoch). */
const [FIRST, LAST] = [Date.parse('0000-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59Z')];

/** When the operator cancels the server by its spec (ms since the epoch); undefined: never, at once, or not yet known. */
export function cancelsAtOf(object: VirtualServer, record: ServerRecord | undefined): number | undefined {
  if (cancelIsForbidden(object) !== undefined) return undefined;
  if (record?.identifier === undefined || record.expiredAt !== undefined) return undefined;
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  const at = isDeleted ? delayEndOf(object, record) : expiryOf(object, record);
  return at !== undefined && at >= FIRST && at <= LAST ? at : undefined;
}

/** True while the deleted object keeps its server. The clock is the one that decides about expiry. */
export function isDelayed(view: View, record: ServerRecord | undefined): boolean {
  return clockOf(view) < (delayEndOf(view.object, record) ?? -Infinity);
}

/** True while the deleted object keeps its server, by its delay or because it is to hand the server over. */
export function keepsServer(view: View, record: ServerRecord | undefined): boolean {
  return takerOf(view.object) !== undefined || isDelayed(view, record);
}

/**
 * True if the provider was asked to cancel the server that the deleted object holds, and may still do so. The process knows
 * from its memory, and after a restart from what an earlier process has noted in the status.
 */
export function isAskedToCancel({ status }: VirtualServer, { identifier }: ServerRecord, memo: Memo): boolean {
  const isNoted = status?.cancelRequestedAt !== undefined && status.identifier === identifier;
  return isNoted || endOf(memo, identifier) !== undefined;
}

/** ms until the delay ends; Infinity if there is none, or if it has ended. */
export function untilDelayEnd(view: View, record: ServerRecord | undefined): number {
  const left = (delayEndOf(view.object, record) ?? Infinity) - clockOf(view);
  return left > 0 ? left : Infinity;
}
