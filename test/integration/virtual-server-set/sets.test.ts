/** VirtualServerSets in the whole operator, against the API server and the simulator: its ledger counts the orders. */
import { describe, expect, it } from 'vitest';
import { API_VERSION, GROUP, SERVER_PLURAL, SET_LABEL } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { holdCancellations } from '../support/cancellations.ts';
import { createSet } from '../support/sets.ts';
import { createWorld, type World, type WorldOptions } from '../support/world.ts';

/** A world with the set `web`, whose key orders servers in 100 ms. */
async function setWorld(spec: object, options: WorldOptions = {}) {
  const world = await createWorld({ simulator: { taskDurationMs: 100 }, ...options });
  return { world, ...(await createSet(world, spec)) };
}

const orders = ({ simulator }: World): number => simulator.ledger.creates().length;
const alive = ({ simulator }: World) => simulator.aliveServers();
const names = async ({ http, namespace }: World): Promise<string[]> => {
  const servers = await http.call({ path: `/apis/${API_VERSION}/namespaces/${namespace}/${SERVER_PLURAL}` });
  return (servers as { items: VirtualServer[] }).items.map(({ metadata }) => metadata.name).sort();
};
const image = (name: string): object => ({ spec: { template: { spec: { image: name } } } });

describe('a set', () => {
  it('orders what it wants, scales by its subresource, and cancels what is too much', async () => {
    const { world, patch, waitForReason } = await setWorld({ replicas: 3 });
    const { status } = await waitForReason('Available');
    expect(status).toMatchObject({ replicas: 3, readyReplicas: 3, availableReplicas: 3, updatedReplicas: 3 });
    expect([orders(world), alive(world).length]).toEqual([3, 3]);
    await patch({ spec: { replicas: 1 } }, '/scale');
    await world.until(() => alive(world).length === 1, 'two servers to be cancelled');
    const left = await waitForReason('Available');
    expect(left.status).toMatchObject({ replicas: 1, terminatingReplicas: 0 });
    expect(orders(world)).toBe(3);
    // The oldest member stays.
    expect((await world.get('web-0'))?.metadata.labels?.[SET_LABEL]).toBe('web');
  });

  it('replaces every member after a change of the image, with one server too many at most', async () => {
    const { world, patch, waitForReason } = await setWorld({ replicas: 2 });
    await waitForReason('Available');
    let most = 0;
    const watching = setInterval(() => (most = Math.max(most, alive(world).length)), 5);
    await patch(image('cloudinit-ubuntu-noble.raw.gz'));
    const { status } = await waitForReason('Available');
    clearInterval(watching);
    expect(status).toMatchObject({ replicas: 2, updatedReplicas: 2, availableReplicas: 2 });
    expect(status?.currentRevision).toBe(status?.updateRevision);
    expect(orders(world)).toBe(4);
    expect([most, alive(world).length]).toEqual([3, 2]);
  });

  it('stops the rollout of an image that is not offered after one member, and returns to the old one', async () => {
    const { world, patch, waitForReason } = await setWorld({ replicas: 2 });
    const { spec } = await waitForReason('Available');
    await patch(image('cloudinit-debian-none.raw.gz'));
    const { status } = await waitForReason('MemberBlocked');
    expect(status).toMatchObject({ replicas: 3, updatedReplicas: 1, availableReplicas: 2 });
    expect(status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toContain('web-2 is InvalidSpec: ');
    await patch(image(spec.template.spec.image));
    await waitForReason('Available');
    expect([orders(world), alive(world).length]).toEqual([2, 2]);
    expect(await world.get('web-2')).toBeUndefined();
  });

  it('shows why the API server rejects a member, and creates it once it may', async () => {
    const { world, waitForReason, patch } = await setWorld({ replicas: 0 });
    await waitForReason('Available');
    const quotas = `/api/v1/namespaces/${world.namespace}/resourcequotas`;
    const hard = { [`count/${SERVER_PLURAL}.${GROUP}`]: '1' };
    await world.http.call({ method: 'POST', path: quotas, body: { metadata: { name: 'few' }, spec: { hard } } });
    // As the quota controller does, which does not run here.
    const counted = { status: { hard, used: { [`count/${SERVER_PLURAL}.${GROUP}`]: '0' } } };
    const contentType = 'application/merge-patch+json';
    await world.http.call({ method: 'PATCH', path: `${quotas}/few/status`, body: counted, contentType });
    await patch({ spec: { replicas: 2 } }, '/scale');
    const { status } = await waitForReason('MemberRejected');
    expect(status?.conditions?.find(({ type }) => type === 'Stalled')?.message).toMatch(
      /^The API server rejects the creation of member web-1: .*exceeded quota/,
    );
    await world.http.call({ method: 'DELETE', path: `${quotas}/few` });
    await waitForReason('Available');
    expect(orders(world)).toBe(2);
  });

  it('replaces a member that you delete under another name at once, within maxSurge', async () => {
    const { world, get, waitForReason } = await setWorld({ replicas: 2 });
    await waitForReason('Available');
    const cancellations = holdCancellations(world);
    await world.delete('web-0');
    await world.waitForReason('web-2', 'Available', 'Ready');
    // The surge is used up, so a second replacement has to wait.
    await world.delete('web-1');
    await expect.poll(async () => (await get()).status).toMatchObject({ replicas: 1, terminatingReplicas: 2 });
    expect(await names(world)).toEqual(['web-0', 'web-1', 'web-2']);
    expect([orders(world), alive(world).length]).toEqual([3, 3]);
    cancellations.release();
    await world.until(() => orders(world) === 4, 'the second replacement');
    await waitForReason('Available');
    expect([orders(world), alive(world).length]).toEqual([4, 2]);
  });
});
