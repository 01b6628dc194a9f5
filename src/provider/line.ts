/** Where calls to the provider wait: for `--provider-qps`, then for a connection. One per process. */
import { FairLine, type Waiting } from '../base/fair-line.ts';
import type { Timers } from '../base/timers.ts';
import { Bucket } from './bucket.ts';

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

interface SlotsOptions {
  /** Calls in all. */
  total: number;
  /** Calls of one tenant, and calls of one account. */
  share: number;
}

/** Who makes a call. */
export interface CallOwner {
  tenant: string;
  account: string;
}

interface Waiter {
  names: readonly string[];
  resolve: (release: () => void) => void;
  reject: (error: Error) => void;
}

/**
 * Limits how many calls run at the same time, so that calls which never end cannot hold up those of others: in all, per
 * tenant (a namespace), and per account. Waiting calls take turns by tenant and account.
 */
class Slots {
  readonly #share: number;
  readonly #waiting = new FairLine<Waiter>();
  /** Slots in use, by tenant and by account. */
  readonly #held = new Map<string, number>();
  #free: number;
  #closed: Error | undefined;

  constructor({ total, share }: SlotsOptions) {
    this.#free = total;
    this.#share = share;
  }

  /**
   * Resolves with the function that returns the slot, which may be called more than once. Rejects only with the error
   * given to `close`.
   */
  take({ tenant, account }: CallOwner): Promise<() => void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const names = [`tenant ${tenant}`, `account ${account}`];
    return new Promise((resolve, reject) => {
      this.#waiting.join(names.join('\n'), { names, resolve, reject });
      this.#serve();
    });
  }

  /** Rejects all waiting and all future callers. */
  close(error: Error): void {
    this.#closed = error;
    for (let next = this.#waiting.take(); next !== undefined; next = this.#waiting.take()) next.item.reject(error);
  }

  #serve(): void {
    const mayGo = ({ item }: Waiting<Waiter>): boolean =>
      item.names.every((name) => (this.#held.get(name) ?? 0) < this.#share);
    while (this.#free > 0) {
      const waiter = this.#waiting.take(mayGo)?.item;
      if (waiter === undefined) return;
      this.#count(waiter.names, 1);
      let isHeld = true;
      waiter.resolve(() => {
        if (!isHeld) return;
        isHeld = false;
        this.#count(waiter.names, -1);
        this.#serve();
      });
    }
  }

  #count(names: readonly string[], by: 1 | -1): void {
    this.#free -= by;
    for (const name of names) {
      const held = (this.#held.get(name) ?? 0) + by;
      if (held === 0) this.#held.delete(name);
      else this.#held.set(name, held);
    }
  }
}
