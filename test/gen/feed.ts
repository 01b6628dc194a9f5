/** An informer whose objects the test sets. */
import type { Informer, InformerHandler } from '../../src/controller/informer.ts';
import { keyOf, type KubeObject } from '../../src/kube/resource.ts';

interface Feed<T extends KubeObject> {
  informer: Informer<T>;
  /** Adds the object or replaces the one with its name, under a new version; returns it. */
  put(object: T): T;
  remove(object: T): void;
  get(name: string): T | undefined;
  /** The result of `silentForMs`. */
  silentMs: number;
}

/** All objects are in namespace `default`. */
export function feedOf<T extends KubeObject>(...first: T[]): Feed<T> {
  const objects = new Map(first.map((object) => [keyOf(object), object]));
  const handlers: InformerHandler<T>[] = [];
  let isStarted = false;
  let version = 1;
  const feed: Feed<T> = {
    silentMs: 0,
    informer: {
      subscribe: (handler) => void handlers.push(handler),
      start() {
        if (isStarted) return;
        isStarted = true;
        for (const [key, object] of objects) for (const handler of handlers) handler.onUpsert(key, object, undefined);
      },
      synced: () => Promise.resolve(),
      get: (key) => objects.get(key),
      list: () => [...objects.values()],
      silentForMs: () => feed.silentMs,
      stop: () => Promise.resolve(),
    },
    put(object) {
      const key = keyOf(object);
      const previous = objects.get(key);
      const next = { ...object, metadata: { ...object.metadata, resourceVersion: String((version += 1)) } };
      objects.set(key, next);
      if (isStarted) for (const handler of handlers) handler.onUpsert(key, next, previous);
      return next;
    },
    remove(object) {
      const key = keyOf(object);
      objects.delete(key);
      if (isStarted) for (const handler of handlers) handler.onGone(key, object);
    },
    get: (name) => objects.get(`default/${name}`),
  };
  return feed;
}

/** An informer of one object that the test keeps; `tell` notifies handlers of a change. */
export function informerOfOne<T extends KubeObject>(object: () => T): Informer<T> & { tell(previous?: T): void } {
  const handlers: InformerHandler<T>[] = [];
  const tell = (previous?: T): void => {
    for (const handler of handlers) handler.onUpsert(keyOf(object()), object(), previous);
  };
  return {
    tell,
    subscribe: (handler) => void handlers.push(handler),
    start: () => tell(),
    synced: () => Promise.resolve(),
    get: object,
    list: () => [object()],
    silentForMs: () => 0,
    stop: () => Promise.resolve(),
  };
}
