import { describe, expect, it } from 'vitest';

import { CHOICES } from '../../../src/simulator/index.ts';
import { CREATE, inProcess } from './client.ts';

const SERVERS = '/beta/vps/servers';

describe('errors and limits', () => {
  it.each([
    ['json', '{"message":"There is no such server"}'],
    ['empty', ''],
    ['html', '<html><body>There is no such server</body></html>'],
    ['text', 'There is no such server'],
  ] as const)('have a body in the chosen form: %s', async (errorBodies, text) => {
    const { call, login } = inProcess({ errorBodies });
    expect(await call(`${SERVERS}/x`, { token: await login() })).toMatchObject({ status: 404, text });
  });

  it('are 429 with Retry-After beyond the rate limit, until the window has passed', async () => {
    const { call, login, clock } = inProcess({ rateLimit: { requests: 2, perMs: 5_000 } });
    const token = await login();
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await call('/beta/vps/products', { token })).status);
    expect(statuses).toEqual([200, 200, 429]);
    clock.advance(1_500);
    const limited = await call('/beta/vps/products', { token });
    expect(limited.headers.get('retry-after')).toBe('4');
    clock.advance(3_500);
    expect((await call('/beta/vps/products', { token })).status).toBe(200);
  });

  it.each([
    ['PUT', '/beta/vps/servers/vs1'],
    ['PUT', '/beta/vps/servers/vs1'],
    ['GET', '/beta/vps/products?page=2'],
    ['GET', '/beta/vps/servers/vs1/console'],
    ['GET', '/auth/login'],
    ['GET', '/vps/products'],
  ])('report the unknown route %s %s', async (method, path) => {
    const { call, login, simulation } = inProcess();
    const answer = await call(path, { method, token: await login() });
    expect(answer.status).toBe(501);
    expect(answer.json).toEqual({ error: expect.stringContaining(`${method} ${path}`) as string });
    expect(() => simulation.finish()).toThrow(`${method} ${path}`);
  });

  it.each(CHOICES.missingCall)('are %i for calls that only the public API has', async (missingCall) => {
    const { call, login, simulation } = inProcess({ variants: { missingCall } });
    const token = await login();
    expect((await call(SERVERS, { token })).status).toBe(missingCall);
    const named = await call(`${SERVERS}/web1`, { method: 'POST', token, json: CREATE });
    expect([named.status, named.json]).toEqual([missingCall, { message: expect.any(String) as string }]);
    expect((await call(SERVERS)).status).toBe(401);
    simulation.accounts.restrict({ account: 'default' });
    expect((await call(SERVERS, { token })).status).toBe(missingCall);
    expect((await call(`${SERVERS}/web1`, { method: 'DELETE', token })).status).toBe(403);
    expect(simulation.ledger.creates()).toEqual([]);
    simulation.finish();
  });

  it('ignore unknown routes with allowUnknownRoutes', async () => {
    const { call, simulation } = inProcess({ allowUnknownRoutes: true });
    await call('/nowhere');
    simulation.finish();
    expect(simulation.ledger.unknownRoutes()).toMatchObject([{ method: 'GET', path: '/nowhere' }]);
  });
});

describe('the ledger', () => {
  it('keeps entries in order, and answers queries about requests', async () => {
    const { call, login, create, simulation } = inProcess();
    const token = await login();
    const task = await create(token);
    await call(`/beta/queue/vps/${task}`, { token });
    await call(`/beta/queue/vps/${task}`);
    expect(simulation.ledger.entries().map(({ kind }) => kind)).toEqual([
      ...['request', 'login', 'request', 'create', 'request', 'request'],
    ]);
    const polls = simulation.ledger.requests({ route: '/beta/queue/vps/{task}', param: String(task) });
    expect(polls.map(({ status, account }) => [status, account])).toEqual([
      [200, 'default'],
      [401, undefined],
    ]);
  });

  it('counts requests without keeping entries if recordRequests is false', async () => {
    const { login, create, simulation } = inProcess({ recordRequests: false });
    await create(await login());
    expect(simulation.ledger.entries().map(({ kind }) => kind)).toEqual(['create']);
    expect(simulation.ledger.requestCount).toBe(2);
  });
});
