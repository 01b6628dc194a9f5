/** API keys from Secrets: missing, wrong, rotated and deleted ones, and logins that fail. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { phase, sent, stalled, triesWithGrowingPauses } from '../support/creates.ts';
import { readyServer } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

/** Reads Ready servers, and with them the Secret, several times a second. */
const QUICK = ['--resync-interval=200ms'];

it('a missing Secret stops orders until it exists, and then the servers are ordered', async () => {
  const world = await createWorld({ secret: false });
  await world.create(virtualServer('web'));
  const object = await world.waitForReason('web', 'SecretNotFound', 'Stalled');
  expect(phase(object)).toBe('False/-/True');
  expect(stalled(object).message).toContain(
    `Secret ${world.namespace}/vps-api-key, which should hold the API key, does not exist`,
  );
  expect(object.metadata.finalizers).toBeUndefined();
  expect(world.simulator.ledger.requestCount).toBe(0);

  await world.putSecret('vps-api-key', DEFAULT_KEY);
  await world.waitForReason('web', 'Available', 'Ready');
  expect(sent(world)).toHaveLength(1);
});

describe('a key that the provider refuses', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e'];

  it('costs one login for all objects and reconciles, until the Secret is fixed for all of them', async () => {
    const world = await createWorld({ secret: false });
    await world.putSecret('vps-api-key', { ...DEFAULT_KEY, secret: 'not-the-secret' });
    for (const name of NAMES) await world.create(virtualServer(name));
    for (const name of NAMES) {
      const object = await world.waitForReason(name, 'InvalidCredentials', 'Stalled');
      expect(phase(object)).toBe('False/-/True');
      expect(stalled(object).message).toMatch(/The provider refuses the API key: invalid_client.*Next try in 1 minute/);
      expect(object.metadata.finalizers).toBeUndefined();
    }
    for (const name of NAMES) await world.passedBy(name);
    expect(world.simulator.ledger.logins()).toHaveLength(1);
    expect(world.simulator.ledger.requests()).toHaveLength(1);

    await world.putSecret('vps-api-key', DEFAULT_KEY);
    for (const name of NAMES) await world.waitForReason(name, 'Available', 'Ready');
    expect(world.simulator.ledger.logins()).toHaveLength(2);
    expect(sent(world)).toHaveLength(NAMES.length);
  });

  it('leaves Ready servers Ready, and a new key in the Secret takes over', async () => {
    const world = await createWorld({ flags: QUICK });
    for (const name of ['web', 'db']) await readyServer(world, name);
    const { accounts, ledger } = world.simulator;
    const before = ledger.logins().length;
    const renewed = { keyId: 'simulated-key-2', secret: 'simulated-secret-2' };
    accounts.addKey('default', renewed);
    accounts.revokeKey(DEFAULT_KEY.keyId);
    for (const name of ['web', 'db']) {
      const object = await world.waitForReason(name, 'InvalidCredentials', 'Stalled');
      expect(condition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    }
    for (const name of ['web', 'db']) await world.passedBy(name);
    expect(ledger.logins()).toHaveLength(before + 1);

    await world.putSecret('vps-api-key', renewed);
    for (const name of ['web', 'db'])
      await world.waitFor(name, (object) => condition(object, 'Stalled') === undefined, 'recovery');
    await world.delete('web');
    await world.waitGone('web');
    expect(ledger.cancels()).toHaveLength(1);
    expect(ledger.logins({ ok: false })).toHaveLength(1);
  });
});

describe('a login that fails', () => {
  const LOGIN = { route: '/login' } as const;
  const headers = { 'retry-after': '0' };
  const body = { error: 'invalid_request', error_description: 'no' };

  it.for([
    {
      name: '503 with Retry-After: 0',
      action: { kind: 'status', status: 503, headers },
      reason: 'ProviderUnavailable',
    },
    {
      name: '429 with Retry-After: 0',
      action: { kind: 'status', status: 429, headers },
      reason: 'ProviderRateLimited',
    },
    {
      name: '400 other than invalid_client',
      action: { kind: 'status', status: 400, body },
      reason: 'ProviderUnavailable',
    },
    { name: 'HTML', action: { kind: 'garbage', form: 'html' }, reason: 'ProviderProtocolError' },
  ] as const)('claims nothing, makes few calls, and is retried: $name', async ({ action, reason }) => {
    const world = await createWorld();
    const fault = world.simulator.faults.inject({ match: LOGIN, times: Infinity, action });
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', reason);
    expect(object.metadata.finalizers).toBeUndefined();
    for (let visit = 0; visit < 5; visit++) await world.passedBy('web');
    const [first] = world.simulator.ledger.requests(LOGIN);
    expect(fault.count).toBeLessThanOrEqual(triesWithGrowingPauses(world, first?.at ?? 0));
    fault.remove();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });
});

describe('a Secret that is deleted while its server exists', () => {
  it('leaves the server monitored, and the last key that was read cancels the server', async () => {
    const world = await createWorld({ flags: QUICK });
    await readyServer(world, 'web');
    await world.deleteSecret('vps-api-key');
    const says = 'The operator uses the last key that it read from that Secret';
    const used = await world.waitFor('web', (object) => condition(object, 'Ready')?.message.includes(says) === true);
    expect(used.status?.conditions).toMatchObject([{ type: 'Ready', status: 'True', reason: 'Available' }]);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('holds a deleted object for a new operator, which says what to do and cancels with the fallback Secret', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    const operatorNamespace = `${world.namespace}-operator`;
    await world.http.call({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: operatorNamespace } },
    });
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator({ flags: [`--operator-namespace=${operatorNamespace}`] });
    const held = await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    const fallback = `${world.namespace}.vps-api-key`;
    expect(stalled(held).message).toContain(`create Secret ${fallback} in ${operatorNamespace}`);
    expect(world.simulator.ledger.cancels()).toEqual([]);

    await world.putSecret(fallback, DEFAULT_KEY, operatorNamespace);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('is no loss for an operator that has read the keys of all objects with a record at its start', async () => {
    const world = await createWorld({ secret: false });
    for (const name of ['first', 'second']) {
      await world.putSecret(name, DEFAULT_KEY);
      await readyServer(world, name, withSpec({ apiKeySecretRef: { name } }));
    }
    await world.stopOperator();
    await world.startOperator();
    for (const name of ['first', 'second']) await world.deleteSecret(name);
    for (const name of ['first', 'second']) await world.delete(name);
    for (const name of ['first', 'second']) await world.waitGone(name);
    expect(world.simulator.ledger.cancels()).toHaveLength(2);
  });
});
