/**
 * In observe-only mode: whether the operator may report, and what it would do. It takes no Lease. While
 * another operator renews the Lease, that one writes status and Events, and two writers of one status would fight.
 */
import { KubeError } from '../kube/error.ts';
import type { Client } from '../kube/client.ts';
import type { Lease } from '../kube/kinds.ts';
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';

export interface ObserverOptions {
  leases: Pick<Client<Lease>, 'get'>;
  lease: { namespace: string; name: string };
  /** How long after its last renewal another operator may still be working (ms). */
  leaseDurationMs: number;
  timers: Timers;
  log: Logger;
}

/** What an operator would do with an object if it did not only observe. */
export const WITHHELD = [
  'order',
  'adopt',
  'power',
  'change',
  'cancel',
  'expire',
  'release',
  'create',
  'update',
  'delete',
] as const;
export type Withheld = (typeof WITHHELD)[number];

/** As often as a standby reads the Lease. */
const READS = 2 / 15;

export class Observer {
  readonly #options: ObserverOptions;
  /** By kind and key of the object. */
  readonly #withheld = new Map<string, ReadonlySet<Withheld>>();
  /** The version of the Lease that was read last, and when it was first read, on the monotonic clock (ms). */
  #seen: { version: string; at: number } | undefined;
  #reports = false;
  /** Why the Lease could not be read last; each reason is logged once. */
  #problem: string | undefined;
  #ended = false;

  constructor(options: ObserverOptions) {
    this.#options = options;
  }

  /** False while another operator works, or may: then nothing is written. */
  get reports(): boolean {
    return this.#reports && !this.#ended;
  }

  /** Resolves when the Lease was read once. `onFree` is called each time that no other operator works from now on. */
  async start(onFree: () => void): Promise<void> {
    await this.#look();
    void this.#keepLooking(onFree);
  }

  stop(): void {
    this.#ended = true;
  }

  /** Remembers what the operator would do with the object, and logs it when it changes. */
  withholds(kind: string, key: string, ...actions: Withheld[]): void {
    const name = `${kind} ${key}`;
    const before = this.#withheld.get(name) ?? new Set<Withheld>();
    if (actions.length === 0) this.#withheld.delete(name);
    else this.#withheld.set(name, new Set(actions));
    if (actions.some((action) => !before.has(action)))
      this.#options.log.info({ kind, object: key, actions: [...new Set(actions)] }, 'action withheld: --observe-only');
  }

  /** The number of objects by what the operator would do with them. */
  withheld(): Record<Withheld, number> {
    const all = [...this.#withheld.values()];
    const counts = WITHHELD.map((action) => [action, all.filter((actions) => actions.has(action)).length]);
    return Object.fromEntries(counts) as Record<Withheld, number>;
  }

  async #keepLooking(onFree: () => void): Promise<void> {
    while (!this.#ended) {
      await this.#pause();
      const before = this.#reports;
      await this.#look();
      if (this.#reports === before) continue;
      const what = this.#reports ? 'no other operator works: reports' : 'another operator works: reports nothing';
      this.#options.log.info({}, what);
      if (this.#reports) onFree();
    }
  }

  /** If the Lease cannot be read, another operator may work. */
  async #look(): Promise<void> {
    if (this.#ended) return;
    const { leases, lease, log } = this.#options;
    try {
      const current = await leases.get(lease.namespace, lease.name);
      this.#problem = undefined;
      this.#reports = !this.#isHeld(current);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      this.#reports = false;
      if (error.message !== this.#problem) log.warn({ err: error }, 'failed to read the lease: reports nothing');
      this.#problem = error.message;
    }
  }

  /**
   * No clock is compared with another machine's: a Lease is held until no renewal was seen for its duration. A holder that
   * has released it may be about to be replaced, as in a rollout.
   */
  #isHeld(current: Lease | undefined): boolean {
    const { timers, leaseDurationMs } = this.#options;
    if (current === undefined) return false;
    const version = current.metadata.resourceVersion;
    const now = timers.monotonic();
    if (this.#seen?.version !== version) this.#seen = { version, at: now };
    const durationMs = Math.max((current.spec?.leaseDurationSeconds ?? 0) * 1000, leaseDurationMs);
    return now - this.#seen.at < durationMs;
  }

  #pause(): Promise<void> {
    const { timers, leaseDurationMs } = this.#options;
    return new Promise((resolve) => void timers.set(resolve, leaseDurationMs * READS * (0.8 + 0.4 * timers.random())));
  }
}
