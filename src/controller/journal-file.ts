/** The file under the journal: lines appended so that they survive a crash, and compacted when it has grown. */
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { JournalError } from './journal-error.ts';

interface Append {
  line: string;
  /** Called before anything else happens to the file, unlike what awaits the promise. */
  written: () => void;
  reject: (error: JournalError) => void;
}

/** Compacted when it has passed both `compactBytes` and this multiple of its size after the last compaction. */
const COMPACT_FACTOR = 4;

/** Makes the folder and its missing parents (mode 0700) and sees to it that they are still there after a crash. */
export async function makeFolder(dir: string): Promise<void> {
  const first = await mkdir(dir, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const end = dirname(first);
  for (let made = dir; made !== end; made = dirname(made)) await syncFolder(dirname(made));
}

export class JournalFile {
  readonly #path: string;
  readonly #snapshot: () => Iterable<string>;
  readonly #compactBytes: number;
  #handle: FileHandle | undefined;
  #size = 0;
  #compactAt = 0;
  #pending: Append[] = [];
  #running: Promise<void> | undefined;
  #failure: JournalError | undefined;

  private constructor(path: string, snapshot: () => Iterable<string>, compactBytes: number) {
    this.#path = path;
    this.#snapshot = snapshot;
    this.#compactBytes = compactBytes;
  }

  /** Replaces the file at `path` with the lines of `snapshot`, now and at every compaction. */
  static async create(path: string, snapshot: () => Iterable<string>, compactBytes: number): Promise<JournalFile> {
    const file = new JournalFile(path, snapshot, compactBytes);
    await file.#compact();
    return file;
  }

  /** True after a failure: nothing is appended any more. */
  get failed(): boolean {
    return this.#failure?.code === 'Failed';
  }

  /**
   * Resolves when the line, with its line end, is on the disk. Lines that come while a write is under way share the next.
   * After a failure every append rejects: what the disk holds of the failed lines is not known.
   * `apply` makes the snapshot follow a line that it must not show earlier; it runs before the next compaction.
   */
  append(line: string, apply: () => void): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const written = (): void => {
        apply();
        resolve();
      };
      this.#pending.push({ line, written, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything appended before is on the disk or has failed. */
  async close(): Promise<void> {
    await this.#running;
    this.#failure ??= new JournalError('Closed', `journal ${this.#path} is closed`);
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #run(): Promise<void> {
    // Lets lines of the same tick share the first write.
    await Promise.resolve();
    let batch: Append[] = [];
    try {
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

  #fail(cause: unknown, batch: Append[]): void {
    const why = cause instanceof Error ? cause.message : String(cause);
    const failure = new JournalError('Failed', `journal ${this.#path} cannot be written: ${why}`, { cause });
    this.#failure = failure;
    for (const append of [...batch, ...this.#pending]) append.reject(failure);
    this.#pending = [];
  }

  async #write(text: string): Promise<void> {
    if (this.#handle === undefined) throw new Error('the file is closed');
    await writeAll(this.#handle, text);
    await this.#handle.datasync();
    this.#size += Buffer.byteLength(text);
  }

  async #compact(): Promise<void> {
    const text = [...this.#snapshot()].join('');
    const temporary = `${this.#path}.new`;
    await rm(temporary, { force: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await writeAll(handle, text);
      await handle.sync();
      await rename(temporary, this.#path);
      await syncFolder(dirname(this.#path));
    } catch (error) {
      await handle.close();
      throw error;
    }
    const previous = this.#handle;
    this.#handle = handle;
    this.#size = Buffer.byteLength(text);
    this.#compactAt = Math.max(this.#compactBytes, COMPACT_FACTOR * this.#size);
    await previous?.close();
  }
}

async function writeAll(handle: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let offset = 0; offset < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, offset);
    offset += bytesWritten;
  }
}

/** A new name in a folder survives a crash only after this. */
async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
