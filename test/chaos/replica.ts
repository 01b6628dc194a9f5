/** One place where operator processes run, one at a time: its path to the API server, its journal, its log. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Arena } from './arena.ts';
import type { Exchange } from './exchange.ts';
import { startProxy, type Proxy } from './proxy.ts';

interface ReplicaOptions {
  arena: Arena;
  name: string;
  folder: string;
  /** Operator flags besides those for kubeconfig and journal. */
  flags: string[];
  env: Record<string, string>;
  /** Offset of its clock (ms). */
  skewMs?: number;
  onExchange: (exchange: Exchange, replica: Replica) => Promise<void>;
  /** Called when a process ends although it was not asked to. */
  onEnd: (replica: Replica, code: number | null) => void;
}

const TOKEN = 'token-of-the-operator-for-the-proxy';

/** The operator allows itself 25 s plus the create timeout, which is at most 8 s here. */
const STOP_MS = 40_000;

export class Replica {
  readonly name: string;
  /** Log lines of all processes that ran here. */
  readonly log: string[] = [];
  readonly stderr: string[] = [];
  /** Flags of the next processes besides those of the plan. */
  further: readonly string[] = [];
  readonly #options: ReplicaOptions;
  readonly #journal: string;
  readonly #kubeconfig: string;
  #proxy: Proxy | undefined;
  #isClosed = false;
  /** Index of the present process's first line in the log. */
  #begun = 0;
  #child: { process: ChildProcess; ended: Promise<number | null> } | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.name = options.name;
    this.#journal = join(options.folder, `${options.name}-journal`);
    this.#kubeconfig = join(options.folder, `${options.name}-kubeconfig`);
  }

  /** The proxy to the API server. */
  get proxy(): Proxy {
    if (this.#proxy === undefined) throw new Error('the replica is not open');
    return this.#proxy;
  }

  get pid(): number | undefined {
    return this.#child?.process.pid;
  }

  async open(): Promise<void> {
    const { arena, folder, onExchange } = this.#options;
    await mkdir(folder, { recursive: true });
    this.#proxy = await startProxy({
      upstream: arena.kube,
      tls: arena.tls,
      token: TOKEN,
      onExchange: (exchange) => onExchange(exchange, this),
    });
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'proxy',
          cluster: {
            server: this.#proxy.origin,
            'certificate-authority-data': Buffer.from(arena.ca).toString('base64'),
          },
        },
      ],
      users: [{ name: 'operator', user: { token: TOKEN } }],
      contexts: [{ name: 'proxy', context: { cluster: 'proxy', user: 'operator' } }],
      'current-context': 'proxy',
    };
    await writeFile(this.#kubeconfig, JSON.stringify(kubeconfig));
  }

  /** Starts a process; does nothing once the replica is closed. */
  start(): void {
    if (this.#isClosed) return;
    this.#begun = this.log.length;
    const { arena, flags, env, skewMs, onEnd } = this.#options;
    const own = [`--kubeconfig=${this.#kubeconfig}`, `--journal-dir=${this.#journal}`];
    const skew = skewMs === undefined ? [] : [`--import=${skewModule(skewMs)}`];
    const child = spawn(process.execPath, [...skew, arena.program, ...flags, ...own, ...this.further], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...env, PATH: process.env.PATH, NODE_COMPILE_CACHE: join(arena.folder, 'compile-cache') },
    });
    createInterface({ input: child.stdout }).on('line', (line) => this.log.push(line));
    createInterface({ input: child.stderr }).on('line', (line) => this.stderr.push(line));
    const { pid } = child;
    if (pid !== undefined) arena.watchdog.add(pid);
    const ended = once(child, 'close').then(([code]) => code as number | null);
    const started = { process: child, ended };
    this.#child = started;
    void ended.then((code) => {
      if (pid !== undefined) arena.watchdog.remove(pid);
      if (this.#child === started) {
        this.#child = undefined;
        onEnd(this, code);
      }
    });
  }

  /** Whether the present process reconciles objects. */
  get runs(): boolean {
    return this.log.slice(this.#begun).some((line) => line.includes('"operator runs"'));
  }

  /** Kills the process; resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.process.kill('SIGKILL');
    await child?.ended;
  }

  /** Asks the process to stop; resolves to what was wrong with the way it stopped. */
  async stop(): Promise<string[]> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return [];
    child.process.kill('SIGTERM');
    const late = setTimeout(() => child.process.kill('SIGKILL'), STOP_MS);
    const code = await child.ended;
    clearTimeout(late);
    const said = this.log.slice(this.#begun);
    // Until it logs its start, it has no signal handler. A leader may also lose its lease at this moment.
    const isExcused =
      code === null ? !said.some((line) => line.includes('"operator starts"')) : this.#lostLease(code, said);
    return code === 0 || isExcused ? [] : [`${this.name}, told to stop, exited with code ${code ?? 'none'}`];
  }

  #lostLease(code: number, said: readonly string[]): boolean {
    return code === 1 && said.some((line) => line.includes('"leadership lost"'));
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child?.process.kill(signal);
  }

  async loseJournal(): Promise<void> {
    await rm(this.#journal, { recursive: true, force: true });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
    await this.#proxy?.close();
  }
}

/** Shifts the process's wall clock, and nothing else, as the process sees it. */
function skewModule(skewMs: number): string {
  const source = `const now = Date.now; const Real = Date; const skewed = () => now() + ${skewMs};
    globalThis.Date = class extends Real { constructor(...a) { a.length === 0 ? super(skewed()) : super(...a); } };
    Date.now = skewed;`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}
