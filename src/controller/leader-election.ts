/**
 * Leader election over a Lease, with client-go's semantics: a holder may be replaced once this process has seen no
 * renewal for the lease duration, on its monotonic clock: no clock is compared with another machine's, and setting the time
 * takes no lease. A holder that cannot renew gives up before another process may take over.
 */
import { KubeError } from '../kube/error.ts';
import type { Client } from '../kube/client.ts';
import { microTime, type Lease } from '../kube/kinds.ts';
import type { Logger } from '../base/logger.ts';
import { elapsedMs, momentOf, type Moment, type Timers } from '../base/timers.ts';

export interface LeaderElectionOptions {
  leases: Pick<Client<Lease>, 'get' | 'create' | 'replace'>;
  lease: { namespace: string; name: string };
  /** Unique among all processes. */
  identity: string;
  /** Annotations of the Lease while this process holds it; the Lease keeps no others. */
  annotations?: Record<string, string>;
  /** How long after its last renewal a holder may be replaced (ms). */
  leaseDurationMs: number;
  timers: Timers;
  log: Logger;
  /** Called once, when leadership is lost; the process must exit. */
  onLost: () => void;
}

/** Fractions of the lease duration, in the proportions of client-go's 15 s, 10 s and 2 s. */
const RENEW_DEADLINE = 2 / 3;
const RETRY = 2 / 15;

export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  #lease: Lease | undefined;
  /** When this process first saw the lease in `#lease`, on the monotonic clock (ms). */
  #observedAt = -Infinity;
  /** When the request of the last successful renewal was started. */
  #renewedAt: Moment | undefined;
  /** When the API server last answered a lease request. */
  #answeredAt: Moment | undefined;
  #leads = false;
  #ended = false;
  /** The lease of another process has expired before this one took it. */
  #hasExpired = false;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  /** Resolves when this process leads, and keeps renewing the lease from then on. Never resolves after `end`. */
  async acquire(): Promise<void> {
    // A request may take so long that the lease has nearly expired; renew again before relying on it.
    while (!this.#ended && !((await this.#try()) && this.#isFresh())) await this.#pause();
    if (this.#ended) return new Promise(() => undefined);
    this.#leads = true;
    this.#options.log.info({ identity: this.#options.identity }, 'became the leader');
    void this.#keep();
  }

  /** True while no other process can have taken over. Check it right before any action reserved for the leader. */
  held(): boolean {
    return this.#leads && this.#isFresh();
  }

  /** Time since the API server last answered a lease request (ms); Infinity before the first answer. */
  get answerAgeMs(): number {
    return this.#age(this.#answeredAt);
  }

  /**
   * For how long no process has led when this one began to (ms). 0 if it has not seen the lease expire: someone may have deleted the
   * Lease, or emptied it, while its holder still believed that it led.
   */
  get vacantMs(): number {
    return this.#hasExpired ? this.#options.leaseDurationMs : 0;
  }

  /** Stops and releases the lease, so another process need not wait for it to expire. */
  async end(): Promise<void> {
    this.#ended = true;
    const { leases, log } = this.#options;
    const lease = this.#lease;
    if (!this.held() || lease === undefined) return;
    this.#leads = false;
    await leases
      .replace({ ...lease, spec: { ...lease.spec, holderIdentity: '', renewTime: this.#timestamp() } })
      .catch((error: unknown) => log.warn({ err: error }, 'failed to release the lease'));
  }

  get #holder(): string | undefined {
    return this.#lease?.spec?.holderIdentity;
  }

  get #renewDeadlineMs(): number {
    return this.#options.leaseDurationMs * RENEW_DEADLINE;
  }

  async #keep(): Promise<void> {
    while (this.#isLeading()) {
      await this.#pause();
      if (!this.#isLeading()) break;
      await this.#try();
    }
    if (this.#ended) return;
    this.#leads = false;
    this.#options.log.error({ identity: this.#options.identity, holder: this.#holder }, 'leadership lost');
    this.#options.onLost();
  }

  #isFresh(): boolean {
    return this.#age(this.#renewedAt) < this.#renewDeadlineMs;
  }

  #isLeading(): boolean {
    return !this.#ended && this.held() && this.#holder === this.#options.identity;
  }

  /** Tries once to take or renew the lease; true if this process now holds it. */
  async #try(): Promise<boolean> {
    const { leases, lease, identity, annotations = {}, log } = this.#options;
    try {
      const current = this.#leads ? this.#lease : await this.#read();
      if (!this.#leads) this.#answeredAt = this.#moment();
      const begun = this.#moment();
      if (current === undefined) {
        this.#observe(await leases.create({ metadata: { ...lease, annotations }, spec: this.#mine(undefined) }));
        this.#hasExpired = false;
      } else {
        const { metadata, spec } = current;
        if (metadata.resourceVersion !== this.#lease?.metadata.resourceVersion) this.#observe(current);
        const { holderIdentity: holder = '' } = spec ?? {};
        const isOther = holder !== identity && holder !== '';
        if (isOther && !this.#isExpired(current)) return false;
        this.#observe(await leases.replace({ metadata: { ...metadata, annotations }, spec: this.#mine(spec) }));
        if (holder !== identity) this.#hasExpired = isOther;
      }
      this.#renewedAt = begun;
      this.#answeredAt = this.#moment();
      return true;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      log.debug({ err: error }, 'failed to write the lease');
      if (error.code === 'Conflict') await this.#look();
      return false;
    }
  }

  /** After a conflict: reads the lease to see the current holder. */
  async #look(): Promise<void> {
    const seen = await this.#read().catch(() => undefined);
    if (seen !== undefined) this.#observe(seen);
  }

  #read(): Promise<Lease | undefined> {
    const { leases, lease } = this.#options;
    return leases.get(lease.namespace, lease.name);
  }

  #observe(lease: Lease): void {
    this.#lease = lease;
    this.#observedAt = this.#options.timers.monotonic();
  }

  #isExpired({ spec }: Lease): boolean {
    const duration = Math.max((spec?.leaseDurationSeconds ?? 0) * 1000, this.#options.leaseDurationMs);
    return this.#options.timers.monotonic() - this.#observedAt >= duration;
  }

  #mine(current: Lease['spec']): NonNullable<Lease['spec']> {
    const { identity, leaseDurationMs } = this.#options;
    const now = this.#timestamp();
    const isNew = current?.holderIdentity !== identity;
    return {
      holderIdentity: identity,
      renewTime: now,
      acquireTime: isNew ? now : (current.acquireTime ?? now),
      leaseDurationSeconds: Math.max(1, Math.ceil(leaseDurationMs / 1000)),
      leaseTransitions: (current?.leaseTransitions ?? 0) + (isNew && current !== undefined ? 1 : 0),
    };
  }

  #moment(): Moment {
    return momentOf(this.#options.timers);
  }

  #age(since: Moment | undefined): number {
    return since === undefined ? Infinity : elapsedMs(this.#options.timers, since);
  }

  #timestamp(): string {
    return microTime(this.#options.timers.now());
  }

  #pause(): Promise<void> {
    const { timers, leaseDurationMs } = this.#options;
    return new Promise((resolve) => void timers.set(resolve, leaseDurationMs * RETRY * (0.8 + 0.4 * timers.random())));
  }
}
