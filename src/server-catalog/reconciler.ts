/** Reads the provider's lists periodically, and writes them into the status of a ServerCatalog if they changed. */
import type { ServerCatalog, ServerCatalogStatus, ServerList } from '../api/server-catalog.ts';
import { CATALOG_KIND } from '../api/names.ts';
import { readCatalog, type Accounts } from '../accounts/accounts.ts';
import { backoffMs, keyPauseMs } from '../accounts/decision/failure.ts';
import type { ServerClaims } from '../api/server-state.ts';
import { currentReason, hasTrait } from '../api/conditions.ts';
import { transitions } from '../controller/conditions.ts';
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';
import type { Reconciler } from '../controller/controller.ts';
import type { Observer } from '../controller/observer.ts';
import type { EventRecorder } from '../controller/event-recorder.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import { keyOf } from '../kube/resource.ts';
import type { Client } from '../kube/client.ts';
import type { Informer } from '../controller/informer.ts';
import { ProviderError } from '../provider/error.ts';
import type { Session } from '../provider/types.ts';
import type { ServersRead } from './decision/listed-servers.ts';
import { catalogStatus, isRequested, refreshMs, type Reading } from './decision/catalog-status.ts';
import { ok } from '../base/result.ts';

/** A provider that hangs for one key must not hold up the catalogs of the others. */
export const CATALOG_WORKERS = 4;

export interface CatalogReconcilerOptions {
  informer: Pick<Informer<ServerCatalog>, 'list'>;
  client: Pick<Client<ServerCatalog>, 'writeStatus'>;
  /** Called with every version that a write returned. */
  wrote: (catalog: ServerCatalog) => void;
  accounts: Accounts;
  /** Which servers the VirtualServers hold, in the newest versions that the operator knows. */
  claims: () => readonly ServerClaims[];
  recorder: EventRecorder;
  timers: Timers;
  /** Given if the operator only observes. */
  observer?: Observer | undefined;
  log: Logger;
  /** Once it fires, nothing is written anymore. */
  stopping: AbortSignal;
}

/** The plan for a catalog that has not changed since. */
interface NextRead {
  generation: number;
  /** When to read the lists again, on the monotonic clock (ms). */
  at: number;
  /** Consecutive reads that failed. */
  failures: number;
}

/** How old lists may be that another catalog, or the check of a VirtualServer, has just read with the same key (ms). */
const SHARED_AGE_MS = 60_000;
/** After you fix a key, the catalog should not have to wait for the longest pause (ms). */
const LONGEST_KEY_PAUSE_MS = 60_000;

export class CatalogReconciler implements Reconciler<ServerCatalog> {
  readonly #options: CatalogReconcilerOptions;
  /** By uid. */
  readonly #plans = new Map<string, NextRead>();
  /** Uids of catalogs to read again before their time. */
  readonly #woken = new Set<string>();
  /** Uids of catalogs whose lists are being read. */
  readonly #reading = new Set<string>();

  constructor(options: CatalogReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(_key: string, catalog: ServerCatalog | undefined): Promise<{ requeueAfterMs?: number }> {
    if (catalog === undefined) this.#forgetGone();
    if (catalog === undefined || catalog.metadata.deletionTimestamp !== undefined) return {};
    const { uid, generation } = catalog.metadata;
    const { timers, observer } = this.#options;
    // Another operator reads the lists and writes them.
    if (observer?.reports === false) return {};
    const plan = this.#plans.get(uid) ?? this.#firstPlan(catalog);
    const left = plan.at - timers.monotonic();
    if (plan.generation === generation && !isRequested(catalog) && left > 0 && !this.#woken.has(uid)) {
      this.#plans.set(uid, plan);
      return { requeueAfterMs: left };
    }
    const requeueAfterMs = await this.#refresh(catalog, plan.failures);
    return { requeueAfterMs };
  }

  /** After a new key was read from this Secret: the keys of the catalogs that use it, so that all are read now. */
  wake(namespace: string, secret: string): string[] {
    return this.#wakeAll(this.#catalogsOf(namespace, secret));
  }

  /** The same after the orders of the key go another way, except for catalogs whose read is about to show it. */
  wakeForOrders(namespace: string, secret: string): string[] {
    const catalogs = this.#catalogsOf(namespace, secret);
    return this.#wakeAll(catalogs.filter(({ metadata }) => !this.#reading.has(metadata.uid)));
  }

  #wakeAll(catalogs: ServerCatalog[]): string[] {
    for (const { metadata } of catalogs) this.#woken.add(metadata.uid);
    return catalogs.map(keyOf);
  }

  #catalogsOf(namespace: string, secret: string): ServerCatalog[] {
    return this.#options.informer
      .list()
      .filter(({ metadata, spec }) => metadata.namespace === namespace && spec.apiKeySecretRef.name === secret);
  }

  /** After a start, healthy catalogs are read spread over one interval, not all at once. */
  #firstPlan(catalog: ServerCatalog): NextRead {
    const { metadata, status } = catalog;
    const { timers } = this.#options;
    // A catalog whose last read failed may still be Ready.
    const isInOrder = currentReason(status?.conditions) === 'Available';
    const isCurrent = isInOrder && status?.observedGeneration === metadata.generation;
    const at = isCurrent ? timers.monotonic() + timers.random() * refreshMs(catalog) : -Infinity;
    return { generation: metadata.generation, at, failures: 0 };
  }

  #forgetGone(): void {
    const present = new Set(this.#options.informer.list().map(({ metadata }) => metadata.uid));
    for (const known of [this.#plans, this.#woken])
      for (const uid of known.keys()) if (!present.has(uid)) known.delete(uid);
  }

  /** Reads the lists and writes them to status; resolves with the pause until the next read (ms). */
  async #refresh(catalog: ServerCatalog, failuresBefore: number): Promise<number> {
    const { log, timers, stopping } = this.#options;
    const { uid, generation } = catalog.metadata;
    // Do this before asking for the key: if the key changes during the read, the lists are read again.
    this.#woken.delete(uid);
    // After a failure, only a fresh answer proves that the failure has ended.
    const isFreshNeeded = isRequested(catalog) || failuresBefore > 0;
    this.#reading.add(uid);
    const lists = await this.#read(catalog, isFreshNeeded ? 0 : SHARED_AGE_MS).finally(() => this.#reading.delete(uid));
    if (stopping.aborted) return 0;
    const status = catalogStatus(catalog, lists, timers.now());
    const isChanged = !isDeepEqual(catalog.status, status);
    if (isChanged) await this.#write(catalog, status);
    log.debug(
      { catalog: keyOf(catalog), reason: currentReason(status.conditions), changed: isChanged },
      'catalog read',
    );
    const failures = lists.ok ? 0 : failuresBefore + 1;
    const pauseMs = this.#pauseAfter(catalog, lists, failures);
    this.#plans.set(uid, { generation, at: timers.monotonic() + pauseMs, failures });
    return pauseMs;
  }

  async #write(catalog: ServerCatalog, status: ServerCatalogStatus): Promise<void> {
    const { recorder, client, wrote } = this.#options;
    const written = await client.writeStatus(catalog.metadata, status);
    wrote(written);
    recorder.record(CATALOG_KIND, written, 'ReadCatalog', transitions(catalog.status?.conditions, status.conditions));
  }

  async #read(catalog: ServerCatalog, maxAgeMs: number): Promise<Reading> {
    const { metadata, spec } = catalog;
    const use = { held: false, deleting: false, asked: isRequested(catalog) };
    const found = await this.#options.accounts.get(metadata.namespace, spec.apiKeySecretRef.name, use);
    if (!found.ok) return found;
    const { session } = found.value;
    const lists = await readCatalog(session, maxAgeMs);
    if (!lists.ok) return lists;
    const servers = await this.#serversOf(session, spec.listServers === true);
    const [zones, prices] = await Promise.all([session.zones(maxAgeMs), session.prices(maxAgeMs)]);
    return ok({ catalog: lists.value, ...servers, zones, prices, ordersGo: session.ordersGo() });
  }

  /** The lists above are complete without this one, so no failure of it makes the catalog fail. */
  async #serversOf(
    session: Session,
    isListed: boolean,
  ): Promise<{ serverList: ServerList; servers?: ServersRead | undefined }> {
    const { claims } = this.#options;
    try {
      if (!isListed) return { serverList: (await session.servers()) === undefined ? 'Unavailable' : 'Available' };
      // An object may order or release its server while the list is read.
      const before = claims();
      const listed = await session.listedServers(0);
      if (listed === undefined) return { serverList: 'Unavailable' };
      return { serverList: 'Available', servers: { listed, claims: [...before, ...claims()] } };
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return { serverList: error.code === 'PROVIDER_FORBIDDEN' ? 'Forbidden' : 'Unknown' };
    }
  }

  /**
   * The pause until the next read (ms): the interval, spread over its last tenth, or a growing pause after a failure.
   */
  #pauseAfter(catalog: ServerCatalog, reading: Reading, failures: number): number {
    const { timers } = this.#options;
    if (reading.ok) return refreshMs(catalog) * (0.9 + 0.1 * timers.random());
    const { reason, retryAfterMs } = reading.error;
    const isKey = hasTrait(reason, 'aboutKey');
    const pauseMs = (isKey ? keyPauseMs : backoffMs)(failures, timers.random(), retryAfterMs);
    return isKey ? Math.min(LONGEST_KEY_PAUSE_MS, pauseMs) : pauseMs;
  }
}
