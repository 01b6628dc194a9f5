/** Tasks and their numbers. A number can be reused: then its newest task answers. */
import type { TaskNumber } from '../base/exact-numbers.ts';
import type { Ledger } from './ledger.ts';
import { APIS } from './api/apis.ts';
import type { Settings } from './settings.ts';
import type { FailedTask } from './variants.ts';

export interface Task {
  readonly number: TaskNumber;
  readonly account: string;
  /** The server that the task creates. */
  readonly serial: number;
  readonly identifier: string;
  readonly createdAt: number;
  durationMs: number;
  /** If set, the task never completes; `text` replaces its status. */
  stalled: { text: string | undefined } | undefined;
  /** It fails at this time; `told`: an answer has said so. */
  failure: { at: number; text: string; as: FailedTask; told: boolean } | undefined;
  /** False: answers omit the identifier while the task is not complete. */
  showsIdentifier: boolean;
  hidden: boolean;
  completionRecorded: boolean;
}

export type TaskResponse =
  | { state: 'pending'; identifier: string | undefined; status: string }
  | { state: 'complete'; identifier: string }
  | { state: 'failed'; text: string };

export class Tasks {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  /** By number, oldest first. */
  readonly #byNumber = new Map<TaskNumber, Task[]>();
  /** Next number by `account NAME`; the key '' is the global counter. */
  readonly #counters = new Map<string, bigint>();

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
      failure: undefined,
      showsIdentifier: true,
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
  newest(number: TaskNumber, account?: string): Task {
    const task = this.#find(number, account);
    if (!task) throw new Error(`There is no task ${number}${account === undefined ? '' : ` of account ${account}`}`);
    return task;
  }

  /** The task that creates the server with this serial number. Throws if there is none. */
  of(serial: number): Task {
    const task = [...this.#byNumber.values()].flat().find((one) => one.serial === serial);
    if (!task) throw new Error(`There is no task for the server with serial number ${serial}`);
    return task;
  }

  /** Undefined if the account has no such task, or if reads do not show it. */
  poll(account: string, number: TaskNumber): TaskResponse | undefined {
    const { clock, lag, taskNumbering } = this.#settings;
    const task = this.#find(number, taskNumbering === 'account' ? account : undefined);
    if (!task || task.hidden || task.account !== account) return undefined;
    const now = clock.now();
    const elapsedMs = now - task.createdAt;
    if (elapsedMs < lag.taskMs) return undefined;
    const { failure } = task;
    const isToFail = failure !== undefined && failure.as !== 'error-then-pending';
    if (failure && now >= failure.at) {
      const { as, told, at, text } = failure;
      failure.told = true;
      if (isToFail && (this.#isForgotten(at) || (as === 'error-then-denied' && told))) return undefined;
      if (as === 'text') return this.#pending(task, text);
      if (isToFail || !told) return { state: 'failed', text };
    }
    if (task.stalled || isToFail || elapsedMs < task.durationMs) {
      const { taskStatus = APIS[this.#settings.api].taskStatus } = this.#settings;
      return this.#pending(task, task.stalled?.text ?? taskStatus(elapsedMs, task.durationMs));
    }
    this.#recordCompletion(task, now);
    if (this.#isForgotten(task.createdAt + task.durationMs)) return undefined;
    return { state: 'complete', identifier: this.#spelled(task.identifier) };
  }

  #pending({ identifier, showsIdentifier }: Task, status: string): TaskResponse {
    const isShown = showsIdentifier && this.#settings.identifierFrom === 'start';
    return { state: 'pending', identifier: isShown ? this.#spelled(identifier) : undefined, status };
  }

  #isForgotten(endedAt: number): boolean {
    return this.#settings.clock.now() >= endedAt + this.#settings.variants.taskRememberedMs;
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

  #find(number: TaskNumber, account: string | undefined): Task | undefined {
    return this.#byNumber.get(number)?.findLast((task) => account === undefined || task.account === account);
  }

  #nextNumber(account: string): TaskNumber {
    const counter = this.#settings.taskNumbering === 'account' ? `account ${account}` : '';
    const next = this.#counters.get(counter) ?? BigInt(this.#settings.firstTask);
    this.#counters.set(counter, next + 1n);
    return next > Number.MAX_SAFE_INTEGER ? String(next) : Number(next);
  }
}
