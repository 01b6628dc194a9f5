/** When a server expires, from `spec.expiresAt` or `spec.ttl`. Pure. */
import { UNITS_MS, durationMs, timestamp } from '../../base/duration.ts';
import type { ServerRecord, Held } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Finding } from '../../controller/conditions.ts';
import { isPaused } from '../../api/server-state.ts';
import { readySince } from './format-1.ts';
import { cancelIsForbidden, type View } from './view.ts';

/** How long before its expiry the object announces it (ms). */
const NOTICE_MS = 24 * UNITS_MS.h;

/** ms since the epoch; undefined: never, or not yet known because the server was never ready. */
export function expiryOf({ spec }: Pick<VirtualServer, 'spec'>, record: ServerRecord | undefined): number | undefined {
  if (spec.expiresAt !== undefined) return timeOf(spec.expiresAt);
  if (spec.ttl === undefined || record?.readyAt === undefined) return undefined;
  const readyAt = timeOf(record.readyAt);
  return readyAt === undefined ? undefined : readyAt + durationMs(spec.ttl);
}

const TIME = /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/;

/**
 * ms since the epoch, for every time that the API server accepts: Go's RFC 3339 allows a comma and offsets of 24 hours,
 * and `Date.parse` does not. Undefined for anything else: a time that cannot be parsed must not cancel a server.
 */
export function timeOf(text: string): number | undefined {
  const [, local = '', fraction = '0', sign, hours = '0', minutes = '0'] = TIME.exec(text) ?? [];
  const offset = (Number(hours) * UNITS_MS.h + Number(minutes) * UNITS_MS.m) * (sign === '-' ? -1 : 1);
  const whole = Date.parse(`${local}Z`);
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(whole) || timestamp(whole) !== `${local}Z`) return undefined;
  return whole + Math.floor(Number(`0.${fraction}`) * UNITS_MS.s) - offset;
}

/**
 * The time that decides about expiry (ms): the earlier of this machine's clock and the API server's, so that one clock
 * that jumps ahead cancels nothing.
 */
export function clockOf({ now, apiServerNow }: Pick<View, 'now' | 'apiServerNow'>): number {
  return Math.min(now, apiServerNow ?? now);
}

/** True if the server has expired and nothing forbids cancelling it. */
export function isToExpire(view: View, record: ServerRecord): boolean {
  const at = expiryOf(view.object, record);
  return at !== undefined && clockOf(view) >= at && cancelIsForbidden(view.object) === undefined;
}

/** ms until the expiry; Infinity if there is none, or if it has passed: after that, time no longer decides. */
export function untilExpiry(view: View, record: ServerRecord | undefined): number {
  const left = (expiryOf(view.object, record) ?? Infinity) - clockOf(view);
  return left > 0 ? left : Infinity;
}

/**
 * Adds `readyAt`, from which `ttl` counts: when the server was first seen ready. Takes the later of both clocks, and never a time before the API server created the object: a clock that was
 * behind must not shorten the life of a server.
 */
export function withReadyAt(
  { object, now, apiServerNow }: Pick<View, 'object' | 'now' | 'apiServerNow'>,
  record: Held,
): Held {
  const { metadata } = object;
  if (record.readyAt !== undefined) return record;
  const ready = readySince(record, object);
  const since = ready === undefined ? undefined : timeOf(ready);
  const made = timeOf(metadata.creationTimestamp) ?? -Infinity;
  return { ...record, readyAt: timestamp(Math.max(since ?? Math.max(now, apiServerNow ?? now), made)) };
}

/** The condition Expiring; undefined if the expiry is not near. `now` in ms since the epoch. */
export function expiring(object: VirtualServer, record: ServerRecord | undefined, now: number): Finding | undefined {
  const at = expiryOf(object, record);
  if (at === undefined || record?.identifier === undefined || record.expiredAt !== undefined) return undefined;
  if (at - now > NOTICE_MS || object.metadata.deletionTimestamp !== undefined) return undefined;
  const forbidden = cancelIsForbidden(object);
  if (forbidden !== undefined) {
    const message = `Server ${record.identifier} expires at ${timestamp(at)}, but the operator does not cancel it, because ${forbidden}`;
    return { reason: 'ExpiryBlocked', message };
  }
  const unlessPaused = isPaused(object) ? ', once the object is no longer paused' : '';
  const message =
    at > now
      ? `The operator cancels server ${record.identifier} at ${timestamp(at)}${unlessPaused}`
      : `Server ${record.identifier} expired at ${timestamp(at)}, and the operator is about to cancel it${unlessPaused}`;
  return { reason: 'ExpiresSoon', message };
}
