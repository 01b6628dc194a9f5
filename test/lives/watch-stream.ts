/**
 * One watch of the modeled API server, as bytes: delayed, cut at any position, sometimes repeated. It can freeze,
 * break, or end with 410. After a restore of etcd it sends no further events.
 */
import type { ApiServer } from './api-server.ts';
import type { Network } from './network.ts';
import type { Change, ObjectStore, Stored } from './object-store.ts';

/** Probability that a watch repeats an older event, like an API server with a lagging cache. */
const OLDER = 0.02;
/** Probability that it repeats the last event. */
const AGAIN = 0.02;
/** Probability that events arrive in two chunks. */
const IN_PIECES = 0.3;
const BOOKMARK_MS = 60_000;

export interface WatchParts {
  network: Network;
  api: ApiServer;
  store: ObjectStore<Stored>;
  namespace: string | undefined;
  /** Only events after this version are sent. */
  from: number;
  /** Number of etcd restores when that version was listed. */
  restores: number;
  timeoutMs: number;
  signal: AbortSignal;
  owner: object;
  /** No bytes arrive before then (ms since the epoch). */
  frozenUntil: () => number;
  /** Called when the stream ends. */
  ended: (stream: WatchStream) => void;
}

export class WatchStream implements AsyncIterable<Buffer> {
  readonly #parts: WatchParts;
  /** Version of the last event or bookmark. */
  #told: number;
  /** Number of changes sent. */
  #seen: number;
  #chunks: Buffer[] = [];
  #end: { error?: Error } | undefined;
  #wake = (): void => undefined;
  #expected = false;
  /** What the stream does after a restore of etcd. */
  #fate: 'silent' | 'breaks' | 'tells' | undefined;

  readonly #abort = (): void => {
    this.#chunks = [];
    this.#finish(new DOMException('This operation was aborted', 'AbortError'));
  };

  constructor(parts: WatchParts) {
    this.#parts = parts;
    const { store, from, signal, timeoutMs, network, owner } = parts;
    this.#told = from;
    const { changes, history } = store;
    const first = changes.findIndex((change, index) => index >= history.index && versionOf(change) > from);
    this.#seen = first === -1 ? changes.length : first;
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
    network.scheduler.after(timeoutMs, () => this.#close(), owner);
    this.#bookmarkLater();
    this.changed();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (this.#end?.error !== undefined) throw this.#end.error;
        else if (this.#end !== undefined) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#finish();
    }
  }

  /** Sends the change after a delay, or when the freeze ends, with all changes up to then. */
  changed(): void {
    const { network, owner, frozenUntil } = this.#parts;
    const { random, scheduler, kube } = network;
    const delay = random.int(0, kube.delayMs);
    if (this.#expected || this.#end !== undefined) return;
    this.#expected = true;
    const look = (): void => {
      this.#expected = false;
      if (scheduler.now < frozenUntil()) this.changed();
      else this.#look();
    };
    scheduler.after(Math.max(delay, frozenUntil() - scheduler.now), look, owner);
  }

  /** Ends with 410: only a new list shows the changes that were not sent. */
  expire(): void {
    this.#say('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
    this.#finish();
  }

  /** The caller is dead: ignores aborts from now on. */
  forget(): void {
    this.#parts.signal.removeEventListener('abort', this.#abort);
  }

  #look(): void {
    const { network, store, namespace, from } = this.#parts;
    const { random, kube } = network;
    if (this.#end !== undefined || store.changes.length === this.#seen) return;
    if (this.#isOfBefore) {
      this.#tellOfRestore();
      return;
    }
    if (random.chance(OLDER) && this.#tellOlder()) return;
    const changes = store.changes.slice(this.#seen);
    this.#seen = store.changes.length;
    const isAskedFor = (change: Change<Stored>): boolean =>
      versionOf(change) > from && (namespace === undefined || change.object.metadata.namespace === namespace);
    const told = changes.filter(isAskedFor);
    const last = told.at(-1);
    if (last === undefined) return;
    this.#told = versionOf(last);
    const lines = told.map(lineOf);
    if (random.chance(AGAIN)) lines.push(lineOf(last));
    const bytes = Buffer.concat(lines);
    const breaks = random.chance(kube.lost / 4);
    const cut = breaks || random.chance(IN_PIECES) ? random.int(0, bytes.length) : bytes.length;
    this.#push(bytes.subarray(0, cut));
    if (breaks) this.#break();
    else if (cut < bytes.length) this.#push(bytes.subarray(cut));
  }

  /** Whether the watch began before the last restore of etcd. */
  get #isOfBefore(): boolean {
    return this.#parts.api.restores !== this.#parts.restores;
  }

  #tellOfRestore(): void {
    const { network, api, store } = this.#parts;
    this.#seen = store.changes.length;
    this.#fate ??= network.random.pick(['silent', 'breaks', 'tells'] as const);
    if (this.#fate === 'silent') return;
    if (this.#fate === 'tells' && Number(api.version) < this.#told) this.#bookmark();
    else this.#break();
  }

  /** Repeats an older event; returns false if there is none. */
  #tellOlder(): boolean {
    const { store, network } = this.#parts;
    const earlier = store.changes
      .slice(Math.max(store.history.index, this.#seen - 10), this.#seen)
      .filter((change) => versionOf(change) < this.#told);
    if (earlier.length === 0) return false;
    this.#push(lineOf(network.random.pick(earlier)));
    this.changed();
    return true;
  }

  #bookmarkLater(): void {
    const { network, owner, store, frozenUntil } = this.#parts;
    const { scheduler } = network;
    const beat = (): void => {
      if (this.#end !== undefined) return;
      const isCurrent = this.#seen === store.changes.length && scheduler.now >= frozenUntil() && !this.#isOfBefore;
      // A watch that started from a future version gets no bookmark until the API server reaches it.
      if (isCurrent && Number(this.#parts.api.version) >= this.#told) this.#bookmark();
      this.#bookmarkLater();
    };
    scheduler.after(BOOKMARK_MS, beat, owner);
  }

  #bookmark(): void {
    this.#told = Number(this.#parts.api.version);
    this.#say('BOOKMARK', { metadata: { resourceVersion: String(this.#told) } });
  }

  #say(type: string, object: object): void {
    this.#push(Buffer.from(`${JSON.stringify({ type, object })}\n`));
  }

  #push(bytes: Buffer): void {
    if (this.#end !== undefined) return;
    this.#chunks.push(bytes);
    this.#wake();
  }

  /** Regular end at the timeout; a frozen watch does not deliver it. */
  #close(): void {
    const { network, frozenUntil } = this.#parts;
    if (network.scheduler.now >= frozenUntil() && !this.#isOfBefore) this.#finish();
  }

  #break(): void {
    this.#finish(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  }

  #finish(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { ...(error && { error }) };
    this.forget();
    this.#parts.ended(this);
    this.#wake();
  }
}

const lines = new WeakMap<object, Buffer>();

function lineOf(change: Change<Stored>): Buffer {
  const { type, object } = change;
  const line = lines.get(change) ?? Buffer.from(`${JSON.stringify({ type, object })}\n`);
  lines.set(change, line);
  return line;
}

const versionOf = ({ object }: Change<Stored>): number => Number(object.metadata.resourceVersion);
