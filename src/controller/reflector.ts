/** Keeps one store equal to what the API server has: list, then watch from there, for as long as it is not stopped. */
import { backoffDelay, pause, type Backoff } from '../base/backoff.ts';
import { realTimers, type Timers } from '../base/timers.ts';
import { KubeError } from '../kube/error.ts';
import type { KubeHttp } from '../kube/http.ts';
import { currentVersion, listAll, type ObjectName } from '../kube/list.ts';
import type { KubeObject, Resource } from '../kube/resource.ts';
import { isOlder } from '../kube/versions.ts';
import { watchOnce, type WatchEvent } from '../kube/watch.ts';

export interface ReflectorSink<T> {
  /** As `InformerHandler.onList`. */
  listing(): (resourceVersion: string, listed: readonly T[]) => void;
  /** All that exists now; the objects in `skipped` exist too, and are too large to read. */
  replace(objects: T[], skipped: readonly ObjectName[]): void;
  upsert(object: T): void;
  gone(object: T): void;
  /** The API server has answered or sent something. */
  contact: () => void;
  problem(error: KubeError): void;
  /** Everything is in order again after a problem, or for the first time. */
  healthy: () => void;
}

export interface ReflectorTuning {
  /** Objects per page of a list, default 500. */
  pageSize?: number;
  /** Bytes per page of a list; a larger page is read in smaller ones. Default 8 MiB; 500 objects have about 3 MB. */
  pageBytes?: number;
  /** Bytes of one object; a larger one is skipped. Default 16 MiB; by default etcd stores at most 1.5 MiB. */
  objectBytes?: number;
  /** Pauses after failures, default 200 ms to 15 s. */
  backoff?: Backoff;
  /** Asked for at each watch, default at random between 5 and 10 minutes. */
  watchSeconds?: () => number;
  /** A watch that is silent for this long is taken for dead, default 150 s; bookmarks come about once a minute. */
  silenceMs?: number;
  timers?: Timers;
}

export interface ReflectorOptions<T extends KubeObject> extends ReflectorTuning {
  http: KubeHttp;
  resource: Resource<T>;
  /** Left out: all namespaces. */
  namespace: string | undefined;
  sink: ReflectorSink<T>;
  signal: AbortSignal;
}

/** Pauses grow no further than this while the CustomResourceDefinition is missing: it may be installed any second. */
const MAX_PAUSE_NOT_INSTALLED_MS = 5_000;
/** A watch that lived this long was in order, even if it said nothing. */
const SETTLED_AFTER_MS = 5_000;
/** However long the API server asks to wait. */
const MAX_RETRY_AFTER_MS = 60_000;

const SILENCE_MS = 150_000;
const PAGE_BYTES = 8 * 1024 * 1024;
const OBJECT_BYTES = 16 * 1024 * 1024;
const BACKOFF = { baseMs: 200, maxMs: 15_000 };

/**
 * A reflector that has shown no sign of life, neither an answer nor a failure, for so long (ms) is dead: it pauses for a
 * minute at most, each call has its deadline, a silent watch is broken off, and here all that is taken twice. An API
 * server that is away, or refuses, is no reason: each failure is a sign of life. `timeoutMs`: deadline of a call.
 */
export function longestSilenceMs(timeoutMs: number): number {
  return 2 * (SILENCE_MS + MAX_RETRY_AFTER_MS + timeoutMs);
}

/** Resolves when `signal` has fired and nothing runs any more; never rejects. */
export async function runReflector<T extends KubeObject>(options: ReflectorOptions<T>): Promise<void> {
  const { http, resource, namespace, sink, signal, timers = realTimers, silenceMs = SILENCE_MS } = options;
  const { pageSize = 500, pageBytes = PAGE_BYTES, objectBytes = OBJECT_BYTES } = options;
  const { watchSeconds = () => Math.floor(300 + timers.random() * 300), backoff = BACKOFF } = options;
  /** Consecutive ones. */
  let failures = 0;
  /** Where the next watch begins; undefined: a list is due. */
  let resourceVersion: string | undefined;
  /** True from a list to the first watch after it. */
  let isListed = false;

  async function list(): Promise<void> {
    const listed = sink.listing();
    const page = { namespace, pageSize, pageBytes, objectBytes, signal };
    const { objects, skipped, ...listing } = await listAll(http, resource, page, sink.contact);
    if (signal.aborted) return;
    resourceVersion = listing.resourceVersion;
    isListed = true;
    listed(resourceVersion, objects);
    sink.replace(objects, skipped);
    sink.healthy();
  }

  /** Versions only grow, unless etcd was restored; then the cache may be wrong. Throws KubeError. */
  function requireNotOlder(version: string, seen: string): void {
    if (!isOlder(version, seen)) return;
    throw new KubeError('RolledBack', `the API server is at version ${version}, and was at ${seen} before`);
  }

  /** A watch from a version that a restored etcd has not reached yet is silent until it does. Throws KubeError. */
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

  /** Whether the API server closed a watch that was in order, so that the next one may begin at once. */
  async function watch(from: string): Promise<boolean> {
    if (!isListed) await requireNotRolledBack(from);
    isListed = false;
    const bounds = { timeoutSeconds: watchSeconds(), silenceMs, maxBytes: objectBytes };
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

  // A function, since the compiler would take a property for unchanged after the first look at it.
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

/** Faults of the way there and of a loaded server say nothing against our version; anything else calls for a list. */
function mayResume(error: KubeError): boolean {
  return error.code === 'Unreachable' || error.code === 'ServerError' || error.code === 'TooManyRequests';
}
