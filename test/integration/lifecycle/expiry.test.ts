/** Servers that expire: spec.expiresAt and spec.ttl. */
import { describe, expect, it } from 'vitest';
import { API_NAMES } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { recordOf } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

it.each(API_NAMES)(
  '(%s API) ttl cancels the server this long after it was ready, keeps the object, and orders nothing again',
  async (api) => {
    const world = await createWorld({ simulator: { api } });
    await world.create(virtualServer('web', withSpec({ ttl: '2s' })));
    const ready = await world.waitFor('web', ({ status }) => status?.record?.readyAt !== undefined);
    expect(ready.status?.conditions?.find(({ type }) => type === 'Expiring')?.reason).toBe('ExpiresSoon');
    const expired = await world.waitForReason('web', 'Expired', 'Stalled');
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(expired.status).not.toHaveProperty('ipv6');
    expect(recordOf(expired).expiredAt).toBeDefined();
    // An extension after the expiry orders nothing.
    await world.patch('web', { spec: { ttl: '72h' } });
    await world.visited('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  },
);

describe('expiresAt', () => {
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
});

describe('the API server rejects', () => {
  it.each([
    ['an unreadable ttl', { ttl: 'soon' }, 'ttl must be a duration'],
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
