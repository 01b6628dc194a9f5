/** Adoption of an existing server: one object holds it, nothing is ordered, and a deletion cancels or retains it. */
import { describe, expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf, stalledMessage } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

const adopting = (identifier: string) => withAnnotations({ 'vps-operator.dev/adopt': identifier });

describe('a new object that adopts', () => {
  it('shows the server, orders no other, and cancels the server when the object is deleted', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1' });
    const object = await readyServer(world, 'web', adopting('old1'), withSpec({ diskSize: 10 }));
    expect(recordOf(object)).toMatchObject({ owner: object.metadata.uid, mode: 'adopt', identifier: 'old1' });
    expect(recordOf(object).attempt).toBeUndefined();
    expect(object.status?.identifier).toBe('old1');
    await world.until(
      async () => (await world.events('web')).some(({ reason }) => reason === 'ServerAdopted'),
      'the Event',
    );
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual(['old1']);
    expect(world.simulator.ledger.creates()).toEqual([]);
  });

  it('leaves the server alone when it is deleted with Retain', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1' });
    await readyServer(world, 'web', adopting('old1'), withSpec({ deletionPolicy: 'Retain' }));
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(world.simulator.aliveServers().map(({ identifier }) => identifier)).toEqual(['old1']);
  });

  it('reports that the server does not exist, orders none in its place, and accepts a corrected name', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1' });
    await world.create(virtualServer('web', adopting('odl1')));
    const parked = await world.waitForReason('web', 'ServerNotVisible', 'Stalled');
    expect(stalledMessage(parked)).toContain('Server odl1, named by annotation vps-operator.dev/adopt');
    await world.visited('web');
    await world.annotate('web', { adopt: 'old1' });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toEqual([]);
  });

  it('reports a mistyped annotation, orders nothing, and adopts with the command of the message', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1' });
    await world.create(virtualServer('web', withAnnotations({ 'vps-operator.dev/adoptt': 'old1' })));
    const parked = await world.waitForReason('web', 'UnknownAnnotation', 'Stalled');
    expect(stalledMessage(parked)).toContain('vps-operator.dev/adopt=VALUE vps-operator.dev/adoptt-`');
    await world.visited('web');
    await world.patch('web', {
      metadata: { annotations: { 'vps-operator.dev/adopt': 'old1', 'vps-operator.dev/adoptt': null } },
    });
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe('old1');
    expect(world.simulator.ledger.creates()).toEqual([]);
  });

  it('orders at once when the mistyped annotation is removed, and keeps the server when it returns', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', withAnnotations({ 'vps-operator.dev/pausedd': 'true' })));
    await world.waitForReason('web', 'UnknownAnnotation', 'Stalled');
    await world.patch('web', { metadata: { annotations: { 'vps-operator.dev/pausedd': null } } });
    await world.waitForReason('web', 'Available', 'Ready');
    await world.annotate('web', { pausedd: 'true' });
    await world.visited('web');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('reports AdoptInvalid for a value that is not an identifier, and orders no server', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', adopting('two words')));
    const parked = await world.waitForReason('web', 'AdoptInvalid', 'Stalled');
    expect(stalledMessage(parked)).toContain('vps-operator.dev/adopt');
    await world.visited('web');
    expect(world.simulator.ledger.requests({ route: '/beta/vps/servers' })).toEqual([]);
    await world.delete('web');
    await world.waitGone('web');
  });

  it('keeps its server when the annotation later names another one, and reports AdoptIgnored', async () => {
    const world = await createWorld();
    for (const identifier of ['old1', 'old2']) world.simulator.fleet.addServer('default', { identifier });
    await readyServer(world, 'web', adopting('old1'));
    await world.annotate('web', { adopt: 'old2' });
    const object = await world.waitFor(
      'web',
      (it) => condition(it, 'Ready')?.message.includes('AdoptIgnored') === true,
    );
    expect(condition(object, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    expect(object.status?.identifier).toBe('old1');
    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.aliveServers().map(({ identifier }) => identifier)).toEqual(['old2']);
  });

  it('remains editable: its spec is only compared', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1', product: 'vps-1gb' });
    await readyServer(world, 'web', adopting('old1'), withSpec({ product: 'vps-8gb', diskSize: 10 }));
    const differs = await world.waitForReason('web', 'Drifted', 'Drifted');
    expect(condition(differs, 'Drifted')?.message).toContain('product is vps-1gb instead of vps-8gb');
    await world.patch('web', { spec: { product: 'vps-1gb' } });
    await world.waitFor('web', (object) => condition(object, 'Drifted') === undefined);
    expect(world.simulator.ledger.creates()).toEqual([]);
  });
});

describe('one server and two objects', () => {
  it('is held by exactly one of two objects that adopt it at the same time', async () => {
    const world = await createWorld();
    world.simulator.fleet.addServer('default', { identifier: 'old1' });
    const names = ['one', 'two'];
    await Promise.all(names.map((name) => world.create(virtualServer(name, adopting('old1')))));
    const settled = await Promise.all(
      names.map((name) =>
        world.waitFor(name, (object) =>
          ['Available', 'IdentifierInUse'].includes(condition(object, 'Ready')?.reason ?? ''),
        ),
      ),
    );
    expect(settled.map((object) => condition(object, 'Ready')?.reason).sort()).toEqual([
      'Available',
      'IdentifierInUse',
    ]);
    for (const name of names) await world.visited(name);
    const held = await Promise.all(names.map(async (name) => (await world.get(name))?.status?.identifier));
    expect(held.filter((identifier) => identifier !== undefined)).toEqual(['old1']);
  });

  it('is not cancelled while two objects hold it by forged records, but once one releases it', async () => {
    const world = await createWorld();
    const first = await readyServer(world, 'one');
    const second = await world.create(virtualServer('two', withAnnotations({ 'vps-operator.dev/paused': 'true' })));
    await world.waitForReason('two', 'Paused', 'Paused');
    const { account, identifier } = recordOf(first);
    const forced = { owner: second.metadata.uid, mode: 'adopt', account, identifier };
    await world.annotate('two', { record: JSON.stringify(forced), paused: null });
    for (const name of ['one', 'two']) {
      await world.annotate(name, { 'reconcile-at': 'now' });
      await world.waitForReason(name, 'IdentifierInUse', 'Stalled');
      await world.delete(name);
      await world.visited(name);
    }
    expect(world.simulator.ledger.cancels()).toEqual([]);

    await world.patch('two', { spec: { deletionPolicy: 'Retain' } });
    await Promise.all([world.waitGone('one'), world.waitGone('two')]);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });

  it('stays with a record from before a restart when a new object tries to adopt it', async () => {
    const world = await createWorld();
    const first = await readyServer(world, 'one');
    await world.stopOperator();
    await world.create(virtualServer('two', adopting(recordOf(first).identifier ?? '')));
    await world.startOperator({ journal: false });
    const parked = await world.waitForReason('two', 'IdentifierInUse', 'Stalled');
    expect(parked.metadata.annotations?.[RECORD_ANNOTATION]).toBeUndefined();
    await world.delete('two');
    await world.waitGone('two');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });
});
