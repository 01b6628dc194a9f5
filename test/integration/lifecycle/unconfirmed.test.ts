/** A provider that answers a DELETE with 200 and cancels nothing, or cancels and does not say so. */
import { describe, expect, it } from 'vitest';
import { readyServer, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const FAST = { flags: ['--absence-grace=1s'] };

/** The Events of the object's end; none before it. */
async function expectCancelled(world: World): Promise<void> {
  await world.waitGone('web');
  expect(world.simulator.aliveServers()).toEqual([]);
  await world.until(
    async () => (await world.events('web')).some(({ reason }) => reason === 'ServerCancelled'),
    'an Event that reports the cancellation',
  );
}

describe('a 200 to a DELETE', () => {
  it.each(['html', 'error', 'empty'] as const)('with %s cancels nothing, and keeps the object', async (body) => {
    const world = await createWorld(FAST);
    await readyServer(world, 'web');
    world.simulator.provider.answerCancels({ body });
    await world.delete('web');
    await world.waitForReason('web', 'ProviderProtocolError', 'Stalled');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    world.simulator.provider.endLies();
    await expectCancelled(world);
  });

  it.each(['html', 'error', 'empty'] as const)('with %s releases the object once absence is proven', async (body) => {
    const world = await createWorld(FAST);
    await readyServer(world, 'web');
    world.simulator.provider.answerCancels({ body, cancels: true });
    await world.delete('web');
    await expectCancelled(world);
    expect(world.simulator.ledger.cancels()).toHaveLength(1);
  });

  it('with the documented message keeps the object while the server still runs', async () => {
    const world = await createWorld(FAST);
    await readyServer(world, 'web');
    world.simulator.provider.answerCancels({ body: 'message' });
    await world.delete('web');
    const held = await world.waitForReason('web', 'CancellationUnconfirmed', 'Stalled');
    expect(stalledMessage(held)).toContain('The server is locked');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    world.simulator.provider.endLies();
    await expectCancelled(world);
  });

  it('with the documented message lets you keep the server', async () => {
    const world = await createWorld(FAST);
    await readyServer(world, 'web');
    world.simulator.provider.answerCancels({ body: 'message' });
    await world.delete('web');
    const held = await world.waitForReason('web', 'CancellationUnconfirmed', 'Stalled');
    const [, change = ''] = /run `kubectl patch vps web .* -p '(.*?)'`/.exec(stalledMessage(held)) ?? [];
    await world.patch('web', JSON.parse(change) as object);
    await world.waitGone('web');
    expect(world.simulator.aliveServers()).toHaveLength(1);
  });

  it('with the documented message does not end an expired server that still runs', async () => {
    const world = await createWorld(FAST);
    await readyServer(world, 'web');
    world.simulator.provider.answerCancels({ body: 'message' });
    await world.patch('web', { spec: { expiresAt: new Date(Date.now() - 1000).toISOString() } });
    await world.waitForReason('web', 'CancellationUnconfirmed', 'Stalled');
    expect(world.simulator.aliveServers()).toHaveLength(1);
    world.simulator.provider.endLies();
    await world.waitForReason('web', 'Expired', 'Stalled');
    expect(world.simulator.aliveServers()).toEqual([]);
  });

  it('costs one read if the server is gone, and no wait', async () => {
    const world = await createWorld();
    await readyServer(world, 'web');
    await world.delete('web');
    await expectCancelled(world);
    const requests = world.simulator.ledger.requests({ route: '/beta/vps/servers/{identifier}' });
    const after = requests.slice(requests.findIndex(({ method }) => method === 'DELETE') + 1);
    expect(after).toMatchObject([{ method: 'GET' }]);
  });
});
