/** Checks that a journal still has every confirmed step when the next process opens it. */
import type { Journal, JournalEntry } from '../../src/virtual-server/journal/journal.ts';

type State = Pick<JournalEntry, 'state' | 'task'>;

interface Known {
  uid: string;
  attempt: string;
  confirmed: State;
  /** Later, unconfirmed steps; the disk may hold any of them. */
  begun: (State | 'forgotten')[];
}

export class JournalWatch {
  readonly #known = new Map<string, Known>();

  /** Wraps the journal to record its confirmed steps. `onSending` gets the uid of each object that orders. */
  watched(journal: Journal, onSending: (uid: string) => void): Journal {
    const follow = async (uid: string, attempt: string, state: State, step: Promise<void>): Promise<void> => {
      const key = `${uid} ${attempt}`;
      this.#known.get(key)?.begun.push(state);
      await step;
      this.#known.set(key, { uid, attempt, confirmed: state, begun: [] });
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
      minted: (entry) => follow(entry.uid, entry.attempt, { state: 'minted' }, journal.minted(entry)),
      sending: (uid, attempt) => {
        onSending(uid);
        return follow(uid, attempt, { state: 'sending' }, journal.sending(uid, attempt));
      },
      task: (uid, attempt, task) => follow(uid, attempt, { state: 'task', task }, journal.task(uid, attempt, task)),
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

  /**
   * Returns confirmed steps that a newly opened journal lacks. From then on, the journal's own entries count as
   * confirmed.
   */
  forgotten(journal: Journal): string[] {
    const lost = [...this.#known.values()].filter(({ uid, attempt, confirmed, begun }) => {
      const entry = journal.entries(uid).find((one) => one.attempt === attempt);
      return ![confirmed, ...begun].some((one) =>
        one === 'forgotten' ? entry === undefined : entry?.state === one.state && entry.task === one.task,
      );
    });
    this.#known.clear();
    for (const { uid, attempt, state, task } of journal.uids().flatMap((uid) => journal.entries(uid))) {
      const confirmed = { state, ...(task !== undefined && { task }) };
      this.#known.set(`${uid} ${attempt}`, { uid, attempt, confirmed, begun: [] });
    }
    return lost.map(({ attempt, confirmed }) => `the journal lost attempt ${attempt} (${confirmed.state})`);
  }
}
