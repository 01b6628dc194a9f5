/** A bare API server client: makes the bench's own writes, and is the baseline for the operator. */
import { Agent } from 'undici';
import { API_VERSION, FINALIZER, SERVER_KIND, SERVER_PLURAL, SET_KIND, SET_PLURAL } from '../../src/api/names.ts';
import { loadCluster } from '../../src/kube/config.ts';

const IN_FLIGHT = 32;
const MERGE_PATCH = 'application/merge-patch+json';

export interface Bare {
  /** Runs `work` for 0 to count - 1, 32 at a time. */
  each(count: number, work: (index: number) => Promise<void>): Promise<void>;
  send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<void>;
  close(): Promise<void>;
}

export async function createBare(kubeconfigPath: string): Promise<Bare> {
  const cluster = loadCluster(kubeconfigPath);
  const { headers, tls } = await cluster.credentials();
  const agent = new Agent({ connections: IN_FLIGHT, pipelining: 1, allowH2: false, connect: { ...tls } });
  return {
    async each(count, work) {
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < count) await work(next++);
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    },
    async send(method, path, body) {
      const contentType = method === 'PATCH' ? MERGE_PATCH : 'application/json';
      const answer = await agent.request({
        origin: cluster.server,
        path,
        method,
        headers: { ...headers, 'content-type': contentType },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
    },
    close: () => agent.close(),
  };
}

export const collection = (namespace: string): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/${SERVER_PLURAL}`;

export const setCollection = (namespace: string): string =>
  `/apis/${API_VERSION}/namespaces/${namespace}/${SET_PLURAL}`;

const SPEC = {
  product: 'VPSX4',
  image: 'cloudinit-debian-trixie.raw.gz',
  diskSize: 10240,
  sshKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdTYs0rmVsWT1a8iSZmDU4YzKNWQTbAwbmuxGrBWxyz me@example.org'],
};

export function manifest(name: string): object {
  return { apiVersion: API_VERSION, kind: SERVER_KIND, metadata: { name }, spec: SPEC };
}

export function setManifest(name: string, replicas: number): object {
  return { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name }, spec: { replicas, template: { spec: SPEC } } };
}

/**
 * Makes four writes per object, the minimum for one life, and nothing else. Resolves with the elapsed time and the CPU
 * time of this process (ms), which measure the machine's speed at that moment.
 */
export async function bareWrites(bare: Bare, namespace: string, count: number): Promise<{ ms: number; cpuMs: number }> {
  const path = collection(namespace);
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  await bare.each(count, async (index) => {
    const name = `bare-${index}`;
    await bare.send('POST', path, manifest(name));
    const metadata = { finalizers: [FINALIZER], annotations: { 'bench.vps-operator.dev/record': 'x'.repeat(150) } };
    await bare.send('PATCH', `${path}/${name}`, { metadata });
    await bare.send('PATCH', `${path}/${name}/status`, { status: { task: { id: index } } });
    await bare.send('PATCH', `${path}/${name}/status`, { status: { task: null, identifier: name, ipv6: ['::1'] } });
  });
  const { user, system } = process.cpuUsage(cpu);
  const took = { ms: performance.now() - started, cpuMs: (user + system) / 1000 };
  await bare.each(count, async (index) => {
    await bare.send('PATCH', `${path}/bare-${index}`, { metadata: { finalizers: null } });
    await bare.send('DELETE', `${path}/bare-${index}`);
  });
  return took;
}
