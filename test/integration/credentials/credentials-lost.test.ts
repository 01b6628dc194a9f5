/** Secrets that are deleted while servers need their key: the last good key, and the fallback Secret. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { CREATE, sent, stalled } from '../support/creates.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

const READ = { route: '/beta/vps/servers/{identifier}' } as const;

/** Creates a namespace for the operator itself, next to that of its objects. */
async function makeOperatorNamespace(world: World): Promise<string> {
  const name = `${world.namespace}-operator`;
  await world.http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  return name;
}

async function readyWorld(options: WorldOptions = {}): Promise<World> {
  const world = await createWorld(options);
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  return world;
}

async function reads(world: World, more: number): Promise<void> {
  const from = world.simulator.ledger.requests(READ).length;
  await world.until(() => world.simulator.ledger.requests(READ).length >= from + more, `${more} reads`);
}

describe('deleting a Secret while its server exists', () => {
  it('leaves the server monitored, and cancels it with the last key that was read', async () => {
    const world = await readyWorld({ flags: ['--resync-interval=100ms'] });
    await world.deleteSecret('vps-api-key');
    await reads(world, 4);
    const { status } = await world.waitFor(
      'web',
      ({ status }) => status?.conditions?.[0]?.message.includes('last key') === true,
    );
    expect(status?.conditions).toMatchObject([{ type: 'Ready', status: 'True', reason: 'Available' }]);
    expect(status?.conditions?.[0]?.message).toMatch(
      /does not exist.*The operator uses the last key that it read from that Secret/,
    );
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('orders nothing new with the last key that was read', async () => {
    const world = await readyWorld({ flags: ['--resync-interval=100ms'] });
    await world.deleteSecret('vps-api-key');
    await reads(world, 4);
    await world.create(virtualServer('db'));
    await world.waitForReason('db', 'SecretNotFound', 'Stalled');
    expect(sent(world)).toHaveLength(1);
  });

  it('may precede the deletion of objects in a namespace that is being deleted', async () => {
    const world = await readyWorld({ flags: ['--resync-interval=100ms'] });
    const path = `/api/v1/namespaces/${world.namespace}`;
    await world.http.call({ method: 'DELETE', path });
    await world.deleteSecret('vps-api-key');
    await reads(world, 3);
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('may happen while the task runs: the operator follows the task and cancels its server', async () => {
    const world = await createWorld({ simulator: { taskDurationMs: Infinity }, flags: ['--resync-interval=100ms'] });
    await world.create(virtualServer('web'));
    const { status } = await world.waitFor('web', (object) => object.status?.record?.identifier !== undefined);
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.waitForReason('web', 'Deleting', 'Reconciling');
    world.simulator.fleet.completeTask(status?.record?.task ?? 0);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([status?.record?.identifier]);
  });
});

describe('an operator that starts after the Secret was deleted', () => {
  async function restartedWithoutSecret(): Promise<{ world: World; operatorNamespace: string }> {
    const world = await readyWorld();
    const operatorNamespace = await makeOperatorNamespace(world);
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator({ flags: [`--operator-namespace=${operatorNamespace}`] });
    return { world, operatorNamespace };
  }

  it('holds a deleted object, says what to do, and cancels with the fallback Secret', async () => {
    const { world, operatorNamespace } = await restartedWithoutSecret();
    const held = await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    expect(held.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
    const fallback = `${world.namespace}.vps-api-key`;
    expect(stalled(held).message).toContain(`create Secret ${fallback} in ${operatorNamespace}`);
    expect(world.simulator.ledger.cancels()).toEqual([]);

    await world.putSecret(fallback, DEFAULT_KEY, operatorNamespace);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('also cancels when the Secret itself is restored', async () => {
    const { world } = await restartedWithoutSecret();
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.putSecret('vps-api-key', DEFAULT_KEY);
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('releases a retained server without any key', async () => {
    const { world } = await restartedWithoutSecret();
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    const before = world.simulator.ledger.requestCount;
    await world.patch('web', { spec: { deletionPolicy: 'Retain' } });
    await world.waitGone('web');
    expect(world.simulator.ledger.requestCount).toBe(before);
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('does not use the fallback Secret for an object that is not being deleted', async () => {
    const world = await createWorld({ secret: false, operator: false });
    const operatorNamespace = await makeOperatorNamespace(world);
    await world.putSecret(`${world.namespace}.vps-api-key`, DEFAULT_KEY, operatorNamespace);
    await world.startOperator({ flags: [`--operator-namespace=${operatorNamespace}`] });
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'SecretNotFound', 'Stalled');
    await world.visited('web');
    expect(world.simulator.ledger.requestCount).toBe(0);
  });

  it('reads the keys of all objects with a record when it starts', async () => {
    const world = await createWorld({ secret: false });
    await world.putSecret('first', DEFAULT_KEY);
    await world.putSecret('second', DEFAULT_KEY);
    for (const name of ['first', 'second']) {
      await world.create(virtualServer(name, withSpec({ apiKeySecretRef: { name } })));
      await world.waitForReason(name, 'Available', 'Ready');
    }
    await world.stopOperator();
    await world.startOperator();
    for (const name of ['first', 'second']) await world.deleteSecret(name);
    for (const name of ['first', 'second']) await world.delete(name);
    for (const name of ['first', 'second']) await world.waitGone(name);
    expect(world.simulator.ledger.cancels()).toHaveLength(2);
  });

  it('holds an object whose create was lost until a user resolves it', async () => {
    const world = await createWorld();
    world.simulator.faults.inject({ match: CREATE, action: { kind: 'reset', after: true } });
    await world.create(virtualServer('web'));
    const { status } = await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    await world.stopOperator();
    await world.deleteSecret('vps-api-key');
    await world.delete('web');
    await world.startOperator();
    await world.visited('web');
    await world.waitForReason('web', 'CreateOutcomeUnknown', 'Stalled');
    await world.annotate('web', { 'not-created': status?.record?.attempt ?? '' });
    await world.waitGone('web');
  });
});
