/**
 * Upgrade, rolling update and downgrade: records that other versions of the operator write. A test double acts as the
 * newer version; its writes name the version of the object that it has read.
 */
import { describe, expect, it } from 'vitest';
import { FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { records } from '../support/creates.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

type Keys = Record<string, unknown>;

const textOf = (object: VirtualServer | undefined): string => object?.metadata.annotations?.[RECORD_ANNOTATION] ?? '';

/** Adds keys to the record, in the annotation and then in its mirror; returns false if another write came first. */
async function writeKeys(world: World, name: string, keys: Keys): Promise<boolean> {
  const object = await world.get(name);
  if (object === undefined || textOf(object) === '') return false;
  const record = { ...keys, ...records(object).annotation, ...keys };
  const annotations = { [RECORD_ANNOTATION]: JSON.stringify(record) };
  try {
    const { resourceVersion } = object.metadata;
    const written = await world.patch(name, { metadata: { resourceVersion, annotations } });
    const metadata = { resourceVersion: written.metadata.resourceVersion };
    if (written.status?.record !== undefined) await world.patch(name, { metadata, status: { record } }, '/status');
  } catch (error) {
    if (error instanceof KubeError && error.code === 'Conflict')
      return textOf(await world.get(name)).includes(JSON.stringify(keys).slice(1, -1));
    throw error;
  }
  return true;
}

function expectKeys(object: VirtualServer, keys: Keys): void {
  const { annotation, mirror } = records(object);
  expect(annotation).toMatchObject(keys);
  expect(mirror).toMatchObject(keys);
}

/** Writes the record in both places like a newer version that this one must not touch. */
async function writeNewer(world: World, name: string, changes: Keys): Promise<void> {
  await world.stopOperator();
  const object = (await world.get(name)) as VirtualServer;
  const record = { ...records(object).annotation, ...changes };
  await world.annotate(name, { record: JSON.stringify(record) });
  // The schema of the mirror only allows the modes of this version.
  if (!('mode' in changes)) await world.patch(name, { status: { record } }, '/status');
  await world.startOperator();
}

describe('an upgrade', () => {
  it('does not rewrite a record of a version that wrote no format', async () => {
    const world = await createWorld();
    const { format: _format, ...record } = records(await readyServer(world, 'web')).annotation;
    await world.stopOperator();
    await world.annotate('web', { record: JSON.stringify(record) });
    const before = await world.patch('web', { status: { record: { format: null } } }, '/status');
    await world.startOperator();
    await world.visited('web');
    const after = (await world.get('web')) as VirtualServer;
    expect(textOf(after)).toBe(textOf(before));
    expect(after.status).toEqual(before.status);

    await world.delete('web');
    await world.waitGone('web');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('gives a new record its format', async () => {
    const world = await createWorld();
    expectKeys(await readyServer(world, 'web'), { format: 2 });
  });
});

describe('a downgrade', () => {
  it('keeps the keys of a newer version through a whole life', async () => {
    const world = await createWorld({ operator: false, simulator: { taskDurationMs: 1_000 } });
    const keys = { plan: { steps: ['a', { b: 1 }] }, zone: 'Z1' };
    const { metadata } = await world.create(virtualServer('web', withSpec({ deletionProtection: true })));
    const refused = { format: 1, owner: metadata.uid, mode: 'create', ...keys };
    await world.patch('web', { metadata: { finalizers: [FINALIZER] } });
    await world.annotate('web', { record: JSON.stringify(refused) });
    await world.startOperator();

    const creating = await world.waitFor('web', ({ status }) => status?.record?.task !== undefined);
    expectKeys(creating, keys);
    const later = { zone: 'Z2', since: 2026 };
    await world.until(() => writeKeys(world, 'web', later), 'a write between two reconciles');
    await world.waitForReason('web', 'Available', 'Ready');
    await world.visited('web');
    expectKeys((await world.get('web')) as VirtualServer, { ...keys, ...later });

    // Each copy is restored from the other.
    await world.annotate('web', { record: null });
    await world.waitFor('web', (object) => textOf(object) !== '');
    await world.patch('web', { status: { record: null } }, '/status');
    await world.visited('web');
    expectKeys((await world.get('web')) as VirtualServer, { ...keys, ...later });

    await world.patch('web', { spec: { deletionProtection: false, deletionPolicy: 'Retain' } });
    await world.patch('web', { metadata: { finalizers: [FINALIZER, 'example.org/watch'] } });
    await world.patch('web', { spec: { deletionPolicy: 'Delete' } });
    await world.delete('web');
    const gone = await world.waitFor('web', (object) => object.metadata.finalizers?.includes(FINALIZER) === false);
    expect(records(gone).mirror).toMatchObject({ ...keys, ...later });
    await world.patch('web', { metadata: { finalizers: null } });
    expect(world.simulator.ledger.creates()).toHaveLength(1);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it.for<[string, Keys]>([
    ['format 3', { format: 3, server: { id: 'vs1' } }],
    ['mode "import"', { mode: 'import' }],
  ])(
    'leaves a record with %s, its server and its deletion alone until it can read the record again',
    async ([what, changes]) => {
      const world = await createWorld({ flags: ['--max-servers-per-namespace=1'] });
      const before = await readyServer(world, 'web');
      const identifier = before.status?.identifier ?? '';
      await writeNewer(world, 'web', changes);
      const parked = await world.waitForReason('web', 'RecordTooNew', 'Stalled');
      expect(stalledMessage(parked)).toContain(`it has ${what}. This version understands formats up to 2`);
      expect(condition(parked, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
      const [text, mirror] = [textOf(parked), parked.status?.record];

      // No other object adopts or cancels the server, or orders one in its place.
      await world.create(virtualServer('other', withAnnotations({ 'vps-operator.dev/adopt': identifier })));
      await world.waitForReason('other', 'IdentifierInUse', 'Stalled');
      await world.create(virtualServer('third'));
      await world.waitForReason('third', 'ServerLimit', 'Stalled');
      for (const name of ['other', 'third']) {
        await world.delete(name);
        await world.waitGone(name);
      }

      const asked = world.simulator.ledger.requests().length;
      // Neither annotations nor a deletion have an effect.
      await world.annotate('web', { 'server-gone': identifier, adopt: 'vs4711', 'start-over': before.metadata.uid });
      await world.visited('web');
      await world.delete('web');
      await world.visited('web');
      await world.stopOperator();
      await world.startOperator();
      await world.visited('web');
      const kept = (await world.get('web')) as VirtualServer;
      expect([textOf(kept), kept.status?.record]).toEqual([text, mirror]);
      expect(kept.metadata.finalizers).toEqual([FINALIZER]);
      expect(kept.status?.identifier).toBe(identifier);
      expect(world.simulator.ledger.creates()).toHaveLength(1);
      expect(world.simulator.ledger.cancels()).toEqual([]);
      expect(world.simulator.ledger.requests()).toHaveLength(asked);

      // The newer version is back and rewrites the record in a format that this version understands.
      await world.annotate('web', { 'server-gone': null, adopt: null, record: textOf(before) });
      await world.patch('web', { status: { record: { ...before.status?.record, format: 2 } } }, '/status');
      await world.waitGone('web');
      expect(world.simulator.ledger.cancels().map((cancel) => cancel.identifier)).toEqual([identifier]);
    },
  );
});

describe('a rolling update', () => {
  it('loses no key of the newer version, and orders nothing twice, while versions alternate', async () => {
    const world = await createWorld({ operator: false, simulator: { taskDurationMs: 1_500 } });
    const flags = ['--leader-elect', `--operator-namespace=${world.namespace}`];
    const names = ['one', 'two', 'three', 'four'];
    const written = new Map<string, Keys>(names.map((name) => [name, {}]));
    let turn = 0;
    /** The newer version writes between all reconciles of the older one until this holds for every object. */
    const until = (holds: (object: VirtualServer) => boolean, what: string): Promise<void> =>
      world.until(async () => {
        turn += 1;
        for (const name of names) {
          const keys = { [`key${turn % 7}`]: { turn } };
          if (await writeKeys(world, name, keys)) Object.assign(written.get(name) ?? {}, keys);
        }
        const objects = await Promise.all(names.map((name) => world.get(name)));
        return objects.every((object) => object !== undefined && holds(object));
      }, what);

    await world.startOperator({ flags });
    const second = await world.joinOperator({ flags });
    await Promise.all(names.map((name) => world.create(virtualServer(name))));
    await until(({ status }) => status?.record?.task !== undefined, 'all orders');
    await world.stopOperator();
    // On a busy machine the servers exist before the newer version has written twice.
    const hasWritten = ({ metadata }: VirtualServer): boolean =>
      Object.keys(written.get(metadata.name) ?? {}).length > 1;
    await until((object) => condition(object, 'Ready')?.status === 'True' && hasWritten(object), 'all servers');
    await world.until(() => second.started(), 'the second process');
    const third = world.startOperator({ flags });
    await world.stopJoined();
    await third;
    for (const name of names) {
      await world.visited(name);
      const keys = written.get(name) ?? {};
      expect(Object.keys(keys).length).toBeGreaterThan(1);
      expectKeys((await world.get(name)) as VirtualServer, keys);
      await world.delete(name);
    }
    for (const name of names) await world.waitGone(name);
    expect(world.simulator.ledger.creates()).toHaveLength(names.length);
    expect(world.simulator.ledger.cancels()).toHaveLength(names.length);
    expect(world.simulator.aliveServers()).toEqual([]);
  });
});
