/** Replicas restart while servers are being ordered: no order is lost or repeated. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, kubectl, until } from './support/cluster.ts';
import { kill } from './support/kill.ts';
import { deletePod, install, NAMESPACE, pods, ready, theLeader } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { CREATE, ProviderStandIn } from './support/simulator.ts';

/** How long the answer to a create is withheld; well below VPS_CREATE_TIMEOUT. */
const HOLD_MS = 10_000;
const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

it('waits for the answer to a create and records it when the leader is deleted', async () => {
  const servers = await createServers(http, 'delete');
  const answer = await provider.inject({ match: CREATE, action: { kind: 'hang', after: true } });
  await servers.apply('web');
  await answer.met();
  const leader = await theLeader(http);
  await deletePod(leader);
  const stops = (): Promise<string> => kubectl('-n', NAMESPACE, 'logs', leader.metadata.name);
  await until('the leader to receive SIGTERM', async () => (await stops()).includes('operator stops'));
  // A process that does not wait, or is not allowed to, has exited by then.
  await sleep(HOLD_MS);
  const waiting = (await pods(http)).find(({ metadata }) => metadata.uid === leader.metadata.uid);
  expect(waiting?.status.containerStatuses?.[0]?.state.running).toBeDefined();
  await answer.release();
  await servers.waitReady('web');
  await until('the leader to be gone', async () =>
    (await pods(http)).every(({ metadata }) => metadata.uid !== leader.metadata.uid),
  );
  await ready(http);
  expect(await provider.ordered(servers.sshKey('web'))).toEqual([(await servers.get('web'))?.status?.identifier]);
});

it('parks an order when the leader is killed during the create, and continues once a person has checked', async () => {
  const servers = await createServers(http, 'kill');
  const answer = await provider.inject({ match: CREATE, action: { kind: 'hang', after: true } });
  await servers.apply('web');
  await answer.met();
  await kill(await theLeader(http));
  await answer.release();
  // The restarted pod knows from its journal that no process is sending; the other pod has to wait (CreateInFlight).
  await servers.waitForReason('web', 'CreateOutcomeUnknown');
  const [identifier = '', ...others] = await provider.ordered(servers.sshKey('web'));
  await servers.annotate('web', 'adopt', identifier);
  await servers.waitReady('web');
  await ready(http);
  expect(others).toEqual([]);
  expect(await provider.ordered(servers.sshKey('web'))).toEqual([identifier]);
  await servers.delete('web');
  expect(await provider.isAlive(identifier)).toBe(false);
});

it('loses no order in a rolling update', async () => {
  const servers = await createServers(http, 'rolling');
  const names = Array.from({ length: 10 }, (_, index) => `web-${index}`);
  await provider.setTaskDuration(null);
  try {
    await servers.apply(...names);
    for (const name of names) {
      await servers.waitFor(name, 'a task', ({ status }) => status?.record?.task !== undefined);
    }
    const before = (await ready(http)).map(({ metadata }) => metadata.uid);
    await kubectl('-n', NAMESPACE, 'rollout', 'restart', 'deployment/vps-operator');
    // More servers are ordered while the replicas are replaced.
    await servers.apply('late-0', 'late-1', 'late-2');
    await kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/vps-operator', '--timeout=180s');
    const after = (await ready(http)).map(({ metadata }) => metadata.uid);
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
  } finally {
    await provider.setTaskDuration(2000);
    await provider.completeTasks();
  }
  const all = [...names, 'late-0', 'late-1', 'late-2'];
  await servers.waitFor('late-2', 'a task', ({ status }) => status?.record?.task !== undefined);
  await provider.completeTasks();
  await servers.waitReady(...all);
  for (const name of all) {
    expect(await provider.ordered(servers.sshKey(name))).toEqual([(await servers.get(name))?.status?.identifier]);
  }
});
