/**
 * The informer's cache over the modelled API server: late, sometimes frozen, sometimes
 * told the same again, sometimes with a gap that only a relist closes.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Informer, InformerHandler } from '../../src/kube/types.ts';
import { keyOf, type ApiServer } from './api-server.ts';
import type { Network } from './kube.ts';

/** How often a look tells what was told before. */
const REPEATED = 0.02;

export class SimInformer implements Informer {
  readonly #network: Network;
  readonly #api: ApiServer;
  readonly #owner: object;
  readonly #handler: InformerHandler;
  readonly #cache = new Map<string, VirtualServer>();
  /** How many changes of the API server the cache has seen. */
  #seen: number;
  #frozenUntil = 0;
  #started = false;
  #expected = false;

  constructor(network: Network, api: ApiServer, owner: object, handler: InformerHandler, staleBy: number) {
    this.#network = network;
    this.#api = api;
    this.#owner = owner;
    this.#handler = handler;
    this.#seen = Math.max(0, api.changes.length - staleBy);
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
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
    this.#seen = this.#api.changes.length;
    const present = new Map(this.#api.list().map((object) => [keyOf(object), object]));
    for (const [key, object] of this.#cache) if (!present.has(key)) this.#remove(key, object);
    for (const object of present.values()) this.#upsert(object);
  }

  /** A change is told a moment after it happened, or when the cache thaws; one look takes all that came until then. */
  readonly #changed = (): void => {
    const { scheduler, random, kube } = this.#network;
    if (this.#expected) return;
    this.#expected = true;
    const delay = Math.max(random.int(0, kube.delayMs), this.#frozenUntil - scheduler.now);
    const look = (): void => {
      this.#expected = false;
      if (scheduler.now < this.#frozenUntil) this.#changed();
      else this.#catchUp();
    };
    scheduler.after(delay, look, this.#owner);
  };

  #catchUp(): void {
    const { random } = this.#network;
    // A watch that is begun anew from an older version tells some of it once more.
    const again = random.chance(REPEATED) ? random.int(1, 5) : 0;
    for (const { object, deleted } of this.#api.changes.slice(Math.max(0, this.#seen - again))) {
      const cached = this.#cache.get(keyOf(object));
      // As the real one does with what it is told of an object that another of its name has replaced.
      const isOld =
        cached !== undefined &&
        cached.metadata.uid !== object.metadata.uid &&
        BigInt(object.metadata.resourceVersion) < BigInt(cached.metadata.resourceVersion);
      if (isOld) continue;
      if (deleted) this.#remove(keyOf(object), object);
      else this.#upsert(object);
    }
    this.#seen = this.#api.changes.length;
  }

  #upsert(object: VirtualServer): void {
    const key = keyOf(object);
    const cached = this.#cache.get(key);
    const same = cached?.metadata.uid === object.metadata.uid;
    if (same && cached.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (cached !== undefined && !same) this.#remove(key, cached);
    this.#cache.set(key, object);
    this.#handler.onUpsert(key, object, same ? cached : undefined);
  }

  #remove(key: string, last: VirtualServer): void {
    if (!this.#cache.delete(key)) return;
    this.#handler.onGone(key, last);
  }
}
