/** API keys that change while servers exist: rotated, of another account, of the same account. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { records, sent, stalled } from '../support/creates.ts';
import { condition, createWorld, type World } from '../support/world.ts';

const NEW_KEY = { keyId: 'simulated-key-2', secret: 'simulated-secret-2' };
const OTHERS_KEY = { keyId: 'key-of-others', secret: 'secret-of-others' };
const ACCOUNTS = [
  { name: 'default', keys: [DEFAULT_KEY] },
  { name: 'others', keys: [OTHERS_KEY] },
];
/** Reads Ready servers, and with them the Secret, several times a second. */
const QUICK = ['--resync-interval=200ms'];

async function readyWorld(names: string[] = ['web'], flags: string[] = QUICK): Promise<World> {
  const world = await createWorld({ simulator: { accounts: ACCOUNTS }, flags });
  for (const name of names) await world.create(virtualServer(name));
  for (const name of names) await world.waitForReason(name, 'Available', 'Ready');
  return world;
}

/** From now on the provider accepts only the new key. */
function rotate(world: World): void {
  world.simulator.accounts.addKey('default', NEW_KEY);
  world.simulator.accounts.revokeKey(DEFAULT_KEY.keyId);
}

describe('a rotated key', () => {
  it('leaves Ready servers Ready, reports that the old key is refused, and continues with the new one', async () => {
    const world = await readyWorld(['web', 'db']);
    const before = world.simulator.ledger.logins().length;
    rotate(world);
    for (const name of ['web', 'db']) {
      const object = await world.waitForReason(name, 'InvalidCredentials', 'Stalled');
      expect(condition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    }
    for (const name of ['web', 'db']) await world.passedBy(name);
    expect(world.simulator.ledger.logins()).toHaveLength(before + 1);

    await world.putSecret('vps-api-key', NEW_KEY);
    for (const name of ['web', 'db']) {
      await world.waitFor(name, (object) => condition(object, 'Stalled') === undefined, 'recovery');
    }
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.ledger.logins({ ok: false })).toHaveLength(1);
  });

  it('does not lose a server that is being created', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity } });
    await world.create(virtualServer('web'));
    const creating = await world.waitFor('web', (object) => object.status?.record?.identifier !== undefined);
    rotate(world);
    const refused = await world.waitForReason('web', 'InvalidCredentials', 'Stalled');
    expect(records(refused)).toEqual(records(creating));
    await world.putSecret('vps-api-key', NEW_KEY);
    world.simulator.fleet.completeTask(creating.status?.record?.task ?? 0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });

  it('is noticed while the old token still works, without any refusal', async () => {
    const world = await readyWorld();
    world.simulator.accounts.rotateKey(DEFAULT_KEY.keyId, 'rotated-secret');
    await world.putSecret('vps-api-key', { keyId: DEFAULT_KEY.keyId, secret: 'rotated-secret' });
    await world.until(() => world.simulator.ledger.logins({ ok: true }).length === 2, 'a login with the new secret');
    await world.visited('web');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.logins({ ok: false })).toEqual([]);
  });
});

describe('the key of another account', () => {
  it('makes a server invisible, not gone; a deletion waits for the right key', async () => {
    const world = await readyWorld();
    await world.putSecret('vps-api-key', OTHERS_KEY);
    const hidden = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(condition(hidden, 'Ready')?.status).toBe('Unknown');
    expect(stalled(hidden).message).toContain('Restore that key or URL');

    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    expect(world.simulator.aliveServers()).toHaveLength(1);

    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(sent(world)).toHaveLength(1);
  });

  it('hides the task of a server that is being created, until the right key is back', async () => {
    const world = await createWorld({ simulator: { accounts: ACCOUNTS, taskDurationMs: Infinity }, flags: QUICK });
    await world.create(virtualServer('web'));
    const creating = await world.waitFor('web', (object) => object.status?.record?.identifier !== undefined);
    await world.putSecret('vps-api-key', OTHERS_KEY);
    const lost = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(records(lost)).toEqual(records(creating));
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    world.simulator.fleet.completeTask(creating.status?.record?.task ?? 0);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toHaveLength(1);
  });
});

describe('an order with the key of another account', () => {
  it('is not released because a task of the right account has the same number and identifier', async () => {
    const world = await createWorld({ simulator: { accounts: ACCOUNTS, taskNumbering: 'account' }, flags: QUICK });
    await world.create(virtualServer('old'));
    const old = await world.waitForReason('old', 'Available', 'Ready');
    await world.delete('old');
    await world.waitGone('old');

    const { fleet, ledger } = world.simulator;
    fleet.reuseAtNextCreate(old.status?.identifier ?? '');
    fleet.setTaskDuration(Infinity);
    await world.putSecret('mistaken', OTHERS_KEY);
    await world.create(virtualServer('web', withSpec({ apiKeySecretRef: { name: 'mistaken' } })));
    const creating = await world.waitFor('web', (object) => object.status?.record?.identifier !== undefined);
    expect(creating.status?.record).toMatchObject({
      task: old.status?.record?.task,
      identifier: old.status?.identifier,
    });
    expect(ledger.creates({ account: 'others' })).toHaveLength(1);

    await world.putSecret('mistaken', DEFAULT_KEY);
    await world.delete('web');
    await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    await world.putSecret('mistaken', OTHERS_KEY);
    fleet.completeTask(creating.status?.record?.task ?? 0);
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(ledger.cancels()).toHaveLength(2);
  });
});

describe('a new key of the same account', () => {
  it('is recorded with the first successful read, and its 404 then proves that the server is gone', async () => {
    const world = await readyWorld();
    const before = (await world.get('web'))?.status?.record?.account;
    world.simulator.accounts.addKey('default', NEW_KEY);
    await world.putSecret('vps-api-key', NEW_KEY);
    const renewed = await world.waitFor('web', (object) => object.status?.record?.account !== before);
    expect(records(renewed).annotation).toEqual(records(renewed).mirror);
    expect(stalledReason(renewed)).toBeUndefined();

    world.simulator.fleet.removeServer(renewed.status?.identifier ?? '');
    await world.waitForReason('web', 'ServerMissing', 'Stalled');
    await world.delete('web');
    await world.waitGone('web');
    expect(sent(world)).toHaveLength(1);
  });

  it('proves nothing with a 404 before it has seen the server', async () => {
    const world = await readyWorld(['web'], []);
    const ready = await world.get('web');
    world.simulator.fleet.removeServer(ready?.status?.identifier ?? '');
    world.simulator.accounts.addKey('default', NEW_KEY);
    await world.stopOperator();
    await world.putSecret('vps-api-key', NEW_KEY);
    await world.startOperator();
    await world.delete('web');
    await world.visited('web');
    const held = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    // Comes long before working keys are read again.
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await world.waitGone('web');
  });
});

function stalledReason(object: Parameters<typeof condition>[0]): string | undefined {
  return condition(object, 'Stalled')?.reason;
}
