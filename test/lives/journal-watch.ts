/**
 * Checks what a journal shows when the next process opens it: every confirmed step after the death of the process; no proof
 * after the death of the machine.
 */
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import { unsentIn, type Journal, type JournalEntry } from '../../src/virtual-server/journal/journal.ts';

type State = Pick<JournalEntry, 'state' | 'task'>;

interface Known {
  uid: string;
  attempt: string;
  confirmed: State;
  /** Later, unconfirmed steps; the disk may hold any of them. */
  begun: (State | 'forgotten')[];
  /** Every state that the attempt has had, in this life of the machine or before. */
  past: (State | 'forgotten')[];
}

export class JournalWatch {
  readonly #known = new Map<string, Known>();
  #hasMachineDied = false;

  /**
   * Wraps the journal to record its confirmed steps. `onMinted` gets the uid of each object that is about to claim an
   * attempt, `onSending` of each that orders, and `onTask` the attempt of each whose order was accepted. `onGrowth` gets what
   * would let the journal grow with each refused claim.
   */
  watched(
    journal: Journal,
    onMinted: (uid: string) => void,
    onSending: (uid: string, attempt: string) => void,
    onTask: (attempt: string, task: TaskNumber) => void,
    onGrowth: (what: string) => void,
  ): Journal {
    const follow = async (uid: string, attempt: string, state: State, step: Promise<void>): Promise<void> => {
      const key = `${uid} ${attempt}`;
      this.#known.get(key)?.begun.push(state);
      await step;
      const { past = [], begun = [] } = this.#known.get(key) ?? {};
      this.#known.set(key, { uid, attempt, confirmed: state, begun: [], past: [...past, ...begun, state] });
    };
    const forget = async (uid: string, attempts: string[], step: Promise<void>): Promise<void> => {
      const keys = attempts.map((attempt) => `${uid} ${attempt}`);
      for (const key of keys) this.#known.get(key)?.begun.push('forgotten');
      await step;
      for (const key of keys) this.#known.delete(key);
    };
    return {
      get problem() {
        return journal.problem;
      },
      entries: (uid) => journal.entries(uid),
      uids: () => journal.uids(),
      ended: journal.ended,
      minted: (entry) => {
        onMinted(entry.uid);
        const unsent = unsentIn(journal.entries(entry.uid), entry.account);
        if (unsent !== undefined && unsent !== entry.attempt)
          onGrowth(
            `the journal has attempt ${unsent} of ${entry.name}, never sent, and gets ${entry.attempt} beside it`,
          );
        return follow(entry.uid, entry.attempt, { state: 'minted' }, journal.minted(entry));
      },
      sending: (uid, attempt) => {
        onSending(uid, attempt);
        return follow(uid, attempt, { state: 'sending' }, journal.sending(uid, attempt));
      },
      task: (uid, attempt, task) => {
        onTask(attempt, task);
        return follow(uid, attempt, { state: 'task', task }, journal.task(uid, attempt, task));
      },
      createdNothing: (uid, attempt) => follow(uid, attempt, { state: 'minted' }, journal.createdNothing(uid, attempt)),
      settle: (uid, attempt) => forget(uid, [attempt], journal.settle(uid, attempt)),
      drop: (uid) =>
        forget(
          uid,
          journal.entries(uid).map(({ attempt }) => attempt),
          journal.drop(uid),
        ),
      close: () => journal.close(),
    };
  }

  /** From now until the next process opens the journal, an attempt may be in any of its earlier states, or be gone. */
  machineDied(): void {
    this.#hasMachineDied = true;
  }

  /**
   * Returns what a newly opened journal lacks or may not show. From then on, the journal's own entries count as confirmed.
   */
  wronglyOpened(journal: Journal): string[] {
    const entries = journal.uids().flatMap((uid) => journal.entries(uid));
    const violations = this.#hasMachineDied ? this.#wronglyProven(entries) : this.#forgotten(journal);
    this.#hasMachineDied = false;
    const before = new Map(this.#known);
    this.#known.clear();
    for (const { uid, attempt, state, task } of entries) {
      const confirmed = { state, ...(task !== undefined && { task }) };
      const past = [...(before.get(`${uid} ${attempt}`)?.past ?? []), confirmed];
      this.#known.set(`${uid} ${attempt}`, { uid, attempt, confirmed, begun: [], past });
    }
    return violations;
  }

  #forgotten(journal: Journal): string[] {
    const lost = [...this.#known.values()].filter(({ uid, attempt, confirmed, begun }) => {
      const entry = journal.entries(uid).find((one) => one.attempt === attempt);
      return ![confirmed, ...begun].some((one) => (one === 'forgotten' ? entry === undefined : isIn(entry, one)));
    });
    return lost.map(({ attempt, confirmed }) => `the journal lost attempt ${attempt} (${confirmed.state})`);
  }

  #wronglyProven(entries: JournalEntry[]): string[] {
    return entries.flatMap((entry) => {
      const { uid, attempt, state } = entry;
      const { past = [], begun = [] } = this.#known.get(`${uid} ${attempt}`) ?? {};
      const isTrue = [...past, ...begun].some((one) => one !== 'forgotten' && isIn(entry, one));
      return state === 'minted' || (!isTrue && this.#known.has(`${uid} ${attempt}`))
        ? [`after the death of the machine, the journal shows attempt ${attempt} as ${state}`]
        : [];
    });
  }
}

function isIn(entry: State | undefined, { state, task }: State): boolean {
  return entry?.state === state && entry.task === task;
}
