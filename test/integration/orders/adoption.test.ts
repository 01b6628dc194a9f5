/** Adoption of an existing server: one object holds it, nothing is ordered, and a deletion cancels or retains it. */
import { describe, expect, it } from 'vitest';
import { API_NAMES } from '../../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { createWorld } from '../support/world.ts';

const adopting = (identifier: string) => withAnnotations({ 'vps-operator.dev/adopt': identifier });

describe('a new object that adopts', () => {
  it.each(API_NAMES)(
    '(%s API) shows the server, orders no other, and cancels the server when the object is deleted',
    async (api) => {
      const world = await createWorld({ simulator: { api } });
      world.simulator.fleet.addServer('default', { identifier: 'old1' });
      const object = await readyServer(world, 'web', adopting('old1'), withSpec({ diskSize: 5120 }));
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
    },
  );
});

describe('one server and two objects', () => {
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
});
