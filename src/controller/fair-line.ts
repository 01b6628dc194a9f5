/**
 * A fair queue of items from many namespaces for a fixed number of places. Namespaces take turns; within a namespace
 * the order is by priority, then first in, first out. A namespace that holds places gets another one only while it
 * holds fewer than four times the free ones, and never the last free place. One namespace alone gets about four fifths
 * of the places, never all.
 */

const SHARE = 4;
/** One of this many turns of a namespace goes to the item that has waited longest, so that none waits forever. */
const TURN_OF_OLDEST = 16;

/** An item in the line; `leave` removes it. */
export interface Waiting<T> {
  readonly item: T;
  readonly namespace: string;
  readonly priority: number;
  /** Counts up in the order of joining. */
  readonly number: number;
  previous: Waiting<T> | undefined;
  next: Waiting<T> | undefined;
}

/** A namespace that has items in the line or holds places. */
interface Member<T> {
  namespace: string;
  places: number;
  /** Number of turns that it has had. */
  turns: number;
  /** Its items by priority; a priority without items has no line. */
  lines: (Line<T> | undefined)[];
  /** Neighbors in the rotation of namespaces that have items. */
  previous: Member<T> | undefined;
  next: Member<T> | undefined;
}

interface Line<T> {
  first: Waiting<T>;
  last: Waiting<T>;
}

export class FairLine<T> {
  readonly #members = new Map<string, Member<T>>();
  #free: number;
  #length = 0;
  #joined = 0;
  /** The namespace with the next turn. */
  #first: Member<T> | undefined;
  #last: Member<T> | undefined;

  /** With `places` Infinity, every item gets a place immediately. */
  constructor(places: number) {
    this.#free = places;
  }

  /** Number of items in the line. */
  get length(): number {
    return this.#length;
  }

  /** Number of namespaces in memory: those that have items or hold places. */
  get namespaces(): number {
    return this.#members.size;
  }

  /** `priority`: 0 goes first. */
  join(namespace: string, item: T, priority = 0): Waiting<T> {
    const member = this.#members.get(namespace) ?? this.#admit(namespace);
    if (isEmpty(member)) this.#queueUp(member);
    const line = member.lines[priority];
    const number = (this.#joined += 1);
    const waiting: Waiting<T> = { item, namespace, priority, number, previous: line?.last, next: undefined };
    if (line === undefined) member.lines[priority] = { first: waiting, last: waiting };
    else line.last = line.last.next = waiting;
    this.#length += 1;
    return waiting;
  }

  /** Removes a waiting item without giving it a place. */
  leave(waiting: Waiting<T>): void {
    const member = this.#members.get(waiting.namespace);
    if (member === undefined) return;
    const { previous, next, priority } = waiting;
    const line = member.lines[priority];
    if (previous !== undefined) previous.next = next;
    else if (next !== undefined && line !== undefined) line.first = next;
    if (next !== undefined) next.previous = previous;
    else if (previous !== undefined && line !== undefined) line.last = previous;
    if (previous === undefined && next === undefined) member.lines[priority] = undefined;
    this.#length -= 1;
    if (isEmpty(member)) this.#stepOut(member);
    this.#forgetIdle(member);
  }

  /** Gives the next item a place; `release` must return it. Undefined if no item may have a place now. */
  take(): T | undefined {
    // Skips at most as many namespaces as hold places.
    for (let member = this.#first; member !== undefined; member = member.next) {
      if (!this.#mayHaveAnother(member)) continue;
      const waiting = nextOf(member);
      if (waiting === undefined) continue;
      this.#free -= 1;
      member.places += 1;
      member.turns += 1;
      this.leave(waiting);
      if (!isEmpty(member)) {
        this.#stepOut(member);
        this.#queueUp(member);
      }
      return waiting.item;
    }
    return undefined;
  }

  /** Frees one place of this namespace. */
  release(namespace: string): void {
    const member = this.#members.get(namespace);
    if (member === undefined || member.places === 0) throw new Error(`namespace "${namespace}" has no place`);
    member.places -= 1;
    this.#free += 1;
    this.#forgetIdle(member);
  }

  #mayHaveAnother({ places }: Member<T>): boolean {
    if (places === 0) return this.#free > 0;
    return this.#free > 1 && places < SHARE * this.#free;
  }

  #admit(namespace: string): Member<T> {
    const member: Member<T> = {
      namespace,
      places: 0,
      turns: 0,
      lines: [],
      previous: undefined,
      next: undefined,
    };
    this.#members.set(namespace, member);
    return member;
  }

  #forgetIdle(member: Member<T>): void {
    if (member.places === 0 && isEmpty(member)) this.#members.delete(member.namespace);
  }

  /** Puts the namespace at the end of the rotation. */
  #queueUp(member: Member<T>): void {
    member.previous = this.#last;
    member.next = undefined;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
  }

  #stepOut(member: Member<T>): void {
    const { previous, next } = member;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    member.previous = undefined;
    member.next = undefined;
  }
}

function isEmpty({ lines }: Member<unknown>): boolean {
  return lines.every((line) => line === undefined);
}

function nextOf<T>({ lines, turns }: Member<T>): Waiting<T> | undefined {
  const firsts = lines.flatMap((line) => line?.first ?? []);
  const isTurnOfOldest = turns % TURN_OF_OLDEST === TURN_OF_OLDEST - 1;
  return isTurnOfOldest ? firsts.sort((a, b) => a.number - b.number)[0] : firsts[0];
}
