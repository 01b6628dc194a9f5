import { describe, expect, it } from 'vitest';

import { CREATE, inProcess } from './client.ts';

const SERVERS = '/beta/vps/servers';

describe('an accepted create', () => {
  it.each([
    [{ status: 200 }, 200, { task: 1001 }, true],
    [{ status: 201, body: false }, 201, undefined, true],
    [{ location: false }, 202, { task: 1001 }, false],
    [{ status: 201, body: false, location: false }, 201, undefined, false],
  ] as const)('is answered as set: %j', async (createAnswer, status, json, hasLocation) => {
    const { call, login, simulation } = inProcess();
    simulation.provider.setCreateAnswer(createAnswer);
    const answer = await call(SERVERS, { method: 'POST', token: await login(), json: CREATE });
    expect([answer.status, answer.json, answer.headers.has('location')]).toEqual([status, json, hasLocation]);
    expect(simulation.ledger.creates()).toMatchObject([{ task: 1001 }]);
    expect(simulation.aliveServers()).toHaveLength(1);
  });
});

describe('the identifier in the answers of a task', () => {
  it('appears only at the end with identifierFrom `end`', async () => {
    const { call, login, create, clock, simulation } = inProcess({ identifierFrom: 'end' });
    const token = await login();
    const task = await create(token);
    const poll = async () => (await call(`/beta/queue/vps/${task}`, { token })).json;
    expect(await poll()).toEqual({ status: expect.stringContaining('Waiting') as string });
    simulation.fleet.setIdentifierFrom('start');
    const { identifier } = simulation.aliveServers()[0] ?? {};
    expect(await poll()).toMatchObject({ identifier });
    simulation.fleet.setIdentifierFrom('end');
    clock.advance(60_000);
    expect(await poll()).toEqual({ identifier });
  });

  it.each([true, false])('appears or not after the task has failed: %s', async (identifier) => {
    const { call, login, create, clock, simulation } = inProcess();
    const token = await login();
    const task = await create(token);
    const [server] = simulation.aliveServers();
    simulation.fleet.failTask(task, { text: 'Failed: no capacity', identifier });
    clock.advance(24 * 3_600_000);
    const failed = { status: 'Failed: no capacity', ...(identifier && { identifier: server?.identifier }) };
    expect((await call(`/beta/queue/vps/${task}`, { token: await login() })).json).toEqual(failed);
    expect(simulation.aliveServers()).toEqual([]);
  });
});
