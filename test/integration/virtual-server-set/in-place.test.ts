/** Templates that change their members in place, with the public API: its ledger counts orders, changes and cancellations. */
import { describe, expect, it, vi, type TestContext } from 'vitest';
import type { VirtualServer, VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { withSpec, virtualServer } from '../../fixtures/virtual-server.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { createSet } from '../support/sets.ts';
import { condition, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 8 });

type Options = Parameters<typeof publicWorld>[1];

/** A world with the set `web`, whose members are Ready. */
async function setWorld(
  context: TestContext,
  template: Partial<VirtualServerSpec>,
  spec: object,
  options: Options = {},
) {
  const world = await publicWorld(context, { flags: ['--resync-interval=1s', '--poll-interval=1s'], ...options });
  const body = { template: { spec: virtualServer('web', withSpec(template)).spec }, ...spec };
  const set = await createSet(world, body);
  await set.waitForReason('Available');
  return { world, ...set };
}

const template = (spec: object): object => ({ spec: { template: { spec } } });
const changes = ({ simulator }: World): unknown[] => simulator.ledger.changes().map(({ body }) => body);
const switches = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);
const products = ({ simulator }: World): (string | undefined)[] =>
  simulator.aliveServers().map(({ identifier }) => simulator.fleet.find('default', identifier)?.object.product);
const identifiers = async (world: World): Promise<(string | undefined)[]> =>
  Promise.all(['web-0', 'web-1'].map(async (name) => (await world.get(name))?.status?.identifier));

describe.concurrent('a set whose template allows changes in place', () => {
  it('changes its members one after another, and orders and cancels nothing', async (context) => {
    const { world, patch, waitForReason } = await setWorld(
      context,
      { changePolicy: 'Online' },
      { replicas: 2 },
      { variants: { changeTakesMs: 2_500 } },
    );
    const before = await identifiers(world);
    let most = 0;
    const watching = setInterval(() => {
      const done = products(world).filter((product) => product === 'VPSX8').length;
      most = Math.max(most, changes(world).length - done);
    }, 5);
    await patch(template({ product: 'VPSX8' }));
    const { status } = await waitForReason('Available');
    clearInterval(watching);
    expect(status).toMatchObject({ updatedReplicas: 2, availableReplicas: 2, price: 2 * 1631 });
    expect(status?.currentRevision).toBe(status?.updateRevision);
    expect(changes(world)).toEqual([{ product: 'VPSX8' }, { product: 'VPSX8' }]);
    expect(products(world)).toEqual(['VPSX8', 'VPSX8']);
    expect(await identifiers(world)).toEqual(before);
    expect(totals(world)).toEqual({ ordered: 2, cancelled: 0, alive: 2 });
    expect(most).toBe(1);
  });

  it('takes the policy and the change in one step, and stops one server at a time', async (context) => {
    const { world, patch, waitForReason } = await setWorld(
      context,
      {},
      { replicas: 2, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } },
      { variants: { shutdownMs: 300 } },
    );
    await patch(template({ changePolicy: 'AllowStop', advanced: { tablet: false } }));
    await waitForReason('Available');
    expect(changes(world)).toEqual([{ tablet: false }, { tablet: false }]);
    expect(switches(world)).toEqual(['shutdown', 'power-on', 'shutdown', 'power-on']);
    expect(totals(world)).toEqual({ ordered: 2, cancelled: 0, alive: 2 });
  });

  it('stops no server while maxUnavailable is 0', async (context) => {
    const { world, patch, waitForReason } = await setWorld(context, { changePolicy: 'AllowStop' }, { replicas: 1 });
    await patch(template({ product: 'VPSX8' }));
    const { status } = await waitForReason('MemberBlocked');
    expect(status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toContain('"maxUnavailable":1');
    expect(changes(world)).toEqual([]);
    await patch({ spec: { strategy: { rollingUpdate: { maxUnavailable: 1 } } } });
    await waitForReason('Available');
    expect([changes(world), totals(world)]).toEqual([[{ product: 'VPSX8' }], { ordered: 1, cancelled: 0, alive: 1 }]);
  });

  it('stops with a message if the provider refuses, and neither replaces a server nor changes another one', async (context) => {
    const { world, patch, waitForReason } = await setWorld(context, { changePolicy: 'Online' }, { replicas: 2 });
    await patch(template({ product: 'unknown' }));
    const { status } = await waitForReason('MemberBlocked');
    expect(status).toMatchObject({ replicas: 2, updatedReplicas: 0, availableReplicas: 2 });
    expect(status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toMatch(
      /web-1 is ChangeRefused: .*Invalid product.*kubectl delete vps web-1/,
    );
    expect(world.simulator.ledger.requests({ method: 'PATCH' })).toHaveLength(1);
    expect((await world.get('web-0'))?.spec.product).toBe('VPSX4');
    await patch(template({ product: 'VPSX4' }));
    await waitForReason('Available');
    expect(products(world)).toEqual(['VPSX4', 'VPSX4']);
    expect(totals(world)).toEqual({ ordered: 2, cancelled: 0, alive: 2 });
  });

  it('replaces its members if the change needs a new server too', async (context) => {
    const { world, patch, waitForReason } = await setWorld(context, { changePolicy: 'Online' }, { replicas: 1 });
    await patch(template({ product: 'VPSX8', image: 'cloudinit-ubuntu-noble.raw.gz' }));
    await waitForReason('Available');
    expect(changes(world)).toEqual([]);
    await world.until(() => totals(world).alive === 1, 'the cancellation');
    expect(totals(world)).toEqual({ ordered: 2, cancelled: 1, alive: 1 });
  });
});

describe.concurrent('the power in a template', () => {
  it('switches the servers of the members off and on again', async (context) => {
    const { world, patch, waitForReason } = await setWorld(context, {}, { replicas: 2 });
    const shows = (reason: string) => (object: VirtualServer) => condition(object, 'Ready')?.reason === reason;
    await patch(template({ power: 'Off' }));
    for (const name of ['web-0', 'web-1']) await world.waitFor(name, shows('PoweredOff'));
    const { status } = await waitForReason('Available');
    expect(status).toMatchObject({ readyReplicas: 2, updatedReplicas: 2 });
    await patch(template({ power: 'On' }));
    for (const name of ['web-0', 'web-1']) await world.waitFor(name, shows('Available'));
    expect([...switches(world)].sort()).toEqual(['power-on', 'power-on', 'shutdown', 'shutdown']);
    expect(totals(world)).toEqual({ ordered: 2, cancelled: 0, alive: 2 });
  });
});
