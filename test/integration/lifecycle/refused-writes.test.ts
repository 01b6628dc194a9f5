/** The API server refuses writes of the operator: the objects report it, and continue once the writes are accepted. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { refuse, type Refusing } from '../support/refusals.ts';
import { createSet } from '../support/sets.ts';
import { condition, createWorld, type World } from '../support/world.ts';

/** The operator is told of an object only once its writes are refused. */
async function refusing(world: World, what: Refusing): Promise<() => Promise<void>> {
  const lift = await refuse(world, what);
  onTestFinished(lift);
  return lift;
}

async function createCatalog({ http, namespace }: World, name: string): Promise<void> {
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/${CATALOG_PLURAL}`;
  await http.call({
    method: 'POST',
    path,
    body: { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name }, spec: {} },
  });
}

const WORDS = { Invalid: 'no writes here', Forbidden: 'no writes here', webhook: 'failed calling webhook' };

describe.each(['Invalid', 'Forbidden', 'webhook'] as const)('writes of metadata that %s refuses', (by) => {
  it('show on a new object, which orders nothing, and on a deleted one, whose server is gone', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const lift = await refusing(world, { resource: 'virtualservers', operation: 'UPDATE', by });
    await world.startOperator();
    const fresh = await world.waitForReason('web', 'WriteRefused', 'Stalled');
    const { message, status } = condition(fresh, 'Ready') ?? {};
    expect(status).toBe('False');
    expect(message).toContain(WORDS[by]);
    expect(message).toContain('The operator orders nothing before the order is stored');
    await world.until(
      async () => (await world.events('web')).some(({ reason, note }) => reason === 'WriteRefused' && note === message),
      'the Event',
    );
    expect(world.simulator.ledger.creates()).toEqual([]);
    await lift();
    await world.waitForReason('web', 'Available', 'Ready');
    expect(world.simulator.ledger.creates()).toHaveLength(1);

    await world.waitFor('web', ({ metadata }) => JSON.stringify(metadata.annotations).includes('fingerprint'));
    const liftAgain = await refusing(world, { resource: 'virtualservers', operation: 'UPDATE', by });
    await world.delete('web');
    const gone = await world.waitForReason('web', 'ReleaseRefused', 'Stalled');
    expect(world.simulator.aliveServers()).toEqual([]);
    expect(condition(gone, 'Ready')).toMatchObject({ status: 'False', reason: 'ReleaseRefused' });
    expect(condition(gone, 'Ready')?.message).toContain(WORDS[by]);
    expect(condition(gone, 'Ready')?.message).toContain('was cancelled, and only this object is left');
    await liftAgain();
    await world.waitGone('web');
  });
});

describe('an object whose annotations are full', () => {
  it('is reported, and the server is ordered once there is room', async () => {
    const world = await createWorld();
    const web = virtualServer('web');
    await world.create({
      ...web,
      metadata: { ...web.metadata, annotations: { 'example.com/notes': 'x'.repeat(262_000) } },
    });
    const full = await world.waitForReason('web', 'WriteRefused', 'Stalled');
    expect(condition(full, 'Ready')?.message).toMatch(/annotations: Too long.*Remove large annotations/);
    expect(world.simulator.ledger.creates()).toEqual([]);
    await world.patch('web', { metadata: { annotations: { 'example.com/notes': null } } });
    await world.waitForReason('web', 'Available', 'Ready');
  });
});

describe('a status that is refused', () => {
  it.each(['virtualservers', 'servercatalogs', 'virtualserversets'])('shows in an Event of %s', async (plural) => {
    const world = await createWorld({ operator: false });
    const name = plural === 'servercatalogs' ? 'shop' : 'web';
    if (plural === 'virtualservers') await world.create(virtualServer(name));
    else if (plural === 'servercatalogs') await createCatalog(world, name);
    else await createSet(world, { replicas: 0 });
    const lift = await refusing(world, { resource: `${plural}/status`, operation: 'UPDATE', by: 'Forbidden' });
    await world.startOperator();
    await world.until(
      async () =>
        (await world.events(name)).some(
          ({ reason, note }) =>
            reason === 'WriteRefused' &&
            note.includes('refuses to write the status') &&
            note.includes('no writes here'),
        ),
      'the Event',
    );
    await lift();
    if (plural === 'virtualservers') await world.waitForReason(name, 'Available', 'Ready');
  });
});

describe('a set whose members a webhook refuses', () => {
  it('is reported, and the members are created once the webhook is gone', async () => {
    const world = await createWorld();
    const lift = await refusing(world, { resource: 'virtualservers', operation: 'CREATE', by: 'webhook' });
    const { waitForReason } = await createSet(world, { replicas: 1 });
    const { status } = await waitForReason('MemberRejected');
    expect(status?.conditions?.[0]?.message).toContain('failed calling webhook');
    await lift();
    await waitForReason('Available');
    expect(world.simulator.ledger.creates()).toHaveLength(1);
  });
});
