/**
 * A world for one test: a namespace on the real API server, a simulator, and an operator in this process that watches
 * only that namespace, with the rights of its ServiceAccount. When the test ends, everything is stopped, and the world
 * checks invariants: no secret in log, Events or objects; every injected fault was hit; no unknown route was called.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { Condition } from '../../../src/api/meta.ts';
import { parseConfig, type Config } from '../../../src/config/config.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { DEFAULT_KEY, startSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/index.ts';
import { wireOperator, type WiredOperator } from '../../../src/wiring.ts';
import {
  installOperatorIdentity,
  permitConnectionSecrets,
  permitElection,
} from '../../../tools/control-plane/operator-identity.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';
import { TestNamespace } from './test-namespace.ts';

export interface WorldOptions {
  simulator?: SimulatorOptions;
  /** Additional operator flags, which override those of the world. */
  flags?: string[];
  /** The environment of the operator; empty by default. */
  env?: Record<string, string>;
  /** Whether to start the operator at once (default); otherwise `startOperator` does. */
  operator?: boolean;
  /** Whether to create the Secret with the simulator's key (default). */
  secret?: boolean;
  /** Administrator's kubeconfig of a control plane other than the shared one. */
  kubeconfigPath?: string;
  /**
   * The operator's kubeconfig on another control plane; its rights there are not the shipped ones, and flags add none.
   */
  operatorKubeconfigPath?: string;
  /** Which namespaces the operator watches; by default the world's. */
  watch?: 'own' | 'all';
  /** `onTestFinished` of the test's context; required in concurrent tests. */
  onTestFinished?: (end: () => Promise<void>) => void;
}

/** Prefix of the simulator's VNC passwords. */
const VNC_PASSWORD = 'vnc-password-';

let worlds = 0;

export type World = Awaited<ReturnType<typeof createWorld>>;

export async function createWorld(options: WorldOptions = {}) {
  const kubeconfigPath = options.kubeconfigPath ?? inject('kubeconfigPath');
  const operatorKubeconfigPath =
    options.operatorKubeconfigPath ??
    (options.kubeconfigPath === undefined
      ? inject('operatorKubeconfigPath')
      : await installOperatorIdentity(options.kubeconfigPath));
  const http = createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
  const namespace = `t${process.pid}-${Date.now().toString(36)}-${worlds++}`;
  const journalDir = await mkdtemp(join(tmpdir(), 'vps-operator-journal-'));
  const tokens: string[] = [];
  const newToken = (): string => tokens[tokens.push(randomUUID()) - 1] ?? '';
  const simulator = await startSimulator({ taskDurationMs: 300, newToken, ...options.simulator });
  const { flags = [], env = {}, watch = 'own' } = options;
  const addsRights = options.operatorKubeconfigPath === undefined;
  const operator = { operatorKubeconfigPath, addsRights, watch, flags, env };
  const world = new TestWorld({ http, namespace, journalDir, simulator, tokens, ...operator });
  (options.onTestFinished ?? onTestFinished)(() => world.end());
  await http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  if (options.secret !== false) await world.putSecret('vps-api-key', DEFAULT_KEY);
  if (options.operator !== false) await world.startOperator();
  else await world.permit(world.operatorFlags());
  return world;
}

interface Parts {
  http: KubeHttp;
  namespace: string;
  journalDir: string;
  simulator: Simulator;
  operatorKubeconfigPath: string;
  /** Whether to give the operator the rights that its flags require. */
  addsRights: boolean;
  watch: 'own' | 'all';
  flags: string[];
  env: Record<string, string>;
  /** Every token that the provider has issued. */
  tokens: readonly string[];
}

interface Start {
  flags?: string[];
  env?: Record<string, string>;
  journal?: boolean;
}

class TestWorld extends TestNamespace {
  readonly simulator: Simulator;
  readonly operatorKubeconfigPath: string;
  /** Parsed log lines of every operator in this world. */
  readonly log: Record<string, unknown>[] = [];
  readonly journalDir: string;
  readonly #addsRights: boolean;
  readonly #watch: 'own' | 'all';
  readonly #flags: string[];
  readonly #env: Record<string, string>;
  readonly #tokens: readonly string[];
  #logText = '';
  #operator: WiredOperator | undefined;
  readonly #joined: WiredOperator[] = [];

  constructor(parts: Parts) {
    const { http, namespace, journalDir, simulator, operatorKubeconfigPath, addsRights, watch } = parts;
    super(http, namespace);
    this.simulator = simulator;
    this.operatorKubeconfigPath = operatorKubeconfigPath;
    this.journalDir = journalDir;
    this.#addsRights = addsRights;
    this.#watch = watch;
    this.#flags = parts.flags;
    this.#env = parts.env;
    this.#tokens = parts.tokens;
  }

  // --- the operator

  /**
   * `flags` and `env` override those of the world. `journal: false` starts with an empty journal, as after the loss of a node.
   */
  async startOperator({ flags = [], env = {}, journal = true }: Start = {}): Promise<void> {
    if (!journal) await rm(this.journalDir, { recursive: true, force: true });
    this.#operator = await this.#wire(this.operatorFlags(flags), { ...this.#env, ...env });
    await this.#operator.start();
  }

  /** Starts a second operator with a separate journal; does not wait. */
  async joinOperator({ flags = [] }: { flags?: string[] } = {}): Promise<{ started: () => boolean }> {
    const operator = await this.#wire(this.operatorFlags([...flags, `--journal-dir=${this.journalDir}/second`]));
    this.#joined.push(operator);
    let started = false;
    void operator.start().then(() => (started = true));
    return { started: () => started };
  }

  async stopJoined(): Promise<void> {
    for (const operator of this.#joined.splice(0)) await operator.stop();
  }

  async #wire(flags: string[], env = this.#env): Promise<WiredOperator> {
    for (const value of Object.values(env)) {
      const password = URL.parse(value)?.password;
      if (password) this.secrets.add(password);
    }
    const config = await this.permit(flags, env);
    const destination = { write: (line: string) => this.logged(line) };
    return wireOperator(config, createLogger({ level: 'debug', destination }), () => undefined);
  }

  /** Gives the operator the additional rights that these flags require. */
  async permit(flags: string[], env = this.#env): Promise<Config> {
    const parsed = parseConfig(flags, env);
    if (parsed.kind !== 'run') throw new Error(parsed.kind === 'error' ? parsed.message : parsed.text);
    const { leaderElect, operatorNamespace = '', connectionSecrets } = parsed.config;
    if (leaderElect && this.#addsRights) await permitElection(this.http, operatorNamespace);
    if (connectionSecrets && this.#addsRights) await permitConnectionSecrets(this.http, this.namespace);
    return parsed.config;
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** All flags of an operator in this world; later ones override earlier ones. */
  operatorFlags(further: string[] = []): string[] {
    const { baseUrl, authUrl } = this.simulator;
    const defaults = [
      ['--base-url', baseUrl],
      ['--auth-url', authUrl],
      ['--kubeconfig', this.operatorKubeconfigPath],
      ...(this.#watch === 'own' ? [['--watch-namespace', this.namespace]] : []),
      ['--poll-interval', '100ms'],
      ['--resync-interval', '10m'],
      ['--provider-qps', '1000'],
      ['--max-concurrent-reconciles', '4'],
      ['--provider-timeout', '5s'],
      ['--create-timeout', '5s'],
      ['--takeover-grace', '1s'],
      ['--absence-grace', '500ms'],
      ['--ssh-check-private-addresses', 'true'],
      ['--journal-dir', this.journalDir],
    ].map(([flag, value]) => `${flag}=${value}`);
    return [...defaults, ...this.#flags, ...further];
  }

  /** Adds a line to the log of this world's operators. */
  logged(line: string): void {
    this.#logText += line;
    this.log.push(JSON.parse(line) as Record<string, unknown>);
  }

  // --- visits

  /** Requests a reconcile, and waits for one that began after the request to end. */
  visited(name: string): Promise<void> {
    return this.#afterVisits(name, (value) => this.annotate(name, { 'reconcile-at': value }));
  }

  /** Like `visited`, but without a request: scheduled work stays scheduled. */
  passedBy(name: string): Promise<void> {
    return this.#afterVisits(name, (value) => this.patch(name, { metadata: { labels: { 'passed-by': value } } }));
  }

  async #afterVisits(name: string, change: (value: string) => Promise<VirtualServer>): Promise<void> {
    // A reconcile may log several steps; it has ended once the next one has begun.
    for (const round of ['first', 'second']) {
      const { metadata } = await change(`${round}-${Date.now()}-${Math.random()}`);
      const isOf = (line: Record<string, unknown>): boolean =>
        line.uid === metadata.uid && Number(line.resourceVersion) >= Number(metadata.resourceVersion);
      await this.until(() => this.log.some(isOf), `a visit to ${name}`);
    }
  }

  async end(): Promise<void> {
    await this.stopOperator();
    await this.stopJoined();
    const written = await this.#written();
    await this.removeObjects();
    await this.http.close();
    await rm(this.journalDir, { recursive: true, force: true });
    const secrets = [...this.secrets, ...this.#tokens, SSH_KEY.split(' ')[1] ?? SSH_KEY, VNC_PASSWORD];
    for (const [place, text] of Object.entries(written)) {
      for (const secret of secrets) expect(text.includes(secret), `a secret in the ${place}`).toBe(false);
    }
    await this.simulator.close();
  }

  /** Everything that this world's operators have written, by place. */
  async #written(): Promise<Record<string, string>> {
    const [objects, events] = await Promise.all([this.list(), this.allEvents()]);
    return {
      log: this.#logText,
      events: JSON.stringify(events.map(({ note }) => note)),
      objects: JSON.stringify(objects.map((object) => [object.status, recordText(object)])),
    };
  }
}

export function condition(object: VirtualServer, type: string): Condition | undefined {
  return object.status?.conditions?.find((other) => other.type === type);
}

function recordText({ metadata }: VirtualServer): string {
  return metadata.annotations?.[RECORD_ANNOTATION] ?? '';
}
