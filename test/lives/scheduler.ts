/** One virtual clock and one event queue for the whole simulation; nothing happens outside them. */

interface Event {
  at: number;
  order: number;
  fire: () => void;
  /** The process that owns the event and takes it along when it dies; undefined for the outside world. */
  owner: object | undefined;
  isCancelled: boolean;
}

export class Scheduler {
  /** ms since the epoch. */
  now: number;
  fired = 0;
  readonly #heap: Event[] = [];
  #order = 0;
  // Weak collections would cost the garbage collector more than these few processes take until the run ends.
  readonly #dead = new Set<object>();
  readonly #stoppedUntil = new Map<object, number>();

  constructor(start: number) {
    this.now = start;
  }

  after(ms: number, fire: () => void, owner?: object): object {
    const event: Event = { at: this.now + Math.max(0, ms), order: this.#order++, fire, owner, isCancelled: false };
    this.#push(event);
    return event;
  }

  cancel(handle: object): void {
    (handle as Event).isCancelled = true;
  }

  /** The process died: its events never fire. */
  kill(owner: object): void {
    this.#dead.add(owner);
  }

  /**
   * Suspends the process like SIGSTOP. Events that fall due are fired in order as soon as it continues; if it is suspended
   * already, that is when the longer suspension ends.
   */
  stop(owner: object, ms: number): void {
    this.#stoppedUntil.set(owner, Math.max(this.now + ms, this.#stoppedUntil.get(owner) ?? 0));
  }

  isDead(owner: object): boolean {
    return this.#dead.has(owner);
  }

  /**
   * Fires events in order of time until `until` (ms since the epoch). Each event and `then` finish before the next
   * event.
   */
  async run(until: number, then: () => void): Promise<void> {
    for (let event = this.#heap[0]; event !== undefined && event.at <= until; event = this.#heap[0]) {
      this.#pop();
      if (event.isCancelled || (event.owner !== undefined && this.#dead.has(event.owner))) continue;
      const goesOn = event.owner === undefined ? undefined : this.#stoppedUntil.get(event.owner);
      if (goesOn !== undefined && event.at < goesOn) {
        event.at = goesOn;
        this.#push(event);
        continue;
      }
      this.now = event.at;
      this.fired += 1;
      event.fire();
      // Nothing here waits for I/O: an event only causes microtasks, which finish before the next tick.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      then();
    }
    this.now = until;
  }

  #less(a: Event, b: Event): boolean {
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !this.#less(event, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && this.#less(right, left)) child += 1;
      const smaller = heap[child];
      if (smaller === undefined || !this.#less(smaller, last)) break;
      heap[i] = smaller;
      i = child;
    }
    heap[i] = last;
  }
}
