/**
 * A fair queue of items from many namespaces for a fixed number of places. Namespaces take turns; within a namespace
 * the order is first in, first out. A namespace that holds places gets another one only while it holds fewer than four
 * times the free ones, and never the last free place. One namespace alone gets about four fifths of the places, never
 * all.
 */

const SHARE = 4;

/** An item in the line; `leave` removes it. */
export interface Waiting<T> {
  readonly item: T;
  readonly namespace: string;
  previous: Waiting<T> | undefined;
  next: Waiting<T> | undefined;
}

/** A namespace that has items in the line or holds places. */
interface Member<T> {
  namespace: string;
  places: number;
  first: Waiting<T> | undefined;
  last: Waiting<T> | undefined;
  /** Neighbors in the rotation of namespaces that have items. */
  previous: Member<T> | undefined;
  next: Member<T> | undefined;
}

export class FairLine<T> {
  readonly #members = new Map<string, Member<T>>();
  #free: number;
  #length = 0;
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

  join(namespace: string, item: T): Waiting<T> {
    const member = this.#members.get(namespace) ?? this.#admit(namespace);
    const waiting: Waiting<T> = { item, namespace, previous: member.last, next: undefined };
    if (member.last === undefined) {
      member.first = waiting;
      this.#queueUp(member);
    } else member.last.next = waiting;
    member.last = waiting;
    this.#length += 1;
    return waiting;
  }

  /** Removes a waiting item without giving it a place. */
  leave(waiting: Waiting<T>): void {
    const member = this.#members.get(waiting.namespace);
    if (member === undefined) return;
    const { previous, next } = waiting;
    if (previous === undefined) member.first = next;
    else previous.next = next;
    if (next === undefined) member.last = previous;
    else next.previous = previous;
    this.#length -= 1;
    if (member.first === undefined) this.#stepOut(member);
    this.#forgetIdle(member);
  }

  /** Gives the next item a place; `release` must return it. Undefined if no item may have a place now. */
  take(): T | undefined {
    // Skips at most as many namespaces as hold places.
    for (let member = this.#first; member !== undefined; member = member.next) {
      const waiting = member.first;
      if (waiting === undefined || !this.#mayHaveAnother(member)) continue;
      this.#free -= 1;
      member.places += 1;
      this.leave(waiting);
      if (member.first !== undefined) {
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
    const member = { namespace, places: 0, first: undefined, last: undefined, previous: undefined, next: undefined };
    this.#members.set(namespace, member);
    return member;
  }

  #forgetIdle(member: Member<T>): void {
    if (member.places === 0 && member.first === undefined) this.#members.delete(member.namespace);
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
