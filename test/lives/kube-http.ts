/** KubeHttp connected to the modeled API server over a network that delays, loses, and cuts requests. */
import { KubeError } from '../../src/kube/error.ts';
import type { CallOptions, KubeHttp } from '../../src/kube/http.ts';
import { notServed, type ApiServer } from './api-server.ts';
import type { Network } from './network.ts';
import type { ObjectStore, Stored } from './object-store.ts';
import { expired, isAbsent, Routes, type Place } from './routes.ts';
import { WatchStream } from './watch-stream.ts';

const DEADLINE_MS = 15_000;

/** Follows one request of a process. */
export interface Follower {
  /** `work` is what the API server does with the request; returns its result, which can be a KubeError. */
  processed: (work: () => unknown) => unknown;
  /** Called when the process gets the answer, unless that is an error. */
  answered: (answer: unknown) => void;
}

export interface KubeHttpParts {
  network: Network;
  api: ApiServer;
  /** The process that owns this client; events of a killed process never fire. */
  owner: object;
  /** How many changes out of date the first list of VirtualServers is. */
  staleBy: number;
  /** What the API server answers to a request that a policy or a webhook refuses. */
  refuse?: ((request: CallOptions, place: Place, owner: object) => KubeError | undefined) | undefined;
  /** Called with each request about an object of our kinds when it is sent. */
  follow?: ((request: CallOptions, place: Place) => Follower | undefined) | undefined;
}

export class SimKubeHttp implements KubeHttp {
  readonly #parts: KubeHttpParts;
  readonly #routes: Routes;
  readonly #streams = new Map<WatchStream, ObjectStore<Stored>>();
  /** Number of etcd restores as of the last list of each kind. */
  readonly #restores = new Map<object, number>();
  readonly #listening = new Map<ObjectStore<Stored>, () => void>();
  /** Callbacks that remove abort listeners of requests in flight; Node would otherwise never free them. */
  readonly #forget = new Set<() => void>();
  #staleBy: number;
  /** Until when the watches of each kind are frozen (ms since the epoch). */
  readonly #frozenUntil = new Map<string, number>();
  /** The API server's clock minus ours, in whole seconds. */
  #clockOffset: number | undefined;

  constructor(parts: KubeHttpParts) {
    this.#parts = parts;
    this.#routes = new Routes(parts.api);
    this.#staleBy = parts.staleBy;
  }

  call(options: CallOptions): Promise<unknown> {
    // Copies the body, as the wire does: later changes to the object have no effect.
    const body = options.body && copied(options.body);
    const place = this.#routes.placeOf(options.path);
    const follower = place && this.#parts.follow?.(options, place);
    const process = (): unknown => this.#process({ ...options, ...(body && { body }) }, follower);
    const answer = this.#send(options.signal, process, quoteOf(options));
    if (follower === undefined) return answer;
    return answer.then((value) => {
      follower.answered(value);
      return value;
    });
  }

  stream({ path, query, signal }: Parameters<KubeHttp['stream']>[0]): Promise<AsyncIterable<Buffer>> {
    return this.#send(signal, () => {
      const place = this.#routes.placeOf(path);
      if (place === undefined) throw new Error(`the model watches no ${path}`);
      if (!this.#routes.isServed(place.store)) throw notServed();
      return this.#watch(place, query ?? {}, signal);
    });
  }

  serverTime(): number | undefined {
    return this.#clockOffset === undefined ? undefined : this.#parts.network.scheduler.now + this.#clockOffset;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Freezes the watches of these kinds, like a network partition. Each kind may have its own connection. */
  freeze(ms: number, kinds: readonly { plural: string }[]): void {
    for (const { plural } of kinds) this.#frozenUntil.set(plural, this.#parts.network.scheduler.now + ms);
  }

  /** Compacts etcd: all watches end with 410, and only a new list shows the changes since. */
  expire(): void {
    this.#parts.api.compact();
    for (const stream of [...this.#streams.keys()]) stream.expire();
  }

  /** Releases everything that the dead process held. */
  end(): void {
    for (const [store, listener] of this.#listening) store.listeners.delete(listener);
    for (const forget of this.#forget) forget();
    for (const stream of this.#streams.keys()) stream.forget();
  }

  #process(options: CallOptions, follower: Follower | undefined): unknown {
    const { random, kube } = this.#parts.network;
    const { method = 'GET', path } = options;
    const place = this.#routes.placeOf(path);
    const isWrite = method !== 'GET' && place !== undefined;
    if (isWrite && place.part === 'status' && random.chance(kube.statusRefused))
      throw new KubeError('Forbidden', 'denied by a policy', { status: 403 });
    const refusal = place && this.#parts.refuse?.(options, place, this.#parts.owner);
    if (refusal !== undefined) throw refusal;
    const work = (): unknown => this.#answer(options, place);
    const answer = follower === undefined ? work() : follower.processed(work);
    if (isWrite && random.chance(kube.conflictAfterApplied))
      throw new KubeError('Conflict', 'the object has been modified', { status: 409 });
    if (isAbsent(answer, options)) return undefined;
    if (answer instanceof KubeError) throw answer;
    return answer;
  }

  #answer(options: CallOptions, place: Place | undefined): unknown {
    const { query, accept = '' } = options;
    const isFirstPage =
      place !== undefined && place.name === undefined && query?.['continue'] === undefined && !accept.includes('Table');
    const staleBy = isFirstPage && place.store.plural === this.#parts.api.servers.plural ? this.#staleBy : 0;
    if (staleBy > 0) this.#staleBy = 0;
    // Informers list all namespaces; no watch follows the list of one.
    if (isFirstPage && place.namespace === undefined) this.#restores.set(place.store, this.#parts.api.restores);
    try {
      return this.#routes.answer(options, staleBy, place);
    } catch (error) {
      if (error instanceof KubeError) return error;
      throw error;
    }
  }

  #watch({ store, namespace }: Place, query: NonNullable<CallOptions['query']>, signal: AbortSignal): WatchStream {
    const { api, network, owner } = this.#parts;
    const from = Number(query['resourceVersion']);
    const restores = this.#restores.get(store) ?? api.restores;
    // An API server that restarted after a restore rejects a version from before it, once new writes have reached that
    // version.
    const isOfBefore = restores !== api.restores && from <= Number(api.version);
    if (from < store.history.version || isOfBefore) throw expired('too old resource version');
    const stream = new WatchStream({
      network,
      api,
      store,
      namespace,
      from,
      restores,
      timeoutMs: Number(query['timeoutSeconds']) * 1000,
      signal,
      owner,
      frozenUntil: () => this.#frozenUntil.get(store.plural) ?? 0,
      ended: (ended) => this.#streams.delete(ended),
    });
    // A dead process's request still arrives.
    if (network.scheduler.isDead(owner)) stream.forget();
    if (!signal.aborted) this.#streams.set(stream, store);
    this.#listen(store);
    return stream;
  }

  #listen(store: ObjectStore<Stored>): void {
    if (this.#listening.has(store)) return;
    const listener = (): void => {
      for (const [stream, other] of this.#streams) if (other === store) stream.changed();
    };
    this.#listening.set(store, listener);
    store.listeners.add(listener);
  }

  /**
   * `process` runs when the request arrives, even if the caller is dead by then; only a living caller gets the answer.
   * `quote`: the text of an error 500, which may quote the request.
   */
  #send<T>(signal: AbortSignal | undefined, process: () => T, quote = 'internal error'): Promise<T> {
    const { network, owner } = this.#parts;
    const { scheduler, random, kube } = network;
    return new Promise((resolve, reject) => {
      const forget = (): void => {
        signal?.removeEventListener('abort', unreachable);
        this.#forget.delete(forget);
      };
      const unreachable = (): void => {
        forget();
        reject(new KubeError('Unreachable', 'no answer from the API server'));
      };
      if (signal?.aborted === true) {
        unreachable();
        return;
      }
      signal?.addEventListener('abort', unreachable, { once: true });
      this.#forget.add(forget);
      const isLost = random.chance(kube.lost);
      const arrives = !isLost || random.chance(0.5);
      if (isLost) scheduler.after(random.chance(0.3) ? DEADLINE_MS : random.int(1, 50), unreachable, owner);
      if (!arrives) return;
      scheduler.after(random.int(0, kube.delayMs), () => {
        const answer = attempt(process);
        if (isLost) return;
        const answeredAt = scheduler.now;
        const failed = random.chance(kube.error);
        const deliver = (): void => {
          forget();
          this.#clockOffset = Math.floor(answeredAt / 1000) * 1000 - scheduler.now;
          if (failed) reject(new KubeError('ServerError', answer.ok ? quote : 'internal error', { status: 500 }));
          else if (answer.ok) resolve(answer.value);
          else reject(answer.error);
        };
        scheduler.after(random.int(0, kube.delayMs), deliver, owner);
      });
    });
  }
}

/** What a JSON value is after it was written and parsed, at a fraction of the cost. */
function copied<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  // An array writes what is absent as null, and some objects write themselves.
  if (Array.isArray(value) || 'toJSON' in value) return JSON.parse(JSON.stringify(value)) as T;
  const copy: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(value)) if (entry !== undefined) copy[key] = copied(entry);
  return copy as T;
}

function attempt<T>(run: () => T): { ok: true; value: T } | { ok: false; error: Error } {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    if (error instanceof KubeError) return { ok: false, error };
    throw error;
  }
}

/** The error of a failed admission webhook, which quotes Secret data as the API transmits it (base64). */
function quoteOf({ path, method = 'GET', body }: CallOptions): string | undefined {
  if (method === 'GET' || !/\/secrets(\/|$)/.test(path)) return undefined;
  return `failed calling webhook: ${JSON.stringify((body as { data?: unknown } | undefined)?.data)}`;
}
