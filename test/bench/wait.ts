/**
 * `npm run bench -- --wait --count 40`: how long ready servers wait for the operator's timers. The built operator with all flags at their
 * defaults; tasks that take 9 to 130 seconds; from the moment when a server is there until its object is Ready.
 */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { createInformer } from '../../src/controller/informer.ts';
import { loadCluster } from '../../src/kube/config.ts';
import { createKubeHttp } from '../../src/kube/http.ts';
import { VIRTUAL_SERVERS } from '../../src/virtual-server/resource.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import { collection, manifest, type Bare } from './bare.ts';

/** The shortest and the longest task (ms). */
const TASKS = [9_000, 130_000] as const;
/** Another order is placed this often, as users would (ms). */
const EVERY_MS = 500;

export interface Waits {
  /** From the end of the task to Ready (s), in ascending order. */
  seconds: number[];
  callsPerServer: number;
  pollsPerServer: number;
  lastOrderS: number;
}

interface Parts {
  count: number;
  namespace: string;
  kubeconfigPath: string;
  simulator: Simulator;
  bare: Bare;
  start: () => ChildProcess;
}

export async function measureWaits({
  count,
  namespace,
  kubeconfigPath,
  simulator,
  bare,
  start,
}: Parts): Promise<Waits> {
  const readyAt = new Map<string, number>();
  const http = createKubeHttp({ cluster: loadCluster(kubeconfigPath) });
  const informer = createInformer(VIRTUAL_SERVERS, { http, namespaces: [namespace] });
  informer.subscribe({
    onUpsert(_key, { status }: VirtualServer) {
      const isReady = status?.conditions?.some(
        (condition) => condition.type === 'Ready' && condition.status === 'True',
      );
      const { identifier } = status ?? {};
      if (isReady === true && identifier !== undefined && !readyAt.has(identifier)) readyAt.set(identifier, Date.now());
    },
    onGone: () => undefined,
  });
  informer.start();
  const operator = start();
  const { ledger } = simulator;
  const startedAt = Date.now();
  for (let index = 0; index < count; index += 1) {
    simulator.fleet.setTaskDuration(durationOf(index, count));
    await bare.send('POST', collection(namespace), manifest(`server-${index}`));
    await sleep(EVERY_MS);
    while (ledger.creates().length <= index) await sleep(20);
  }
  const lastOrderS = (Math.max(...ledger.creates().map(({ at }) => at)) - startedAt) / 1000;
  while (readyAt.size < count) await sleep(100);
  await informer.stop();
  await http.close();
  operator.kill('SIGTERM');
  const completed = ledger.entries().flatMap((entry) => (entry.kind === 'taskCompleted' ? [entry] : []));
  const seconds = completed.map(
    ({ identifier, completedAt }) => ((readyAt.get(identifier) ?? NaN) - completedAt) / 1000,
  );
  const calls = ledger.requests({}).filter(({ at }) => at >= startedAt);
  return {
    seconds: seconds.sort((a, b) => a - b),
    callsPerServer: calls.length / count,
    pollsPerServer: calls.filter(({ route }) => route === '/beta/queue/vps/{task}').length / count,
    lastOrderS,
  };
}

/** Evenly spread, in an order that mixes short and long ones. */
function durationOf(index: number, count: number): number {
  const [shortest, longest] = TASKS;
  const place = (index * 7919) % count;
  return shortest + ((longest - shortest) * place) / Math.max(1, count - 1);
}
