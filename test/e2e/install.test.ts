/** Installation from the single manifest file, and a server's whole life. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apply, connect, kubectl } from './support/cluster.ts';
import { inPod, install, installFile, NAMESPACE, ready, theLeader } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { ProviderStandIn } from './support/simulator.ts';

const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

it('runs two replicas without restarts, in a namespace that admits restricted pods only', async () => {
  // Other test files kill processes, and files run in any order.
  await kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/vps-operator');
  await kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/vps-operator', '--timeout=120s');
  const pods = await ready(http);
  expect(pods.map(({ status }) => status.containerStatuses?.map(({ restartCount }) => restartCount))).toEqual([
    [0],
    [0],
  ]);
  const labels = await kubectl('get', 'namespace', NAMESPACE, '-o', 'jsonpath={.metadata.labels}');
  expect(JSON.parse(labels)).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
});

it('runs as an unprivileged user who can write only to the journal', async () => {
  const probe = `
    const { writeFileSync, readdirSync, readFileSync } = require('node:fs');
    const tryTo = (path) => { try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
    const status = readFileSync('/proc/1/status', 'utf8');
    console.log(JSON.stringify({
      user: process.getuid(), app: readdirSync('/app').sort(), root: tryTo('/probe'), tmp: tryTo('/tmp/probe'),
      capabilities: /^CapEff:\\s*(.*)$/m.exec(status)[1], noNewPrivileges: /^NoNewPrivs:\\s*(.*)$/m.exec(status)[1],
      seccomp: /^Seccomp:\\s*(.*)$/m.exec(status)[1], journal: tryTo('/var/lib/vps-operator/probe'),
    }));`;
  const seen = JSON.parse(await inPod(await theLeader(http), probe)) as unknown;
  expect(seen).toEqual({
    user: 65532,
    app: ['LICENSE', 'operator.js', 'package.json'],
    root: 'EROFS',
    tmp: 'EROFS',
    capabilities: '0000000000000000',
    noNewPrivileges: '1',
    seccomp: '2',
    journal: 'written',
  });
});

it('orders one server per object, reports it Ready, and cancels it', async () => {
  const servers = await createServers(http, 'life');
  await servers.apply('web');
  await kubectl('-n', servers.namespace, 'wait', '--for=condition=Ready', 'vps/web', '--timeout=120s');
  const [identifier = ''] = await provider.ordered(servers.sshKey('web'));
  expect((await servers.get('web'))?.status?.identifier).toBe(identifier);
  await servers.delete('web');
  expect(await provider.isAlive(identifier)).toBe(false);
  expect(await provider.ordered(servers.sshKey('web'))).toEqual([identifier]);
});

it('changes nothing when the manifest is applied again', async () => {
  const generation = (): Promise<string> =>
    kubectl('-n', NAMESPACE, 'get', 'deployment', 'vps-operator', '-o', 'jsonpath={.metadata.generation}');
  const [was, pods] = [await generation(), await ready(http)];
  await apply(await installFile());
  expect(await generation()).toBe(was);
  expect((await ready(http)).map(({ metadata }) => metadata.uid)).toEqual(pods.map(({ metadata }) => metadata.uid));
});
