/** Failover to the standby, and draining of a node. Prints the failover time. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, kubectl, until } from './support/cluster.ts';
import { kill } from './support/kill.ts';
import { install, isReady, pods, ready, theLeader } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { ProviderStandIn } from './support/simulator.ts';

const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

// Usually the standby leads next. The killed pod may be back in time to get the Lease, which is as good.
it('continues when the leader is killed', async () => {
  const servers = await createServers(http, 'failover');
  await servers.apply('before');
  await servers.waitReady('before');
  const leader = await theLeader(http);
  const begun = Date.now();
  await kill(leader);
  await servers.apply('after');
  await servers.waitFor('after', 'a claim by the next leader', ({ metadata }) => metadata.finalizers?.length === 1);
  const taken = Date.now() - begun;
  await servers.waitReady('after');
  console.log(`failover: at most ${(taken / 1000).toFixed(1)} s from the kill -9 of the leader to the next reconcile`);
  await ready(http);
  for (const name of ['before', 'after']) {
    expect(await provider.ordered(servers.sshKey(name))).toEqual([(await servers.get(name))?.status?.identifier]);
  }
});

it('continues while a node is drained, because only one replica may be evicted at a time', async () => {
  const servers = await createServers(http, 'drain');
  const nodes = (await http.call({ path: '/api/v1/nodes' })) as { items: unknown[] };
  const { spec } = await theLeader(http);
  const select = '--pod-selector=app.kubernetes.io/name=vps-operator';
  // The journal is an emptyDir, which kubectl drain deletes only with this flag.
  const further = ['--ignore-daemonsets', '--delete-emptydir-data', '--timeout=30s'];
  const drain = kubectl('drain', spec.nodeName, select, ...further);
  try {
    // On a single node the evicted replica cannot be rescheduled, so the disruption budget protects the other one.
    const refused = await drain.then(
      () => '',
      (error: unknown) => String(error),
    );
    if (nodes.items.length === 1) expect(refused).toContain("would violate the pod's disruption budget");
    else expect(refused).toBe('');
    expect((await pods(http)).filter(isReady).length).toBeGreaterThan(0);
    await servers.apply('web');
    await servers.waitReady('web');
  } finally {
    await kubectl('uncordon', spec.nodeName);
  }
  await until('both replicas', () => ready(http));
  expect(await provider.ordered(servers.sshKey('web'))).toHaveLength(1);
});
