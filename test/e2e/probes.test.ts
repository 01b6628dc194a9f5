/** An unauthenticated peer floods the probe ports: no replica restarts, and no order is affected. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from './support/cluster.ts';
import { inPod, install, ready, type Pod } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { CREATE, ProviderStandIn } from './support/simulator.ts';

/** Longer than six consecutive liveness probes, after which the kubelet restarts a container. */
const ATTACK_MS = 90_000;
// Runs in the operator's own pod, where no NetworkPolicy applies.
const ATTACK = `
  const { connect } = require('node:net');
  let made = 0;
  const start = () => {
    const socket = connect(8081, '127.0.0.1', () => {
      made += 1;
      socket.write('GET /livez HTTP/1.1\\r\\nhost: x\\r\\nx-slow: ');
    });
    const talking = setInterval(() => socket.write('x'), 500);
    socket.on('error', () => {}).on('close', () => { clearInterval(talking); setTimeout(start, 50); }).resume();
  };
  for (let peer = 0; peer < 140; peer++) start();
  setTimeout(() => { console.log(made); process.exit(); }, ${ATTACK_MS});`;

const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

/** State that changes when a container restarts or a readiness probe fails. */
function lives(pods: Pod[]): unknown[] {
  return pods.map(({ metadata, status }) => ({
    uid: metadata.uid,
    restarts: status.containerStatuses?.map(({ restartCount }) => restartCount),
    readySince: status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime,
  }));
}

it('restarts no replica and orders each server once, despite 140 slow connections', async () => {
  const servers = await createServers(http, 'probes');
  const before = await ready(http);
  const attacks = Promise.all(before.map((pod) => inPod(pod, ATTACK)));
  const answer = await provider.inject({ match: CREATE, action: { kind: 'hang', after: true } });
  await servers.apply('web');
  await answer.met();
  await answer.release();
  await servers.waitReady('web');
  for (const made of await attacks) expect(Number(made)).toBeGreaterThanOrEqual(140);
  expect(lives(await ready(http))).toEqual(lives(before));
  expect(await provider.ordered(servers.sshKey('web'))).toEqual([(await servers.get('web'))?.status?.identifier]);
});
