/** Tasks and servers: what exists, for whom, and from when on. Completion is read off the clock; nothing runs by itself. */
import type { Ledger } from './ledger.ts';
import type { Settings, SimulatedProduct } from './options.ts';
import type { ServerObject } from './server-object.ts';
import { newServerObject } from './server-object.ts';

interface Task {
  task: number;
  account: string;
  identifier: string;
  createdAt: number;
  durationMs: number;
  /** Set: the task never completes; a text replaces its status. */
  stalled: { text: string | undefined } | undefined;
  hidden: boolean;
  completionRecorded: boolean;
}

interface Server {
  account: string;
  task: number | undefined;
  /** Milliseconds since the epoch; Infinity: it never becomes a server. */
  readyAt: number;
  object: ServerObject;
}

/** A server that exists or is being created: what the account pays for. */
export interface AliveServer {
  identifier: string;
  account: string;
  /** Undefined for a server that was not created by a request. */
  task: number | undefined;
  state: 'creating' | 'running';
}

export type TaskAnswer =
  { state: 'pending'; identifier: string; status: string } | { state: 'complete'; identifier: string };

/** A server of the account: ready, or still in creation. */
export interface FoundServer {
  ready: boolean;
  object: ServerObject;
}

export class Fleet {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  readonly #tasks = new Map<number, Task>();
  readonly #servers = new Map<string, Server>();
  readonly #identifiers = new Set<string>();
  #ordinal = 0;
  #taskDurationMs: number;

  constructor(settings: Settings, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
    this.#taskDurationMs = settings.taskDurationMs;
  }

  create(account: string, product: SimulatedProduct, diskSize: number, body: Record<string, unknown>): number {
    const now = this.#settings.clock.now();
    const object = this.#newObject(product, diskSize);
    const { identifier } = object;
    const task = this.#settings.firstTask + this.#tasks.size;
    const durationMs = this.#taskDurationMs;
    this.#tasks.set(task, {
      task,
      account,
      identifier,
      createdAt: now,
      durationMs,
      stalled: undefined,
      hidden: false,
      completionRecorded: false,
    });
    this.#servers.set(identifier, { account, task, readyAt: now + durationMs, object });
    this.#ledger.append({ kind: 'create', at: now, task, identifier, account, body });
    return task;
  }

  /** Undefined when the account has no such task. */
  pollTask(account: string, number: number): TaskAnswer | undefined {
    const task = this.#tasks.get(number);
    if (!task || task.hidden || task.account !== account) return undefined;
    const { identifier } = task;
    const now = this.#settings.clock.now();
    const elapsedMs = now - task.createdAt;
    if (task.stalled || elapsedMs < task.durationMs) {
      const status = task.stalled?.text ?? this.#settings.taskStatus(elapsedMs, task.durationMs);
      return { state: 'pending', identifier, status };
    }
    if (!task.completionRecorded) {
      task.completionRecorded = true;
      const completedAt = task.createdAt + task.durationMs;
      this.#ledger.append({ kind: 'taskCompleted', at: now, task: number, identifier, completedAt });
    }
    return { state: 'complete', identifier };
  }

  /** Undefined when the account has no such server. */
  find(account: string, identifier: string): FoundServer | undefined {
    const server = this.#servers.get(identifier);
    if (!server || server.account !== account) return undefined;
    return { ready: this.#isReady(server), object: server.object };
  }

  /** Unprovisions the server; a task that was creating it is gone. */
  cancel(account: string, identifier: string): void {
    const server = this.#servers.get(identifier);
    if (server && !this.#isReady(server) && server.task !== undefined) this.vanishTask(server.task);
    this.removeServer(identifier);
    this.#ledger.append({ kind: 'cancel', at: this.#settings.clock.now(), identifier, account });
  }

  aliveServers(account?: string): AliveServer[] {
    const alive: AliveServer[] = [];
    for (const [identifier, server] of this.#servers) {
      if (account !== undefined && server.account !== account) continue;
      const state = this.#isReady(server) ? 'running' : 'creating';
      alive.push({ identifier, account: server.account, task: server.task, state });
    }
    return alive;
  }

  /** A ready server that no request created; `patch` overrides fields, `identifier` too. */
  addServer(account: string, patch: Partial<ServerObject> = {}): ServerObject {
    const product = this.#settings.products.find(({ code }) => code === patch.product) ?? this.#settings.products[0];
    if (!product) throw new Error('The simulator has no products');
    const size = this.#settings.diskSizes['ssd']?.[0] ?? 10;
    const object = { ...this.#newObject(product, size, patch.identifier), ...patch };
    this.#servers.set(object.identifier, { account, task: undefined, readyAt: -Infinity, object });
    return object;
  }

  /** Changes a server behind everybody's back, as somebody in the control panel would. */
  updateServer(identifier: string, patch: Partial<Omit<ServerObject, 'identifier'>>): void {
    const server = this.#servers.get(identifier);
    if (!server) throw new Error(`There is no server ${identifier}`);
    server.object = { ...server.object, ...patch };
  }

  /** The server is gone, without a request and without a `cancel` in the ledger. */
  removeServer(identifier: string): void {
    if (!this.#servers.delete(identifier)) throw new Error(`There is no server ${identifier}`);
  }

  /** For creates from now on. */
  setTaskDuration(ms: number): void {
    this.#taskDurationMs = ms;
  }

  /** The task, stalled or not, is finished as of now. */
  completeTask(number: number): void {
    const task = this.#task(number);
    task.stalled = undefined;
    task.durationMs = this.#settings.clock.now() - task.createdAt;
    const server = this.#servers.get(task.identifier);
    if (server) server.readyAt = this.#settings.clock.now();
  }

  /** The service no longer knows the task; the server goes on as it would have. */
  vanishTask(number: number): void {
    this.#task(number).hidden = true;
  }

  /** The task never ends, with its usual text or this one; the server appears in time only with `serverAppears`. */
  stallTask(number: number, options: { text?: string; serverAppears?: boolean } = {}): void {
    const task = this.#task(number);
    task.stalled = { text: options.text };
    const server = this.#servers.get(task.identifier);
    if (server && !options.serverAppears) server.readyAt = Infinity;
  }

  /** The creation fails: the task says so for ever (the documentation shows no failure), and no server comes of it. */
  failTask(number: number, text = 'Installation failed'): void {
    const task = this.#task(number);
    task.stalled = { text };
    this.#servers.delete(task.identifier);
  }

  #task(number: number): Task {
    const task = this.#tasks.get(number);
    if (!task) throw new Error(`There is no task ${number}`);
    return task;
  }

  #isReady(server: Server): boolean {
    return this.#settings.clock.now() >= server.readyAt;
  }

  #newObject(product: SimulatedProduct, diskSize: number, identifier?: string): ServerObject {
    const chosen = identifier ?? this.#settings.newIdentifier();
    if (this.#identifiers.has(chosen)) throw new Error(`Identifier ${chosen} was given out before`);
    this.#identifiers.add(chosen);
    return newServerObject(chosen, ++this.#ordinal, product, diskSize);
  }
}
