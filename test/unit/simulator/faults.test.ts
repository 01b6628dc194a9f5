import { Buffer } from 'node:buffer';

import { afterEach, describe, expect, it } from 'vitest';

import { ManualClock, read } from './client.ts';
import { closeAll, networkError, PRODUCTS, rawExchange, SERVERS, start } from './served.ts';

afterEach(closeAll);

describe('a fault with a status', () => {
  it('answers without processing', async () => {
    const { simulator, create, inject } = await start();
    inject({ kind: 'status', status: 503, headers: { 'Retry-After': '7' }, body: { why: 'maintenance' } });
    const answer = await read(await create());
    expect(answer).toMatchObject({ status: 503, json: { why: 'maintenance' } });
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(simulator.aliveServers()).toEqual([]);
    const [entry] = simulator.ledger.requests({ route: SERVERS });
    expect(entry).toMatchObject({ status: 503, processed: false, fault: 'status' });
    expect((await create()).status).toBe(202);
  });

  it('answers after processing', async () => {
    const { simulator, create, inject } = await start();
    inject({ kind: 'status', status: 502, body: '<html>', headers: { 'content-type': 'text/html' }, after: true });
    expect(await read(await create())).toMatchObject({ status: 502, text: '<html>' });
    expect(simulator.aliveServers()).toHaveLength(1);
    expect(simulator.ledger.requests({ route: SERVERS })).toMatchObject([{ status: 502, processed: true }]);
  });
});

describe('a lost connection', () => {
  it.each([
    ['drop', false, 'UND_ERR_SOCKET', 0],
    ['drop', true, 'UND_ERR_SOCKET', 1],
    ['reset', false, 'ECONNRESET', 0],
    ['reset', true, 'ECONNRESET', 1],
  ] as const)('by %s (after processing: %s) gives %s and leaves %i servers', async (kind, after, code, servers) => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind, after });
    expect(await networkError(create())).toBe(code);
    await fault.met;
    expect(simulator.aliveServers()).toHaveLength(servers);
    expect(simulator.ledger.requests({ route: SERVERS })).toMatchObject([{ status: undefined, processed: after }]);
  });
});

describe('a fault that hangs', () => {
  it('before processing holds the request until the release', async () => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind: 'hang' });
    const call = create();
    await fault.met;
    expect(simulator.aliveServers()).toEqual([]);
    fault.release();
    expect((await call).status).toBe(202);
    expect(simulator.aliveServers()).toHaveLength(1);
  });

  it('before processing lets a request through after its client has left', async () => {
    const { simulator, get, inject } = await start({ taskDurationMs: 0 });
    const fault = inject({ kind: 'hang' });
    const abort = new AbortController();
    const call = get(PRODUCTS, abort.signal);
    await fault.met;
    abort.abort();
    await expect(call).rejects.toThrow();
    fault.release();
    await expect.poll(() => simulator.ledger.requests({ route: PRODUCTS })).toMatchObject([{ processed: true }]);
  });

  it('after processing holds only the answer', async () => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind: 'hang', after: true });
    const call = create();
    await fault.met;
    expect(simulator.aliveServers()).toHaveLength(1);
    fault.release();
    expect((await call).status).toBe(202);
  });

  it('ends when the simulator closes, without processing the request', async () => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind: 'hang' });
    const call = networkError(create());
    await fault.met;
    await simulator.close();
    expect(await call).toBe('UND_ERR_SOCKET');
    expect(simulator.aliveServers()).toEqual([]);
  });
});

describe('a delay', () => {
  it.each([false, true])('ends when its time has passed (after processing: %s)', async (after) => {
    const clock = new ManualClock();
    const { simulator, create, inject } = await start({ clock });
    const fault = inject({ kind: 'delay', ms: 5_000, after });
    const call = create();
    await fault.met;
    expect(simulator.aliveServers()).toHaveLength(after ? 1 : 0);
    clock.advance(5_000);
    expect((await call).status).toBe(202);
    expect(simulator.aliveServers()).toHaveLength(1);
  });
});

describe('garbage', () => {
  it('is an HTML page', async () => {
    const { get, inject } = await start();
    inject({ kind: 'garbage', form: 'html' });
    const answer = await read(await get(PRODUCTS));
    expect(answer).toMatchObject({ status: 200, json: undefined });
    expect(answer.headers.get('content-type')).toBe('text/html');
  });

  it('is half a body with the full Content-Length', async () => {
    const { simulator, token, inject } = await start();
    inject({ kind: 'garbage', form: 'truncated' });
    const raw = await rawExchange(
      simulator,
      `GET ${PRODUCTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    const [head = '', body = ''] = raw.split('\r\n\r\n');
    const length = Number(/content-length: ([0-9]+)/i.exec(head)?.[1]);
    expect(body.length).toBe(Math.floor(length / 2));
    expect(body).toMatch(/^\[\{"code"/);
  });

  it('is a body of several megabytes', async () => {
    const { get, inject } = await start();
    inject({ kind: 'garbage', form: 'oversized', megabytes: 3 });
    expect((await (await get(PRODUCTS)).text()).length).toBeGreaterThan(3 * 1024 * 1024);
  });

  it('is an endless body that stops when the client leaves', async () => {
    const { simulator, get, inject } = await start();
    inject({ kind: 'garbage', form: 'oversized', megabytes: Infinity });
    const response = await get(PRODUCTS);
    await response.body?.cancel();
    await simulator.close();
  });

  it('is a body that arrives byte by byte', async () => {
    const clock = new ManualClock();
    const { get, inject } = await start({ clock });
    inject({ kind: 'garbage', form: 'slow', msPerByte: 1_000 });
    const response = await get(PRODUCTS);
    const reader = response.body?.getReader();
    for (const byte of ['[', '{', '"']) {
      const next = reader?.read();
      await expect.poll(() => clock.sleeping).toBe(1);
      clock.advance(1_000);
      expect(Buffer.from((await next)?.value ?? []).toString()).toBe(byte);
    }
    await reader?.cancel();
  });

  it('is another Content-Type, or any text', async () => {
    const { get, inject } = await start();
    inject({ kind: 'garbage', form: 'contentType', contentType: 'text/plain' });
    inject({ kind: 'garbage', form: 'text', text: 'NaN' });
    const answer = await read(await get(PRODUCTS));
    expect(answer.headers.get('content-type')).toBe('text/plain');
    expect(answer.json).toBeInstanceOf(Array);
    expect(await (await get(PRODUCTS)).text()).toBe('NaN');
  });
});

describe('a changed answer', () => {
  it('has another Location on a create, or none', async () => {
    const { simulator, create, inject } = await start();
    inject({ kind: 'location', location: 'https://elsewhere.example/beta/queue/vps/1' });
    inject({ kind: 'location', location: null });
    inject({ kind: 'location', location: (original) => `${original}9` });
    expect((await create()).headers.get('location')).toBe('https://elsewhere.example/beta/queue/vps/1');
    const without = await create();
    expect([without.status, without.headers.get('location')]).toEqual([202, null]);
    expect((await create()).headers.get('location')).toBe(`${simulator.baseUrl}/beta/queue/vps/10039`);
  });

  it('has another Location on the 303 of a task, not on its 200', async () => {
    const { simulator, create, get, inject } = await start();
    await create();
    inject({ kind: 'location', location: '/elsewhere' }, { match: { route: '/beta/queue/vps/{task}' } });
    expect((await get('/beta/queue/vps/1001')).status).toBe(200);
    simulator.fleet.completeTask(1001);
    const done = await get('/beta/queue/vps/1001');
    expect([done.status, done.headers.get('location')]).toEqual([303, '/elsewhere']);
  });

  it('has another body, given or mapped', async () => {
    const { create, get, inject } = await start();
    inject({ kind: 'body', body: { task: '1001' } }, { match: { route: SERVERS } });
    expect(await (await create()).json()).toEqual({ task: '1001' });
    inject({ kind: 'body', body: (body: unknown) => ({ ...(body as object), identifier: 7, extra: true }) });
    expect(await (await get('/beta/queue/vps/1001')).json()).toMatchObject({ identifier: 7, extra: true });
  });
});
