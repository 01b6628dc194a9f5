import { describe, expect, it } from 'vitest';

import type { Route } from '../../../src/simulator/index.ts';
import { CREATE, inProcess, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const IMAGES = '/beta/vps/images';
const DISK_SIZES = '/beta/vps/disk-sizes';
const SERVERS = '/beta/vps/servers';
const SERVER = '/beta/vps/servers/{identifier}';
const TASK = '/beta/queue/vps/{task}';
const OTHER = { keyId: 'o', secret: 'o' };

async function world() {
  const parts = inProcess();
  const { simulation, clock, call } = parts;
  const token = await parts.login();
  const status = async (path: string, method = 'GET') => (await call(path, { token, method })).status;
  return { ...parts, token, status, provider: simulation.provider, in: (ms: number) => clock.now() + ms };
}

describe('a false answer', () => {
  it('is given within its window, and the server stays alive', async () => {
    const { status, clock, simulation, provider, in: at } = await world();
    const path = `${SERVERS}/${simulation.fleet.addServer('default').identifier}`;
    provider.falsify({ route: SERVER, status: 404, fromMs: at(1_000), untilMs: at(3_000) });
    expect(await status(path)).toBe(200);
    clock.advance(1_000);
    expect(await status(path)).toBe(404);
    expect(await status(path, 'DELETE')).toBe(404);
    expect(simulation.aliveServers()).toHaveLength(1);
    clock.advance(1_999);
    expect(await status(path)).toBe(404);
    clock.advance(1);
    expect(await status(path)).toBe(200);
    expect(simulation.ledger.requests({ route: SERVER }).map(({ fault, processed }) => [fault, processed])).toEqual([
      [undefined, true],
      ['falsified', false],
      ['falsified', false],
      ['falsified', false],
      [undefined, true],
    ]);
  });

  it.each<[Route, string, number]>([
    [TASK, '/beta/queue/vps/9', 404],
    [SERVER, `${SERVERS}/none`, 404],
    [PRODUCTS, '/none', 401],
  ])('looks like a true answer of %s', async (route, path, trueStatus) => {
    const { call, token, simulation, provider, create } = await world();
    const task = await create(token);
    const { identifier } = simulation.fleet.addServer('default');
    const real = trueStatus === 401 ? await call(PRODUCTS, { token: 'made-up' }) : await call(path, { token });
    const known = { [TASK]: `/beta/queue/vps/${task}`, [SERVER]: `${SERVERS}/${identifier}` }[route as string] ?? route;
    provider.falsify({ route, status: trueStatus as 401 | 404 });
    expect(await call(known, { token })).toEqual(real);
  });

  it('can be limited to one method, parameter or account', async () => {
    const { status, call, login, simulation, provider } = await world();
    simulation.accounts.addKey('other', OTHER);
    const token = await login(OTHER);
    const [first, second] = ['a', 'b'].map((identifier) => simulation.fleet.addServer('default', { identifier }));
    provider.falsify({ route: SERVER, method: 'GET', param: first?.identifier ?? '', status: 500 });
    provider.falsify({ route: PRODUCTS, account: 'other', status: 403 });
    expect(await status(`${SERVERS}/a`)).toBe(500);
    expect(await status(`${SERVERS}/${second?.identifier}`)).toBe(200);
    expect(await status(`${SERVERS}/a`, 'DELETE')).toBe(200);
    expect(await status(PRODUCTS)).toBe(200);
    expect((await call(PRODUCTS, { token })).status).toBe(403);
  });

  it.each([
    ['documented', { message: 'The account may not do this' }, { message: 'Server does not exist or access denied' }],
    ['public', { error: 'Not authorised' }, { error: 'Server does not exist or access denied' }],
  ] as const)('with 403 has two texts with the API `%s`', async (api, notAuthorised, doesNotExist) => {
    const { call, token, simulation, provider } = await world();
    provider.setApi(api);
    const path = `${SERVERS}/${simulation.fleet.addServer('default').identifier}`;
    const lie = provider.falsify({ route: SERVER, status: 403 });
    expect(await call(path, { token })).toMatchObject({ status: 403, json: notAuthorised });
    lie.remove();
    provider.falsify({ route: SERVER, status: 403, says: 'does-not-exist' });
    expect(await call(path, { token })).toMatchObject({ status: 403, json: doesNotExist });
  });

  it('orders nothing if it answers a create', async () => {
    const { call, token, simulation, provider } = await world();
    const lie = provider.falsify({ route: SERVERS, status: 404 });
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE })).status).toBe(404);
    expect(simulation.ledger.creates()).toEqual([]);
    expect(lie.count).toBe(1);
    lie.remove();
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE })).status).toBe(202);
  });

  it.each([
    [401, 'invalid_client'],
    [404, 'invalid_client'],
    [500, 'server_error'],
  ] as const)('to a login with good credentials: %i %s', async (status, error) => {
    const { send, simulation, provider } = await world();
    provider.falsify({ route: '/login', account: 'default', status });
    expect(await send(loginRequest(simulation.authUrl))).toMatchObject({ status, json: { error } });
    expect(simulation.ledger.logins({ ok: false })).toMatchObject([{ account: 'default' }]);
    provider.endLies();
    expect((await send(loginRequest(simulation.authUrl))).status).toBe(200);
  });

  it('is given with its probability', async () => {
    const { status, provider } = await world();
    const drawn = [0.1, 0.9, 0.4];
    provider.falsify({ route: PRODUCTS, status: 500, probability: 0.5, random: () => drawn.shift() ?? 1 });
    expect([await status(PRODUCTS), await status(PRODUCTS), await status(PRODUCTS)]).toEqual([500, 200, 500]);
    expect(() => provider.falsify({ route: PRODUCTS, status: 500, probability: 0.5 })).toThrow('random');
  });
});

describe('a short list', () => {
  it('is empty or cut within its window, and hidden entries can be ordered', async () => {
    const { call, token, clock, provider, in: at } = await world();
    const list = async (path: string) => (await call(path, { token })).json;
    const whole = [await list(PRODUCTS), await list(IMAGES), await list(DISK_SIZES)] as unknown[][];
    const untilMs = at(1_000);
    provider.shorten({ list: 'products', keep: 0, untilMs });
    provider.shorten({ list: 'images', keep: 1, untilMs });
    provider.shorten({ list: 'disk-sizes', keep: 2, untilMs });
    expect(await list(PRODUCTS)).toEqual([]);
    expect(await list(IMAGES)).toEqual(whole[1]?.slice(0, 1));
    expect(await list(DISK_SIZES)).toEqual({ ssd: [5120, 10240], hdd: [20480, 40960] });
    provider.shorten({ list: 'disk-sizes', keep: 0, untilMs });
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE })).status).toBe(202);
    clock.advance(1_000);
    expect([await list(PRODUCTS), await list(IMAGES), await list(DISK_SIZES)]).toEqual(whole);
    provider.shorten({ list: 'disk-sizes', keep: 0 });
    expect(await list(DISK_SIZES)).toEqual({});
    provider.endLies();
    expect(await list(DISK_SIZES)).toEqual(whole[2]);
  });

  it('can be limited to one account', async () => {
    const { call, token, login, simulation, provider } = await world();
    simulation.accounts.addKey('other', OTHER);
    provider.shorten({ list: 'products', keep: 0, account: 'other' });
    expect((await call(PRODUCTS, { token })).json).not.toEqual([]);
    expect((await call(PRODUCTS, { token: await login(OTHER) })).json).toEqual([]);
  });
});

describe('an odd answer to a DELETE', () => {
  it.each([
    { body: 'html', text: 'html' },
    { body: 'error', text: '"error"' },
    { body: 'empty', text: '' },
    { body: 'message', text: '"message"' },
  ] as const)('with $body has status 200, and cancels only if it is told to', async ({ body, text }) => {
    const { call, token, simulation, provider } = await world();
    const { identifier } = simulation.fleet.addServer('default');
    const remove = () => call(`${SERVERS}/${identifier}`, { method: 'DELETE', token });
    const lie = provider.answerCancels({ body });
    const answer = await remove();
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(text);
    expect(simulation.aliveServers()).toHaveLength(1);
    lie.remove();
    provider.answerCancels({ body, cancels: true });
    expect((await remove()).text).toBe(answer.text);
    expect(simulation.aliveServers()).toEqual([]);
  });
});

describe('a false status', () => {
  it.each(['reads', 'list', 'both'] as const)('is shown in %s within its window, and ends nothing', async (where) => {
    const { call, token, clock, simulation, provider, in: at } = await world();
    provider.setApi('public');
    const { identifier } = simulation.fleet.addServer('default');
    const shown = async (): Promise<unknown[]> => {
      const read = (await call(`${SERVERS}/${identifier}`, { token })).json as { status: string };
      const list = (await call(SERVERS, { token })).json as Record<string, { status?: string }>;
      return [read.status, list[identifier]?.status];
    };
    provider.misname({ status: 'removed', where, untilMs: at(1_000) });
    expect(await shown()).toEqual([
      where === 'list' ? 'running' : 'removed',
      where === 'reads' ? undefined : 'removed',
    ]);
    expect(simulation.aliveServers()).toHaveLength(1);
    clock.advance(1_000);
    expect(await shown()).toEqual(['running', undefined]);
  });

  it.each(['cancelled', 'terminated'] as const)(
    'is not that of a server that is gone, which is shown as %s',
    async (word) => {
      const { call, token, clock, simulation, provider } = await world();
      provider.setApi('public');
      provider.setVariants({
        cancelled: 'shown',
        cancelledAs: word,
        cancelledAddresses: 'dropped',
        cancelledMs: 60_000,
      });
      const { identifier } = simulation.fleet.addServer('default');
      const path = `${SERVERS}/${identifier}`;
      expect((await call(path, { token, method: 'DELETE' })).status).toBe(200);
      expect((await call(path, { token })).json).toMatchObject({ status: word, macs: [], ipv6: [] });
      expect((await call(SERVERS, { token })).json).toMatchObject({ [identifier]: { status: word } });
      clock.advance(60_000);
      expect((await call(path, { token })).status).toBe(403);
      expect((await call(SERVERS, { token })).json).toEqual({});
    },
  );
});

describe('a DELETE is refused', () => {
  it.each([
    { cancelAgain: 'denied', status: 403 },
    { cancelAgain: 'conflict', status: 409 },
    { cancelAgain: 'busy', status: 409 },
    { cancelAgain: 'gone', status: 410 },
    { cancelAgain: 'cancelled', status: 400 },
  ] as const)('with $status the second time, as $cancelAgain', async ({ cancelAgain, status }) => {
    const { call, token, simulation, provider } = await world();
    provider.setApi('public');
    provider.setVariants({ cancelled: 'shown', cancelAgain });
    const { identifier } = simulation.fleet.addServer('default');
    const remove = async () => (await call(`${SERVERS}/${identifier}`, { token, method: 'DELETE' })).status;
    expect([await remove(), await remove()]).toEqual([200, status]);
  });
});
