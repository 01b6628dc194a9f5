/** The main task: create, Ready, deleted, with the exact status. */
import { describe, expect, it } from 'vitest';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

describe('the life of a server', () => {
  it.each([
    ['documented', 'create', []],
    ['public', 'named', []],
    ['public', 'create', ['--orders=anonymous']],
  ] as const)(
    '(%s API, mode %s) orders a server once, reports its exact status, follows it, and cancels it when the object is deleted',
    async (api, mode, way) => {
      const world = await createWorld({ simulator: { api }, flags: ['--resync-interval=150ms', ...way] });
      const ready = await readyServer(world, 'web');

      const [created] = world.simulator.ledger.creates();
      expect(world.simulator.ledger.creates()).toHaveLength(1);
      expect(created?.body).toEqual({
        product: 'VPSX4',
        image: 'cloudinit-debian-trixie.raw.gz',
        ssh_keys: SSH_KEY,
        disk_size: 10240,
        ...(mode === 'named' && { name: `${world.namespace}/web (${ready.metadata.uid.slice(0, 8)})` }),
      });
      const owner = ready.metadata.uid;
      const { identifier, task } = created ?? {};
      const annotated = JSON.parse(ready.metadata.annotations?.[RECORD_ANNOTATION] ?? '') as Record<string, unknown>;
      // The claim of a named order says what leads to its server, and status the rest.
      expect(annotated).toMatchObject({ owner, mode, identifier, ...(mode === 'create' && { task }) });
      expect(recordOf(ready)).toMatchObject({ owner, mode, identifier, task });
      expect(ready.status?.record).toEqual(recordOf(ready));
      expect(ready.metadata.finalizers).toEqual(['vps-operator.dev/virtualserver']);
      expect(condition(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'Available', observedGeneration: 1 });
      expect(ready.status?.conditions).toHaveLength(1);
      expect(ready.status?.task).toBeUndefined();
      expect(ready.status?.serverStatus).toBe('running');

      world.simulator.fleet.updateServer(created?.identifier ?? '', { ipv6: ['2001:db8::77'], price: 99 });
      const changed = await world.waitFor('web', ({ status }) => status?.price === 99);
      expect(changed.status?.ipv6).toEqual(['2001:db8::77']);
      expect(condition(changed, 'Ready')).toEqual(condition(ready, 'Ready'));

      await world.delete('web');
      await world.waitGone('web');
      expect(world.simulator.ledger.cancels().map(({ identifier }) => identifier)).toEqual([created?.identifier]);
      expect(world.simulator.aliveServers()).toEqual([]);
      expect(world.simulator.ledger.creates()).toHaveLength(1);
    },
  );
});
