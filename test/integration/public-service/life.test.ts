/** A server at the public service: ordered, Ready, handed over, deleted. */
import { describe, expect, it, vi } from 'vitest';
import { createClient } from '../../../src/kube/client.ts';
import { SECRETS } from '../../../src/kube/kinds.ts';
import { SSH_KEY, virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { publicWorld, totals, WAYS } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

describe.concurrent('a server at the public service', () => {
  it.for(WAYS)('is ordered once with what its object says, in a %s order', async (orders, context) => {
    const world = await publicWorld(context, { orders });
    const { status, metadata } = await readyServer(world, 'web');
    const [created] = world.simulator.ledger.creates();
    const name = `${world.namespace}/web (${metadata.uid.slice(0, 8)})`;
    expect(created?.body).toEqual({
      product: 'VPSX4',
      image: 'cloudinit-debian-trixie.raw.gz',
      ssh_keys: SSH_KEY,
      disk_size: 10240,
      ...(orders === 'named' && { name }),
    });
    expect(status?.name).toBe(orders === 'named' ? name : undefined);
    expect(status?.identifier).toBe(created?.identifier);
  });

  it.for(['', '/', '/beta', '/beta/'])(
    'is ordered once, Ready and cancelled with a base URL that ends with "%s"',
    async (end, context) => {
      const world = await publicWorld(context, { operator: false });
      await world.startOperator({ flags: [`--base-url=${world.simulator.baseUrl}${end}`] });
      const ready = await readyServer(world, 'web');
      const [created] = world.simulator.ledger.creates();
      expect(ready.status).toMatchObject({
        identifier: created?.identifier,
        serverStatus: 'running',
        product: 'VPSX4',
        specs: { diskSize: 10240, diskType: 'ssd', ram: 1024 },
        price: 1018,
      });
      expect(ready.status).not.toHaveProperty('adminConsole');
      expect(ready.status?.conditions).toHaveLength(1);
      await world.delete('web');
      await world.waitGone('web');
      expect(world.simulator.ledger.cancels()).toMatchObject([{ identifier: created?.identifier }]);
      expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
    },
  );

  it('keeps its account in the record when the base URL gets another spelling', async (context) => {
    const world = await publicWorld(context);
    const { account } = recordOf(await readyServer(world, 'web'));
    await world.stopOperator();
    await world.startOperator({ flags: [`--base-url=${world.simulator.baseUrl}/beta`] });
    await world.visited('web');
    const after = await world.waitForReason('web', 'Available', 'Ready');
    expect(recordOf(after).account).toBe(account);
    await world.delete('web');
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
  });

  it.for([
    ['a path', (url: string) => new URL(url).pathname],
    ['another prefix', (url: string) => url.replace('/beta/', '/vps-api/beta/')],
    ['no version', (url: string) => url.replace('/beta/', '/')],
  ] as const)('is found when the Location headers are absolute or have %s', async ([, location], context) => {
    const world = await publicWorld(context);
    for (const status of [202, 303])
      world.simulator.faults.inject({ match: { status }, action: { kind: 'location', location } });
    await readyServer(world, 'web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  });

  it('has a connection Secret without the values that the public API does not show', async (context) => {
    const world = await publicWorld(context, { flags: ['--connection-secrets'] });
    const ready = await readyServer(world, 'web', withSpec({ connectionSecretName: 'login' }));
    expect(condition(ready, 'ConnectionSecret')).toMatchObject({ status: 'True', reason: 'ConnectionSecretWritten' });
    const secret = await createClient(world.http, SECRETS).get(world.namespace, 'login');
    const { identifier, ipv6, sshProxy } = ready.status ?? {};
    expect(secret?.data).toEqual({
      identifier,
      ipv6: ipv6?.join(','),
      sshHost: sshProxy?.hostname,
      sshPort: String(sshProxy?.port),
      sshUser: 'root',
    });
  });

  it('is handed over to another object, which cancels it', async (context) => {
    const world = await publicWorld(context);
    const first = await readyServer(world, 'web', withSpec({ deletionDelay: '1h' }));
    await world.delete('web');
    await world.waitForReason('web', 'DeletionDelayed');
    await world.annotate('web', { 'hand-over': 'next' });
    await world.create(virtualServer('next'));
    await world.waitGone('web');
    const next = await world.waitForReason('next', 'Available', 'Ready');
    expect(next.status?.identifier).toBe(first.status?.identifier);
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
    await world.delete('next');
    await world.waitGone('next');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
  });
});
