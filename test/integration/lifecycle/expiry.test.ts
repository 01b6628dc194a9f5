/** Servers that expire: spec.expiresAt and spec.ttl. */
import { describe, expect, it } from 'vitest';
import { RECONCILE_AT_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();
const HOUR_MS = 3_600_000;

/** Checks that the object remains, its server does not, and only one server was ordered. */
async function expectExpired(world: World, name: string): Promise<void> {
  const expired = await world.waitForReason(name, 'Expired', 'Stalled');
  expect(world.simulator.aliveServers()).toEqual([]);
  expect(expired.status).not.toHaveProperty('ipv6');
  expect(recordOf(expired).expiredAt).toBeDefined();
  for (const at of ['1', '2']) {
    await world.patch(name, { metadata: { annotations: { [RECONCILE_AT_ANNOTATION]: at } } });
    await world.visited(name);
  }
  expect(world.simulator.ledger.creates()).toHaveLength(1);
  expect(world.simulator.ledger.cancels()).toHaveLength(1);
}

describe('ttl', () => {
  it('cancels the server this long after it was ready, keeps the object, and orders nothing again', async () => {
    const world = await createWorld();
    const manifest = virtualServer('web', withSpec({ ttl: '2s' }));
    await world.create(manifest);
    const ready = await world.waitFor('web', ({ status }) => status?.record?.readyAt !== undefined);
    expect(ready.status?.conditions?.find(({ type }) => type === 'Expiring')?.reason).toBe('ExpiresSoon');
    await expectExpired(world, 'web');
    // An extension after the expiry orders nothing.
    await world.patch('web', { spec: { ttl: '72h' } });
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });
});

describe('expiresAt', () => {
  it('cancels the server at that time, also when the provider is down at that moment', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const outage = world.simulator.faults.inject({
      match: { method: 'DELETE' },
      times: 2,
      action: { kind: 'status', status: 503 },
    });
    await world.patch('web', { spec: { expiresAt: inMs(-1000) } });
    await expectExpired(world, 'web');
    outage.remove();
  });

  it.each(['2099-01-31T18:00:00,5Z', '2099-01-31T18:00:00.123456789Z', '2099-01-31T18:00:00-24:00'])(
    'is parsed as the API server parses it: %s is far away',
    async (expiresAt) => {
      const world = await createWorld();
      await world.create(virtualServer('web', withSpec({ expiresAt })));
      await world.waitForReason('web', 'Available', 'Ready');
      await world.visited('web');
      expect(world.simulator.aliveServers()).toHaveLength(1);
    },
  );

  it('can be extended before it is reached', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const end = Date.now() + 1500;
    await world.patch('web', { spec: { expiresAt: new Date(end).toISOString() } });
    await world.waitFor('web', ({ status }) => status?.conditions?.some(({ type }) => type === 'Expiring') === true);
    await world.patch('web', { spec: { expiresAt: inMs(48 * HOUR_MS) } });
    await world.waitFor('web', ({ status }) => status?.conditions?.every(({ type }) => type !== 'Expiring') === true);
    await world.until(() => Promise.resolve(Date.now() > end), 'the first expiry to pass');
    await world.visited('web');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('cancels nothing that is protected, reports it, and cancels when protection is lifted', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionProtection: true }));
    await world.patch('web', { spec: { expiresAt: inMs(-1000) } });
    await world.waitFor(
      'web',
      ({ status }) => status?.conditions?.some(({ reason }) => reason === 'ExpiryBlocked') === true,
    );
    await world.visited('web');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    await world.patch('web', { spec: { deletionProtection: false } });
    await expectExpired(world, 'web');
  });

  it('orders nothing when it is in the past, and orders when it is corrected', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', withSpec({ expiresAt: inMs(-HOUR_MS) })));
    const parked = await world.waitForReason('web', 'Expired', 'Stalled');
    expect(stalledMessage(parked)).toContain('is in the past');
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.patch('web', { spec: { expiresAt: inMs(48 * HOUR_MS) } });
    await world.waitForReason('web', 'Available', 'Ready');
  });
});

describe('the API server rejects', () => {
  it.each([
    ['an unreadable ttl', { ttl: 'soon' }, 'ttl must be a duration'],
    ['a ttl without a unit', { ttl: '72' }, 'ttl must be a duration'],
    ['a ttl of zero', { ttl: '0h' }, 'ttl must be a duration'],
    ['an expiry that is not a time', { expiresAt: 'tomorrow' }, 'expiresAt'],
    ['an empty list as an expiry', { expiresAt: [] as unknown as string }, 'expiresAt'],
    ['both', { ttl: '72h', expiresAt: '2030-01-01T00:00:00Z' }, 'set expiresAt or ttl, not both'],
    [
      'an expiry with deletionPolicy: Retain',
      { ttl: '72h', deletionPolicy: 'Retain' },
      'require deletionPolicy: Delete',
    ],
  ] as const)('%s, and says what is valid', async (_what, spec, message) => {
    const world = await createWorld({ operator: false });
    await expect(world.create(virtualServer('web', withSpec(spec)))).rejects.toThrow(message);
  });
});
