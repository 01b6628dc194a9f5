import { describe, expect, it } from 'vitest';

import { API_NAMES, namedFault } from '../../../src/simulator/index.ts';
import type { ApiName, FaultName } from '../../../src/simulator/index.ts';
import { CREATE, inProcess, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const SERVERS = '/beta/vps/servers';

async function world(api: ApiName) {
  const parts = inProcess({ api });
  const token = await parts.login();
  const post = (path: string) => parts.call(path, { method: 'POST', token, json: CREATE });
  const inject = (name: FaultName) => parts.simulation.faults.inject(namedFault(name));
  return { ...parts, token, post, inject };
}

describe.each(API_NAMES)('a named fault with the API `%s`', (api) => {
  const body = (text: string) => (api === 'public' ? { error: text } : { message: text });

  it.each([
    ['rejected-order', 422, 'the order is not valid'],
    ['out-of-stock', 503, 'no host has room for this product'],
    ['unavailable', 503, 'maintenance'],
    ['rate-limited', 429, 'too many requests'],
    ['no-rights', 403, api === 'public' ? 'Not authorised' : 'The account may not do this'],
  ] as const)('%s has status %i and the body of the API', async (name, status, text) => {
    const { post, inject, simulation } = await world(api);
    inject(name);
    expect(await post(SERVERS)).toMatchObject({ status, json: body(text) });
    expect(simulation.ledger.creates()).toEqual([]);
    expect((await post(SERVERS)).status).toBe(202);
  });

  it('failed-task lets the next accepted order fail', async () => {
    const { call, token, post, inject, create, simulation } = await world(api);
    const fault = inject('failed-task');
    await call(SERVERS, { method: 'POST', token, json: {} });
    expect(fault.count).toBe(0);
    const [failed, next] = [await create(token), await create(token)];
    const answer = await call(`/beta/queue/vps/${failed}`, { token });
    expect(answer.status).toBe(api === 'public' ? 500 : 200);
    expect(answer.text).toContain('Failed: no host has room');
    expect((await call(`/beta/queue/vps/${next}`, { token })).text).not.toContain('Failed');
    expect(simulation.aliveServers()).toMatchObject([{ task: next }]);
    expect((await post(SERVERS)).status).toBe(202);
  });

  it('no-rights does not strike a login, and refused-key has the body of a refused login', async () => {
    const { send, call, token, inject, simulation } = await world(api);
    inject('no-rights');
    expect((await send(loginRequest(simulation.authUrl))).status).toBe(200);
    expect((await call(PRODUCTS, { token })).status).toBe(403);
    inject('refused-key');
    const json = { error: 'invalid_client', error_description: 'the key is not valid' };
    expect(await send(loginRequest(simulation.authUrl))).toMatchObject({ status: 401, json });
  });
});

it('a named fault about orders strikes an order for an identifier', async () => {
  const { post, inject, simulation } = await world('public');
  inject('rejected-order');
  expect((await post(`${SERVERS}/web1`)).status).toBe(422);
  inject('lost-answer');
  await expect(post(`${SERVERS}/web1`)).rejects.toThrow('closed');
  expect(simulation.aliveServers()).toMatchObject([{ identifier: 'web1' }]);
});
