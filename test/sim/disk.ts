/**
 * The simulated disk of a journal. A machine crash can lose any data that was not synced. Writes take time, can be
 * short, and fail when the disk is full.
 */
import { JournalError } from '../../src/virtual-server/journal/error.ts';
import type { FileSystem, OpenFile } from '../../src/virtual-server/journal/file.ts';
import { JournalWatch } from './journal-watch.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';

interface File {
  bytes: Buffer;
  /** Number of synced bytes. */
  safe: number;
}

/** Probability of a short write. */
const SHORT = 0.1;

export class SimDisk {
  readonly watch = new JournalWatch();
  #names = new Map<string, File>();
  /** The directory as of its last sync. */
  #safeNames = new Map<string, File>();
  #holder: object | undefined;

  /** Simulates a machine crash: unsynced data is lost, in full or in part. */
  losePower(random: Random): void {
    this.#names = random.chance(0.5) ? this.#safeNames : this.#names;
    for (const file of this.#names.values()) {
      file.bytes = file.bytes.subarray(0, random.int(file.safe, file.bytes.length));
      file.safe = file.bytes.length;
    }
    this.#safeNames = new Map(this.#names);
  }

  /** The file system of one process. */
  files(network: Network, owner: object): FileSystem {
    const { scheduler, random } = network;
    const moment = (): Promise<void> =>
      new Promise((resolve) => void scheduler.after(random.int(0, 2), resolve, owner));
    /** The write and its reply each take time; the process can die before either. */
    const later = async <T>(work: () => T): Promise<T> => {
      await moment();
      const result = work();
      if (random.chance(0.3)) await moment();
      return result;
    };
    const existing = (path: string): File => {
      const file = this.#names.get(path);
      if (file === undefined) throw systemError('ENOENT', 'no such file or directory', 'open');
      return file;
    };
    const opened = (file: File | undefined): OpenFile => {
      const sync = (): Promise<void> =>
        later(() => {
          if (file === undefined) this.#safeNames = new Map(this.#names);
          else file.safe = file.bytes.length;
        });
      return {
        write: (bytes, offset) =>
          later(() => {
            const full = network.diskFull === true;
            if (file === undefined || (full && random.chance(0.5))) throw systemError('ENOSPC', NO_SPACE, 'write');
            const rest = bytes.subarray(offset);
            const isShort = full || random.chance(SHORT);
            const bytesWritten = isShort ? random.int(Math.min(1, rest.length), rest.length) : rest.length;
            file.bytes = Buffer.concat([file.bytes, rest.subarray(0, bytesWritten)]);
            return { bytesWritten };
          }),
        datasync: sync,
        sync,
        close: () => Promise.resolve(),
      };
    };
    return {
      mkdir: () => later(() => undefined),
      open: (path, flags) =>
        later(() => {
          if (flags === 'r') return opened(this.#names.get(path));
          if (this.#names.has(path)) throw systemError('EEXIST', 'file already exists', 'open');
          const file = { bytes: Buffer.alloc(0), safe: 0 };
          this.#names.set(path, file);
          return opened(file);
        }),
      readFile: (path) => later(() => existing(path).bytes.toString()),
      rename: (from, to) =>
        later(() => {
          this.#names.set(to, existing(from));
          this.#names.delete(from);
        }),
      rm: (path) => later(() => void this.#names.delete(path)),
    };
  }

  /** Locks the folder; the lock is released when the process dies. */
  lock(owner: object, isDead: (owner: object) => boolean): Promise<() => Promise<void>> {
    if (this.#holder !== undefined && !isDead(this.#holder))
      return Promise.reject(new JournalError('InUse', 'the folder is in use by another process'));
    this.#holder = owner;
    return Promise.resolve(() => {
      this.#holder = undefined;
      return Promise.resolve();
    });
  }
}

const NO_SPACE = 'no space left on device';

function systemError(code: string, words: string, call: string): Error {
  return Object.assign(new Error(`${code}: ${words}, ${call}`), { code });
}
