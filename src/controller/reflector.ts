/** Keeps one store in sync with the API server: lists, then watches from that version, until it is stopped. */
import { backoffDelay, pause, type Backoff } from '../base/backoff.ts';
import { realTimers, type Timers } from '../base/timers.ts';
import { KubeError } from '../kube/error.ts';
import type { KubeHttp } from '../kube/http.ts';
import { currentVersion, listAll, OBJECT_BYTES, type ListBounds } from '../kube/list.ts';
import type { KubeObject, Resource } from '../kube/resource.ts';
import { isOlder } from '../kube/resource.ts';
import { watchOnce, type WatchEvent } from '../kube/watch.ts';

export interface ReflectorSink<T> {
  /** As `InformerHandler.onList`. */
  listing(): (resourceVersion: string, listed: readonly T[]) => void;
  /** All objects that exist now. */
  replace(objects: T[]): void;
  upsert(object: T): void;
  gone(object: T): void;
  /** The API server has answered or sent something. */
  contact: () => void;
  problem(error: KubeError): void;
  /** Listing or watching works, for the first time or again after a problem. */
  healthy: () => void;
}

export interface ReflectorTuning extends ListBounds {
  /** Backoff after failures, default 200 ms to 15 s. */
  backoff?: Backoff;
  /** Duration of each watch in seconds, default random between 5 and 10 minutes. */
  watchSeconds?: () => number;
  /** A watch that is silent for this long counts as dead, default 150 s. Bookmarks arrive about once a minute. */
  silenceMs?: number;
  timers?: Timers;
}

export interface ReflectorOptions<T extends KubeObject> extends ReflectorTuning {
  http: KubeHttp;
  resource: Resource<T>;
  /** Undefined means all namespaces. */
  namespace: string | undefined;
  sink: ReflectorSink<T>;
  signal: AbortSignal;
}

/** Longest backoff while the CustomResourceDefinition is missing, which may be installed at any moment. */
const MAX_PAUSE_NOT_INSTALLED_MS = 5_000;
/** A watch that lasted this long counts as healthy, even without events. */
const SETTLED_AFTER_MS = 5_000;
/** Upper bound for the Retry-After of the API server. */
const MAX_RETRY_AFTER_MS = 60_000;

const SILENCE_MS = 150_000;
const BACKOFF = { baseMs: 200, maxMs: 15_000 };

/**
 * Silence (ms) after which a reflector counts as dead: twice the sum of the silence limit of a watch, the longest pause
 * (one minute) and the deadline of a call (`timeoutMs`). An API server that is down or refuses requests never makes a
 * reflector look dead, because a failure is a sign of life too.
 */
export function longestSilenceMs(timeoutMs: number): number {
  return 2 * (SILENCE_MS + MAX_RETRY_AFTER_MS + timeoutMs);
}

/** Resolves when `signal` has fired and all work has ended; never rejects. */
export async function runReflector<T extends KubeObject>(options: ReflectorOptions<T>): Promise<void> {
  const { http, resource, namespace, sink, signal, timers = realTimers, silenceMs = SILENCE_MS } = options;
  const { watchSeconds = () => Math.floor(300 + timers.random() * 300), backoff = BACKOFF } = options;
  /** Consecutive failures. */
  let failures = 0;
  /** The version where the next watch starts; undefined if a list is due. */
  let resourceVersion: string | undefined;
  /** True from a list to the first watch after it. */
  let isListed = false;

  async function list(): Promise<void> {
    const listed = sink.listing();
    const { objects, ...listing } = await listAll(http, resource, options, sink.contact);
    if (signal.aborted) return;
    resourceVersion = listing.resourceVersion;
    isListed = true;
    listed(resourceVersion, objects);
    sink.replace(objects);
    sink.healthy();
  }

  /** Versions only grow, unless etcd was restored; then the cache may be wrong. Throws KubeError `RolledBack`. */
  function requireNotOlder(version: string, seen: string): void {
    if (!isOlder(version, seen)) return;
    throw new KubeError('RolledBack', `the API server is at version ${version}, and was at ${seen} before`);
  }

  /** A watch from a version that a restored etcd has not reached yet stays silent, so check first. Throws KubeError. */
  async function requireNotRolledBack(seen: string): Promise<void> {
    const listed = sink.listing();
    const version = await currentVersion(http, resource, { namespace, signal });
    if (signal.aborted) return;
    sink.contact();
    listed(version, []);
    requireNotOlder(version, seen);
  }

  function apply(event: WatchEvent<T>): void {
    const version = event.type === 'bookmark' ? event.resourceVersion : event.object.metadata.resourceVersion;
    requireNotOlder(version, resourceVersion ?? version);
    resourceVersion = version;
    if (event.type === 'bookmark') return;
    if (event.type === 'upsert') sink.upsert(event.object);
    else sink.gone(event.object);
  }

  /** True if the API server closed a healthy watch, so the next one may start immediately. */
  async function watch(from: string): Promise<boolean> {
    if (!isListed) await requireNotRolledBack(from);
    isListed = false;
    const bounds = { timeoutSeconds: watchSeconds(), silenceMs, maxBytes: OBJECT_BYTES };
    const request = { namespace, resourceVersion: from, ...bounds, signal, timers };
    let openedAt = Infinity;
    let heard = false;
    const isSettled = () => heard || timers.monotonic() - openedAt >= SETTLED_AFTER_MS;
    const onEvent = (event: WatchEvent<T>) => {
      heard = true;
      apply(event);
    };
    const onContact = () => {
      openedAt = Math.min(openedAt, timers.monotonic());
      sink.contact();
      sink.healthy();
    };
    try {
      await watchOnce(http, resource, request, onEvent, onContact);
      return isSettled();
    } finally {
      if (isSettled()) failures = 0;
    }
  }

  // A function, because the compiler assumes that a property does not change after its first check.
  const stopped = () => signal.aborted;
  while (!stopped()) {
    try {
      if (resourceVersion === undefined) await list();
      else if (!(await watch(resourceVersion))) await pause(nextPause(), signal, timers);
    } catch (thrown) {
      if (stopped()) return;
      const error =
        thrown instanceof KubeError ? thrown : new KubeError('BadResponse', String(thrown), { cause: thrown });
      if (!mayResume(error)) resourceVersion = undefined;
      sink.problem(error);
      await pause(pauseAfter(error), signal, timers);
    }
  }

  function nextPause(longestMs = backoff.maxMs): number {
    const bounds = { ...backoff, maxMs: Math.min(longestMs, backoff.maxMs) };
    return backoffDelay(failures++, bounds, timers.random());
  }

  function pauseAfter(error: KubeError): number {
    const ms = nextPause(error.code === 'NotFound' ? MAX_PAUSE_NOT_INSTALLED_MS : undefined);
    return Math.max(ms, Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
  }
}

/** After a network failure or an overloaded server, the known version is still good; other errors require a list. */
function mayResume(error: KubeError): boolean {
  return error.code === 'Unreachable' || error.code === 'ServerError' || error.code === 'TooManyRequests';
}
