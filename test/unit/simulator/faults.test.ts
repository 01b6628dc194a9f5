import { connect } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { startSimulator } from '../../../src/simulator/index.ts';
import type { FaultAction, FaultInput, Simulator, SimulatorOptions } from '../../../src/simulator/index.ts';
import { CREATE, inProcess, loginRequest, ManualClock, read } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const SERVERS = '/beta/vps/servers';

const open: Simulator[] = [];

async function start(options: SimulatorOptions = {}) {
  const simulator = await startSimulator(options);
  open.push(simulator);
  const { access_token: token } = (await (await fetch(loginRequest(simulator.authUrl))).json()) as {
    access_token: string;
  };
  const get = (path: string, signal?: AbortSignal) =>
    fetch(simulator.baseUrl + path, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
      ...(signal && { signal }),
    });
  const create = () =>
    fetch(simulator.baseUrl + SERVERS, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(CREATE),
    });
  const inject = (action: FaultAction, rest: Omit<FaultInput, 'action'> = {}) =>
    simulator.faults.inject({ action, ...rest });
  return { simulator, token, get, create, inject };
}

/** The code of the network error behind a failed fetch. */
async function networkError(call: Promise<Response>): Promise<unknown> {
  const error = await call.then((response) => response.text()).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(TypeError);
  return ((error as TypeError).cause as { code: string }).code;
}

afterEach(async () => {
  await Promise.allSettled(open.splice(0).map((simulator) => simulator.close()));
});

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
  it('before processing holds the request until it is released, then goes on', async () => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind: 'hang' });
    const call = create();
    await fault.met;
    expect(simulator.aliveServers()).toEqual([]);
    fault.release();
    expect((await call).status).toBe(202);
    expect(simulator.aliveServers()).toHaveLength(1);
  });

  it('before processing lets a request arrive after its client has left', async () => {
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

  it('after processing holds the answer only', async () => {
    const { simulator, create, inject } = await start();
    const fault = inject({ kind: 'hang', after: true });
    const call = create();
    await fault.met;
    expect(simulator.aliveServers()).toHaveLength(1);
    fault.release();
    expect((await call).status).toBe(202);
  });

  it('ends with the simulator, and nothing is processed any more', async () => {
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
  it.each([false, true])('goes on when its time has come (after processing: %s)', async (after) => {
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

  it('is half a body under a Content-Length for all of it', async () => {
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

  it('is a body of megabytes', async () => {
    const { get, inject } = await start();
    inject({ kind: 'garbage', form: 'oversized', megabytes: 3 });
    expect((await (await get(PRODUCTS)).text()).length).toBeGreaterThan(3 * 1024 * 1024);
  });

  it('is a body without end that stops when the client leaves', async () => {
    const { simulator, get, inject } = await start();
    inject({ kind: 'garbage', form: 'oversized', megabytes: Infinity });
    const response = await get(PRODUCTS);
    await response.body?.cancel();
    await simulator.close();
  });

  it('is a slow drip', async () => {
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

  it('is another content type, or any text', async () => {
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

  it('has another body, as given or as mapped', async () => {
    const { create, get, inject } = await start();
    inject({ kind: 'body', body: { task: '1001' } }, { match: { route: SERVERS } });
    expect(await (await create()).json()).toEqual({ task: '1001' });
    inject({ kind: 'body', body: (body: unknown) => ({ ...(body as object), identifier: 7, extra: true }) });
    expect(await (await get('/beta/queue/vps/1001')).json()).toMatchObject({ identifier: 7, extra: true });
  });
});

describe('the match of a fault', () => {
  it('takes method, route, parameter and account into account', async () => {
    const { get, create, inject } = await start();
    await create();
    inject({ kind: 'status', status: 500 }, { match: { method: 'DELETE' } }).remove();
    inject({ kind: 'status', status: 501 }, { match: { account: 'nobody' } }).remove();
    inject({ kind: 'status', status: 502 }, { match: { route: '/beta/queue/vps/{task}', param: '1001' } });
    inject({ kind: 'status', status: 503 }, { match: { method: 'GET', account: 'default', route: PRODUCTS } });
    expect((await get('/beta/vps/images')).status).toBe(200);
    expect((await get('/beta/queue/vps/1002')).status).toBe(404);
    expect((await get('/beta/queue/vps/1001')).status).toBe(502);
    expect((await get(PRODUCTS)).status).toBe(503);
  });

  it('counts to the nth request and strikes as often as it should', async () => {
    const { get, inject } = await start();
    const fault = inject({ kind: 'status', status: 500 }, { match: { nth: 2 }, times: 2 });
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await get(PRODUCTS)).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
    expect(fault.count).toBe(2);
    await fault.met;
  });

  it('strikes for ever with Infinity, until it is removed', async () => {
    const { simulator, get, inject } = await start();
    const fault = inject({ kind: 'status', status: 500 }, { times: Infinity });
    await get(PRODUCTS);
    await fault.met;
    expect((await get(PRODUCTS)).status).toBe(500);
    fault.remove();
    expect((await get(PRODUCTS)).status).toBe(200);
    await simulator.close();
  });

  it('goes by the status that the service would answer, for faults after processing', async () => {
    const { get, inject } = await start();
    inject({ kind: 'drop', after: true }, { match: { status: 404 } });
    expect((await get(PRODUCTS)).status).toBe(200);
    expect(await networkError(get('/beta/queue/vps/9'))).toBe('UND_ERR_SOCKET');
  });

  it('lets a fault before and one after processing meet the same request', async () => {
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
  it('fails close(), which still stops everything', async () => {
    const { simulator, get, inject } = await start();
    inject({ kind: 'drop' }, { match: { route: SERVERS } });
    await expect(simulator.close()).rejects.toThrow(/drop on .*servers.*struck 0x/);
    expect(await networkError(get(PRODUCTS))).toBe('ECONNREFUSED');
  });

  it('fails close() when it was met too seldom', async () => {
    const { simulator, get, inject } = await start();
    inject({ kind: 'status', status: 500 }, { times: 2 });
    await get(PRODUCTS);
    await expect(simulator.close()).rejects.toThrow('struck 1x, wanted 2x');
  });

  it('is forgiven when it is removed', async () => {
    const { simulator, inject } = await start();
    inject({ kind: 'drop' }).remove();
    await simulator.close();
  });
});

describe('in process', () => {
  it('a lost connection is an error, a broken body breaks off, a hang waits', async () => {
    const { handler, simulation, login, call } = inProcess();
    const token = await login();
    simulation.faults.inject({ action: { kind: 'reset' } });
    await expect(call(PRODUCTS, { token })).rejects.toMatchObject({ name: 'ConnectionLostError', code: 'ECONNRESET' });
    simulation.faults.inject({ action: { kind: 'garbage', form: 'truncated' } });
    await expect(call(PRODUCTS, { token })).rejects.toThrow('breaks off');
    const hang = simulation.faults.inject({ action: { kind: 'hang' } });
    const abort = new AbortController();
    const request = new Request(simulation.baseUrl + PRODUCTS, { signal: abort.signal });
    const pending = handler(request, { sourceAddress: '192.0.2.1' });
    await hang.met;
    abort.abort();
    await expect(pending).rejects.toThrow('aborted');
  });
});

/** Everything that the simulator sends until it ends the connection. */
function rawExchange(simulator: Simulator, request: string): Promise<string> {
  const socket = connect(simulator.port, '127.0.0.1', () => socket.write(request));
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  return new Promise((resolve, reject) => socket.on('close', () => resolve(received)).on('error', reject));
}
