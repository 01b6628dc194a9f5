import { describe, expect, it } from 'vitest';

import { inProcess } from './client.ts';

const SERVERS = '/beta/vps/servers';

async function world(options: Parameters<typeof inProcess>[0] = {}) {
  const parts = inProcess(options);
  const token = await parts.login();
  const status = async (path: string, method = 'GET') => (await parts.call(path, { token, method })).status;
  return { ...parts, token, status };
}

describe('reads that lag behind', () => {
  it('do not show a task until the lag has passed', async () => {
    const { status, create, token, clock, simulation } = await world({ lag: { taskMs: 5_000 } });
    const task = await create(token);
    expect(await status(`/beta/queue/vps/${task}`)).toBe(404);
    expect(simulation.aliveServers()).toMatchObject([{ task, state: 'creating' }]);
    clock.advance(4_999);
    expect(await status(`/beta/queue/vps/${task}`)).toBe(404);
    clock.advance(1);
    expect(await status(`/beta/queue/vps/${task}`)).toBe(200);
  });

  it('do not show a server until the lag after the 303 has passed, but a DELETE finds it', async () => {
    const { status, create, token, clock, simulation } = await world({ variants: { readDuringTask: 200 } });
    simulation.fleet.setLag({ serverMs: 5_000 });
    const task = await create(token);
    await create(token);
    const [first = '', second = ''] = simulation.aliveServers().map(({ identifier }) => identifier);
    clock.advance(60_000);
    expect(await status(`/beta/queue/vps/${task}`)).toBe(303);
    expect(await status(`${SERVERS}/${first}`)).toBe(404);
    expect(simulation.aliveServers().map(({ state }) => state)).toEqual(['running', 'running']);
    expect(await status(`${SERVERS}/${second}`, 'DELETE')).toBe(200);
    clock.advance(5_000);
    expect(await status(`${SERVERS}/${first}`)).toBe(200);
    expect(await status(`${SERVERS}/${second}`)).toBe(404);
  });

  it.each([200, 404] as const)('show a cancelled server for a while, and a second DELETE gets %i', async (again) => {
    const { status, clock, simulation } = await world({ lag: { cancelMs: 5_000, cancelAgain: again } });
    const { identifier } = simulation.fleet.addServer('default');
    expect(await status(`${SERVERS}/${identifier}`, 'DELETE')).toBe(200);
    expect(simulation.aliveServers()).toEqual([]);
    clock.advance(4_999);
    expect(await status(`${SERVERS}/${identifier}`)).toBe(200);
    expect(await status(`${SERVERS}/${identifier}`, 'DELETE')).toBe(again);
    expect(simulation.ledger.cancels()).toHaveLength(1);
    clock.advance(1);
    expect(await status(`${SERVERS}/${identifier}`)).toBe(404);
    expect(await status(`${SERVERS}/${identifier}`, 'DELETE')).toBe(404);
  });

  it('show a new server for which another task runs, and a DELETE is refused until that ends', async () => {
    const { status, create, token, clock, simulation } = await world({ variants: { lockedMs: 60_000 } });
    await create(token);
    clock.advance(60_000);
    const [{ identifier } = { identifier: '' }] = simulation.aliveServers();
    const path = `${SERVERS}/${identifier}`;
    expect(await status(path, 'DELETE')).toBe(409);
    clock.advance(59_999);
    expect([await status(path, 'DELETE'), await status(path)]).toEqual([409, 200]);
    clock.advance(1);
    expect(await status(path, 'DELETE')).toBe(200);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('show a server that keeps running after a DELETE, and another DELETE does not extend its time', async () => {
    const { status, clock, simulation } = await world({ cancelTakesMs: 5_000 });
    const { identifier } = simulation.fleet.addServer('default');
    const path = `${SERVERS}/${identifier}`;
    expect(await status(path, 'DELETE')).toBe(200);
    const askedAt = clock.now();
    clock.advance(4_000);
    expect([await status(path), await status(path, 'DELETE')]).toEqual([200, 200]);
    expect(simulation.fleet.history()).toMatchObject([{ state: 'running', askedAt, endedAt: undefined }]);
    expect(simulation.ledger.cancels()).toHaveLength(2);
    clock.advance(1_000);
    expect(simulation.aliveServers()).toEqual([]);
    expect(simulation.fleet.history()).toMatchObject([{ state: 'cancelled', askedAt, endedAt: askedAt + 5_000 }]);
    expect(await status(path)).toBe(404);
  });

  it('end such a server in time even if its task is completed by hand', async () => {
    const { status, create, token, clock, simulation } = await world({ cancelTakesMs: 5_000 });
    const task = await create(token);
    simulation.fleet.completeTask(task);
    const { identifier } = simulation.aliveServers()[0] ?? {};
    expect(await status(`${SERVERS}/${identifier}`, 'DELETE')).toBe(200);
    simulation.fleet.completeTask(task);
    clock.advance(5_000);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('do not show a server that was cancelled during creation or removed without a DELETE', async () => {
    const { status, create, token, simulation } = await world({
      variants: { deleteDuringTask: 200 },
      lag: { cancelMs: 5_000 },
    });
    await create(token);
    const { identifier = '' } = simulation.aliveServers()[0] ?? {};
    expect(await status(`${SERVERS}/${identifier}`, 'DELETE')).toBe(200);
    expect(await status(`${SERVERS}/${identifier}`)).toBe(404);
    const removed = simulation.fleet.addServer('default').identifier;
    simulation.fleet.removeServer(removed);
    expect(await status(`${SERVERS}/${removed}`)).toBe(404);
  });

  it('catch up at once when the lag is removed', async () => {
    const { status, create, token, simulation } = await world({ lag: { taskMs: Infinity } });
    const task = await create(token);
    expect(await status(`/beta/queue/vps/${task}`)).toBe(404);
    simulation.fleet.setLag({ taskMs: 0 });
    expect(await status(`/beta/queue/vps/${task}`)).toBe(200);
  });
});
