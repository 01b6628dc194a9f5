/** Tasks and their numbers. A number can be reused: then its newest task answers. */
import type { Ledger } from './ledger.ts';
import type { Settings } from './settings.ts';

export interface Task {
  readonly number: number;
  readonly account: string;
  /** The server that the task creates. */
  readonly serial: number;
  readonly identifier: string;
  readonly createdAt: number;
  durationMs: number;
  /** If set, the task never completes; `text` replaces its status. */
  stalled: { text: string | undefined; showsIdentifier: boolean } | undefined;
  hidden: boolean;
  completionRecorded: boolean;
}

export type TaskAnswer =
  { state: 'pending'; identifier: string | undefined; status: string } | { state: 'complete'; identifier: string };

export class Tasks {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  /** By number, oldest first. */
  readonly #byNumber = new Map<number, Task[]>();
  /** Next number by `account NAME`; the key '' is the global counter. */
  readonly #counters = new Map<string, number>();

  constructor(settings: Settings, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
  }

  open(account: string, server: { serial: number; identifier: string }, durationMs: number): Task {
    const task: Task = {
      number: this.#nextNumber(account),
      account,
      ...server,
      createdAt: this.#settings.clock.now(),
      durationMs,
      stalled: undefined,
      hidden: false,
      completionRecorded: false,
    };
    const older = this.#byNumber.get(task.number);
    if (older) older.push(task);
    else this.#byNumber.set(task.number, [task]);
    return task;
  }

  /** Later tasks start at the first number again. */
  restartCounter(account?: string): void {
    const { taskNumbering } = this.#settings;
    if (account === undefined) this.#counters.clear();
    else if (taskNumbering === 'account') this.#counters.delete(`account ${account}`);
    else throw new Error('Task numbers are global: accounts have no counters');
  }

  /** The newest task with this number; with `account`, the newest in that account. Throws if there is none. */
  newest(number: number, account?: string): Task {
    const task = this.#find(number, account);
    if (!task) throw new Error(`There is no task ${number}${account === undefined ? '' : ` of account ${account}`}`);
    return task;
  }

  /** Undefined if the account has no such task, or if reads do not show it. */
  poll(account: string, number: number): TaskAnswer | undefined {
    const { clock, lag, taskNumbering, taskStatus, identifierFrom } = this.#settings;
    const task = this.#find(number, taskNumbering === 'account' ? account : undefined);
    if (!task || task.hidden || task.account !== account) return undefined;
    const now = clock.now();
    const elapsedMs = now - task.createdAt;
    if (elapsedMs < lag.taskMs) return undefined;
    const identifier = this.#spelled(task.identifier);
    if (task.stalled || elapsedMs < task.durationMs) {
      const shown = identifierFrom === 'start' && task.stalled?.showsIdentifier !== false;
      const status = task.stalled?.text ?? taskStatus(elapsedMs, task.durationMs);
      return { state: 'pending', identifier: shown ? identifier : undefined, status };
    }
    this.#recordCompletion(task, now);
    return { state: 'complete', identifier };
  }

  #recordCompletion(task: Task, now: number): void {
    if (task.completionRecorded) return;
    task.completionRecorded = true;
    const { number, serial, identifier, createdAt, durationMs } = task;
    const completedAt = createdAt + durationMs;
    this.#ledger.append({ kind: 'taskCompleted', at: now, serial, task: number, identifier, completedAt });
  }

  #spelled(identifier: string): string {
    switch (this.#settings.identifierCase) {
      case 'upper-in-task':
        return identifier.toUpperCase();
      case 'upper-in-server':
        return identifier.toLowerCase();
      case 'as-is':
      case 'ignored':
      case 'echo':
        return identifier;
    }
  }

  #find(number: number, account: string | undefined): Task | undefined {
    return this.#byNumber.get(number)?.findLast((task) => account === undefined || task.account === account);
  }

  #nextNumber(account: string): number {
    const counter = this.#settings.taskNumbering === 'account' ? `account ${account}` : '';
    const number = this.#counters.get(counter) ?? this.#settings.firstTask;
    this.#counters.set(counter, number + 1);
    return number;
  }
}
