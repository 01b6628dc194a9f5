/**
 * A line in which namespaces take turns, so one with a thousand items delays another by only one item. Within a namespace
 * the order is by priority, then first in, first out.
 */

/** One of this many turns of a namespace goes to the oldest item of the other priorities, so that none waits forever. */
const TURN_OF_OTHERS = 4;

interface Links<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** An item in the line; `leave` removes it. */
export interface Waiting<T> extends Links<Waiting<T>> {
  readonly item: T;
  readonly namespace: string;
  readonly priority: number;
  /** Counts up in the order of joining. */
  readonly number: number;
}

/** A namespace that has items in the line. */
interface Member<T> extends Links<Member<T>> {
  readonly namespace: string;
  /** Number of turns that it has had since it joined. */
  turns: number;
  /** Number of its items. */
  size: number;
  /** Its items by priority. */
  readonly lines: Chain<Waiting<T>>[];
}

export class FairLine<T> {
  readonly #members = new Map<string, Member<T>>();
  /** The member with the next turn is the first. */
  readonly #rotation = new Chain<Member<T>>();
  #length = 0;
  #joined = 0;

  /** Number of items in the line. */
  get length(): number {
    return this.#length;
  }

  /** Number of namespaces that have items. */
  get namespaces(): number {
    return this.#members.size;
  }

  /** `priority`: 0 goes first. */
  join(namespace: string, item: T, priority = 0): Waiting<T> {
    const member = this.#members.get(namespace) ?? this.#admit(namespace);
    const number = (this.#joined += 1);
    const waiting: Waiting<T> = { item, namespace, priority, number, previous: undefined, next: undefined };
    (member.lines[priority] ??= new Chain()).append(waiting);
    member.size += 1;
    this.#length += 1;
    return waiting;
  }

  leave(waiting: Waiting<T>): void {
    const member = this.#members.get(waiting.namespace);
    if (member === undefined) return;
    member.lines[waiting.priority]?.remove(waiting);
    this.#length -= 1;
    member.size -= 1;
    if (member.size > 0) return;
    this.#rotation.remove(member);
    this.#members.delete(member.namespace);
  }

  /** Removes the next item; passes over namespaces whose next item `mayGo` refuses. */
  take(mayGo: (waiting: Waiting<T>) => boolean = () => true): Waiting<T> | undefined {
    for (let member = this.#rotation.first; member !== undefined; member = member.next) {
      const waiting = nextOf(member);
      if (waiting === undefined || !mayGo(waiting)) continue;
      member.turns += 1;
      this.leave(waiting);
      if (member.size > 0) {
        this.#rotation.remove(member);
        this.#rotation.append(member);
      }
      return waiting;
    }
    return undefined;
  }

  #admit(namespace: string): Member<T> {
    const member: Member<T> = { namespace, turns: 0, size: 0, lines: [], previous: undefined, next: undefined };
    this.#members.set(namespace, member);
    this.#rotation.append(member);
    return member;
  }
}

/** A list that any element leaves in constant time: the elements carry its links. */
class Chain<T extends Links<T>> {
  first: T | undefined;
  #last: T | undefined;

  append(element: T): void {
    element.previous = this.#last;
    element.next = undefined;
    if (this.#last === undefined) this.first = element;
    else this.#last.next = element;
    this.#last = element;
  }

  remove({ previous, next }: T): void {
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
  }
}

function nextOf<T>({ lines, turns }: Member<T>): Waiting<T> | undefined {
  const [first, ...others] = lines.flatMap((line) => line.first ?? []);
  const isTurnOfOthers = turns % TURN_OF_OTHERS === TURN_OF_OTHERS - 1;
  return isTurnOfOthers && others.length > 0 ? others.reduce((a, b) => (b.number < a.number ? b : a)) : first;
}

/*
 * A fixed number of places for which namespaces wait in a fair line. A namespace that holds places gets another one only
 * while it holds fewer than four times the free ones, and never the last free place. One namespace alone gets about four
 * fifths of the places, never all.
 */

const SHARE = 4;

export class FairPlaces<T> extends FairLine<T> {
  /** Number of places of each namespace that holds any. */
  readonly #held = new Map<string, number>();
  #free: number;

  /** With `places` Infinity, every item gets a place immediately. */
  constructor(places: number) {
    super();
    this.#free = places;
  }

  /** Gives the next item a place; `release` must return it. Undefined if no item may have a place now. */
  override take(): Waiting<T> | undefined {
    // Passes over at most as many namespaces as hold places.
    const waiting = super.take(({ namespace }) => this.#mayHaveAnother(namespace));
    if (waiting !== undefined) this.#count(waiting.namespace, 1);
    return waiting;
  }

  /** Frees one place of this namespace. */
  release(namespace: string): void {
    if (!this.#held.has(namespace)) throw new Error(`namespace "${namespace}" has no place`);
    this.#count(namespace, -1);
  }

  #mayHaveAnother(namespace: string): boolean {
    const held = this.#held.get(namespace);
    if (held === undefined) return this.#free > 0;
    return this.#free > 1 && held < SHARE * this.#free;
  }

  #count(namespace: string, by: 1 | -1): void {
    this.#free -= by;
    const held = (this.#held.get(namespace) ?? 0) + by;
    if (held === 0) this.#held.delete(namespace);
    else this.#held.set(namespace, held);
  }
}
