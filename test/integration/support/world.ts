/**
 * A world for one test: a namespace of its own on the real API server, a simulator, and an operator in this process
 * that watches just that namespace, with the rights of its ServiceAccount and no others. When the test ends everything is stopped, and the world checks what must hold in
 * every test: no secret in log, Events and objects, no fault that was ordered and never met, no unknown route.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { API_VERSION, FINALIZER, PLURAL, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { Condition, VirtualServer } from '../../../src/api/virtual-server.ts';
import { parseConfig } from '../../../src/config.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { createLogger } from '../../../src/logger.ts';
import { DEFAULT_KEY, startSimulator, type Simulator, type SimulatorOptions } from '../../../src/simulator/index.ts';
import { wireOperator, type WiredOperator } from '../../../src/wiring.ts';
import { installOperatorIdentity, permitElection } from '../../control-plane/operator-identity.ts';
import { SSH_KEY, type Manifest } from '../../gen/virtual-server.ts';

export interface WorldOptions {
  simulator?: SimulatorOptions;
  /** Further flags of the operator, which win over those of the world. */
  flags?: string[];
  /** Start the operator at once (default), or later with `startOperator`. */
  operator?: boolean;
  /** Make the Secret with the simulator's key (default). */
  secret?: boolean;
  /** Of an administrator of another control plane than the shared one. */
  kubeconfigPath?: string;
  /** Of the operator on another control plane, where it has not the shipped rights. */
  operatorKubeconfigPath?: string;
  /** Which namespaces the operator watches; by default that of the world. */
  watch?: 'own' | 'all';
  /** `onTestFinished` of the test's context: tests that run at the same time must hand it over. */
  onTestFinished?: (end: () => Promise<void>) => void;
}

const WAIT_MS = 30_000;
const POLL_MS = 25;
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
  const { flags = [], watch = 'own' } = options;
  const world = new TestWorld({ http, namespace, journalDir, simulator, operatorKubeconfigPath, watch, flags, tokens });
  (options.onTestFinished ?? onTestFinished)(() => world.end());
  await http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  if (options.secret !== false) await world.putSecret('vps-api-key', DEFAULT_KEY);
  if (options.operator !== false) await world.startOperator();
  return world;
}

interface Parts {
  http: KubeHttp;
  namespace: string;
  journalDir: string;
  simulator: Simulator;
  operatorKubeconfigPath: string;
  watch: 'own' | 'all';
  flags: string[];
  /** Every token that the service has issued. */
  tokens: readonly string[];
}

class TestWorld {
  readonly namespace: string;
  readonly simulator: Simulator;
  readonly http: KubeHttp;
  readonly operatorKubeconfigPath: string;
  /** Log lines of every operator of this world, parsed. */
  readonly log: Record<string, unknown>[] = [];
  readonly journalDir: string;
  readonly #watch: 'own' | 'all';
  readonly #flags: string[];
  readonly #secrets = new Set<string>();
  readonly #tokens: readonly string[];
  #logText = '';
  #operator: WiredOperator | undefined;
  readonly #joined: WiredOperator[] = [];

  constructor({ http, namespace, journalDir, simulator, operatorKubeconfigPath, watch, flags, tokens }: Parts) {
    this.http = http;
    this.namespace = namespace;
    this.simulator = simulator;
    this.operatorKubeconfigPath = operatorKubeconfigPath;
    this.journalDir = journalDir;
    this.#watch = watch;
    this.#flags = flags;
    this.#tokens = tokens;
  }

  // --- the operator

  /** `flags` win over those of the world. `journal: false` starts with an empty one, as after the loss of a node. */
  async startOperator({ flags = [], journal = true }: { flags?: string[]; journal?: boolean } = {}): Promise<void> {
    if (!journal) await rm(this.journalDir, { recursive: true, force: true });
    this.#operator = await this.#wire(this.operatorFlags(flags));
    await this.#operator.start();
  }

  /** A second operator beside the first, on a journal of its own; waits for nothing. */
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

  async #wire(flags: string[]): Promise<WiredOperator> {
    const parsed = parseConfig(flags, {});
    if (parsed.kind !== 'run') throw new Error(parsed.kind === 'error' ? parsed.message : parsed.text);
    const { leaderElect, operatorNamespace = '' } = parsed.config;
    if (leaderElect) await permitElection(this.http, operatorNamespace);
    const destination = { write: (line: string) => this.logged(line) };
    return wireOperator(parsed.config, createLogger({ level: 'debug', destination }), () => undefined);
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** All flags of an operator of this world; later ones win. */
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
      ['--journal-dir', this.journalDir],
    ].map(([flag, value]) => `${flag}=${value}`);
    return [...defaults, ...this.#flags, ...further];
  }

  /** Takes a line of the log of an operator of this world. */
  logged(line: string): void {
    this.#logText += line;
    this.log.push(JSON.parse(line) as Record<string, unknown>);
  }

  // --- objects

  #path(name = ''): string {
    return `/apis/${API_VERSION}/namespaces/${this.namespace}/${PLURAL}${name && `/${name}`}`;
  }

  /** Creates the object as `kubectl create` would. */
  async create(manifest: Manifest): Promise<VirtualServer> {
    return (await this.http.call({ method: 'POST', path: this.#path(), body: manifest })) as VirtualServer;
  }

  async get(name: string): Promise<VirtualServer | undefined> {
    return (await this.http.call({ path: this.#path(name), absent: name })) as VirtualServer | undefined;
  }

  /** JSON merge patch of the object, or of its status. */
  async patch(name: string, body: object, subresource: '' | '/status' = ''): Promise<VirtualServer> {
    const contentType = 'application/merge-patch+json';
    const path = this.#path(name) + subresource;
    return (await this.http.call({ method: 'PATCH', path, body, contentType })) as VirtualServer;
  }

  /** Short names: `adopt` stands for `vps-operator.dev/adopt`; null removes. */
  annotate(name: string, annotations: Record<string, string | null>): Promise<VirtualServer> {
    const full = Object.entries(annotations).map(([key, value]) => [`vps-operator.dev/${key}`, value]);
    return this.patch(name, { metadata: { annotations: Object.fromEntries(full) as object } });
  }

  /** Asks for the deletion; does not wait for it. */
  async delete(name: string): Promise<void> {
    await this.http.call({ method: 'DELETE', path: this.#path(name), absent: name });
  }

  /** Puts the object in the place of the present one, as `kubectl replace` would; the status stays. */
  async replace(name: string, manifest: Manifest): Promise<VirtualServer> {
    const present = await this.get(name);
    const metadata = { ...manifest.metadata, resourceVersion: present?.metadata.resourceVersion };
    return (await this.http.call({
      method: 'PUT',
      path: this.#path(name),
      body: { ...manifest, metadata },
    })) as VirtualServer;
  }

  async putSecret(name: string, data: object, namespace = this.namespace): Promise<void> {
    for (const value of Object.values(data)) if (String(value).length > 5) this.#secrets.add(String(value));
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await this.http.call({ method: 'DELETE', path: `${path}/${name}`, absent: name });
    await this.http.call({ method: 'POST', path, body: { metadata: { name }, stringData: data } });
  }

  async deleteSecret(name: string): Promise<void> {
    await this.http.call({ method: 'DELETE', path: `/api/v1/namespaces/${this.namespace}/secrets/${name}` });
  }

  /** Reasons and notes of the Events of one object, oldest first. */
  async events(name: string): Promise<{ reason: string; note: string; type: string }[]> {
    const path = `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`;
    const list = (await this.http.call({ path })) as {
      items: { reason: string; note: string; type: string; eventTime: string; regarding: { name: string } }[];
    };
    const own = list.items.filter((event) => event.regarding.name === name);
    return own.sort((a, b) => a.eventTime.localeCompare(b.eventTime));
  }

  // --- waiting on conditions

  /** The object, as soon as it meets the condition; fails with the object as it is when it never does. */
  async waitFor(
    name: string,
    condition: (object: VirtualServer) => boolean,
    what = String(condition),
  ): Promise<VirtualServer> {
    let last: VirtualServer | undefined;
    await this.until(
      async () => {
        last = await this.get(name);
        return last !== undefined && condition(last);
      },
      () => `${name}: ${what}; it is ${JSON.stringify(last?.status, undefined, 1)}`,
    );
    return last as VirtualServer;
  }

  /** Waits until this is the reason of a condition (of any, or of the named type) for the present generation. */
  waitForReason(name: string, reason: string, type?: string): Promise<VirtualServer> {
    const holds = (object: VirtualServer): boolean =>
      object.status?.conditions?.some(
        (condition) =>
          condition.reason === reason &&
          (type === undefined || condition.type === type) &&
          condition.observedGeneration === object.metadata.generation,
      ) === true;
    return this.waitFor(name, holds, `reason ${reason}`);
  }

  async waitGone(name: string): Promise<void> {
    let last: VirtualServer | undefined;
    await this.until(
      async () => (last = await this.get(name)) === undefined,
      () => `${name} to be gone; it is ${JSON.stringify(last, undefined, 1)}`,
    );
  }

  /** Polls until the condition holds; the bound only ends a wait that is in vain. */
  async until(condition: () => boolean | Promise<boolean>, what: string | (() => string)): Promise<void> {
    const deadline = Date.now() + WAIT_MS;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  /** Asks for a visit and waits until the operator has made one, to its end, that began after that. */
  visited(name: string): Promise<void> {
    return this.#afterVisits(name, (value) => this.annotate(name, { 'reconcile-at': value }));
  }

  /** As `visited`, for a visit that nobody has asked for: what was planned for later stays planned. */
  passedBy(name: string): Promise<void> {
    return this.#afterVisits(name, (value) => this.patch(name, { metadata: { labels: { 'passed-by': value } } }));
  }

  async #afterVisits(name: string, change: (value: string) => Promise<VirtualServer>): Promise<void> {
    // A visit may log several steps; when the next one has begun it is over.
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
    await this.#removeObjects();
    await this.http.close();
    await rm(this.journalDir, { recursive: true, force: true });
    const secrets = [...this.#secrets, ...this.#tokens, SSH_KEY.split(' ')[1] ?? SSH_KEY];
    for (const [place, text] of Object.entries(written)) {
      for (const secret of secrets) expect(text.includes(secret), `a secret in the ${place}`).toBe(false);
    }
    await this.simulator.close();
  }

  /** All that the operators of this world have written, by place. */
  async #written(): Promise<Record<string, string>> {
    const events = `/apis/events.k8s.io/v1/namespaces/${this.namespace}/events`;
    const [objects, { items }] = (await Promise.all([
      this.http.call({ path: this.#path() }),
      this.http.call({ path: events }),
    ])) as [{ items: VirtualServer[] }, { items: { note: string }[] }];
    return {
      log: this.#logText,
      events: JSON.stringify(items.map(({ note }) => note)),
      objects: JSON.stringify(objects.items.map((object) => [object.status, recordText(object)])),
    };
  }

  async #removeObjects(): Promise<void> {
    const list = (await this.http.call({ path: this.#path() })) as { items: VirtualServer[] };
    for (const { metadata } of list.items) {
      if (metadata.finalizers?.includes(FINALIZER))
        await this.patch(metadata.name, { metadata: { finalizers: [] } }).catch(() => undefined);
      await this.delete(metadata.name);
    }
  }
}

export function condition(object: VirtualServer, type: string): Condition | undefined {
  return object.status?.conditions?.find((other) => other.type === type);
}

function recordText({ metadata }: VirtualServer): string {
  return metadata.annotations?.[RECORD_ANNOTATION] ?? '';
}
