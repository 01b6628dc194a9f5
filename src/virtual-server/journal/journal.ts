/**
 * The journal: what this process, and earlier ones with the same folder, know about every attempt to create a server.
 * It outlives the process, so that a task accepted just before a crash is found again. A missing attempt proves
 * nothing; an attempt noted as `minted` proves that nothing was sent for it. Do not share the folder between pods,
 * and do not restore it from a snapshot.
 */
import type { TaskNumber } from '../../base/exact-numbers.ts';
import { randomUUID } from 'node:crypto';
import * as realFiles from 'node:fs/promises';
import { resolve } from 'node:path';
import { realTimers, type Timers } from '../../base/timers.ts';
import {
  Attempts,
  JournalError,
  openNotes,
  type EndedOrder,
  type FileSystem,
  type JournalEntry,
  type Notes,
} from './notes.ts';
import { lockFolder } from './lock.ts';

export type { EndedOrder, JournalEntry } from './notes.ts';

export interface NewAttempt {
  namespace: string;
  name: string;
  uid: string;
  attempt: string;
  /** Hash of base URL and key ID; contains no secret. */
  account: string;
  /** RFC 3339. */
  mintedAt?: string;
}

/**
 * The steps resolve when they survive the death of the process. They reject with a JournalError: `WrongStep` for an
 * attempt in another state, `Failed` if the disk refused. After a `Failed`, `problem` is set until the journal has written
 * again, which it tries every few seconds. A step that adds a risk shows in the entries from the call on; a step that
 * removes one shows when the disk has answered. A definite answer and a forgotten attempt apply in memory even if the
 * disk refused them: a crash only brings the risk back.
 */
export interface Journal {
  /** Why the disk accepts no new attempt, so that no create can be sent; undefined if it does. */
  readonly problem: string | undefined;
  /** The attempts of an object, in order of minting. */
  entries(uid: string): readonly JournalEntry[];
  /** The uids of all objects with attempts. */
  uids(): string[];
  /**
   * Orders of earlier processes within the last hour whose attempts were settled or dropped. They count for
   * `--max-creates-per-hour` and prove nothing else.
   */
  readonly ended: readonly EndedOrder[];
  /** An attempt that is not sent yet: a new one, or `unsentIn` the entries; call it before the claim. */
  minted(attempt: NewAttempt): Promise<void>;
  /**
   * The create is about to be sent; send it only after this resolved. Once only, by the process that minted the
   * attempt.
   */
  sending(uid: string, attempt: string): Promise<void>;
  /** The provider accepted the create. The entry keeps the task even if the disk refuses it. */
  task(uid: string, attempt: string, task: TaskNumber): Promise<void>;
  /**
   * A definite answer: the attempt created nothing. Its entry becomes `minted` again, which proves the same after a
   * crash.
   */
  createdNothing(uid: string, attempt: string): Promise<void>;
  /** The attempt definitely created nothing, or you have resolved it: forget it. */
  settle(uid: string, attempt: string): Promise<void>;
  /** The object is gone and has nothing left to resolve: forget its attempts. */
  drop(uid: string): Promise<void>;
  /** Resolves when the folder is free for another process. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Folder of the notes; created if missing. Undefined: the journal lives in memory only. */
  dir: string | undefined;
  timers?: Pick<Timers, 'now' | 'set' | 'clear'>;
  files?: FileSystem;
  /** Resolves with the function that unlocks the folder. */
  lock?: (dir: string) => Promise<() => Promise<void>>;
  /** Called with what was found and repaired. */
  warn?: (message: string, fields: Record<string, unknown>) => void;
}

/** Changes whenever the kernel starts. In a container, it is the boot id of the node. */
export const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/**
 * Opens the journal. Throws a JournalError `InUse` if another process uses the folder, `Corrupt` if a note cannot be read
 * that the death of the machine does not explain, and the system's error if the folder cannot be read or written.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  const attempts = new Attempts();
  if (options.dir === undefined) return createJournal(attempts, inMemory, () => Promise.resolve());
  const { files = realFiles, timers = realTimers, lock = lockFolder, warn = () => undefined } = options;
  const dir = resolve(options.dir);
  await files.mkdir(dir, { recursive: true, mode: 0o700 });
  const unlock = await lock(dir);
  try {
    const bootId = await readBootId(files);
    return createJournal(attempts, await openNotes({ dir, bootId, files, timers, warn, attempts }), unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** Where the kernel has no boot id, every process counts as another boot: then no old note proves that nothing was sent. */
async function readBootId(files: FileSystem): Promise<string> {
  const text = await files.readFile(BOOT_ID_FILE, 'utf8').catch(() => '');
  return /^[0-9a-f-]{36}$/.test(text.trim()) ? text.trim() : randomUUID();
}

/** Certainly not sent, and never about to be. */
const isUnsent = ({ own, state, wasSending }: JournalEntry): boolean =>
  own && state === 'minted' && wasSending !== true;

/**
 * The attempt that the next claim may name, so that claims which the API server refuses leave one note and not one each.
 * Another account needs another attempt: a claim that is still on its way may name the first one.
 */
export function unsentIn(entries: readonly JournalEntry[], account: string): string | undefined {
  return entries.find((entry) => isUnsent(entry) && entry.account === account)?.attempt;
}

const inMemory: Notes = {
  problem: undefined,
  ended: [],
  save: () => Promise.resolve(),
  remove: (_entry, removed) => {
    removed();
    return Promise.resolve();
  },
  close: () => Promise.resolve(),
};

function createJournal(attempts: Attempts, notes: Notes, unlock: () => Promise<void>): Journal {
  let isClosed = false;

  function known(uid: string, attempt: string): JournalEntry {
    const entry = attempts.get(uid, attempt);
    if (entry === undefined) throw wrongStep(attempt, 'is not in the journal');
    return entry;
  }

  function mustBeOpen(): void {
    if (isClosed) throw new JournalError('Closed', 'the journal is closed');
  }

  /**
   * Shows `entry` at once. If the disk refuses it, shows `fallback`, since the caller has not acted on the entry then.
   */
  async function advance(entry: JournalEntry, fallback: JournalEntry | undefined): Promise<void> {
    mustBeOpen();
    // Only a claim that names the attempt again changes more than its state.
    const again = attempts.get(entry.uid, entry.attempt)?.mintedAt !== entry.mintedAt;
    attempts.put(entry);
    try {
      await notes.save(entry, again);
    } catch (error) {
      if (attempts.isCurrent(entry)) {
        if (fallback === undefined) attempts.delete(entry);
        else attempts.put(fallback);
      }
      throw error;
    }
  }

  async function forget(entry: JournalEntry): Promise<void> {
    mustBeOpen();
    const apply = (): void => {
      // A later step of the attempt comes after this one on the disk, too.
      if (attempts.isCurrent(entry)) attempts.delete(entry);
    };
    try {
      await notes.remove(entry, apply);
    } catch (error) {
      apply();
      throw error;
    }
  }

  return {
    get problem() {
      return notes.problem;
    },
    entries: (uid) => attempts.of(uid),
    uids: () => attempts.uids(),
    ended: notes.ended,
    async minted({ namespace, name, uid, attempt, account, mintedAt }) {
      const before = attempts.get(uid, attempt);
      if (before !== undefined && !isUnsent(before)) throw wrongStep(attempt, 'may have been sent before');
      const known = { namespace, name, uid, attempt, account, mintedAt };
      await advance({ ...known, state: 'minted', own: true }, before);
    },
    async sending(uid, attempt) {
      const before = known(uid, attempt);
      if (!before.own) throw wrongStep(attempt, 'was minted by another process, so it is not ours to send');
      if (before.state !== 'minted') throw wrongStep(attempt, 'may have been sent before');
      await advance({ ...before, state: 'sending', wasSending: true }, before);
    },
    async task(uid, attempt, task) {
      const before = known(uid, attempt);
      if (before.task !== undefined && before.task !== task) {
        throw wrongStep(attempt, `has task ${before.task}, so it cannot have task ${task}`);
      }
      const entry: JournalEntry = { ...before, state: 'task', task };
      await advance(entry, entry);
    },
    async createdNothing(uid, attempt) {
      const before = known(uid, attempt);
      if (before.state === 'task') throw wrongStep(attempt, 'was accepted by the provider');
      const entry: JournalEntry = { ...before, state: 'minted' };
      await advance(entry, entry);
    },
    async settle(uid, attempt) {
      const entry = attempts.get(uid, attempt);
      if (entry !== undefined) await forget(entry);
    },
    async drop(uid) {
      await Promise.all(attempts.of(uid).map(forget));
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await notes.close();
      await unlock();
    },
  };
}

function wrongStep(attempt: string, why: string): JournalError {
  return new JournalError('WrongStep', `attempt ${attempt} ${why}`);
}
