/** One operator process in the simulation: the real operator over modelled rooms. Its death takes with it all but its disk. */
import { Attempts, type JournalEntry } from '../../src/virtual-server/journal/attempts.ts';
import { JournalError } from '../../src/virtual-server/journal/error.ts';
import type { Journal, NewAttempt } from '../../src/virtual-server/journal/journal.ts';
import { LeaderElection } from '../../src/controller/leader-election.ts';
import { Operator, type OperatorOptions } from '../../src/operator.ts';
import { PROBE_MS } from '../../src/virtual-server/ssh/probe.ts';
import type { Timers } from '../../src/base/timers.ts';
import type { ProbeResult } from '../../src/virtual-server/decision/reach.ts';
import { createLogger } from '../../src/base/logger.ts';
import { createProvider } from '../../src/provider/index.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { SimInformer } from './informer.ts';
import { SimKube, type Network } from './kube.ts';
import { SimWire } from './wire.ts';

/** What survives a crash: the journal's file. */
export interface Disk {
  attempts: Attempts;
}

export interface ProcessParts {
  network: Network;
  api: ApiServer;
  service: Simulation;
  disk: Disk;
  /** Tell of every step, not just of errors. */
  verbose: boolean;
  /** Told of every log line. */
  onLog: (line: Record<string, unknown>) => void;
  /** The informer's first list may be this many changes old. */
  staleBy: number;
  /** With leader election: its identity, and what is done when it is lost. */
  election?: { identity: string; onLost: () => void };
  /** Whether it writes connection Secrets. */
  connectionSecrets: boolean;
  /** How far the process's wall clock is off (ms). */
  skewMs: number;
}

const LEASE_MS = 15_000;

export const FLAGS = {
  pollIntervalMs: 60_000,
  resyncIntervalMs: 600_000,
  maxConcurrentReconciles: 4,
  providerQps: Infinity,
  maxCreatesPerHour: 0,
  maxServersPerNamespace: 0,
  createTimeoutMs: 120_000,
  providerTimeoutMs: 30_000,
  kubeTimeoutMs: 15_000,
  takeoverGraceMs: 60_000,
  absenceGraceMs: 300_000,
  operatorNamespace: 'vps-operator',
} satisfies Partial<OperatorOptions>;

export class SimProcess {
  readonly informer: SimInformer;
  readonly #network: Network;
  readonly #operator: Operator;
  readonly #owner: object = {};

  constructor({ network, api, service, disk, onLog, staleBy, verbose, election, ...parts }: ProcessParts) {
    this.#network = network;
    const { scheduler, random } = network;
    const owner = this.#owner;
    const timers: Timers = {
      now: () => scheduler.now + parts.skewMs,
      monotonic: () => scheduler.now,
      set: (fn, ms) => scheduler.after(ms, fn, owner),
      clear: (handle) => scheduler.cancel(handle as object),
      random: random.next,
    };
    const wire = new SimWire(network, service, owner);
    const provider = createProvider({
      baseUrl: service.baseUrl,
      authUrl: service.authUrl,
      createTimeoutMs: FLAGS.createTimeoutMs,
      qps: Infinity,
      timers,
      transport: wire,
    });
    const log = createLogger({
      level: verbose ? 'debug' : 'error',
      destination: { write: (line) => onLog(JSON.parse(line) as Record<string, unknown>) },
    });
    const kube = new SimKube(network, api, owner);
    const elector =
      election && new LeaderElection({ leases: kube.leases(), leaseDurationMs: LEASE_MS, timers, log, ...election });
    const informer = new SimInformer(network, api, owner, staleBy);
    const operator = new Operator({
      ...FLAGS,
      ...(elector && { leads: () => elector.held(), leaseDurationMs: LEASE_MS }),
      kube,
      ...(parts.connectionSecrets && { secrets: kube.secrets() }),
      servers: informer,
      provider,
      journal: new SimJournal(network, disk, owner),
      log,
      timers,
      probe: () => ask(network, owner),
      mint: () => random.hex(16),
    });
    this.informer = informer;
    this.#operator = operator;
    void (elector?.acquire() ?? Promise.resolve()).then(() => operator.start());
  }

  /** SIGKILL: requests that have left arrive, their answers reach nobody. */
  kill(): void {
    this.#network.scheduler.kill(this.#owner);
    this.informer.end();
  }

  /** SIGSTOP, and SIGCONT after `ms`. */
  suspend(ms: number): void {
    this.#network.scheduler.stop(this.#owner, ms);
  }

  /** What SIGTERM and a lost lease do. */
  async stop(): Promise<void> {
    await this.#operator.stop();
    this.kill();
  }
}

/** An SSH server that answers, or is silent until the probe gives up. */
function ask({ scheduler, random, silentSsh }: Network, owner: object): Promise<ProbeResult> {
  const silent = random.chance(silentSsh);
  const probed: ProbeResult = silent ? { ok: false, why: 'it says nothing' } : { ok: true, banner: 'SSH-2.0-x' };
  return new Promise((resolve) => scheduler.after(silent ? PROBE_MS : 5, () => resolve(probed), owner));
}

/** The journal on a disk that keeps what was written before the crash, whether or not the process heard of it. */
class SimJournal implements Journal {
  readonly #network: Network;
  readonly #disk: Disk;
  readonly #owner: object;
  readonly #memory = new Attempts();
  /** The disk has refused a line, and the file was not written anew since. */
  #refused = false;

  constructor(network: Network, disk: Disk, owner: object) {
    this.#network = network;
    this.#disk = disk;
    this.#owner = owner;
    for (const entry of disk.attempts.all()) this.#memory.put({ ...entry, own: false });
  }

  get problem(): string | undefined {
    return this.#refused ? 'no space left on device' : undefined;
  }

  entries(uid: string): readonly JournalEntry[] {
    return this.#memory.of(uid);
  }

  get(uid: string, attempt: string): JournalEntry | undefined {
    return this.#memory.get(uid, attempt);
  }

  uids(): string[] {
    return this.#memory.uids();
  }

  minted(attempt: NewAttempt): Promise<void> {
    return this.#put({ ...attempt, state: 'minted', own: true }, undefined);
  }

  sending(uid: string, attempt: string): Promise<void> {
    const before = this.#known(uid, attempt);
    if (before.state !== 'minted' || !before.own) throw new Error(`attempt ${attempt} is not ours to send`);
    return this.#put({ ...before, state: 'sending' }, before);
  }

  task(uid: string, attempt: string, task: number): Promise<void> {
    const entry: JournalEntry = { ...this.#known(uid, attempt), state: 'task', task };
    return this.#put(entry, entry);
  }

  createdNothing(uid: string, attempt: string): Promise<void> {
    const entry: JournalEntry = { ...this.#known(uid, attempt), state: 'minted' };
    return this.#put(entry, entry);
  }

  async settle(uid: string, attempt: string): Promise<void> {
    try {
      await this.#write(() => this.#disk.attempts.delete(uid, attempt));
    } finally {
      this.#memory.delete(uid, attempt);
    }
  }

  async drop(uid: string): Promise<void> {
    for (const { attempt } of this.entries(uid)) await this.settle(uid, attempt);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #known(uid: string, attempt: string): JournalEntry {
    const entry = this.get(uid, attempt);
    if (entry === undefined) throw new Error(`attempt ${attempt} is not in the journal`);
    return entry;
  }

  /** `fallback` is what holds again where the disk refuses the entry. */
  async #put(entry: JournalEntry, fallback: JournalEntry | undefined): Promise<void> {
    this.#memory.put(entry);
    try {
      await this.#write(() => this.#disk.attempts.put(entry));
    } catch (error) {
      if (fallback === undefined) this.#memory.delete(entry.uid, entry.attempt);
      else this.#memory.put(fallback);
      throw error;
    }
  }

  /** Reaches the disk a moment later; a crash before that loses it. */
  #write(apply: () => void): Promise<void> {
    const { scheduler, random } = this.#network;
    if (this.#refused) return Promise.reject(fullDisk());
    return new Promise((resolve, reject) => {
      scheduler.after(
        random.int(0, 3),
        () => {
          if (this.#network.diskFull === true) {
            // What the disk holds of a refused line is not known.
            if (random.chance(0.5)) apply();
            if (!this.#refused) this.#retryLater();
            this.#refused = true;
            reject(fullDisk());
            return;
          }
          apply();
          scheduler.after(random.int(0, 2), resolve, this.#owner);
        },
        this.#owner,
      );
    });
  }

  /** Nothing is written until the whole file can be written anew. */
  #retryLater(): void {
    const retry = (): void => {
      if (this.#network.diskFull === true) {
        this.#retryLater();
        return;
      }
      this.#disk.attempts = new Attempts();
      for (const entry of this.#memory.all()) this.#disk.attempts.put(entry);
      this.#refused = false;
    };
    this.#network.scheduler.after(5_000, retry, this.#owner);
  }
}

function fullDisk(): JournalError {
  return new JournalError('Failed', 'the journal cannot be written: no space left on device');
}
