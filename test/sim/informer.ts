/**
 * The informer's cache over the modelled API server: late, sometimes frozen, sometimes
 * told the same again, sometimes with a gap that only a relist closes.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Informer, InformerHandler } from '../../src/kube/types.ts';
import { isDeepEqual } from '../../src/kube/merge-patch.ts';
import { keyOf, type ApiServer } from './api-server.ts';
import type { Network } from './kube.ts';

/** How often a watch tells something from before what it told last: the real informer lists again then. */
const REPEATED = 0.02;
/** How long it may take until the real informer sees that etcd was restored: the silence of a watch, and a pause (ms). */
const UNNOTICED_MS = 165_000;

export class SimInformer implements Informer<VirtualServer> {
  readonly #network: Network;
  readonly #api: ApiServer;
  readonly #owner: object;
  #handler: InformerHandler<VirtualServer> | undefined;
  readonly #cache = new Map<string, VirtualServer>();
  /** How many changes of the API server the cache has seen. */
  #seen = 0;
  readonly #staleBy: number;
  #frozenUntil = 0;
  #started = false;
  #expected = false;
  /** Nothing is told until the list that is under way, or is to come. */
  #isBlind = false;
  /** How often etcd had been restored at the last list. */
  #restores = 0;

  constructor(network: Network, api: ApiServer, owner: object, staleBy: number) {
    this.#network = network;
    this.#api = api;
    this.#owner = owner;
    this.#staleBy = staleBy;
  }

  subscribe(handler: InformerHandler<VirtualServer>): void {
    this.#handler = handler;
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { changes, restores } = this.#api;
    // No list is from before a restore.
    const oldest = changes.findLastIndex(({ restored }) => restored === true) + 1;
    this.#seen = Math.max(oldest, changes.length - this.#staleBy);
    this.#restores = restores;
    for (const object of this.#api.listAt(this.#seen)) this.#upsert(object);
    this.#api.listeners.add(this.#changed);
    this.#changed();
  }

  synced(): Promise<void> {
    return Promise.resolve();
  }

  get(key: string): VirtualServer | undefined {
    return this.#cache.get(key);
  }

  list(): VirtualServer[] {
    return [...this.#cache.values()];
  }

  silentForMs(): number {
    return 0;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** The process is dead. */
  end(): void {
    this.#api.listeners.delete(this.#changed);
  }

  /** The cache stands still for a while, as behind a partition. */
  freeze(ms: number): void {
    this.#frozenUntil = this.#network.scheduler.now + ms;
  }

  /** All that was not seen yet is lost but for its result, as after a watch that ended with 410. */
  relist(): void {
    const { scheduler, random, kube } = this.#network;
    if (!this.#started || this.#isBlind) return;
    this.#isBlind = true;
    const listed = this.#handler?.onList?.();
    scheduler.after(
      random.int(0, kube.delayMs),
      () => {
        const { version, restores } = this.#api;
        const [objects, seen] = [this.#api.list(), this.#api.changes.length];
        const answer = (): void => {
          this.#isBlind = false;
          this.#seen = seen;
          this.#restores = restores;
          listed?.(version, objects);
          this.#replace(objects);
          this.#changed();
        };
        scheduler.after(random.int(0, kube.delayMs), answer, this.#owner);
      },
      this.#owner,
    );
  }

  /** A change is told a moment after it happened, or when the cache thaws; one look takes all that came until then. */
  readonly #changed = (): void => {
    const { random, kube } = this.#network;
    this.#lookAfter(random.int(0, kube.delayMs));
  };

  #lookAfter(ms: number): void {
    const { scheduler } = this.#network;
    if (this.#expected) return;
    this.#expected = true;
    const look = (): void => {
      this.#expected = false;
      if (scheduler.now < this.#frozenUntil) this.#changed();
      else this.#catchUp();
    };
    scheduler.after(Math.max(ms, this.#frozenUntil - scheduler.now), look, this.#owner);
  }

  #catchUp(): void {
    const { random, scheduler } = this.#network;
    if (this.#isBlind) return;
    if (this.#api.restores !== this.#restores) {
      this.#isBlind = true;
      const notice = (): void => {
        this.#isBlind = false;
        this.relist();
      };
      scheduler.after(random.int(0, UNNOTICED_MS), notice, this.#owner);
      return;
    }
    if (random.chance(REPEATED)) {
      this.relist();
      return;
    }
    for (const { object, deleted } of this.#api.changes.slice(this.#seen)) {
      if (deleted) this.#remove(keyOf(object), object);
      else this.#upsert(object);
    }
    this.#seen = this.#api.changes.length;
  }

  /** A list is the whole truth. */
  #replace(objects: readonly VirtualServer[]): void {
    const present = new Set(objects.map(keyOf));
    for (const [key, object] of this.#cache) if (!present.has(key)) this.#remove(key, object);
    for (const object of objects) this.#upsert(object);
  }

  #upsert(object: VirtualServer): void {
    const key = keyOf(object);
    const cached = this.#cache.get(key);
    const same = cached?.metadata.uid === object.metadata.uid;
    if (same && cached.metadata.resourceVersion === object.metadata.resourceVersion && isDeepEqual(cached, object))
      return;
    if (cached !== undefined && !same) this.#remove(key, cached);
    this.#cache.set(key, object);
    this.#handler?.onUpsert(key, object, same ? cached : undefined);
  }

  #remove(key: string, last: VirtualServer): void {
    if (!this.#cache.delete(key)) return;
    this.#handler?.onGone(key, last);
  }
}
