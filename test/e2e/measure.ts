/** `npm run test:e2e -- --measure`: the operator's memory and CPU in its pod, idle and while it orders many servers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, SERVER_PLURAL } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { apply, connect, kubectl, until } from './support/cluster.ts';
import { inPod, install, NAMESPACE, ready, theLeader, type Pod } from './support/operator.ts';
import { putApiKey, Servers } from './support/servers.ts';

const COUNTS = [100, 1000];
const IDLE_MS = 60_000;
const ALL_READY_MS = 30 * 60_000;
const MB = 1024 * 1024;
const http = connect();

/** On top of the test settings: no rate limits, and the default intervals of a production setup. */
const SETTINGS = {
  VPS_POLL_INTERVAL: '60s',
  VPS_PROVIDER_QPS: '200',
  VPS_MAX_CREATES_PER_HOUR: '0',
  VPS_LOG_LEVEL: 'info',
};

interface Usage {
  /** Resident memory, as reported by the process (bytes). */
  rss: number;
  /** CPU time since the process started (seconds). */
  cpu: number;
}

interface Summary {
  pods: { podRef: { uid: string }; memory?: { workingSetBytes: number } }[];
}

/** Reads /metrics through the API server. */
async function usage(pod: Pod): Promise<Usage> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod.metadata.name}:8080/proxy/metrics`;
  const text = await kubectl('get', '--raw', path);
  const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  return { rss: value('process_resident_memory_bytes'), cpu: value('process_cpu_seconds_total') };
}

/** Memory that the kubelet counts against the limit: without page cache that could be reclaimed. */
async function workingSet({ metadata, spec }: Pod): Promise<number> {
  const summary = (await http.call({ path: `/api/v1/nodes/${spec.nodeName}/proxy/stats/summary` })) as Summary;
  return summary.pods.find(({ podRef }) => podRef.uid === metadata.uid)?.memory?.workingSetBytes ?? NaN;
}

async function peakRss(pod: Pod): Promise<number> {
  const status = await inPod(pod, "process.stdout.write(require('node:fs').readFileSync('/proc/1/status', 'utf8'))");
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

async function reportIdle(what: string, pod: Pod): Promise<void> {
  const [before, started] = [await usage(pod), performance.now()];
  await sleep(IDLE_MS);
  const after = await usage(pod);
  const cpu = (after.cpu - before.cpu) / ((performance.now() - started) / 1000);
  const memory = `resident ${mb(after.rss)}, working set ${mb(await workingSet(pod))}`;
  console.log(`${what}: ${memory}, CPU ${(1000 * cpu).toFixed(1)} m over ${IDLE_MS / 1000} s`);
}

function mb(bytes: number): string {
  return `${(bytes / MB).toFixed(0)} MB`;
}

async function restart(): Promise<Pod> {
  await kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/vps-operator');
  await kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/vps-operator', '--timeout=300s');
  await ready(http);
  return theLeader(http);
}

async function order(count: number): Promise<void> {
  const servers = new Servers(http, `e2e-measure-${count}`);
  await kubectl('create', 'namespace', servers.namespace);
  await putApiKey(servers.namespace, 'vps-api-key');
  const pod = await restart();
  const [before, started] = [await usage(pod), performance.now()];
  const names = Array.from({ length: count }, (_, index) => `web-${index}`);
  await servers.apply(...names);
  const path = `/apis/${API_VERSION}/namespaces/${servers.namespace}/${SERVER_PLURAL}`;
  await until(
    `${count} servers to be Ready`,
    async () => {
      const { items } = (await http.call({ path })) as { items: VirtualServer[] };
      return items.filter(isAvailable).length === count;
    },
    ALL_READY_MS,
  );
  const took = (performance.now() - started) / 1000;
  const cpu = (await usage(pod)).cpu - before.cpu;
  const peak = `resident at most ${mb(await peakRss(pod))}`;
  console.log(
    `${count} servers applied at once: ${peak}, ${cpu.toFixed(1)} s of CPU, all Ready after ${took.toFixed(0)} s`,
  );
  await reportIdle(`${count} servers Ready, idle`, pod);
  await reportIdle(`${count} servers Ready, idle, after a restart`, await restart());
  await servers.deleteNamespace();
}

function isAvailable({ status }: VirtualServer): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

/** Time from the container's start to Ready; the API server stores whole seconds. */
function startUp({ status }: Pod): string {
  const begun = Date.parse(status.containerStatuses?.[0]?.state.running?.startedAt ?? '');
  const ended = Date.parse(status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '');
  return `${((ended - begun) / 1000).toFixed(0)} s`;
}

await install(http);
const config = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'vps-operator-config', namespace: NAMESPACE } };
await apply(JSON.stringify({ ...config, data: { ...(await settings()), ...SETTINGS } }));
const leading = await restart();
const replicas = await ready(http);
console.log(`from the start of the container to Ready: ${replicas.map(startUp).join(', ')}`);
for (const pod of replicas) {
  await reportIdle(pod.metadata.name === leading.metadata.name ? 'no servers' : 'standby', pod);
}
for (const count of COUNTS) await order(count);
await http.close();

async function settings(): Promise<Record<string, string>> {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps/vps-operator-config`;
  return ((await http.call({ path })) as { data: Record<string, string> }).data;
}
