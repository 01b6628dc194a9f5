import { afterEach, describe, expect, it } from 'vitest';

import { closeAll, networkError, PRODUCTS, rawExchange, SERVERS, start } from './served.ts';

afterEach(closeAll);

describe('the match of a fault', () => {
  it('considers method, route, parameter and account', async () => {
    const { get, create, inject } = await start();
    await create();
    inject({ kind: 'status', status: 500 }, { match: { method: 'DELETE' } }).remove();
    inject({ kind: 'status', status: 501 }, { match: { account: 'unknown' } }).remove();
    inject({ kind: 'status', status: 502 }, { match: { route: '/beta/queue/vps/{task}', param: '1001' } });
    inject({ kind: 'status', status: 503 }, { match: { method: 'GET', account: 'default', route: PRODUCTS } });
    expect((await get('/beta/vps/images')).status).toBe(200);
    expect((await get('/beta/queue/vps/1002')).status).toBe(404);
    expect((await get('/beta/queue/vps/1001')).status).toBe(502);
    expect((await get(PRODUCTS)).status).toBe(503);
  });

  it('takes a route whole: a fault at one server does not strike the list', async () => {
    const { get, create, inject } = await start();
    inject({ kind: 'status', status: 500 }, { match: { route: '/beta/vps/servers/{identifier}' } });
    expect((await create()).status).toBe(202);
    expect((await get('/beta/vps/servers/unknown')).status).toBe(500);
  });

  it('starts at the nth request and strikes the given number of times', async () => {
    const { get, inject } = await start();
    const fault = inject({ kind: 'status', status: 500 }, { match: { nth: 2 }, times: 2 });
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await get(PRODUCTS)).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
    expect(fault.count).toBe(2);
    await fault.met;
  });

  it('strikes with Infinity until the fault is removed', async () => {
    const { simulator, get, inject } = await start();
    const fault = inject({ kind: 'status', status: 500 }, { times: Infinity });
    await get(PRODUCTS);
    await fault.met;
    expect((await get(PRODUCTS)).status).toBe(500);
    fault.remove();
    expect((await get(PRODUCTS)).status).toBe(200);
    await simulator.close();
  });

  it('considers the status of the answer for faults after processing', async () => {
    const { get, inject } = await start();
    inject({ kind: 'drop', after: true }, { match: { status: 404 } });
    expect((await get(PRODUCTS)).status).toBe(200);
    expect(await networkError(get('/beta/queue/vps/9'))).toBe('UND_ERR_SOCKET');
  });

  it('lets one fault before and one after processing strike the same request', async () => {
    const { simulator, create, inject } = await start();
    const hang = inject({ kind: 'hang' });
    inject({ kind: 'drop', after: true });
    const call = networkError(create());
    await hang.met;
    hang.release();
    expect(await call).toBe('UND_ERR_SOCKET');
    expect(simulator.aliveServers()).toHaveLength(1);
  });
});

describe('a fault that is never met', () => {
  it('makes close() fail, which still stops everything', async () => {
    const { simulator, inject } = await start();
    inject({ kind: 'drop' }, { match: { route: SERVERS } });
    await expect(simulator.close()).rejects.toThrow(/drop on .*servers.*struck 0x/);
    await expect(rawExchange(simulator, '')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('makes close() fail if it has struck too rarely', async () => {
    const { simulator, get, inject } = await start();
    inject({ kind: 'status', status: 500 }, { times: 2 });
    await get(PRODUCTS);
    await expect(simulator.close()).rejects.toThrow('struck 1x, wanted 2x');
  });

  it('is ignored once it is removed', async () => {
    const { simulator, inject } = await start();
    inject({ kind: 'drop' }).remove();
    await simulator.close();
  });
});
