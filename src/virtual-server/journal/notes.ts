/**
 * The files under the journal: one small note for each attempt. A note is written under a name that nothing reads, and
 * renamed; from then on only its name changes, and says what the operator knows: KEY.BOOT.STATE. So the death of the
 * process never leaves a torn note or an older state, without any sync: the page cache survives. The death of the machine
 * may leave an older state. So the name carries the machine's boot, and under an earlier boot `minted` proves nothing.
 */
import { toTask, type TaskNumber } from '../../base/exact-numbers.ts';
import { createHash } from 'node:crypto';
import { extname, join } from 'node:path';
import * as z from 'zod';
import type { Timers } from '../../base/timers.ts';

/** The file operations of the journal; `node:fs/promises` implements them. */
export interface FileSystem {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  readdir(path: string): Promise<string[]>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  writeFile(path: string, text: string, options: { mode: number }): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
}

/** Steps run one after another. They reject with a JournalError `Failed` if the disk refuses them. */
export interface Notes {
  /** Why the disk accepts no new note; undefined if it does. */
  readonly problem: string | undefined;
  /** `again`: the content has changed too, and not only the state. */
  save(entry: JournalEntry, again?: boolean): Promise<void>;
  /** Calls `removed` before the next step. */
  remove(entry: JournalEntry, removed: () => void): Promise<void>;
  /** Orders of the last hour that had ended when the folder was opened. */
  readonly ended: readonly EndedOrder[];
  /** Resolves when all earlier steps have ended. */
  close(): Promise<void>;
}

export interface NotesOptions {
  dir: string;
  /** Of the machine, and the same for every process until the machine dies. */
  bootId: string;
  files: FileSystem;
  timers: Pick<Timers, 'now' | 'set' | 'clear'>;
  warn: (message: string, fields: Record<string, unknown>) => void;
  /** Gets what the notes say. After a failure, the files are brought in line with it. */
  attempts: Attempts;
}

/** Pause before the next try to write to a disk that refused a step (ms). */
const RETRY_MS = 5_000;
/** At least as large as a note. */
const PROBE = ' '.repeat(4096);
const NAME = /^(?<key>[0-9a-f]{64})\.(?<boot>[0-9a-f-]{36})\.(?<state>ended|minted|sending|task-(?<task>\d+))$/;
/** How long an order counts for `--max-creates-per-hour` (ms). */
const COUNTED_MS = 60 * 60_000;
/** Not a note yet: its step was never confirmed, so nothing was done because of it. */
const UNNAMED = '.new';
/** The file of versions before the notes: one JSON object per line, the last line perhaps torn. */
const OLD_FILE = 'journal.jsonl';

// Bytes that are not UTF-8 decode to this character, which no valid note contains.
const word = z.string().regex(/^[^\uFFFD]+$/);
// Strict: a note with more fields comes from another version, which alone knows what they mean.
const noteSchema = z.strictObject({
  namespace: word,
  name: word,
  uid: word,
  attempt: word,
  account: z.exactOptional(word),
  mintedAt: z.exactOptional(z.iso.datetime()),
});
const oldLineSchema = z.union([
  noteSchema.extend({ state: z.enum(['minted', 'sending']) }),
  noteSchema.extend({ state: z.literal('task'), task: z.int().min(0) }),
  z.strictObject({ forget: word, uid: word }),
]);

/**
 * Reads the notes of earlier processes into `attempts`. Throws a JournalError `Corrupt` if a note cannot be read that the
 * death of the machine does not explain, and the system's error if the folder cannot be read or written.
 */
export async function openNotes({ dir, bootId, files, timers, warn, attempts }: NotesOptions): Promise<Notes> {
  /** The name of each note, by the key of its attempt. */
  let names = new Map<string, string>();
  /** The names of notes of ended orders, oldest first, with the time from which on each is left (ms since the epoch). */
  const left = new Map<string, number>();
  let steps = Promise.resolve();
  let problem: string | undefined;
  let retry: unknown;
  let isClosed = false;
  const at = (name: string): string => join(dir, name);
  // `unlink`, because `rm` looks at the file first, and takes twice the CPU.
  const discard = (name: string): Promise<void> =>
    files.unlink(at(name)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });

  /** Returns the names of all files. */
  async function readNames(): Promise<string[]> {
    const all = await files.readdir(dir);
    names = new Map();
    for (const name of all.sort(byState)) {
      if (name.endsWith(UNNAMED)) await discard(name);
      const key = NAME.exec(name)?.groups?.key;
      if (key === undefined) continue;
      // A file system without a journal may have kept both names of a rename. The later state counts.
      const other = names.get(key);
      if (other !== undefined) await discard(other);
      names.set(key, name);
    }
    for (const [key, name] of names) {
      if (NAME.exec(name)?.groups?.state !== 'ended') continue;
      names.delete(key);
      left.set(name, left.get(name) ?? timers.now());
    }
    return all;
  }

  const isCounted = (mintedAt: string | undefined): boolean =>
    Math.abs(timers.now() - Date.parse(mintedAt ?? '')) < COUNTED_MS;

  /** Such a note proves nothing, so one that cannot be read is removed. */
  async function readEnded(name: string): Promise<EndedOrder | undefined> {
    const text = await files.readFile(at(name), 'utf8');
    try {
      const { namespace, attempt, mintedAt } = parse(text, noteSchema);
      return mintedAt !== undefined && isCounted(mintedAt) ? { namespace, attempt, mintedAt } : undefined;
    } catch {
      return undefined;
    }
  }

  async function readNote(name: string): Promise<JournalEntry | undefined> {
    const { boot, state, task } = NAME.exec(name)?.groups ?? {};
    const isEarlier = boot !== bootId;
    // Later states of the attempt may have died with the machine.
    if (isEarlier && state === 'minted') return undefined;
    try {
      const note = { ...parse(await files.readFile(at(name), 'utf8'), noteSchema), own: false };
      if (task !== undefined) return { ...note, state: 'task', task: toTask(task) ?? Number(task) };
      return { ...note, state: state === 'minted' ? 'minted' : 'sending' };
    } catch (cause) {
      if (!isEarlier || !(cause instanceof SyntaxError)) throw corrupt(at(name), cause);
      warn('journal: removed a note whose content was lost when the machine crashed', { file: at(name) });
      return undefined;
    }
  }

  async function readOldFile(): Promise<JournalEntry[]> {
    const lines = (await files.readFile(at(OLD_FILE), 'utf8')).split('\n');
    const found = new Map<string, JournalEntry>();
    for (const [index, line] of lines.entries()) {
      try {
        const entry = parse(line, oldLineSchema);
        if ('forget' in entry) found.delete(keyOf(entry.uid, entry.forget));
        else found.set(keyOf(entry.uid, entry.attempt), { ...entry, own: false });
      } catch (cause) {
        if (index < lines.length - 1) throw corrupt(`${at(OLD_FILE)}, line ${index + 1}`, cause);
      }
    }
    return [...found].flatMap(([key, entry]) => (names.has(key) ? [] : [entry]));
  }

  /** One rename, if the note exists with this content: that needs no space on a full disk. */
  async function put(entry: JournalEntry, again = false): Promise<void> {
    const key = keyOf(entry.uid, entry.attempt);
    const name = `${key}.${bootId}.${entry.task === undefined ? entry.state : `task-${entry.task}`}`;
    const unnamed = key + UNNAMED;
    let before = names.get(key);
    if (before === undefined || again) {
      before = unnamed;
      await write(before, textOf(entry));
    }
    if (before === name) return;
    // A refused rename may have taken effect all the same. Then every step is refused until the folder is read again.
    names.set(key, unnamed);
    await files.rename(at(before), at(name));
    names.set(key, name);
  }

  async function write(name: string, text: string): Promise<void> {
    try {
      await files.writeFile(at(name), text, { mode: 0o600 });
    } catch (error) {
      // A full disk needs the space.
      await discard(name).catch(() => undefined);
      throw error;
    }
  }

  async function probe(): Promise<void> {
    await write(`probe${UNNAMED}`, PROBE);
    await discard(`probe${UNNAMED}`);
  }

  function inTurn(work: () => Promise<void>): Promise<void> {
    const step = steps.then(work).catch((cause: unknown) => {
      problem = wordsOf(cause);
      if (!isClosed) retry ??= timers.set(recover, RETRY_MS);
      throw new JournalError('Failed', `journal ${dir} cannot be written: ${problem}`, { cause });
    });
    steps = step.catch(() => undefined);
    return step;
  }

  /** Reads the folder again, and brings it in line with what is known. */
  function recover(): void {
    retry = undefined;
    const recovered = inTurn(async () => {
      await readNames();
      const gone = new Set(names.keys());
      for (const entry of attempts.all()) {
        await put(entry);
        gone.delete(keyOf(entry.uid, entry.attempt));
      }
      for (const key of gone) await discardNote(key);
      await probe();
      problem = undefined;
      warn('journal: writable again', { folder: dir });
    });
    // The next try is planned already.
    recovered.catch(() => undefined);
  }

  async function discardNote(key: string): Promise<void> {
    const name = names.get(key);
    if (name !== undefined) await discard(name);
    names.delete(key);
  }

  /** False if the disk refuses the new name. */
  const renamed = (from: string, to: string): Promise<boolean> =>
    files.rename(at(from), at(to)).then(
      () => true,
      () => false,
    );

  /** An order that may have been sent within the last hour keeps its note, for the limit of the next process. */
  async function endNote(entry: JournalEntry): Promise<void> {
    const key = keyOf(entry.uid, entry.attempt);
    const name = names.get(key);
    const ending = `${key}.${bootId}.ended`;
    if (name !== undefined && entry.state !== 'minted' && isCounted(entry.mintedAt) && (await renamed(name, ending))) {
      names.delete(key);
      left.set(ending, timers.now());
    } else {
      await discardNote(key);
    }
    for (const [old, since] of left) {
      if (timers.now() - since < COUNTED_MS) break;
      await discard(old);
      left.delete(old);
    }
  }

  const isUpgraded = (await readNames()).includes(OLD_FILE);
  const ended: EndedOrder[] = [];
  for (const name of left.keys()) {
    const order = await readEnded(name);
    if (order !== undefined) ended.push(order);
    else {
      await discard(name);
      left.delete(name);
    }
  }
  const found: JournalEntry[] = [];
  for (const [key, name] of names) {
    const entry = await readNote(name);
    if (entry === undefined) await discardNote(key);
    else found.push(entry);
  }
  const old = isUpgraded ? await readOldFile() : [];
  const mintedAt = (entry: JournalEntry): number => Date.parse(entry.mintedAt ?? '') || 0;
  for (const entry of [...found, ...old].sort((a, b) => mintedAt(a) - mintedAt(b))) attempts.put(entry);
  for (const entry of old) await put(entry);
  if (isUpgraded) await discard(OLD_FILE);
  await probe();

  return {
    get problem() {
      return problem;
    },
    save: (entry, again) => inTurn(() => put(entry, again)),
    remove: (entry, removed) =>
      inTurn(async () => {
        await endNote(entry);
        removed();
      }),
    ended,
    async close() {
      isClosed = true;
      await steps;
      timers.clear(retry);
    },
  };
}

/** Makes a safe file name of any uid and attempt. */
function keyOf(uid: string, attempt: string): string {
  return createHash('sha256')
    .update(JSON.stringify([uid, attempt]))
    .digest('hex');
}

/** The names of the states are in the order of the steps; `ended` comes first, because a step may overtake it. */
function byState(a: string, b: string): number {
  return extname(a).localeCompare(extname(b));
}

function textOf({ namespace, name, uid, attempt, account, mintedAt }: JournalEntry): string {
  return JSON.stringify({ namespace, name, uid, attempt, account, mintedAt });
}

/** Throws a SyntaxError for a text that no version wrote. */
function parse<T>(text: string, schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(text));
}

/** Other errors stay as they are. */
function corrupt(where: string, cause: unknown): unknown {
  const isJson = cause instanceof z.ZodError;
  if (!isJson && !(cause instanceof SyntaxError)) return cause;
  const problem = isJson ? 'it is not an entry of this version' : 'it is not JSON';
  const advice = 'It may know of servers that nothing else knows of: look at it before you repair or remove it.';
  return new JournalError('Corrupt', `journal ${where}: ${problem}. ${advice}`, { cause });
}

/** The system's words, without the code, the call and the path that Node adds. */
function wordsOf(cause: unknown): string {
  const { message } = cause instanceof Error ? cause : new Error(String(cause));
  return /^E[A-Z0-9]+: (.+), \w+/.exec(message)?.[1] ?? message;
}

/* Attempts to create a server, by the uid of their object and in order of minting. */

export interface JournalEntry {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly attempt: string;
  /** `minted`: certainly not sent. `sending`: may have been sent. `task`: accepted, with `task`. */
  readonly state: 'minted' | 'sending' | 'task';
  /** When the attempt was minted, RFC 3339. */
  readonly mintedAt?: string;
  readonly task?: TaskNumber;
  /** Hash of base URL and key ID that the attempt was minted for. */
  readonly account?: string;
  /** True if minted by this process; false if an earlier one noted it. */
  readonly own: boolean;
  /** This process has noted before that it was about to send the attempt. */
  readonly wasSending?: boolean;
}

/** An attempt that may have been sent, and that needs nothing more from the journal. */
export interface EndedOrder extends Pick<JournalEntry, 'namespace' | 'attempt'> {
  /** RFC 3339. */
  readonly mintedAt: string;
}

export class Attempts {
  readonly #byUid = new Map<string, Map<string, JournalEntry>>();

  uids(): string[] {
    return [...this.#byUid.keys()];
  }

  of(uid: string): JournalEntry[] {
    return [...(this.#byUid.get(uid)?.values() ?? [])];
  }

  all(): JournalEntry[] {
    return this.uids().flatMap((uid) => this.of(uid));
  }

  get(uid: string, attempt: string): JournalEntry | undefined {
    return this.#byUid.get(uid)?.get(attempt);
  }

  isCurrent(entry: JournalEntry): boolean {
    return this.get(entry.uid, entry.attempt) === entry;
  }

  /** Adds the entry, or replaces the one with the same uid and attempt. */
  put(entry: JournalEntry): void {
    const entries = this.#byUid.get(entry.uid);
    if (entries === undefined) this.#byUid.set(entry.uid, new Map([[entry.attempt, entry]]));
    else entries.set(entry.attempt, entry);
  }

  delete({ uid, attempt }: Pick<JournalEntry, 'uid' | 'attempt'>): void {
    const entries = this.#byUid.get(uid);
    entries?.delete(attempt);
    if (entries?.size === 0) this.#byUid.delete(uid);
  }
}

/* The one error that the journal throws. */

export type JournalErrorCode =
  | 'InUse' // another process holds the folder
  | 'Corrupt' // a note cannot be understood
  | 'Failed' // the disk refused a step
  | 'Closed' // the journal was closed
  | 'WrongStep'; // the attempt is not in the state that the step asks for

export class JournalError extends Error {
  override readonly name = 'JournalError';
  readonly code: JournalErrorCode;

  constructor(code: JournalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
