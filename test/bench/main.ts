/**
 * `npm run bench -- --count 1000`: the built operator orders that many servers, leaves them alone, and cancels them,
 * with a real API server and the simulated provider. Prints the operator's time, CPU, memory, writes and connections.
 * With `--restart`, also how soon a restarted operator orders for a new object, and how many calls it makes. With `--set`, the
 * servers are the members of one VirtualServerSet. With `--wait`, how long ready servers wait for the operator's timers
 * (wait.ts).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadCluster } from '../../src/kube/config.ts';
import { createKubeHttp } from '../../src/kube/http.ts';
import { createInformer } from '../../src/controller/informer.ts';
import { VIRTUAL_SERVERS } from '../../src/virtual-server/resource.ts';
import { startSimulator, type Simulator } from '../../src/simulator/index.ts';
import { startControlPlane, type ControlPlane } from '../../tools/control-plane/control-plane.ts';
import { bundle } from '../../tools/bundle.ts';
import type { Result } from '../../tools/performance/results.ts';
import { bareWrites, collection, createBare, manifest, setCollection, setManifest, type Bare } from './bare.ts';
import { countRequests, difference, type RequestCounts } from './metrics.ts';
import { parseOptions, type BenchOptions } from './options.ts';
import { measureWaits } from './wait.ts';
import { countConnections, cpuMs, peakMemoryMb } from './process-usage.ts';

const TASK_MS = 1_000;
const NAMESPACE = 'bench';
const BARE_NAMESPACE = 'bare';
const ALL_READY_MS = 15 * 60_000;
/** Calls per second: no limit that matters, and the default of --provider-qps. */
const FAST_QPS = 1_000_000;
const DEFAULT_QPS = 10;
const AFTER_RESTART_MS = 60_000;

interface Parts {
  options: BenchOptions;
  folder: string;
  controlPlane: ControlPlane;
  simulator: Simulator;
  bare: Bare;
}

async function prepare(bare: Bare, { keyId, secret }: Simulator): Promise<void> {
  for (const name of [NAMESPACE, BARE_NAMESPACE]) await bare.send('POST', '/api/v1/namespaces', { metadata: { name } });
  const key = { metadata: { name: 'vps-api-key' }, stringData: { keyId, secret } };
  await bare.send('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, key);
}

async function waits({ options, folder, controlPlane, simulator, bare }: Parts): Promise<void> {
  const { count } = options;
  await prepare(bare, simulator);
  await bundle(folder);
  const { kubeconfigPath } = controlPlane;
  const start = (): ChildProcess => startOperator(folder, controlPlane, simulator, options, {});
  const found = await measureWaits({ count, namespace: NAMESPACE, kubeconfigPath, simulator, bare, start });
  const at = (part: number): string => `${(found.seconds[Math.floor(part * (count - 1))] ?? NaN).toFixed(1)} s`;
  report('there to Ready', `median ${at(0.5)}, 90 % ${at(0.9)}, worst ${at(1)}`);
  report(
    'provider',
    `${found.callsPerServer.toFixed(2)} calls a server, ${found.pollsPerServer.toFixed(2)} of them polls`,
  );
  report('last order', `after ${found.lastOrderS.toFixed(0)} s`);
}

async function bench({ options, folder, controlPlane, simulator, bare }: Parts): Promise<Result> {
  const { count, idleSeconds } = options;
  await prepare(bare, simulator);
  const { ms: bareMs, cpuMs: bareCpu } = await bareWrites(bare, BARE_NAMESPACE, count);
  const bareText = `${seconds(bareMs)}, ${(bareCpu / count).toFixed(2)} ms CPU an object`;
  report('bare writes', `${bareText}, 4 writes an object, ${perSecond(4 * count, bareMs)}`);

  await bundle(folder);
  const start = (qps: number): ChildProcess => {
    const flags = { 'poll-interval': '500ms', 'provider-qps': String(qps), 'max-creates-per-hour': '0' };
    return startOperator(folder, controlPlane, simulator, options, flags);
  };
  let operator = start(FAST_QPS);
  let { pid = 0 } = operator;
  const connections = countConnections(pid, Number(new URL(controlPlane.server).port));
  const fleet = follow(controlPlane.kubeconfigPath);
  try {
    await fleet.until((objects) => objects === 0, ALL_READY_MS);
    const startCpu = await settledCpu(pid);
    report('start', `${startCpu} ms CPU, ${(await peakMemoryMb(pid)).toFixed(0)} MB`);

    const phase = async (name: string, own: number, work: () => Promise<unknown>): Promise<Phase> => {
      const [cpu, requests, started] = [await cpuMs(pid), await countRequests(controlPlane), performance.now()];
      await work();
      const took = performance.now() - started;
      const used = (await cpuMs(pid)) - cpu;
      const writes = difference(await countRequests(controlPlane), requests);
      const { objects, events } = writesOf(writes, count, own);
      const writesText = `${objects.toFixed(2)} writes and ${events.toFixed(2)} Events an object`;
      report(name, `${seconds(took)}, ${(used / count).toFixed(2)} ms CPU an object, ${writesText}`);
      if (options.set) report('', requestsOfSet(writes));
      return { seconds: took / 1000, writes: objects + events };
    };
    const path = collection(NAMESPACE);
    const sets = setCollection(NAMESPACE);
    const own = options.set ? 0 : count;
    if (options.set) await bare.send('POST', sets, setManifest('server', 0));
    const ready = await phase('create to Ready', own, async () => {
      if (options.set) await bare.send('PATCH', `${sets}/server`, { spec: { replicas: count } });
      else await bare.each(count, (index) => bare.send('POST', path, manifest(`server-${index}`)));
      await fleet.until((objects, isReady) => isReady === count && objects === count, ALL_READY_MS);
    });
    report('ratio', `${((1000 * ready.seconds) / bareMs).toFixed(2)} times the time of the bare writes`);
    const late = await phase('settling', 0, () => settledCpu(pid));
    const readyCpu = (await cpuMs(pid)) - startCpu;
    await phase(`idle ${idleSeconds} s`, 0, () => sleep(idleSeconds * 1000));
    report('peak memory', `${(await peakMemoryMb(pid)).toFixed(0)} MB`);
    if (options.restart) {
      await stopped(operator);
      operator = start(DEFAULT_QPS);
      await restarted(operator, { simulator, bare, fleet });
      await stopped(operator);
      operator = start(FAST_QPS);
      pid = operator.pid ?? 0;
    }
    const deleteCpu = await settledCpu(pid);
    const gone = await phase('delete', own, async () => {
      if (options.set) await bare.send('PATCH', `${sets}/server`, { spec: { replicas: 0 } });
      else await bare.each(count, (index) => bare.send('DELETE', `${path}/server-${index}`));
      if (options.restart) await bare.send('DELETE', `${path}/${NEWCOMER}`);
      await fleet.until((objects) => objects === 0, ALL_READY_MS);
    });
    const later = await phase('settling', 0, () => settledCpu(pid));
    const goneCpu = (await cpuMs(pid)) - deleteCpu;
    const spentCpu = readyCpu + goneCpu;
    const ratio = `${(spentCpu / bareCpu).toFixed(2)} times the CPU of the bare writes`;
    report('whole life', `${(spentCpu / count).toFixed(2)} ms CPU an object, ${ratio}`);
    const { ledger } = simulator;
    const creates = ledger.creates().length - (options.restart ? 1 : 0);
    report('API server', `${connections.seen()} connections`);
    report('provider', `${creates} creates, ${ledger.connections().length - creates} connections besides`);
    if (creates !== count || simulator.aliveServers().length > 0)
      throw new Error('the number of servers differs from the number of objects');
    return {
      peer: 'product',
      n: count,
      at: new Date().toISOString(),
      readySeconds: ready.seconds,
      goneSeconds: gone.seconds,
      operatorCpu: { ready: readyCpu / 1000, gone: goneCpu / 1000 },
      peakRssMb: Math.round(await peakMemoryMb(pid)),
      api: { writesPerObject: ready.writes + late.writes + gone.writes + later.writes },
    };
  } finally {
    connections.stop();
    await fleet.stop();
    await stopped(operator);
  }
}

interface Phase {
  seconds: number;
  /** For each object, with Events. */
  writes: number;
}

const NEWCOMER = 'newcomer';

/** Reports when a new object is ordered after a start with all servers Ready, and the calls of the first minute. */
async function restarted(
  { pid = 0 }: ChildProcess,
  { simulator, bare, fleet }: Pick<Parts, 'simulator' | 'bare'> & { fleet: ReturnType<typeof follow> },
): Promise<void> {
  const { ledger } = simulator;
  const startedAt = performance.now();
  const [calls, creates] = [ledger.requests({}).length, ledger.creates().length];
  await bare.send('POST', collection(NAMESPACE), manifest(NEWCOMER));
  while (ledger.creates().length === creates) await sleep(20);
  report('restart', `the first order ${seconds(performance.now() - startedAt)} after the start`);
  await sleep(AFTER_RESTART_MS - (performance.now() - startedAt));
  const made = ledger.requests({}).length - calls;
  report('after restart', `${made} calls to the provider in a minute, ${(await peakMemoryMb(pid)).toFixed(0)} MB`);
  await fleet.until((objects, ready) => objects === ready, ALL_READY_MS);
}

async function stopped(operator: ChildProcess): Promise<void> {
  operator.kill('SIGTERM');
  if (operator.exitCode === null) await once(operator, 'exit');
}

function startOperator(
  folder: string,
  controlPlane: ControlPlane,
  simulator: Simulator,
  { nodeOptions }: BenchOptions,
  more: Record<string, string>,
): ChildProcess {
  const flags = {
    ...more,
    'base-url': simulator.baseUrl,
    'auth-url': simulator.authUrl,
    kubeconfig: controlPlane.kubeconfigPath,
    'watch-namespace': NAMESPACE,
    'journal-dir': join(folder, 'journal'),
    'log-level': 'warn',
  };
  const args = [
    ...nodeOptions,
    join(folder, 'operator.js'),
    ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
  ];
  // In the image, nothing has compiled the modules before.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
  return spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'], env });
}

/** CPU time (ms) once the process is idle, so that a phase includes late work such as Events. */
async function settledCpu(pid: number): Promise<number> {
  for (let before = -1, now = await cpuMs(pid); ; before = now, now = await cpuMs(pid)) {
    if (now - before <= 10 && before >= 0) return now;
    await sleep(500);
  }
}

function follow(kubeconfigPath: string) {
  const http = createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
  const ready = new Set<string>();
  let objects = 0;
  const all = new Set<string>();
  let changed: () => void = () => undefined;
  const informer = createInformer(VIRTUAL_SERVERS, {
    http,
    namespaces: [NAMESPACE],
  });
  informer.subscribe({
    onUpsert(key, object) {
      all.add(key);
      const ok = object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
      if (ok) ready.add(key);
      else ready.delete(key);
      objects = all.size;
      changed();
    },
    onGone(key) {
      all.delete(key);
      ready.delete(key);
      objects = all.size;
      changed();
    },
  });
  informer.start();
  return {
    async until(holds: (objects: number, ready: number) => boolean, ms: number): Promise<void> {
      await informer.synced();
      const reached = new Promise<void>((resolve) => {
        changed = () => {
          if (holds(objects, ready.size)) resolve();
        };
        changed();
      });
      const late = sleep(ms, undefined, { ref: false }).then(() => {
        throw new Error(`timed out with ${objects} objects, ${ready.size} Ready`);
      });
      await Promise.race([reached, late]);
    },
    async stop(): Promise<void> {
      await informer.stop();
      await http.close();
    },
  };
}

/** For each object. `own`: number of writes that the bench itself made. */
function writesOf(counts: RequestCounts, count: number, own: number): { objects: number; events: number } {
  const of = (pattern: RegExp): number => sum(counts, new RegExp(`^(POST|PUT|PATCH|APPLY|DELETE) ${pattern.source}`));
  return { objects: (of(/virtualservers(\/|$)/) - own) / count, events: of(/events$/) / count };
}

function requestsOfSet(counts: RequestCounts): string {
  const [writes, looks] = [sum(counts, /^PUT virtualserversets\/status$/), sum(counts, /^LIST virtualservers$/)];
  return `${writes} writes of the set's status, ${looks} lists of VirtualServers`;
}

function sum(counts: RequestCounts, pattern: RegExp): number {
  return [...counts].filter(([name]) => pattern.test(name)).reduce((total, [, value]) => total + value, 0);
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const perSecond = (number: number, ms: number): string => `${Math.round((1000 * number) / ms)} a second`;
const report = (name: string, text: string): void => console.log(`${name.padEnd(16)} ${text}`);

const options = parseOptions(process.argv.slice(2));
const folder = await mkdtemp(join(tmpdir(), 'vps-operator-bench-'));
const controlPlane = await startControlPlane({ progress: (line) => console.error(line) });
const simulator = await startSimulator({ taskDurationMs: TASK_MS, keepAliveTimeoutMs: 60_000 });
const bare = await createBare(controlPlane.kubeconfigPath);
try {
  const parts = { options, folder, controlPlane, simulator, bare };
  if (options.wait) await waits(parts);
  else {
    const result = await bench(parts);
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify([result], null, 2)}\n`);
  }
} finally {
  await bare.close();
  await simulator.goDown();
  await controlPlane.stop();
  await rm(folder, { recursive: true, force: true });
}
