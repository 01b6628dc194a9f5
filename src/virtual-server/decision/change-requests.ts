/**
 * Requests that change a server in place and may still have an effect: the provider has accepted them, or has not answered, and reads do
 * not show what they send. The record notes them apart from the change that the operator makes now, which may be another one. While there
 * are any, the server counts with the dearest of them, and spec does not go back to what the server shows. Pure.
 */
import { requestsIn, withRequests, type Cost } from '../../api/change-requests.ts';
import type { Held } from '../../api/record.ts';
import { timestamp } from '../../base/duration.ts';
import { without } from '../../base/without.ts';
import type { Server } from '../../provider/types.ts';
import { isShown, resizeIn, resizes } from './change-fields.ts';
import type { SeenRequests } from './memo.ts';
import type { View } from './view.ts';

/** For so long after the last of them, they may have an effect (ms). */
export const REQUESTS_MS = 30 * 60_000;
/** Why a change is not sent again that the provider has accepted, and that reads have not shown for that time. */
export const INEFFECTIVE = 'the provider accepted the change, but does not show it';

/** The record with one more request. */
export const withRequest = (record: Held, change: string, cost: Cost, now: number): Held =>
  withRequests(record, { identifier: record.identifier, at: timestamp(now), change, ...cost });

/** The record once a request was sent that may have an effect. */
export function lastSentAt(record: Held, now: number): Held {
  const requests = requestsIn(record);
  return requests === undefined ? record : { ...record, changeRequests: { ...requests, at: timestamp(now) } };
}

/** True if the record tells no more of requests than before, besides when the last one was sent. */
export function isNoted({ changeRequests: noted }: Held, before: Held): boolean {
  const known = requestsIn(before);
  if (noted === undefined || known === undefined) return false;
  return noted.change === known.change && noted.price === known.price && noted.isUnpriced === known.isUnpriced;
}

/** What this process knows of the requests in the record; undefined: it has none. */
export function seenRequests(at: View, record: Held): SeenRequests | undefined {
  const requests = requestsIn(record);
  if (requests === undefined) return undefined;
  const text = JSON.stringify(requests);
  const known = at.memo.evidence.change?.requests;
  return known?.text === text ? known : { text, since: at.monotonic };
}

/** The record after a read of its server: without the requests, if reads show what they send, or none can still have an effect. */
export function settled(at: View, record: Held, server: Server): Held {
  const [requests, seen] = [requestsIn(record), seenRequests(at, record)];
  if (requests === undefined || seen === undefined) return record;
  // What it costs then is not shown before the restart.
  const mayWait = requests.change === undefined || resizes(requests.change);
  if (mayWait && resizeIn(server) !== undefined) return record;
  const isMade = requests.change !== undefined && isShown(requests.change, server);
  const isOver = at.monotonic - seen.since > REQUESTS_MS;
  return isMade || isOver ? without(record, 'changeRequests') : record;
}
