/** When a server ends, as the operator will count after a change. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { expiryOf, withReadyAt } from '../../virtual-server/decision/expiry.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { serverReadiness } from './readiness.ts';

/** Follows the time of an end. `keeps`: why the operator does not cancel the server then; undefined: it does. */
export const unless = (keeps: string | undefined): string => (keeps === undefined ? '' : `, but not while ${keeps}`);

/** ms since the epoch; undefined: never, or not known before the server is ready. */
export function endTimeOf(object: VirtualServer, now: number): number | undefined {
  const record = knownRecord(object);
  const wasReady = record?.readyAt !== undefined || serverReadiness(object).status === 'True';
  return expiryOf(
    object,
    record?.identifier !== undefined && wasReady ? withReadyAt({ object, now }, record) : undefined,
  );
}
