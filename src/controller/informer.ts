/** A cache of the objects of a kind that follows the API server and notifies handlers of every change. */
import { realTimers } from '../base/timers.ts';
import type { KubeHttp } from '../kube/http.ts';
import { isDeepEqual } from '../base/deep-equal.ts';
import { runReflector, type ReflectorSink, type ReflectorTuning } from './reflector.ts';
import { keyOf, type KubeObject, type Resource } from '../kube/resource.ts';
import type { KubeErrorCode } from '../kube/error.ts';

/** Called synchronously; must not throw. `key` is `namespace/name`. */
export interface InformerHandler<T extends KubeObject> {
  /** Added or updated. `previous` is the cached object of the same uid, if there was one. */
  onUpsert(key: string, object: T, previous: T | undefined): void;
  /** The object with this uid is gone: deleted, missing from a relist, or replaced by an object with another uid. */
  onGone(key: string, last: T): void;
  /**
   * Called before a list request; that list shows every write answered so far. The returned function is called with the
   * list's version and objects before the handler is notified of them. It gets no objects if only the version was read.
   */
  onList?(): (resourceVersion: string, listed: readonly T[]) => void;
}

/** One supervised reflector per watched namespace (or one for all), with a cache of the fields the operator uses. */
export interface Informer<T extends KubeObject> {
  /** Adds a handler; call it before `start`. */
  subscribe(handler: InformerHandler<T>): void;
  /** Starts to list and watch, and continues after every error until `stop`. */
  start(): void;
  /** Resolves when the first list of every watched namespace is in the cache; rejects if stopped before that. */
  synced(): Promise<void>;
  get(key: string): T | undefined;
  list(): T[];
  /** How long the most silent reflector has shown no sign of life (ms): neither a response nor a failure. */
  silentForMs(): number;
  /** Resolves when all work has ended; no handler is called after that. */
  stop(): Promise<void>;
}

/** Satisfied by a pino logger. */
export interface InformerLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface InformerOptions extends ReflectorTuning {
  http: KubeHttp;
  namespaces: readonly string[] | 'all';
  log?: InformerLog;
}

/** Compares contents too: after an etcd restore, a version can reappear with different contents. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion && isDeepEqual(a, b);
}

const problemsOf = (kind: string): Partial<Record<KubeErrorCode, string>> => ({
  NotFound: `the CustomResourceDefinition of ${kind} is not installed; waiting for it`,
  Forbidden: `not allowed to list and watch ${kind}s; waiting for RBAC to allow it`,
  Expired: 'the watched version is too old; listing again',
  RolledBack: 'the API server is at an older version than before, as after a restore of etcd; listing again',
  TooLarge: `a ${kind} is too large to read; listing again`,
});

export function createInformer<T extends KubeObject>(resource: Resource<T>, options: InformerOptions): Informer<T> {
  const problems = problemsOf(resource.kind);
  const { http, log, timers = realTimers } = options;
  const monotonic = () => timers.monotonic();
  const namespaces = options.namespaces === 'all' ? [undefined] : [...new Set(options.namespaces)];
  const stopping = new AbortController();
  const firstLists = namespaces.map(() => Promise.withResolvers<undefined>());
  const signsOfLife = namespaces.map(monotonic);
  const cache = new Map<string, T>();
  const handlers: InformerHandler<T>[] = [];
  let running: Promise<unknown> | undefined;

  /** A handler that throws is a bug in the handler and must not end the watch. */
  function notify(key: string, tell: (handler: InformerHandler<T>) => void): void {
    for (const handler of handlers) {
      if (stopping.signal.aborted) return;
      try {
        tell(handler);
      } catch (error) {
        log?.error({ err: error, key }, 'informer handler failed');
      }
    }
  }

  function remove(key: string, last: T): void {
    cache.delete(key);
    notify(key, (handler) => handler.onGone(key, last));
  }

  function upsert(object: T): void {
    const key = keyOf(object);
    const cached = cache.get(key);
    const same = cached?.metadata.uid === object.metadata.uid;
    if (same && isSame(cached, object)) return;
    if (cached !== undefined && !same) remove(key, cached);
    cache.set(key, object);
    notify(key, (handler) => handler.onUpsert(key, object, same ? cached : undefined));
  }

  function gone(object: T): void {
    const key = keyOf(object);
    const cached = cache.get(key);
    if (cached === undefined) return;
    remove(key, cached.metadata.uid === object.metadata.uid ? object : cached);
  }

  /** A list replaces the whole cache, even if it is older: etcd may have been restored from a backup. */
  function replace(namespace: string | undefined, objects: T[]): void {
    const present = new Set(objects.map(keyOf));
    for (const [key, object] of cache) {
      const covered = namespace === undefined || object.metadata.namespace === namespace;
      if (covered && !present.has(key)) remove(key, object);
    }
    for (const object of objects) upsert(object);
  }

  function sinkOf(namespace: string | undefined, index: number): ReflectorSink<T> {
    const scope = namespace ?? 'all namespaces';
    let lastProblem: string | undefined;
    return {
      upsert,
      gone,
      listing() {
        const listed = handlers.map((handler) => handler.onList?.());
        return (...answer) => {
          if (!stopping.signal.aborted) listed.forEach((tell) => tell?.(...answer));
        };
      },
      replace(objects) {
        replace(namespace, objects);
        firstLists[index]?.resolve(undefined);
      },
      contact: () => {
        signsOfLife[index] = monotonic();
      },
      problem(error) {
        signsOfLife[index] = monotonic();
        const problem = problems[error.code] ?? 'cannot watch the API server; retrying';
        // Log an outage once, however many attempts it takes.
        if (problem !== lastProblem) log?.warn({ scope, code: error.code, reason: error.message }, problem);
        lastProblem = problem;
      },
      healthy() {
        if (lastProblem !== undefined) log?.info({ scope }, 'informer recovered');
        lastProblem = undefined;
      },
    };
  }

  const synced = Promise.all(firstLists.map(({ promise }) => promise)).then(() => undefined);
  // Callers that await it get the rejection; without a caller it must not become an unhandled rejection.
  synced.catch(() => undefined);

  return {
    subscribe: (handler) => void handlers.push(handler),
    start() {
      if (stopping.signal.aborted || running !== undefined) return;
      signsOfLife.fill(monotonic());
      running = Promise.all(
        namespaces.map((namespace, index) =>
          runReflector({
            ...options,
            http,
            resource,
            namespace,
            sink: sinkOf(namespace, index),
            signal: stopping.signal,
          }),
        ),
      );
    },
    synced: () => synced,
    get: (key) => cache.get(key),
    list: () => [...cache.values()],
    silentForMs: () => (running === undefined ? 0 : monotonic() - Math.min(...signsOfLife)),
    async stop() {
      stopping.abort();
      for (const { reject } of firstLists) reject(new Error('the informer was stopped'));
      await running;
    },
  };
}
