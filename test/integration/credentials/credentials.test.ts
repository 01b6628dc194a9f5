/** API keys from Secrets: missing, incomplete, odd and wrong ones, and how to fix them. */
import { reasonPage } from '../../../src/api/documentation.ts';
import { describe, expect, it } from 'vitest';
import { DEFAULT_KEY, type Key } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { phase, sent, stalled } from '../support/creates.ts';
import { createWorld } from '../support/world.ts';

const { keyId, secret } = DEFAULT_KEY;

describe('a bad Secret', () => {
  it('stops orders until it exists, and then the servers are ordered', async () => {
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

  it('is not needed to delete an object that ordered nothing', async () => {
    const world = await createWorld({ secret: false });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.requestCount).toBe(0);
  });

  it.for([
    [{ keyId }, '"secret"'],
    [{ secret }, '"keyId"'],
    [{ keyId, secret: '' }, '"secret"'],
    [{ keyId: '\n', secret: '\n' }, '"keyId" and "secret"'],
    [{ KEYID: keyId, password: secret }, '"keyId" and "secret"'],
  ] as const)('is reported with its missing keys: %j', async ([data, lacking]) => {
    const world = await createWorld({ secret: false });
    await world.putSecret('vps-api-key', data);
    await world.create(virtualServer('web'));
    const object = await world.waitForReason('web', 'SecretInvalid', 'Stalled');
    expect(stalled(object).message).toBe(
      `Secret ${world.namespace}/vps-api-key must have the keys "keyId" and "secret"; it lacks ${lacking}. ` +
        `Add what is missing; the operator retries automatically, within a minute. See ${reasonPage('SecretInvalid')}`,
    );
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it('may have the name that spec gives it', async () => {
    const world = await createWorld({ secret: false });
    await world.putSecret('other-key', DEFAULT_KEY);
    await world.create(virtualServer('web', withSpec({ apiKeySecretRef: { name: 'other-key' } })));
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it.for(['\n', '\r\n'])('may have values that end with %j, which an editor adds', async (end) => {
    const world = await createWorld({ secret: false });
    await world.putSecret('vps-api-key', { keyId: keyId + end, secret: secret + end });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
  });

  it.for<Key>([
    { keyId: 'a+b%41/c?d=e&f', secret: 'se:cret:with+plus%41 and blanks&more=less' },
    { keyId: 'schlüssel-名前', secret: 'pässwörter-🔑-"quoted"\\' },
    { keyId: 'x'.repeat(300), secret: ` ${'y'.repeat(2000)} ` },
  ])('may hold any characters: $keyId', async (key) => {
    const world = await createWorld({ secret: false, simulator: { accounts: [{ name: 'odd', keys: [key] }] } });
    await world.putSecret('vps-api-key', { ...key });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'Available', 'Ready');
  });
});

describe('a key that the provider refuses', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e'];

  it('costs one login for all objects and reconciles, until the Secret is fixed for all of them', async () => {
    const world = await createWorld({ secret: false });
    await world.putSecret('vps-api-key', { keyId, secret: 'not-the-secret' });
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

  it('is retried when one object is annotated, and then works for all objects', async () => {
    const world = await createWorld();
    world.simulator.accounts.revokeKey(keyId);
    for (const name of NAMES) await world.create(virtualServer(name));
    for (const name of NAMES) await world.waitForReason(name, 'InvalidCredentials', 'Stalled');
    world.simulator.accounts.addKey('default', DEFAULT_KEY);
    await world.annotate('c', { 'reconcile-at': 'now' });
    for (const name of NAMES) await world.waitForReason(name, 'Available', 'Ready');
    expect(world.simulator.ledger.logins().map(({ ok }) => ok)).toEqual([false, true]);
    expect(sent(world)).toHaveLength(NAMES.length);
  });

  it('is retried when its Secret is rewritten with the same content', async () => {
    const world = await createWorld();
    world.simulator.accounts.revokeKey(keyId);
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'InvalidCredentials', 'Stalled');
    world.simulator.accounts.addKey('default', DEFAULT_KEY);
    const path = `/api/v1/namespaces/${world.namespace}/secrets/vps-api-key`;
    const body = { metadata: { annotations: { touched: 'now' } } };
    await world.http.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.logins().map(({ ok }) => ok)).toEqual([false, true]);
  });

  it('is sent at most every 5 seconds, whatever the reason, and no other call is made with it', async () => {
    const world = await createWorld({ secret: false });
    await world.putSecret('vps-api-key', { keyId, secret: 'not-the-secret' });
    for (const name of NAMES) await world.create(virtualServer(name));
    for (const name of NAMES) await world.waitForReason(name, 'InvalidCredentials', 'Stalled');
    const logins = () => world.simulator.ledger.logins();
    let round = 0;
    while (logins().length < 3) {
      await world.annotate(NAMES[round % NAMES.length] ?? '', { 'reconcile-at': `${round++}` });
    }
    const pauses = logins().map(({ at }, index, all) => at - (all[index - 1]?.at ?? -Infinity));
    expect(Math.min(...pauses)).toBeGreaterThan(4_900);
    expect(world.simulator.ledger.requests()).toHaveLength(logins().length);
  });

  it('does not affect objects with another key in the same namespace', async () => {
    const world = await createWorld();
    await world.putSecret('bad-key', { keyId: 'no-such-key', secret: 'not-the-secret' });
    await world.create(virtualServer('bad', withSpec({ apiKeySecretRef: { name: 'bad-key' } })));
    await world.waitForReason('bad', 'InvalidCredentials', 'Stalled');
    await world.create(virtualServer('good'));
    await world.waitForReason('good', 'Available', 'Ready');
    expect(world.simulator.ledger.logins({ ok: false })).toHaveLength(1);
  });
});
