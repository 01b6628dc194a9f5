/** Where calls to the provider wait: for `--provider-qps`, then for a connection. One per process. */
import type { Timers } from '../base/timers.ts';
import { Bucket } from './bucket.ts';
import { Slots } from './slots.ts';

/** Connections for all calls except orders and logins; one tenant or account never gets more than its share. */
const CALLS = { total: 64, share: 8 };
const LOGINS = { total: 16, share: 2 };
/** How long an order takes from the start of its connection to the request, as a rule (s). */
const CLAIM_S = 0.2;

export interface Line {
  bucket: Bucket;
  calls: Slots;
  logins: Slots;
  /**
   * Orders that may be claimed and not sent yet: about as many as `qps` sends in the time that this takes. If the process
   * freezes, or dies with its journal, each of them needs you, although it was never sent. Half of them are for others,
   * because an admission webhook can slow the claims of one namespace down.
   */
  claims: Slots;
  close: (error: Error) => void;
}

/** `qps`: requests per second, logins included; `Infinity` means no limit. */
export function createLine(qps: number, timers: Timers): Line {
  const bucket = new Bucket({ qps, timers });
  const [calls, logins] = [new Slots(CALLS), new Slots(LOGINS)];
  const total = Math.max(2, Math.ceil(qps * CLAIM_S));
  const claims = new Slots({ total, share: Math.floor(total / 2) });
  const close = (error: Error): void => {
    for (const part of [bucket, calls, logins, claims]) part.close(error);
  };
  return { bucket, calls, logins, claims, close };
}

/** How many connections for calls there are; calls wait for one in `Line.calls`. */
export const CALL_CONNECTIONS = CALLS.total;
/** How many of them one tenant, or one account, may use at the same time. */
export const CALLS_SHARE = CALLS.share;
