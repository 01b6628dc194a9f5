import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DEFAULT_KEY, startSimulator } from '../../../src/simulator/index.ts';
import type { Simulator } from '../../../src/simulator/index.ts';
import { startPanel } from '../../../src/simulator/panel.ts';
import type { Panel, PanelState } from '../../../src/simulator/panel.ts';
import { CREATE, loginRequest } from './client.ts';

let simulator: Simulator;
let panel: Panel;
beforeEach(async () => {
  simulator = await startSimulator({ taskDurationMs: 60_000 });
  panel = await startPanel(simulator, 0);
});
afterEach(async () => {
  await panel.close();
  await simulator.close();
});

async function order(method: string, path: string, body?: object): Promise<{ status: number; answer: unknown }> {
  const response = await fetch(panel.url + path, { method, ...(body && { body: JSON.stringify(body) }) });
  return { status: response.status, answer: await response.json() };
}

async function state(): Promise<PanelState> {
  return (await order('GET', '/state')).answer as PanelState;
}

async function createServer(): Promise<Response> {
  const login = await fetch(loginRequest(simulator.authUrl, DEFAULT_KEY));
  const { access_token: token } = (await login.json()) as { access_token: string };
  return fetch(`${simulator.baseUrl}/beta/vps/servers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(CREATE),
  });
}

describe('the control panel', () => {
  it('shows creates and live servers', async () => {
    expect(await state()).toMatchObject({ creates: [], cancels: [], alive: [] });
    expect((await createServer()).status).toBe(202);
    const { creates, alive } = await state();
    expect(creates.map(({ body }) => body)).toEqual([CREATE]);
    expect(alive).toMatchObject([{ identifier: creates[0]?.identifier, state: 'creating' }]);
  });

  it('injects a fault, counts its strikes, and releases hanging requests', async () => {
    const match = { method: 'POST', route: '/beta/vps/servers' };
    const { answer } = await order('POST', '/faults', { match, action: { kind: 'hang', after: true } });
    const { id } = answer as { id: string };
    expect((await order('GET', `/faults/${id}`)).answer).toEqual({ count: 0 });
    const create = createServer();
    await expect.poll(() => order('GET', `/faults/${id}`)).toMatchObject({ answer: { count: 1 } });
    expect((await state()).creates).toHaveLength(1);
    await order('POST', `/faults/${id}/release`);
    expect((await create).status).toBe(202);
  });

  it('injects a fault by its name', async () => {
    const { answer } = await order('POST', '/faults', { fault: 'rejected-order' });
    expect((await createServer()).status).toBe(422);
    expect((await createServer()).status).toBe(202);
    expect((await order('GET', `/faults/${(answer as { id: string }).id}`)).answer).toEqual({ count: 1 });
    const wrong = await order('POST', '/faults', { fault: 'no-such-fault' });
    expect(wrong).toMatchObject({ status: 400, answer: { error: expect.stringContaining('lost-answer') as string } });
  });

  it('removes a fault that was not met', async () => {
    const { answer } = await order('POST', '/faults', { action: { kind: 'status', status: 503 }, times: 9 });
    await order('DELETE', `/faults/${(answer as { id: string }).id}`);
    expect((await createServer()).status).toBe(202);
  });

  it('completes a task that would never end', async () => {
    await order('POST', '/task-duration', { ms: null });
    await createServer();
    const task = (await state()).alive[0]?.task;
    await order('POST', `/tasks/${task}/complete`);
    expect((await state()).alive).toMatchObject([{ state: 'running' }]);
  });

  it.each([
    ['POST', '/faults', { action: { kind: 'garbage' } }, 400],
    ['POST', '/task-duration', { ms: '1s' }, 400],
    ['POST', '/tasks/7/complete', {}, 400],
    ['POST', '/faults/7/release', {}, 404],
    ['GET', '/ledger', undefined, 404],
  ])('refuses %s %s %j', async (method, path, body, status) => {
    expect((await order(method, path, body)).status).toBe(status);
  });
});
