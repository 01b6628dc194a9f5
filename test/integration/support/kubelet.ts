/**
 * A stand-in for the kubelet: a node and pods of the operator on the API server, whose logs the API server reads from this
 * HTTPS server, as it does from a kubelet. It runs no containers.
 */
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { selfSigned } from './certificate.ts';

export interface Kubelet {
  /** Adds a pod with the labels of the operator, and a log of these lines. */
  addPod(name: string, lines?: readonly object[]): Promise<void>;
  /** Appends a line to the log, also for those who follow it. */
  log(pod: string, line: object | string): void;
  /** Ends the streams of the pod's log, as when its container ends. */
  end(pod: string): void;
  /** The container ends, and another one starts; its log stays, as the previous one. */
  restart(pod: string): void;
  removePod(name: string): Promise<void>;
  /** The kubelet no longer has the pod's log. */
  breaks(pod: string): void;
  /** How many streams follow the pod's log. */
  followers(pod: string): number;
}

interface Log {
  /** With the time at which the kubelet got each line. */
  lines: { at: number; text: string }[];
  /** Of the container before. */
  previous?: Log['lines'];
  followers: Set<ServerResponse>;
}

/** For one test. The pods are in `namespace`. */
export async function startKubelet(http: KubeHttp, namespace: string): Promise<Kubelet> {
  const logs = new Map<string, Log>();
  const broken = new Set<string>();
  const server = createServer(selfSigned(), (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://kubelet');
    const [, kind, , pod = '', container] = pathname.split('/');
    const log = logs.get(pod);
    if (kind !== 'containerLogs' || container !== 'operator' || log === undefined || broken.has(pod)) {
      response.writeHead(404).end();
      return;
    }
    const { sinceSeconds, sinceTime, previous } = Object.fromEntries(searchParams);
    const lines = previous === 'true' ? log.previous : log.lines;
    if (lines === undefined) return void response.writeHead(400).end('previous terminated container not found');
    const from = sinceTime ? Date.parse(sinceTime) : sinceSeconds ? Date.now() - Number(sinceSeconds) * 1000 : 0;
    for (const { at, text } of lines) if (at >= from) response.write(`${text}\n`);
    if (searchParams.get('follow') !== 'true') return void response.end();
    log.followers.add(response);
    response.on('close', () => log.followers.delete(response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const node = `node-of-${namespace}`;
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await http.call({ method: 'POST', path: '/api/v1/nodes', body: { metadata: { name: node }, status } });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const removePod = async (name: string): Promise<void> => {
    await http.call({ method: 'DELETE', path: `${pods}/${name}`, query: { gracePeriodSeconds: 0 }, absent: name });
    logs.delete(name);
  };
  const end = (pod: string): void => {
    logs.get(pod)?.followers.forEach((response) => void response.end());
    logs.get(pod)?.followers.clear();
  };
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    for (const name of logs.keys()) await removePod(name);
    await http.call({ method: 'DELETE', path: `/api/v1/nodes/${node}`, absent: node });
  });
  const textOf = (line: object | string): string => (typeof line === 'string' ? line : JSON.stringify(line));
  return {
    async addPod(name, lines = []) {
      const at = (line: object): number => Date.parse((line as { time?: string }).time ?? '') || Date.now();
      logs.set(name, { lines: lines.map((line) => ({ at: at(line), text: textOf(line) })), followers: new Set() });
      const labels = { 'app.kubernetes.io/name': 'vps-operator', 'app.kubernetes.io/component': 'operator' };
      const containers = ['sidecar', 'operator'].map((each) => ({ name: each, image: 'none' }));
      const body = { metadata: { name, labels }, spec: { nodeName: node, containers } };
      await http.call({ method: 'POST', path: pods, body });
    },
    log(pod, line) {
      const log = logs.get(pod);
      log?.lines.push({ at: Date.now(), text: textOf(line) });
      log?.followers.forEach((response) => void response.write(`${textOf(line)}\n`));
    },
    end,
    restart(pod) {
      end(pod);
      const log = logs.get(pod);
      if (log !== undefined) [log.previous, log.lines] = [log.lines, []];
    },
    async removePod(name) {
      end(name);
      await removePod(name);
    },
    breaks: (pod) => void broken.add(pod),
    followers: (pod) => logs.get(pod)?.followers.size ?? 0,
  };
}
