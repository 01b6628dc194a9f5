/** Detects objects that have settled: they are Available, and repeated reads cause no write. */
import type { KnownObjects } from './objects.ts';
import type { Panel } from './panel.ts';
import type { Traffic } from './traffic.ts';

const RESYNCS = 2;

export class Calm {
  readonly #objects: KnownObjects;
  readonly #panel: Panel;
  readonly #traffic: Traffic;
  /** By name: numbers of reads and writes when the object was first checked, or last written. */
  readonly #since = new Map<string, { uid: string; reads: number; writes: number }>();

  constructor(objects: KnownObjects, panel: Panel, traffic: Traffic) {
    this.#objects = objects;
    this.#panel = panel;
    this.#traffic = traffic;
  }

  /** Whether the object has been read several times since the first check or the last write. */
  isResting(name: string): boolean {
    const object = this.#objects.object(name);
    if (object === undefined || this.#objects.reason(name) !== 'Available') {
      this.forget(name);
      return false;
    }
    const { uid } = object.metadata;
    const now = { uid, reads: this.#panel.reads(object), writes: this.#traffic.writes(name) };
    const since = this.#since.get(name);
    if (since?.uid === uid && since.writes === now.writes) return now.reads - since.reads >= RESYNCS;
    this.#since.set(name, now);
    return false;
  }

  forget(name: string): void {
    this.#since.delete(name);
  }

  clear(): void {
    this.#since.clear();
  }
}
