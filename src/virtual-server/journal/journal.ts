/**
 * The journal: what this process, and earlier ones with the same folder, know about every attempt to create a server.
 * It outlives the process, so that a task accepted just before a crash is found again. A missing attempt proves
 * nothing; an attempt recorded as `minted` proves that nothing was sent for it. Do not share the folder between pods,
 * and do not restore it from a snapshot.
 */
import * as realFiles from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Attempts, type JournalEntry } from './attempts.ts';
import { JournalError } from './error.ts';
import { JournalFile, makeFolder, type FileSystem } from './file.ts';
import { formatEntry, formatForget, replay, type Replay } from './lines.ts';
import { lockFolder } from './lock.ts';
import { realTimers, type Timers } from '../../base/timers.ts';

export type { JournalEntry } from './attempts.ts';

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
 * The steps resolve when they are on disk and survive a crash. They reject with a JournalError: `WrongStep` for an
 * attempt in another state, `Failed` if the disk refused. After a `Failed`, every later step is refused too, until the
 * journal has rewritten its whole file, which it retries every few seconds. A step that adds a risk shows in the
 * entries from the call on; a step that removes one shows when the disk has answered. A definite answer and a forgotten
 * attempt apply in memory even if the disk refused them: a crash only brings the risk back.
 */
export interface Journal {
  /** Why the disk accepts no line, so that no create can be sent; undefined if it does. */
  readonly problem: string | undefined;
  /** The attempts of an object, in order of minting. */
  entries(uid: string): readonly JournalEntry[];
  /** The uids of all objects with attempts. */
  uids(): string[];
  /** A new attempt, not sent yet; call it before the claim. */
  minted(attempt: NewAttempt): Promise<void>;
  /**
   * The create is about to be sent; send it only after this resolved. Once only, by the process that minted the
   * attempt.
   */
  sending(uid: string, attempt: string): Promise<void>;
  /** The provider accepted the create. The entry keeps the task even if the disk refuses it. */
  task(uid: string, attempt: string, task: number): Promise<void>;
  /**
   * A definite answer: the attempt created nothing. Its entry becomes `minted` again, which proves the same after a
   * crash.
   */
  createdNothing(uid: string, attempt: string): Promise<void>;
  /** The attempt definitely created nothing, or you have resolved it: forget it. */
  settle(uid: string, attempt: string): Promise<void>;
  /** The object is gone and has nothing left to resolve: forget its attempts. */
  drop(uid: string): Promise<void>;
  /** Resolves when the file is closed and the folder is free for another process. */
  close(): Promise<void>;
}

export interface JournalOptions {
  /** Folder of the file; created if missing. Undefined: the journal lives in memory only. */
  dir: string | undefined;
  /** The file is not compacted while it is smaller (bytes). */
  compactBytes?: number;
  timers?: Pick<Timers, 'set' | 'clear'>;
  files?: FileSystem;
  /** Resolves with the function that unlocks the folder. */
  lock?: (dir: string) => Promise<() => Promise<void>>;
  /** Called with what was found and repaired. */
  warn?: (message: string, fields: Record<string, unknown>) => void;
}

const FILE = 'journal.jsonl';
const COMPACT_BYTES = 4 * 1024 * 1024;

/**
 * Opens the journal. Throws a JournalError `InUse` if another process uses the folder, `Corrupt` if a line other than a
 * torn last one cannot be read, and the system's error if folder or file cannot be read or written.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  if (options.dir === undefined) return new AttemptJournal(new Attempts(), undefined, () => Promise.resolve());
  const { files = realFiles, lock = lockFolder } = options;
  const dir = resolve(options.dir);
  await makeFolder(files, dir);
  const unlock = await lock(dir);
  try {
    const path = join(dir, FILE);
    const { attempts, tornLength } = await readJournal(files, path);
    if (tornLength > 0) options.warn?.('journal: cut off a torn last line', { file: path, length: tornLength });
    const file = await JournalFile.create({
      files,
      path,
      snapshot: () => lines(attempts),
      compactBytes: options.compactBytes ?? COMPACT_BYTES,
      timers: options.timers ?? realTimers,
      recovered: () => options.warn?.('journal: writable again', { file: path }),
    });
    return new AttemptJournal(attempts, file, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

async function readJournal(files: FileSystem, path: string): Promise<Replay> {
  let text = '';
  try {
    text = await files.readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  return replay(text, path);
}

function* lines(attempts: Attempts): Generator<string> {
  for (const entry of attempts.all()) yield formatEntry(entry);
}

class AttemptJournal implements Journal {
  readonly #attempts: Attempts;
  readonly #file: JournalFile | undefined;
  readonly #unlock: () => Promise<void>;
  #closed = false;

  constructor(attempts: Attempts, file: JournalFile | undefined, unlock: () => Promise<void>) {
    this.#attempts = attempts;
    this.#file = file;
    this.#unlock = unlock;
  }

  get problem(): string | undefined {
    return this.#file?.problem;
  }

  entries(uid: string): readonly JournalEntry[] {
    return this.#attempts.of(uid);
  }

  uids(): string[] {
    return this.#attempts.uids();
  }

  async minted({ namespace, name, uid, attempt, account, mintedAt }: NewAttempt): Promise<void> {
    if (this.#attempts.get(uid, attempt) !== undefined) throw wrongStep(attempt, 'was minted before');
    const known = { namespace, name, uid, attempt, account, ...(mintedAt !== undefined && { mintedAt }) };
    const entry: JournalEntry = { ...known, state: 'minted', own: true };
    await this.#advance(entry, undefined);
  }

  async sending(uid: string, attempt: string): Promise<void> {
    const before = this.#known(uid, attempt);
    if (!before.own) throw wrongStep(attempt, 'was minted by another process, so it is not ours to send');
    if (before.state !== 'minted') throw wrongStep(attempt, 'may have been sent before');
    await this.#advance({ ...before, state: 'sending' }, before);
  }

  async task(uid: string, attempt: string, task: number): Promise<void> {
    const before = this.#known(uid, attempt);
    if (before.task !== undefined && before.task !== task) {
      throw wrongStep(attempt, `has task ${before.task}, so it cannot have task ${task}`);
    }
    const entry: JournalEntry = { ...before, state: 'task', task };
    await this.#advance(entry, entry);
  }

  async createdNothing(uid: string, attempt: string): Promise<void> {
    const before = this.#known(uid, attempt);
    if (before.state === 'task') throw wrongStep(attempt, 'was accepted by the provider');
    const entry: JournalEntry = { ...before, state: 'minted' };
    await this.#advance(entry, entry);
  }

  async settle(uid: string, attempt: string): Promise<void> {
    const entry = this.#attempts.get(uid, attempt);
    if (entry !== undefined) await this.#forget(entry);
  }

  async drop(uid: string): Promise<void> {
    await Promise.all(this.entries(uid).map((entry) => this.#forget(entry)));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file?.close();
    await this.#unlock();
  }

  #known(uid: string, attempt: string): JournalEntry {
    const entry = this.#attempts.get(uid, attempt);
    if (entry === undefined) throw wrongStep(attempt, 'is not in the journal');
    return entry;
  }

  /**
   * Shows `entry` at once. If the disk refuses it, shows `fallback`, since the caller has not acted on the entry then.
   */
  async #advance(entry: JournalEntry, fallback: JournalEntry | undefined): Promise<void> {
    this.#attempts.put(entry);
    try {
      await this.#append(formatEntry(entry), () => undefined);
    } catch (error) {
      if (this.#isCurrent(entry)) {
        if (fallback === undefined) this.#attempts.delete(entry.uid, entry.attempt);
        else this.#attempts.put(fallback);
      }
      throw error;
    }
  }

  async #forget(entry: JournalEntry): Promise<void> {
    const apply = (): void => {
      // A later step of the attempt comes after this line in the file, too.
      if (this.#isCurrent(entry)) this.#attempts.delete(entry.uid, entry.attempt);
    };
    try {
      await this.#append(formatForget(entry), apply);
    } catch (error) {
      if (this.problem !== undefined) apply();
      throw error;
    }
  }

  #isCurrent(entry: JournalEntry): boolean {
    return this.#attempts.get(entry.uid, entry.attempt) === entry;
  }

  async #append(line: string, apply: () => void): Promise<void> {
    if (this.#closed) throw new JournalError('Closed', 'the journal is closed');
    if (this.#file === undefined) apply();
    else await this.#file.append(line, apply);
  }
}

function wrongStep(attempt: string, why: string): JournalError {
  return new JournalError('WrongStep', `attempt ${attempt} ${why}`);
}
