/**
 * The simulated disk of a journal, in a machine with a boot id. The death of a process loses nothing. The death of the
 * machine loses changes of the last seconds: all since one moment, or for each file since another one. Writes take time,
 * are torn when the process dies, and fail when the disk is full.
 */
import { JournalError, type FileSystem } from '../../src/virtual-server/journal/notes.ts';
import { BOOT_ID_FILE } from '../../src/virtual-server/journal/journal.ts';
import { JournalWatch } from './journal-watch.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';

interface File {
  text: string;
  /** When the text changed last. */
  writtenAt: number;
  /** Every name since the last death of the machine; undefined since the file was removed or replaced. */
  names: { since: number; name: string | undefined }[];
}

/** After this time, the kernel has written everything to the disk (ms). */
const WRITEBACK_MS = 30_000;
/** Probability that a disk takes up to this long for an operation, because others use it too. */
const STALL = 0.1;
const STALL_MS = 1_000;
/** Probability that a full disk refuses a new name, 0 to 1; half of these renames take effect anyway. */
const NO_NAME = 0.1;

export class SimDisk {
  readonly watch = new JournalWatch();
  /** When the machine died, or the full disk refused something, for the last time. */
  lastLossAt = -Infinity;
  #bootId: string;
  #names = new Map<string, File>();
  /** With those that were removed. */
  #files: File[] = [];
  #holder: object | undefined;

  constructor(random: Random) {
    this.#bootId = drawBootId(random);
  }

  /** The machine dies and boots again. */
  losePower({ random, scheduler: { now } }: Network): void {
    const files = this.#files;
    this.lastLossAt = now;
    const safeUntil = now - WRITEBACK_MS;
    /** The first of the changes that are lost; a moment of change is likelier to tell than a moment of time. */
    const lossOf = (changed: readonly File[]): number => {
      const times = changed.flatMap(({ names }) => names.map(({ since }) => since)).filter((time) => time > safeUntil);
      return random.pick([...times, Infinity]);
    };
    const common = random.chance(0.5) ? lossOf(files) : undefined;
    this.#bootId = drawBootId(random);
    this.watch.machineDied();
    this.#names = new Map();
    this.#files = [];
    for (const changed of files) {
      const { text, writtenAt, names } = changed;
      const lostSince = common ?? lossOf([changed]);
      const name = names.findLast(({ since }) => since < lostSince)?.name;
      if (name === undefined) continue;
      // A file system may store the name of a file before its content.
      const isWhole = writtenAt < safeUntil || random.chance(0.5);
      const left = random.chance(0.5) ? '' : text.slice(0, random.int(0, text.length - 1));
      const file = { text: isWhole ? text : left, writtenAt: -Infinity, names: [] };
      this.#forget(name, now);
      this.#refer(name, file, -Infinity);
    }
  }

  /** The file system of one process. */
  files(network: Network, owner: object): FileSystem {
    const { scheduler, random } = network;
    const moment = (): Promise<void> =>
      new Promise((resolve) => {
        scheduler.after(random.int(0, random.chance(STALL) ? STALL_MS : 2), resolve, owner);
      });
    /** The change and its reply each take time; the process can die before either. */
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
    const fails = (probability: number): boolean => {
      const isFull = network.diskFull === true && random.chance(probability);
      if (isFull) this.lastLossAt = scheduler.now;
      return isFull;
    };
    const write = (path: string, text: string): void => {
      const file = this.#names.get(path) ?? { text, writtenAt: scheduler.now, names: [] };
      file.text = text;
      file.writtenAt = scheduler.now;
      if (!this.#names.has(path)) this.#refer(path, file, scheduler.now);
    };
    return {
      mkdir: () => later(() => undefined),
      readdir: () => later(() => [...this.#names.keys()].map((path) => path.slice(path.lastIndexOf('/') + 1))),
      readFile: (path) => later(() => (path === BOOT_ID_FILE ? this.#bootId : existing(path).text)),
      writeFile: async (path, text) => {
        await later(() => write(path, text.slice(0, random.int(0, text.length - 1))));
        await later(() => {
          if (fails(0.5)) throw systemError('ENOSPC', NO_SPACE, 'write');
          write(path, text);
        });
      },
      rename: (from, to) =>
        later(() => {
          const isRefused = fails(NO_NAME);
          if (!isRefused || random.chance(0.5)) {
            const file = existing(from);
            this.#forget(to, scheduler.now);
            this.#names.delete(from);
            this.#refer(to, file, scheduler.now);
          }
          if (isRefused) throw systemError('ENOSPC', NO_SPACE, 'rename');
        }),
      unlink: (path) =>
        later(() => {
          existing(path);
          this.#forget(path, scheduler.now);
        }),
    };
  }

  #refer(name: string, file: File, since: number): void {
    if (file.names.length === 0) this.#files.push(file);
    file.names.push({ since, name });
    this.#names.set(name, file);
  }

  #forget(name: string, since: number): void {
    this.#names.get(name)?.names.push({ since, name: undefined });
    this.#names.delete(name);
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

function drawBootId(random: Random): string {
  const [a, b, c, d, e] = [8, 4, 4, 4, 12].map((digits) => random.hex(digits));
  return `${a}-${b}-${c}-${d}-${e}`;
}

function systemError(code: string, words: string, call: string): Error {
  return Object.assign(new Error(`${code}: ${words}, ${call}`), { code });
}
