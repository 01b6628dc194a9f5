/** Calls of one namespace that the provider never answers do not hold up the servers of another one. */
import { expect, it, onTestFinished } from 'vitest';
import type { FaultMatch } from '../../../src/simulator/index.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createWorld } from '../support/world.ts';

const THEIRS = { keyId: 'their-key', secret: 'their-secret' };
const OBJECTS = 60;

it.each<{ calls: string; hangs: FaultMatch; key: (index: number) => object }>([
  {
    calls: 'logins with wrong keys',
    hangs: { route: '/login' },
    key: (index) => ({ keyId: `k${index}`, secret: 'no' }),
  },
  { calls: 'reads of one account', hangs: { account: 'theirs', method: 'GET' }, key: () => THEIRS },
])('another namespace orders, reads and cancels while $calls get no answer', async ({ hangs, key }) => {
  const accounts = [
    { name: 'mine', keys: [{ keyId: 'my-key', secret: 'my-secret' }] },
    { name: 'theirs', keys: [THEIRS] },
  ];
  // No call ends at its deadline while the test runs.
  const flags = ['--provider-timeout=10m', '--create-timeout=10m', '--provider-qps=100', '--resync-interval=1s'];
  const world = await createWorld({
    flags,
    operator: false,
    secret: false,
    simulator: { accounts, taskDurationMs: 100 },
  });
  const others = await createWorld({ operator: false, secret: false });
  await world.putSecret('vps-api-key', { keyId: 'my-key', secret: 'my-secret' });
  await world.startOperator({ flags: ['--watch-namespace', others.namespace] });
  onTestFinished(() => world.stopOperator());
  await world.create(virtualServer('before'));
  await world.waitForReason('before', 'Available');

  const { faults, ledger } = world.simulator;
  const hang = faults.inject({ match: hangs, times: Infinity, action: { kind: 'hang' } });
  await Promise.all(
    Array.from({ length: OBJECTS }, async (_, index) => {
      await others.putSecret(`key-${index}`, key(index));
      const manifest = virtualServer(`web-${index}`);
      await others.create({ ...manifest, spec: { ...manifest.spec, apiKeySecretRef: { name: `key-${index}` } } });
    }),
  );
  await expect.poll(() => hang.count).toBeGreaterThan(1);

  const [startedAt, reads] = [Date.now(), () => ledger.requests({ account: 'mine', method: 'GET' }).length];
  await world.create(virtualServer('after'));
  await world.waitForReason('after', 'Available');
  const orderedAt = Date.now();
  const before = reads();
  await expect.poll(reads).toBeGreaterThan(before + 3);
  const readAt = Date.now();
  await world.delete('before');
  await world.waitGone('before');
  console.log(
    `${hang.count} calls hang: ordered after ${orderedAt - startedAt} ms, read after ${readAt - orderedAt} ms, ` +
      `cancelled after ${Date.now() - readAt} ms`,
  );
  expect(ledger.cancels()).toHaveLength(1);
});
