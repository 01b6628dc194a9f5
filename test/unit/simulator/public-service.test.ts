/** The facts about the public API, one by one, by their numbers: A1 to A16, B, C, and the variants D1 to D9. */
import { describe, expect, it } from 'vitest';

import { CHOICES, DEFAULT_KEY } from '../../../src/simulator/index.ts';
import type { SimulationOptions, VariantOptions } from '../../../src/simulator/index.ts';
import { CREATE, inProcess, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const IMAGES = '/beta/vps/images';
const DISK_SIZES = '/beta/vps/disk-sizes';
const ZONES = '/beta/vps/zones';
const PRICING = '/beta/vps/pricing';
const SERVERS = '/beta/vps/servers';
const NOT_THERE = { error: 'Server does not exist or access denied' };
const NOT_AUTHORISED = { error: 'Not authorised' };
const OTHER = { keyId: 'o', secret: 'o' };
const DURATION_MS = 60_000;

async function world(options: SimulationOptions = {}) {
  const parts = inProcess({ api: 'public', taskDurationMs: DURATION_MS, ...options });
  const { call, simulation } = parts;
  simulation.accounts.addKey('other', OTHER);
  const token = await parts.login();
  const theirs = await parts.login(OTHER);
  const get = (path: string, by = token) => call(path, { token: by });
  const post = (path: string, json: unknown, by = token) => call(path, { method: 'POST', token: by, json });
  const del = (path: string, by = token) => call(path, { method: 'DELETE', token: by });
  const poll = (task: number, by = token) => get(`/beta/queue/vps/${task}`, by);
  /** Orders a server; returns its task and its path. */
  const order = async () => {
    const task = await parts.create(token);
    const identifier = simulation.ledger.creates().at(-1)?.identifier ?? '';
    return { task, identifier, path: `${SERVERS}/${identifier}` };
  };
  /** Adds a ready server; returns its path. */
  const added = () => `${SERVERS}/${simulation.fleet.addServer('default').identifier}`;
  return { ...parts, token, theirs, get, post, del, poll, order, added };
}

describe('the public API differs from the specification:', () => {
  it('A1: products are an object by code, with name, family, period and specs', async () => {
    const products = [
      { code: 'VPSX4', ram: 1024, cores: 2, price: 9, name: 'VPS 4', description: '1 GB', family: 'VPS-4' },
      { code: 'VPSX8', ram: 2048, cores: 3, price: 18 },
    ];
    const { get } = await world({ products });
    const known = { code: 'VPSX4', name: 'VPS 4', description: '1 GB', family: 'VPS-4', period: 'on-demand' };
    const text = expect.any(String) as string;
    expect((await get(PRODUCTS)).json).toEqual({
      VPSX4: { ...known, specs: { cores: 2, ram: 1024, bandwidth: expect.any(Number) as number } },
      VPSX8: {
        ...{ code: 'VPSX8', name: text, description: text, family: text, period: 'on-demand' },
        specs: { cores: 3, ram: 2048, bandwidth: expect.any(Number) as number },
      },
    });
  });

  it('A2: images are an object by name', async () => {
    const images = [
      { name: 'a.raw.gz', description: 'A' },
      { name: 'b/c', description: 'B' },
    ];
    const { get } = await world({ images });
    expect((await get(IMAGES)).json).toEqual({
      'a.raw.gz': { name: 'a.raw.gz', description: 'A' },
      'b/c': { name: 'b/c', description: 'B' },
    });
  });

  it('A3: an image without a slash in its name can be ordered', async () => {
    const name = 'cloudinit-ubuntu-noble.raw.gz';
    const { post, simulation } = await world({ images: [{ name, description: 'Ubuntu' }] });
    expect((await post(SERVERS, { ...CREATE, image: name })).status).toBe(202);
    expect(simulation.ledger.creates()).toMatchObject([{ body: { image: name } }]);
    expect((await post(SERVERS, { ...CREATE, image: 'debian/minimal' })).status).toBe(400);
  });

  it('A4: a server that never existed, was cancelled, or belongs to another account is denied with 403', async () => {
    const { get, del, added, theirs } = await world();
    const [foreign, cancelled] = [added(), added()];
    await del(cancelled);
    const answers = [await get(`${SERVERS}/none`), await get(cancelled), await get(foreign, theirs)];
    for (const { status, json } of answers) expect([status, json]).toEqual([403, NOT_THERE]);
    expect((await get(foreign)).status).toBe(200);
  });

  describe('A5: an order for an identifier', () => {
    it('creates the server with it', async () => {
      const { post, poll, clock, get } = await world();
      const answer = await post(`${SERVERS}/web1`, CREATE);
      expect(answer.status).toBe(202);
      const { task } = answer.json as { task: number };
      expect((await poll(task)).json).toMatchObject({ identifier: 'web1' });
      clock.advance(DURATION_MS);
      expect((await get(`${SERVERS}/web1`)).json).toMatchObject({ identifier: 'web1', status: 'running' });
    });

    it.each(['ab', 'a'.repeat(21), 'Web', 'we-b', 'w_eb'])('needs a valid identifier: not %s', async (identifier) => {
      const { post, simulation } = await world();
      expect(await post(`${SERVERS}/${identifier}`, CREATE)).toMatchObject({
        status: 400,
        json: { error: expect.any(String) as string },
      });
      expect(simulation.ledger.creates()).toEqual([]);
    });

    it.each(['abc', '0'.repeat(20)])('accepts %s', async (identifier) => {
      expect((await (await world()).post(`${SERVERS}/${identifier}`, CREATE)).status).toBe(202);
    });

    it('gets 409 while any account uses the identifier, and after a cancellation it is accepted', async () => {
      const { post, del, clock, theirs, simulation } = await world();
      const error = { error: 'Identifier is already in use' };
      await post(`${SERVERS}/web1`, CREATE);
      expect(await post(`${SERVERS}/web1`, { ...CREATE, name: 'a' })).toMatchObject({ status: 409, json: error });
      clock.advance(DURATION_MS);
      expect(await post(`${SERVERS}/web1`, CREATE)).toMatchObject({ status: 409, json: error });
      expect(await post(`${SERVERS}/web1`, CREATE, theirs)).toMatchObject({ status: 409, json: error });
      await del(`${SERVERS}/web1`);
      expect((await post(`${SERVERS}/web1`, CREATE, theirs)).status).toBe(202);
      expect(simulation.aliveServers()).toMatchObject([{ identifier: 'web1', account: 'other', serial: 2 }]);
    });

    it('keeps the provider from choosing that identifier later', async () => {
      const { post, create, token, simulation } = await world();
      await post(`${SERVERS}/vs1001`, CREATE);
      await create(token);
      expect(simulation.aliveServers().map(({ identifier }) => identifier)).toEqual(['vs1001', 'vs1002']);
    });
  });

  describe('A6: the list of servers', () => {
    it('is an object by identifier, of this account only', async () => {
      const { get, post, clock, simulation } = await world();
      simulation.fleet.addServer('other');
      await post(`${SERVERS}/web1`, { ...CREATE, name: 'shop' });
      clock.advance(DURATION_MS);
      simulation.fleet.updateServer('web1', { dormant: true });
      const { product } = CREATE;
      const family = expect.any(String) as string;
      const web1 = { identifier: 'web1', product, family, period: 'on-demand', name: 'shop', dormant: true };
      expect((await get(SERVERS)).json).toEqual({ web1 });
    });

    it.each([true, false])('has servers that are being created: %s', async (listsCreating) => {
      const { get, order, clock } = await world({ variants: { listsCreating } });
      const { identifier } = await order();
      expect(Object.keys((await get(SERVERS)).json as object)).toEqual(listsCreating ? [identifier] : []);
      clock.advance(DURATION_MS);
      expect(Object.keys((await get(SERVERS)).json as object)).toEqual([identifier]);
    });

    it('is empty while the account is suspended', async () => {
      const { get, post, added, simulation } = await world();
      const path = added();
      simulation.accounts.suspend('default', 'empty');
      expect((await get(SERVERS)).json).toEqual({});
      expect([(await get(path)).status, (await post(SERVERS, CREATE)).status]).toEqual([403, 404]);
    });

    it('lags behind creates and cancellations, and can be short', async () => {
      const parts = await world({ lag: { listMs: 5_000, cancelMs: 5_000 } });
      const { get, del, order, added, clock, theirs, simulation } = parts;
      const listed = async () => Object.keys((await get(SERVERS)).json as object).length;
      await del(`${SERVERS}/${simulation.fleet.addServer('other').identifier}`, theirs);
      await order();
      const path = added();
      expect(await listed()).toBe(1);
      clock.advance(5_000);
      expect(await listed()).toBe(2);
      await del(path);
      expect(await listed()).toBe(2);
      simulation.provider.shorten({ list: 'servers', keep: 0 });
      expect(await listed()).toBe(0);
      simulation.provider.endLies();
      clock.advance(5_000);
      expect(await listed()).toBe(1);
    });
  });

  describe('A6: one page of the list of servers', () => {
    const next = expect.stringContaining('page=2') as string;

    it.each([
      ['next', { next }, { next: null }],
      ['next_page', { next_page: 2 }, { next_page: null }],
      ['has_more', { has_more: true }, { has_more: false }],
      ['total', { total: 2 }, { total: 1 }],
      ['per_page', { page: 1, per_page: 1 }, { page: 1, per_page: 1 }],
      ['links', { links: { next: { href: next } } }, { links: {} }],
    ] as const)('says by %s whether there are more', async (pageTells, more, last) => {
      const { get, del, added } = await world({ variants: { listsPage: 1, pageTells } });
      const [first, second] = [added(), added()].map((path) => ({ path, key: path.split('/').at(-1) ?? '' }));
      expect((await get(SERVERS)).json).toEqual({ [first?.key ?? '']: expect.any(Object) as object, ...more });
      await del(first?.path ?? '');
      expect((await get(SERVERS)).json).toEqual({ [second?.key ?? '']: expect.any(Object) as object, ...last });
    });

    it('says by a header how many there are', async () => {
      const { get, added } = await world({ variants: { listsPage: 1, pageTells: 'total-header' } });
      const [first] = [added(), added()];
      const { headers, json } = await get(SERVERS);
      expect([headers.get('x-total-count'), Object.keys(json as object)]).toEqual(['2', [first.split('/').at(-1)]]);
    });

    it('says by a Link header that there are more', async () => {
      const { get, del, added } = await world({ variants: { listsPage: 1, pageTells: 'header' } });
      const paths = [added(), added()];
      expect((await get(SERVERS)).headers.get('link')).toMatch(/^<http.*\?page=2>; rel="next"$/);
      await del(paths[0] ?? '');
      const { headers, json } = await get(SERVERS);
      expect([headers.get('link'), Object.keys(json as object)]).toEqual([null, [paths[1]?.split('/').at(-1)]]);
    });
  });

  it.each([
    ['shown', ['on-demand', 'on-demand']],
    ['missing', [undefined, undefined]],
    ['running', ['on-demand', undefined]],
  ] as const)('A10: the period of a server is %s', async (periods, expected) => {
    const { get, added, simulation } = await world({ variants: { periods } });
    const path = added();
    const shown = async () => ((await get(path)).json as { period?: string }).period;
    const awake = await shown();
    simulation.fleet.updateServer(path.split('/').at(-1) ?? '', { status: 'shut down' });
    expect([awake, await shown()]).toEqual(expected);
  });

  it('A7: an order needs neither image nor SSH keys, but product and disk_size', async () => {
    const { post } = await world();
    const { product, disk_size } = CREATE;
    expect((await post(SERVERS, { product, disk_size })).status).toBe(202);
    for (const body of [{ product }, { disk_size }]) expect((await post(SERVERS, body)).status).toBe(400);
  });

  it('A8: sizes are in MB, in the list and in the server', async () => {
    const { get, post, clock } = await world({ diskSizes: { ssd: [5120, 10240] } });
    expect((await get(DISK_SIZES)).json).toMatchObject({ ssd: [5120, 10240] });
    await post(`${SERVERS}/web1`, { ...CREATE, disk_size: 10240 });
    clock.advance(DURATION_MS);
    expect((await get(`${SERVERS}/web1`)).json).toMatchObject({ specs: { disk_size: 10240 } });
  });

  it('A9: disk sizes are of two types, and both can be ordered', async () => {
    const { get, post, clock } = await world({ diskSizes: { ssd: [10], hdd: [100] } });
    expect((await get(DISK_SIZES)).json).toEqual({ hdd: [100], ssd: [10] });
    expect((await post(SERVERS, { ...CREATE, disk_size: 100 })).status).toBe(400);
    await post(`${SERVERS}/web1`, { ...CREATE, disk_type: 'hdd', disk_size: 100 });
    clock.advance(DURATION_MS);
    expect((await get(`${SERVERS}/web1`)).json).toMatchObject({ specs: { disk_type: 'hdd', disk_size: 100 } });
    const onlySSD = await world({ diskSizes: { ssd: [10, 20] } });
    expect((await onlySSD.get(DISK_SIZES)).json).toEqual({ hdd: [10, 20], ssd: [10, 20] });
  });

  it('A10: the price is in whole pence per period', async () => {
    const { get, simulation } = await world({ products: [{ code: 'p', ram: 1, cores: 1, price: 1017.6 }] });
    const { identifier } = simulation.fleet.addServer('default');
    expect((await get(`${SERVERS}/${identifier}`)).json).toMatchObject({ price: 1018, period: 'on-demand' });
  });

  it('lists prices in whole pence, by product, by units of a disk, and for an address', async () => {
    const products = [{ code: 'p', ram: 1, cores: 1, price: 1000, diskPrice: 0.01, ipv4Price: 240 }];
    const { get, simulation } = await world({ products });
    const disk = { price: 51, extent: 5 };
    expect((await get(PRICING)).json).toEqual({ disk: { ssd: disk, hdd: disk }, ipv4: 240, products: { p: 1000 } });
    simulation.provider.setVariants({ priceList: 'higher' });
    expect((await get(PRICING)).json).toMatchObject({ ipv4: 480, products: { p: 2000 } });
    simulation.provider.setVariants({ priceList: 'missing', missingCall: 405 });
    expect((await get(PRICING)).status).toBe(405);
    simulation.provider.setApi('documented');
    simulation.provider.setVariants({ priceList: 'exact' });
    expect((await get(PRICING)).status).toBe(405);
  });

  it('A11: a task that failed answers 500 with the reason', async () => {
    const { poll, order, simulation } = await world();
    const { task } = await order();
    simulation.fleet.failTask(task, { text: 'No space left' });
    expect(await poll(task)).toMatchObject({ status: 500, json: { error: 'No space left' } });
    expect(simulation.fleet.history()).toMatchObject([{ state: 'failed' }]);
  });

  it('A12: a task begins with the selection of a host, and continues with the documented texts', async () => {
    const { poll, order, clock } = await world();
    const { task } = await order();
    const texts: string[] = [];
    for (let ms = 0; ms < DURATION_MS; ms += DURATION_MS / 6) {
      texts.push(((await poll(task)).json as { status: string }).status);
      clock.advance(DURATION_MS / 6);
    }
    expect(texts[0]).toBe('Selecting host in lon zone');
    expect(texts[1]).toMatch(/^Waiting for DNS and DHCP updates, \d+ seconds remaining$/);
    expect(texts[5]).toMatch(/^Installing OS, \d+% complete$/);
  });

  it('A13: a server has neither vnc nor admin_console, but fields of the published example', async () => {
    const { get, simulation } = await world();
    const { identifier, product } = simulation.fleet.addServer('default');
    const server = (await get(`${SERVERS}/${identifier}`)).json;
    expect(Object.keys(server as object).sort()).toEqual(
      [
        ...['identifier', 'name', 'status', 'host_server', 'zone', 'product', 'family', 'cpu_mode', 'net_device'],
        ...['disk_bus', 'tablet', 'price', 'period', 'iso_image', 'dormant', 'boot_device', 'ipv4', 'ipv6', 'specs'],
        ...['upgrade_specs', 'macs', 'ssh_proxy'],
      ].sort(),
    );
    expect(server).toMatchObject({
      ...{ product, dormant: false, tablet: true, upgrade_specs: null },
      ...{ specs: { extra_cores: 0, extra_ram: 0 }, ssh_proxy: { enabled: true } },
    });
    const upgrade_specs = { disk_type: 'ssd', disk_size: 40, cores: 8, ram: 4096 };
    simulation.fleet.updateServer(identifier, { upgrade_specs, tablet: false });
    expect((await get(`${SERVERS}/${identifier}`)).json).toMatchObject({ upgrade_specs, tablet: false });
  });

  it('A14: name and iso_image are null if unset, and texts otherwise', async () => {
    const { get, post, clock, added, simulation } = await world();
    expect((await get(added())).json).toMatchObject({ name: null, iso_image: null });
    await post(`${SERVERS}/web1`, { ...CREATE, name: 'shop' });
    clock.advance(DURATION_MS);
    simulation.fleet.updateServer('web1', { iso_image: 'debian-netinst' });
    expect((await get(`${SERVERS}/web1`)).json).toMatchObject({ name: 'shop', iso_image: 'debian-netinst' });
  });

  it('A15: ipv4 is an array of texts', async () => {
    const { get, added, simulation } = await world();
    const path = added();
    expect((await get(path)).json).toMatchObject({ ipv4: [] });
    simulation.fleet.updateServer(path.slice(SERVERS.length + 1), { ipv4: ['192.0.2.7'] });
    expect((await get(path)).json).toMatchObject({ ipv4: ['192.0.2.7'] });
  });

  it('A16: a new server is paused at first, and shows each later status', async () => {
    const { get, order, clock, simulation } = await world({ variants: { pausedMs: 2_000 } });
    const { identifier, path } = await order();
    const status = async () => ((await get(path)).json as { status: string }).status;
    clock.advance(DURATION_MS);
    expect(await status()).toBe('paused');
    clock.advance(1_999);
    expect(await status()).toBe('paused');
    clock.advance(1);
    expect(await status()).toBe('running');
    for (const shown of ['shutting down', 'shut down']) {
      simulation.fleet.updateServer(identifier, { status: shown });
      expect(await status()).toBe(shown);
    }
  });
});

describe('B: the public API agrees with the specification:', () => {
  it('a login returns a bearer token, and a refused one error and description', async () => {
    const { send, simulation } = await world();
    const { json } = await send(loginRequest(simulation.authUrl));
    expect(json).toEqual({ access_token: expect.any(String) as string, expires_in: 300, token_type: 'bearer' });
    expect(await send(loginRequest(simulation.authUrl, { keyId: 'x', secret: 'x' }))).toMatchObject({
      status: 401,
      json: { error: 'invalid_client', error_description: expect.any(String) as string },
    });
  });

  it('a token is bound to its address, and expires after its last use', async () => {
    const { call, token, get, clock } = await world();
    expect((await call(PRODUCTS, { token, address: '192.0.2.99' })).status).toBe(401);
    clock.advance(299_000);
    expect((await get(PRODUCTS)).status).toBe(200);
    clock.advance(299_000);
    expect((await get(PRODUCTS)).status).toBe(200);
    clock.advance(300_000);
    expect((await get(PRODUCTS)).status).toBe(401);
  });

  it('a create returns the task, whose first poll names the server, and whose end redirects to it', async () => {
    const { post, poll, get, clock, simulation } = await world();
    const accepted = await post(SERVERS, CREATE);
    expect([accepted.status, accepted.json]).toEqual([202, { task: 1001 }]);
    const { identifier } = simulation.aliveServers()[0] ?? {};
    expect(accepted.headers.get('location')).toBe(`${simulation.baseUrl}/beta/queue/vps/1001`);
    expect(await poll(1001)).toMatchObject({
      status: 200,
      json: { identifier, status: expect.any(String) as string },
    });
    clock.advance(DURATION_MS);
    const done = await poll(1001);
    expect([done.status, done.json]).toEqual([303, { identifier }]);
    expect((await get(done.headers.get('location') ?? '')).json).toMatchObject({ identifier });
  });

  it('a DELETE returns a message', async () => {
    const { del, added, simulation } = await world();
    expect(await del(added())).toMatchObject({ status: 200, json: { message: 'Operation successful' } });
    expect(simulation.aliveServers()).toEqual([]);
  });
});

describe('C: the public API completes the specification:', () => {
  const calls = async ({ get, post, del, poll, order, clock }: Awaited<ReturnType<typeof world>>) => {
    const { task, path } = await order();
    clock.advance(DURATION_MS);
    return {
      lists: async () => [await get(PRODUCTS), await get(IMAGES), await get(DISK_SIZES)],
      servers: async () => [await get(SERVERS), await post(SERVERS, CREATE), await post(`${SERVERS}/web1`, CREATE)],
      single: async () => [await get(path), await poll(task), await del(path)],
    };
  };
  const spelled = (answers: { status: number; json: unknown }[]) => answers.map(({ status, json }) => [status, json]);
  const three = (answer: unknown) => [answer, answer, answer];
  const DENIED = [403, NOT_AUTHORISED];

  describe('a key without the right', () => {
    it.each([{ account: 'default' }, { keyId: DEFAULT_KEY.keyId }])('%j gets 403 for every call', async (whose) => {
      const parts = await world();
      const { lists, servers, single } = await calls(parts);
      parts.simulation.accounts.restrict(whose);
      for (const some of [lists, servers, single]) expect(spelled(await some())).toEqual(three(DENIED));
      expect(await parts.login()).not.toBe(parts.token);
      expect((await parts.get(PRODUCTS, parts.theirs)).status).toBe(200);
      expect(parts.simulation.aliveServers()).toHaveLength(1);
      parts.simulation.accounts.permit(whose);
      expect((await single()).map(({ status }) => status)).toEqual([200, 303, 200]);
    });

    it('may still read the catalog with `servers`', async () => {
      const parts = await world();
      const { lists, servers, single } = await calls(parts);
      parts.simulation.accounts.restrict({ account: 'default' }, 'servers');
      expect((await lists()).map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const some of [servers, single]) expect(spelled(await some())).toEqual(three(DENIED));
    });

    it('sees single servers denied as if they did not exist with `hidden`, but not the list', async () => {
      const parts = await world();
      const { lists, servers, single } = await calls(parts);
      parts.simulation.accounts.restrict({ account: 'default' }, 'hidden');
      expect((await lists()).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(spelled(await servers())).toEqual(three(DENIED));
      expect(spelled(await single())).toEqual(three([403, NOT_THERE]));
      expect(parts.simulation.aliveServers()).toHaveLength(1);
    });

    it('sees no servers at all with `unseen`', async () => {
      const parts = await world();
      const { lists, servers, single } = await calls(parts);
      parts.simulation.accounts.restrict({ account: 'default' }, 'unseen');
      expect((await lists()).map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(spelled(await servers())).toEqual([[200, {}], DENIED, DENIED]);
      expect(spelled(await single())).toEqual(three([403, NOT_THERE]));
      expect(parts.simulation.aliveServers()).toHaveLength(1);
    });

    it('must exist, and is either an account or a key', async () => {
      const { accounts } = (await world()).simulation;
      expect(() => accounts.restrict({ account: 'none' })).toThrow('no account none');
      expect(() => accounts.restrict({ keyId: 'none' })).toThrow('no key none');
      expect(() => accounts.permit({})).toThrow('either');
    });
  });

  it('an error has a text as `error`', async () => {
    const { call, get } = await world({ rateLimit: { requests: 1, perMs: 1_000 } });
    const error = { error: expect.any(String) as string };
    expect(await call(PRODUCTS)).toMatchObject({ status: 401, json: error });
    await get(PRODUCTS);
    expect(await get(PRODUCTS)).toMatchObject({ status: 429, json: error });
  });

  it('zones are an object by code, and an order takes those that are listed', async () => {
    const { get, post } = await world({ zones: [{ code: 'lon', name: 'London', parents: ['uk'] }] });
    const lon = { name: 'London', description: 'London zone', parents: ['uk'] };
    expect(await get(ZONES)).toMatchObject({ status: 200, json: { lon } });
    expect((await post(SERVERS, { ...CREATE, zone: 'lon' })).status).toBe(202);
    expect(await post(SERVERS, { ...CREATE, zone: 'cam' })).toMatchObject({
      status: 400,
      json: { error: 'Invalid zone' },
    });
    const none = await world({ variants: { listsZones: false, missingCall: 405 } });
    expect((await none.get(ZONES)).status).toBe(405);
    const documented = await world({ api: 'documented' });
    expect((await documented.get(ZONES)).status).toBe(404);
  });

  it('a bad create gets 400 with a text', async () => {
    const { post, call, token, simulation } = await world();
    const wrong: unknown[] = [[], { ...CREATE, product: 'x' }, { ...CREATE, image: 'x' }, { ...CREATE, disk_size: 7 }];
    wrong.push({ ...CREATE, ssh_keys: 7 }, { ...CREATE, disk_type: 'tape' }, { ...CREATE, name: 7 });
    wrong.push({ ...CREATE, colour: 'red' });
    const error = { error: expect.any(String) as string };
    for (const body of wrong) expect(await post(SERVERS, body)).toMatchObject({ status: 400, json: error });
    const headers = { 'content-type': 'text/plain' };
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE, headers })).status).toBe(400);
    expect(simulation.ledger.creates()).toEqual([]);
  });

  it('the other fields of a create are accepted, and kept in the ledger', async () => {
    const { post, simulation } = await world();
    const body = {
      ...CREATE,
      ...{ name: 'a', hostname: 'a.example.com', host_server: 'host1', set_forward_dns: true, set_reverse_dns: true },
      ...{ disk_type: 'ssd', extra_cores: 1, extra_ram: 1024, ipv4: true, zone: 'cam', user_data: '1' },
      ...{
        user_data_string: '#!/bin/sh',
        cpu_mode: 'performance',
        net_device: 'e1000',
        disk_bus: 'ide',
        tablet: false,
      },
    };
    expect((await post(SERVERS, body)).status).toBe(202);
    expect(simulation.ledger.creates()[0]?.body).toEqual(body);
  });
});

describe('the sources leave open:', () => {
  it.each(CHOICES.readDenied)('D1: a GET after a DELETE gets %i, at once or after a while', async (readDenied) => {
    const { get, del, added, clock, simulation } = await world({ variants: { readDenied } });
    const [atOnce, later] = [added(), added()];
    await del(atOnce);
    expect(await get(atOnce)).toMatchObject({ status: readDenied, json: NOT_THERE });
    simulation.fleet.setLag({ cancelMs: 5_000 });
    await del(later);
    expect((await get(later)).status).toBe(200);
    clock.advance(5_000);
    expect(await get(later)).toMatchObject({ status: readDenied, json: NOT_THERE });
  });

  it.each(CHOICES.readDuringTask)('D2: a GET of a server while its task runs gets %i', async (readDuringTask) => {
    const { get, order, clock } = await world({ variants: { readDuringTask } });
    const { path } = await order();
    const error = { error: expect.any(String) as string };
    const bodies = { 200: { status: 'installing' }, 403: NOT_THERE, 404: NOT_THERE, 409: error };
    expect(await get(path)).toMatchObject({ status: readDuringTask, json: bodies[readDuringTask] });
    clock.advance(DURATION_MS);
    expect((await get(path)).status).toBe(200);
  });

  it.each(CHOICES.deleteDuringTask)('D3: a DELETE while the task runs gets %i', async (deleteDuringTask) => {
    const { del, poll, order, simulation } = await world({ variants: { deleteDuringTask } });
    const { task, path } = await order();
    const error = { error: expect.any(String) as string };
    const bodies = { 200: { message: 'Operation successful' }, 403: NOT_THERE, 404: NOT_THERE, 409: error };
    expect(await del(path)).toMatchObject({ status: deleteDuringTask, json: bodies[deleteDuringTask] });
    const isCancelled = deleteDuringTask === 200;
    expect(simulation.aliveServers()).toHaveLength(isCancelled ? 0 : 1);
    expect((await poll(task)).status).toBe(isCancelled ? 403 : 200);
  });

  it.each(CHOICES.deleteDenied)('D4: a DELETE of a server that is gone gets %i', async (deleteDenied) => {
    const { get, del, added } = await world({ variants: { deleteDenied } });
    const path = added();
    await del(path);
    expect(await del(path)).toMatchObject({ status: deleteDenied, json: NOT_THERE });
    expect((await get(path)).status).toBe(403);
  });

  it.each(CHOICES.sameOrder)('D5: an equal order for an identifier while the task runs gets %i', async (sameOrder) => {
    const { post, clock, theirs, simulation } = await world({ variants: { sameOrder } });
    const first = await post(`${SERVERS}/web1`, CREATE);
    const reordered = Object.fromEntries(Object.entries(CREATE).reverse());
    const second = await post(`${SERVERS}/web1`, reordered);
    expect(second.status).toBe(sameOrder);
    if (sameOrder === 202) expect(second.json).toEqual(first.json);
    expect((await post(`${SERVERS}/web1`, { ...CREATE, name: 'other' })).status).toBe(409);
    expect((await post(`${SERVERS}/web1`, CREATE, theirs)).status).toBe(409);
    clock.advance(DURATION_MS);
    expect((await post(`${SERVERS}/web1`, CREATE)).status).toBe(409);
    expect(simulation.ledger.creates()).toHaveLength(1);
  });

  describe('D5: an order for an identifier that is reserved only after the 202', () => {
    const late = (secondOrder: 'fails' | 'wins') =>
      world({ variants: { nameReservedAfterMs: 10_000, secondOrder, readDuringTask: 200 } });

    it('is shown by no call until then, and then keeps other orders out', async () => {
      const { get, del, post, clock } = await late('fails');
      await post(`${SERVERS}/web1`, CREATE);
      expect((await get(`${SERVERS}/web1`)).status).toBe(403);
      expect((await del(`${SERVERS}/web1`)).status).toBe(403);
      expect((await get(SERVERS)).json).toEqual({});
      clock.advance(10_000);
      expect((await get(`${SERVERS}/web1`)).status).toBe(200);
      expect(Object.keys((await get(SERVERS)).json as object)).toEqual(['web1']);
      expect((await post(`${SERVERS}/web1`, CREATE)).status).toBe(409);
    });

    it.each(CHOICES.secondOrder)('leads to one server, whichever task fails; the second one %s', async (second) => {
      const { get, post, poll, clock, simulation } = await late(second);
      const tasks: number[] = [];
      for (let count = 0; count < 2; count += 1) {
        const answer = await post(`${SERVERS}/web1`, CREATE);
        expect(answer.status).toBe(202);
        tasks.push((answer.json as { task: number }).task);
      }
      clock.advance(DURATION_MS);
      const statuses = await Promise.all(tasks.map(async (task) => (await poll(task)).status));
      expect(statuses).toEqual(second === 'fails' ? [303, 500] : [500, 303]);
      expect((await get(`${SERVERS}/web1`)).status).toBe(200);
      expect(simulation.aliveServers()).toHaveLength(1);
      expect(simulation.ledger.creates()).toHaveLength(2);
    });
  });

  it.each([0, 30_000, Infinity])(
    'D5: the identifier of a failed order stays in use for %s ms',
    async (failedNameMs) => {
      const { post, clock, simulation } = await world({ variants: { failedNameMs } });
      const answer = await post(`${SERVERS}/web1`, CREATE);
      simulation.fleet.failTask((answer.json as { task: number }).task, { afterMs: 1_000 });
      const again = async (ms: number) => {
        clock.advance(ms);
        return (await post(`${SERVERS}/web1`, CREATE)).status;
      };
      if (failedNameMs > 0) expect(await again(10_000)).toBe(409);
      expect(await again(60_000)).toBe(failedNameMs === Infinity ? 409 : 202);
    },
  );

  it.each(CHOICES.heldStatus)('a proxy holds back every second order, and answers %i', async (heldStatus) => {
    const { post, clock, simulation } = await world({ variants: { heldEvery: 2, heldMs: 60_000, heldStatus } });
    expect((await post(`${SERVERS}/web1`, CREATE)).status).toBe(202);
    expect((await post(`${SERVERS}/web2`, CREATE)).status).toBe(heldStatus);
    expect(simulation.aliveServers().map(({ identifier }) => identifier)).toEqual(['web1']);
    clock.advance(60_000);
    await Promise.resolve();
    expect(simulation.aliveServers().map(({ identifier }) => identifier)).toEqual(['web1', 'web2']);
  });

  it.each(CHOICES.taskDenied)('D6: an unknown task gets %i, and a finished one after a while', async (taskDenied) => {
    const variants: VariantOptions = { taskDenied, taskRememberedMs: 10_000 };
    const { poll, order, clock, theirs, get, simulation } = await world({ variants });
    const [{ task, path }, { task: failed }] = [await order(), await order()];
    expect(await poll(9)).toMatchObject({ status: taskDenied, json: NOT_THERE });
    expect(await poll(task, theirs)).toMatchObject({ status: taskDenied, json: NOT_THERE });
    clock.advance(DURATION_MS - 1);
    simulation.fleet.failTask(failed);
    clock.advance(10_000);
    expect([(await poll(task)).status, (await poll(failed)).status]).toEqual([303, taskDenied]);
    clock.advance(1);
    expect(await poll(task)).toMatchObject({ status: taskDenied, json: NOT_THERE });
    expect((await get(path)).status).toBe(200);
  });

  describe('D7: an order of a product that is out of stock', () => {
    it.each([503, 400] as const)('gets %i', async (outOfStock) => {
      const { post, get, simulation } = await world({ variants: { outOfStock } });
      simulation.provider.setStock(CREATE.product, false);
      for (const path of [SERVERS, `${SERVERS}/web1`]) {
        const error = { error: expect.any(String) as string };
        expect(await post(path, CREATE)).toMatchObject({ status: outOfStock, json: error });
      }
      expect(simulation.ledger.creates()).toEqual([]);
      expect((await get(PRODUCTS)).json).toHaveProperty(CREATE.product);
      simulation.provider.setStock(CREATE.product, true);
      expect((await post(SERVERS, CREATE)).status).toBe(202);
    });

    it.each([true, false])('is accepted, and its task fails; it names the server first: %s', async (isNamed) => {
      const variants: VariantOptions = {
        outOfStock: 'task',
        taskFailsAfterMs: DURATION_MS + 5_000,
        failedTaskIdentifier: isNamed,
      };
      const { poll, order, clock, simulation } = await world({ variants });
      simulation.provider.setStock(CREATE.product, false);
      const { task, identifier } = await order();
      for (const ms of [DURATION_MS, 4_999]) {
        clock.advance(ms);
        const { status, json } = await poll(task);
        expect(status).toBe(200);
        expect((json as { identifier?: string }).identifier).toBe(isNamed ? identifier : undefined);
        expect(simulation.aliveServers()).toMatchObject([{ identifier, state: 'creating' }]);
      }
      clock.advance(1);
      expect(await poll(task)).toMatchObject({ status: 500, json: { error: expect.any(String) as string } });
      expect(simulation.fleet.history()).toMatchObject([{ state: 'failed', endedAt: clock.now() }]);
    });
  });

  describe('D8: the 500 of a failed task', () => {
    it.each<[VariantOptions['failedTask'], number[]]>([
      ['error', [500, 500, 500]],
      ['error-then-denied', [500, 403, 403]],
      ['error-then-pending', [500, 200, 200]],
      ['text', [200, 200, 200]],
    ])('with `%s` is answered as %j', async (failedTask, statuses) => {
      const { poll, order, clock, simulation } = await world({ variants: { failedTask } });
      const { task } = await order();
      simulation.fleet.failTask(task, { text: 'No space left' });
      const first = await poll(task);
      expect(first.text).toContain('No space left');
      expect([first.status, (await poll(task)).status, (await poll(task)).status]).toEqual(statuses);
      clock.advance(DURATION_MS);
      const isPassing = failedTask === 'error-then-pending';
      expect((await poll(task)).status).toBe(isPassing ? 303 : statuses[2]);
      expect(simulation.aliveServers()).toHaveLength(isPassing ? 1 : 0);
    });

    it('can be chosen for one task, and with the documented API', async () => {
      const { poll, order, simulation } = await world({ api: 'documented' });
      const [{ task: one }, { task: other }] = [await order(), await order()];
      simulation.fleet.failTask(one, { text: 'No', as: 'error' });
      simulation.fleet.failTask(other, { text: 'No' });
      expect(await poll(one)).toMatchObject({ status: 500, json: { message: 'No' } });
      expect(await poll(other)).toMatchObject({ status: 200, json: { status: 'No' } });
    });

    it('ends when the task is completed by hand before it fails', async () => {
      const { poll, order, clock, simulation } = await world();
      const { task } = await order();
      simulation.fleet.failTask(task, { afterMs: 5_000 });
      simulation.fleet.completeTask(task);
      clock.advance(5_000);
      expect((await poll(task)).status).toBe(303);
      expect(simulation.aliveServers()).toMatchObject([{ state: 'running' }]);
    });
  });

  it.each<[VariantOptions['taskOfCancelled'], number]>([
    ['remembered', 303],
    ['forgotten', 403],
  ])('D9: the task of a cancelled server is %s: %i', async (taskOfCancelled, status) => {
    const { poll, del, order, clock, login } = await world({ variants: { taskOfCancelled } });
    const { task, path } = await order();
    clock.advance(DURATION_MS);
    expect((await poll(task)).status).toBe(303);
    await del(path);
    expect((await poll(task)).status).toBe(status);
    clock.advance(1e9);
    expect((await poll(task, await login())).status).toBe(status);
  });
});
