/** The file under the journal: appends lines so that they survive a crash, and compacts the file when it has grown. */
import { dirname } from 'node:path';
import { JournalError } from './error.ts';
import type { Timers } from '../../base/timers.ts';

/** The file operations of the journal; `node:fs/promises` implements them. */
export interface FileSystem {
  /** Returns the first folder that it created. */
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<string | undefined>;
  open(path: string, flags: 'r' | 'wx', mode?: number): Promise<OpenFile>;
  readFile(path: string, encoding: 'utf8'): Promise<string>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { force: true }): Promise<void>;
}

export interface OpenFile {
  /** Appends the bytes from `offset` on; may write only some of them. */
  write(bytes: Buffer, offset: number): Promise<{ bytesWritten: number }>;
  datasync(): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

interface Append {
  line: string;
  /** Called before anything else happens to the file; code that awaits the promise runs later. */
  written: () => void;
  reject: (error: JournalError) => void;
}

/**
 * The file is compacted once it exceeds both `compactBytes` and this multiple of its size after the last compaction.
 */
const COMPACT_FACTOR = 4;
/** Pause before the next try to rewrite a file that could not be written (ms). */
const RETRY_MS = 5_000;

/** Creates the folder and its missing parents (mode 0700), and syncs them so that they survive a crash. */
export async function makeFolder(files: FileSystem, dir: string): Promise<void> {
  const first = await files.mkdir(dir, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const end = dirname(first);
  for (let made = dir; made !== end; made = dirname(made)) await syncFolder(files, dirname(made));
}

export interface JournalFileOptions {
  files: FileSystem;
  path: string;
  /** All lines that the file must contain. */
  snapshot: () => Iterable<string>;
  compactBytes: number;
  timers: Pick<Timers, 'set' | 'clear'>;
  /** Called when the file can be written again. */
  recovered: () => void;
}

export class JournalFile {
  readonly #options: JournalFileOptions;
  #handle: OpenFile | undefined;
  #size = 0;
  #compactAt = 0;
  #pending: Append[] = [];
  #running: Promise<void> | undefined;
  #failure: JournalError | undefined;
  #retry: unknown;

  private constructor(options: JournalFileOptions) {
    this.#options = options;
  }

  /** Replaces the file with the lines of the snapshot, now and at every compaction. */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const file = new JournalFile(options);
    await file.#compact();
    return file;
  }

  /** Why nothing can be appended at present; undefined if it can. */
  get problem(): string | undefined {
    return this.#failure?.code === 'Failed' ? wordsOf(this.#failure.cause) : undefined;
  }

  /**
   * Resolves when the line, which includes its line end, is on disk. Lines that arrive during a write share the next
   * one. After a failure the disk content of the failed lines is unknown, so every append rejects until the whole file
   * has been rewritten, which is retried every few seconds. `apply` adds to the snapshot what it must not show earlier;
   * it runs before the next compaction.
   */
  append(line: string, apply: () => void): Promise<void> {
    // While the file is being rewritten, lines wait: its snapshot may be older than they are.
    if (this.#failure !== undefined && this.#running === undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const written = (): void => {
        apply();
        resolve();
      };
      this.#pending.push({ line, written, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything appended before is on disk or has failed. */
  async close(): Promise<void> {
    await this.#running;
    this.#options.timers.clear(this.#retry);
    this.#failure = new JournalError('Closed', `journal ${this.#options.path} is closed`);
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #run(): Promise<void> {
    // Let lines of the same tick share the first write.
    await Promise.resolve();
    let batch: Append[] = [];
    try {
      if (this.#failure !== undefined) await this.#recover();
      while (this.#pending.length > 0) {
        batch = this.#pending;
        this.#pending = [];
        await this.#write(batch.map((append) => append.line).join(''));
        for (const append of batch) append.written();
        batch = [];
        if (this.#size > this.#compactAt) await this.#compact();
      }
    } catch (cause) {
      this.#fail(cause, batch);
    }
    this.#running = undefined;
  }

  async #recover(): Promise<void> {
    await this.#compact();
    this.#failure = undefined;
    this.#options.recovered();
  }

  #fail(cause: unknown, batch: Append[]): void {
    const { path, timers } = this.#options;
    const failure = new JournalError('Failed', `journal ${path} cannot be written: ${wordsOf(cause)}`, { cause });
    this.#failure = failure;
    for (const append of [...batch, ...this.#pending]) append.reject(failure);
    this.#pending = [];
    this.#retry = timers.set(() => {
      this.#running ??= this.#run();
    }, RETRY_MS);
  }

  async #write(text: string): Promise<void> {
    if (this.#handle === undefined) throw new Error('the file is closed');
    await writeAll(this.#handle, text);
    await this.#handle.datasync();
    this.#size += Buffer.byteLength(text);
  }

  async #compact(): Promise<void> {
    const { files, path, snapshot, compactBytes } = this.#options;
    const text = [...snapshot()].join('');
    const temporary = `${path}.new`;
    await files.rm(temporary, { force: true });
    const handle = await files.open(temporary, 'wx', 0o600);
    try {
      await writeAll(handle, text);
      await handle.sync();
      await files.rename(temporary, path);
      await syncFolder(files, dirname(path));
    } catch (error) {
      await handle.close();
      // A full disk needs the space.
      await files.rm(temporary, { force: true });
      throw error;
    }
    const previous = this.#handle;
    this.#handle = handle;
    this.#size = Buffer.byteLength(text);
    this.#compactAt = Math.max(compactBytes, COMPACT_FACTOR * this.#size);
    await previous?.close();
  }
}

/** The system's words, without the code, the call and the path that Node adds. */
function wordsOf(cause: unknown): string {
  const { message } = cause instanceof Error ? cause : new Error(String(cause));
  return /^E[A-Z0-9]+: (.+), \w+/.exec(message)?.[1] ?? message;
}

async function writeAll(handle: OpenFile, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, offset);
    offset += bytesWritten;
  }
}

/** A new name in a folder survives a crash only after this sync. */
async function syncFolder(files: FileSystem, dir: string): Promise<void> {
  const handle = await files.open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
