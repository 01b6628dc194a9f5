/** Answers as the public service gives them: keyed lists, a 403 for a server that does not exist, a list of servers. */
import { describe, expect, it } from 'vitest';
import { accountName } from '../../../src/provider/account.ts';
import { Endpoints } from '../../../src/provider/endpoints.ts';
import { realTimers } from '../../../src/base/timers.ts';
import { PagedList } from '../../../src/provider/paged-list.ts';
import { errorOf, sessionFor, startStub, type StubProvider } from './stub-provider.ts';

const PRODUCTS = {
  VPSX4: { code: 'VPSX4', name: 'VPS 4', family: 'vpsx', period: 'on-demand', specs: { cores: 1, ram: 2048 } },
  VPSX8: { name: 'VPS 8', specs: { ram: 4096 } },
};
const IMAGES = {
  'cloudinit-debian-trixie.raw.gz': { name: 'cloudinit-debian-trixie.raw.gz', description: 'Debian 13' },
  'cloudinit-ubuntu-noble.raw.gz': { description: 'Ubuntu 24.04' },
};

async function withLists(products: unknown, images: unknown = IMAGES): Promise<StubProvider> {
  const stub = await startStub();
  stub.on('GET /beta/vps/products', { status: 200, body: products });
  stub.on('GET /beta/vps/images', { status: 200, body: images });
  stub.on('GET /beta/vps/disk-sizes', { status: 200, body: { hdd: [20480], ssd: [5120, 10240] } });
  return stub;
}

describe('a list that is an object', () => {
  it('has an entry for each valid value, and the key replaces a missing code or name', async () => {
    const stub = await withLists({ ...PRODUCTS, broken: 'x', VPSX0: { code: 7 }, VPSX1: null });
    const catalog = await sessionFor(stub).catalog(0);
    expect(catalog.products).toEqual([
      { code: 'VPSX4', ram: 2048, period: 'on-demand' },
      { code: 'VPSX8', ram: 4096 },
    ]);
    expect(catalog.images.map(({ name }) => name)).toEqual(Object.keys(IMAGES));
    expect(catalog.shapes).toEqual({ products: 'Object', images: 'Object' });
  });

  it('has the key where a code or name is null or empty', async () => {
    const stub = await withLists({ VPSX4: { code: null }, VPSX8: { code: '' } }, { 'x.raw.gz': { name: null } });
    const { products, images } = await sessionFor(stub).catalog(0);
    expect(products.map(({ code }) => code)).toEqual(['VPSX4', 'VPSX8']);
    expect(images.map(({ name }) => name)).toEqual(['x.raw.gz']);
  });

  it('keeps the code of the value where the key is another one', async () => {
    const stub = await withLists({ a: { code: 'VPSX4' } });
    expect(await sessionFor(stub).products()).toEqual([{ code: 'VPSX4', ram: undefined }]);
  });

  it.each([
    {},
    { error: 'Not authorised' },
    { error: { message: 'Not authorised', status: 403 } },
    { error: { code: 'forbidden', name: 'forbidden' } },
    { errors: { product: {} } },
    { message: 'maintenance', status: 503 },
    { products: [{ code: 'VPSX4' }] },
    { VPSX4: 'sold out' },
  ])('is a protocol error without one valid value: %j', async (body) => {
    const products = await withLists(body);
    expect(await errorOf(sessionFor(products).products())).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
    const images = await withLists(PRODUCTS, body);
    expect(await errorOf(sessionFor(images).catalog(0))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });
});

const SERVER = '/beta/vps/servers/web1';
const TASK = '/beta/queue/vps/7';

describe('the list of hosts', () => {
  it.each([
    [{ h1: { name: 'Host one', free_ram: 1 }, h2: {}, message: 'x' }, ['Host one', 'h2', 'h1']],
    [[{ name: 'h1' }, { name: '' }, 'h2'], ['h1']],
  ])('has each name and key: %j', async (body, names) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/hosts', { status: 200, body });
    expect((await sessionFor(stub).hosts(0)).list).toEqual(names);
  });
});

describe('the list of zones', () => {
  it.each([
    [
      'an object by code',
      { lon: { name: 'London', description: 'London zone', parents: ['uk'] }, cam: { name: 'Cambridge' }, x: 'odd' },
    ],
    [
      'an array',
      [
        { code: 'lon', name: 'London', description: 'London zone', parents: ['uk'] },
        { code: 'cam', description: 'Cambridge' },
      ],
    ],
  ])('has each zone, and the zones that contain it: %s', async (_form, body) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/zones', { status: 200, body });
    expect((await sessionFor(stub).zones(0)).list).toEqual([
      { code: 'lon', description: 'London zone' },
      { code: 'uk', description: undefined },
      { code: 'cam', description: 'Cambridge' },
    ]);
  });
});

describe('a 403', () => {
  const answers = async (body: unknown): Promise<Error[]> => {
    const stub = await startStub();
    const reply = { status: 403, body };
    stub.on(`GET ${SERVER}`, reply);
    stub.on(`DELETE ${SERVER}`, reply);
    stub.on(`GET ${TASK}`, reply);
    const session = sessionFor(stub);
    return Promise.all([
      errorOf(session.readServer('web1', 'high')),
      errorOf(session.deleteServer('web1')),
      errorOf(session.pollTask(7)),
    ]);
  };

  it.each([
    { error: 'Server does not exist or access denied' },
    { error: 'server DOES NOT EXIST, or access denied.' },
    { error: "The server doesn't exist" },
    { message: 'Not authorised or does not exist' },
    { error: 'Server client1 does not exist' },
    { error: 'Server user-1 does not exist or access denied' },
    { error: 'Customer 12: server does not exist or access denied' },
    { error: 'Does not exist' },
    { error: 'VPS c31222v38r does not exist' },
    'Task does not exist',
  ])('denies the server or task if its text does: %j', async (body) => {
    for (const error of await answers(body)) expect(error).toMatchObject({ code: 'PROVIDER_NOT_FOUND', status: 403 });
  });

  it.each([
    { error: 'Not authorised' },
    { error: 'Access denied' },
    { error: 'The API key does not exist' },
    { error: 'Account does not exist or is suspended' },
    { error: 'The server exists, but the key may not read it' },
    { error: 'This page does not exist' },
    { error: 'Your subscription does not exist' },
    { error: 'Your access to virtual servers does not exist any longer' },
    { error: 'Your IP address does not exist in the allow list' },
    { error: 'The right to servers does not exist' },
    '<html><body>Server does not exist</body></html>',
    '',
    {},
  ])('is about the rights of the key otherwise: %j', async (body) => {
    for (const error of await answers(body)) expect(error).toMatchObject({ code: 'PROVIDER_FORBIDDEN', status: 403 });
  });

  it.each(['products', 'images', 'disk-sizes'])('of the list of %s is about the rights of the key', async (list) => {
    const stub = await withLists(PRODUCTS);
    stub.on(`GET /beta/vps/${list}`, { status: 403, body: { error: 'Not authorised' } });
    const error = await errorOf(sessionFor(stub).catalog(0));
    expect(error).toMatchObject({ code: 'PROVIDER_FORBIDDEN', said: 'Not authorised' });
  });
});

describe('the list of servers', () => {
  const listed = async (reply: { status: number; body?: unknown }) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/servers', reply);
    return sessionFor(stub).servers();
  };

  it('has the identifiers of the account, in any spelling', async () => {
    const body = { web1: { identifier: 'web1', product: 'VPSX4', name: null }, Db2: { product: 'VPSX8' } };
    expect([...((await listed({ status: 200, body })) ?? [])]).toEqual(['web1', 'db2']);
  });

  it.each<[unknown, object[]]>([
    [
      {
        web1: { identifier: 'web1', product: 'VPSX4', name: 'default/web (0123abcd)' },
        Db2: { product: 8, name: null },
      },
      [{ identifier: 'web1', product: 'VPSX4', name: 'default/web (0123abcd)' }, { identifier: 'Db2' }],
    ],
    [
      [{ identifier: 'web1', name: 'a' }, 'web2'],
      [{ identifier: 'web1', name: 'a' }, { identifier: 'web2' }],
    ],
    [
      { 1: { identifier: 'web1' }, web2: '/beta/vps/servers/web2' },
      [{ identifier: 'web1', alias: '1' }, { identifier: 'web2' }],
    ],
    [{ web1: { name: 'my hunter2hunter2' } }, [{ identifier: 'web1', name: 'my ***' }]],
    [{}, []],
  ])('tells what each server is: %j', async (body, servers) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/servers', { status: 200, body });
    const found = await sessionFor(stub, {}, { keyId: 'k', secret: 'hunter2hunter2' }).listedServers(0);
    expect(found?.map((server) => JSON.parse(JSON.stringify(server)) as object)).toEqual(servers);
  });

  it('tells nothing if there is none, or if it is another answer', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/servers', { status: 404, body: {} });
    expect(await sessionFor(stub).listedServers(0)).toBeUndefined();
    stub.on('GET /beta/vps/servers', { status: 200, body: { error: 'later' } });
    expect(await errorOf(sessionFor(stub).listedServers(0))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });

  it.each([
    [{ web1: { identifier: 'web1', status: 'Cancelled' }, web2: { product: 'VPSX4', status: 'deleted ' }, web3: {} }],
    [[{ identifier: 'web1', status: 'destroyed' }, 'web3', { identifier: 'web2', status: 'removed' }]],
  ])('has no servers that it says are cancelled: %j', async (body) => {
    expect([...((await listed({ status: 200, body })) ?? [])]).toEqual(['web3']);
    const stub = await startStub();
    stub.on('GET /beta/vps/servers', { status: 200, body });
    const servers = await sessionFor(stub).listedServers(0);
    expect(servers?.map(({ identifier }) => identifier)).toEqual(['web3']);
  });

  it('has those that are being cancelled, or are off', async () => {
    const body = {
      web1: { identifier: 'web1', status: 'cancelling' },
      web2: { product: 'VPSX4', status: 'shut down' },
      // These words mean "off" or "not made yet" to some providers.
      web3: { product: 'VPSX4', status: 'terminated' },
      web4: { product: 'VPSX4', status: 'unprovisioned' },
    };
    expect(await listed({ status: 200, body })).toEqual(new Set(['web1', 'web2', 'web3', 'web4']));
  });

  it.each([{}, []])('may be empty: %j', async (body) => {
    expect(await listed({ status: 200, body })).toEqual(new Set());
  });

  it.each<[unknown, string[]]>([
    [
      [{ identifier: 'web1' }, 'web2'],
      ['web1', 'web2'],
    ],
    [{ web1: null, web2: {} }, ['web1', 'web2']],
    [{ web1: { identifier: null }, web2: { identifier: 5 } }, ['web1', 'web2', '5']],
    [{ web1: '/beta/vps/servers/web1' }, ['web1']],
    [{ 1: { identifier: 'web1' } }, ['1', 'web1']],
  ])('drops no server, since absence is read off it: %j', async (body, identifiers) => {
    expect(await listed({ status: 200, body })).toEqual(new Set(identifiers));
  });

  it.each([
    [{ identifier: 'web1' }, { name: 'x' }],
    [null],
    { servers: { web1: {} } },
    { servers: [] },
    { servers: {} },
    { data: null },
    { status: 'unavailable' },
    { success: false, code: 403, reason: 'no such account' },
    { message: 'maintenance' },
    { error: { code: 'forbidden' } },
    { error: { message: 'no such account', status: 'deleted' } },
    [{ status: 'deleted' }],
  ])('is a protocol error if it may contain unreadable servers: %j', async (body) => {
    expect(await errorOf(listed({ status: 200, body }))).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });

  it.each([404, 405, 501])('does not exist where the provider answers %i', async (status) => {
    expect(await listed({ status, body: { error: 'no such path' } })).toBeUndefined();
  });

  it.each<[number, unknown, string]>([
    [403, { error: 'Not authorised' }, 'PROVIDER_FORBIDDEN'],
    [500, { error: 'oops' }, 'PROVIDER_RESPONSE'],
    [200, { error: 'Not authorised' }, 'PROVIDER_PROTOCOL'],
    [200, '<html>', 'PROVIDER_PROTOCOL'],
    [200, 'null', 'PROVIDER_PROTOCOL'],
    [302, '', 'PROVIDER_PROTOCOL'],
  ])('is unknown after %i %j', async (status, body, code) => {
    expect(await errorOf(listed({ status, body }))).toMatchObject({ code });
  });
});

describe('whether the list of servers has servers on their way', () => {
  const runs = (): Promise<boolean> => Promise.resolve(true);
  const account = async (...lists: unknown[]) => {
    const stub = await startStub();
    let reads = 0;
    stub.on('GET /beta/vps/servers', (_request, response) => {
      const body = lists[Math.min(reads, lists.length - 1)];
      reads += 1;
      response
        .writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
        .end(JSON.stringify(body ?? {}));
    });
    let now = 0;
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    return { session, reads: () => reads, after: (ms: number) => (now += ms) };
  };

  it('is known once it was seen, and not asked again for a while', async () => {
    const { session, reads } = await account({ web1: { identifier: 'web1' } });
    expect(session.listsCreating()).toBe(false);
    await session.learnListing('WEB1', runs);
    await session.learnListing('web2', runs);
    expect(session.listsCreating()).toBe(true);
    expect(reads()).toBe(1);
  });

  it('is asked again only after a while if the list does not have the server yet', async () => {
    const { session, reads, after } = await account({}, { web1: { identifier: 'web1' } });
    await session.learnListing('web1', runs);
    await session.learnListing('web1', runs);
    expect([session.listsCreating(), reads()]).toEqual([false, 1]);
    after(600_001);
    await session.learnListing('web1', runs);
    expect([session.listsCreating(), reads()]).toEqual([true, 2]);
  });

  it('is believed no longer if a later list does not have a server whose task runs', async () => {
    const { session, reads, after } = await account({ web1: { identifier: 'web1' } });
    await session.learnListing('web1', runs);
    after(600_001);
    await session.learnListing('web2', runs);
    expect([session.listsCreating(), reads()]).toEqual([false, 2]);
    after(600_001);
    await session.learnListing('web1', runs);
    expect([session.listsCreating(), reads()]).toEqual([true, 3]);
  });

  it.each([{ error: 'later' }, undefined])('is believed on if the list cannot be read later (%j)', async (body) => {
    const { session, after } = await account({ web1: { identifier: 'web1' } }, body);
    await session.learnListing('web1', runs);
    after(600_001);
    await session.learnListing('web2', runs);
    expect(session.listsCreating()).toBe(true);
  });

  it('stays unknown if the task has ended by then', async () => {
    const { session } = await account({ web1: { identifier: 'web1' } });
    await session.learnListing('web1', () => Promise.resolve(false));
    expect(session.listsCreating()).toBe(false);
  });

  it('stays unknown without a list', async () => {
    const { session } = await account(undefined);
    await session.learnListing('web1', runs);
    expect(session.listsCreating()).toBe(false);
  });
});

describe('a base URL', () => {
  const at = (base: string): Endpoints => new Endpoints(base, 'https://auth.example');

  it.each([
    ['https://api.example', 'https://api.example/beta'],
    ['https://api.example', 'https://api.example/beta/'],
    ['https://api.example/p', 'https://api.example/p/beta//'],
  ])('%s is the same provider as %s', (plain, versioned) => {
    expect(at(versioned).base).toBe(plain);
    expect(at(versioned).products).toEqual(at(plain).products);
    expect(at(versioned).task(7)).toEqual(at(plain).task(7));
    expect(accountName(at(versioned).base, 'key')).toBe(accountName(plain, 'key'));
  });

  it('keeps a prefix that only ends like the version', () => {
    expect(at('https://api.example/alphabeta').products.path).toBe('/alphabeta/beta/vps/products');
  });
});

describe('a list of servers', () => {
  const srv1 = { identifier: 'srv1', product: 'VPSX4' };
  const listing = async (reply: { body?: unknown; headers?: Record<string, string> }) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/servers', { status: 200, ...reply });
    return sessionFor(stub, {}, { keyId: 'k', secret: 'hunter2hunter2' });
  };

  const pageOf = async (asked: Promise<unknown>): Promise<PagedList> => {
    const error = await errorOf(asked);
    if (!(error instanceof PagedList)) throw error;
    return error;
  };

  it.each<[string, { body: object; headers?: Record<string, string> }]>([
    ['the next page in a header', { body: { srv1 }, headers: { link: '</beta/vps/servers?page=2>; rel="next"' } }],
    ['the next page of an array in a header', { body: [srv1], headers: { link: '</servers?page=2>; rel=next' } }],
    ['the next page in another header', { body: { srv1 }, headers: { 'x-next-page': '2' } }],
    ['more servers in a header', { body: [srv1], headers: { 'x-total-count': '2' } }],
    ['more servers in another header', { body: { srv1 }, headers: { 'content-range': 'servers 0-0/2' } }],
    ['more pages in a header', { body: { srv1 }, headers: { 'x-total-pages': '2' } }],
    ['the next page', { body: { srv1, next: '/beta/vps/servers?page=2' } }],
    ['the next page by its number', { body: { srv1, next_page: 2 } }],
    ['the next page as an object', { body: { srv1, next: { href: '/beta/vps/servers?page=2' } } }],
    ['a cursor', { body: { srv1, cursor: 'abc' } }],
    ['a link to the next page', { body: { srv1, links: { self: '/a', next: '/beta/vps/servers?page=2' } } }],
    ['a link to the next page in a list', { body: { srv1, _links: [{ rel: 'next', href: '/b' }] } }],
    ['more pages', { body: { srv1, meta: { page: 1, pages: 2 } } }],
    ['more pages, deeper inside', { body: { srv1, meta: { pagination: { total_pages: 2 } } } }],
    ['more servers', { body: { srv1, total: 2 } }],
    ['that there is more', { body: { srv1, has_more: true } }],
  ])('is one page that proves what it has, and no absence, if it says: %s', async (_what, reply) => {
    const session = await listing(reply);
    for (const { code, message, identifiers, servers } of [
      await pageOf(session.servers()),
      await pageOf(session.listedServers(0)),
    ]) {
      expect(code).toBe('PROVIDER_PROTOCOL');
      expect(message).toContain('one page of a list');
      expect([...identifiers]).toEqual(['srv1']);
      expect(servers).toMatchObject([srv1]);
    }
    expect(session.listsServers()).toBe(true);
    // Orders can name an identifier wherever there is a list.
    expect(await session.ordersNamed()).toBe(true);
  });

  it('is one page without a secret in its texts', async () => {
    const session = await listing({ body: { srv1: { ...srv1, name: 'my hunter2hunter2' }, has_more: true } });
    const { servers } = await pageOf(session.listedServers(0));
    expect(servers).toMatchObject([{ name: 'my ***' }]);
  });

  it.each<[string, object, string[]]>([
    ['says how many it has', { srv1, total: 1 }, ['srv1']],
    ['says that as text', { srv1, total_count: '1' }, ['srv1']],
    ['counts a server that is gone', { srv1, old: { product: 'VPSX4', status: 'cancelled' }, total: 2 }, ['srv1']],
    ['says that nothing follows', { srv1, next: null, has_more: false, cursor: '' }, ['srv1']],
    ['has one page', { srv1, meta: { page: 1, pages: 1 } }, ['srv1']],
    ['has meta for a request', { srv1, meta: { request_id: 'r1' } }, ['srv1']],
    ['has deeper meta', { srv1, meta: { pagination: { total: 1 } } }, ['srv1']],
    ['names itself', { srv1, links: { self: '/beta/vps/servers', next: null } }, ['srv1']],
    ['has a server with this identifier', { srv1, next: { product: 'VPSX4' } }, ['srv1', 'next']],
    ['has it with few fields', { srv1, next: { name: 'x', status: 'running' } }, ['srv1', 'next']],
    ['has servers with such identifiers, and a name', { next: { name: 'x' }, total: { name: 'y' } }, ['next', 'total']],
    ['has such a server as a container', { meta: { status: 'running' }, pages: '/servers/pages' }, ['meta', 'pages']],
    ['is empty', { total: 0, next: null, meta: {} }, []],
  ])('is whole if it %s', async (_what, body, identifiers) => {
    const totals = {
      'x-total-count': String(identifiers.length),
      'x-total-pages': '1',
      'content-range': 'servers 0-*/*',
    };
    const session = await listing({ body, headers: { link: '</beta/vps>; rel="up"', 'x-next-page': '', ...totals } });
    expect([...((await session.servers()) ?? [])]).toEqual(identifiers);
    const servers = await session.listedServers(0);
    expect(servers?.map(({ identifier }) => identifier)).toEqual(identifiers);
    expect(session.listsServers()).toBe(true);
  });

  it('is not known as a whole for ten minutes after one page of it, or until it is shown whole', async () => {
    const stub = await startStub();
    let now = 0;
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    expect(session.listsAll()).toBe(false);
    for (const [body, afterMs, isAll] of [
      [{ srv1 }, 0, true],
      [{ srv1, has_more: true }, 0, false],
      [{ srv1, has_more: true }, 599_999, false],
      [{ srv1, has_more: true }, 600_000, true],
      [{ srv1 }, 0, true],
    ] as const) {
      stub.on('GET /beta/vps/servers', { status: 200, body });
      await session.servers().catch(() => undefined);
      now += afterMs;
      expect([session.listsServers(), session.listsAll()]).toEqual([true, isAll]);
    }
  });

  it('does not cease to exist, if only one page of it was seen', async () => {
    const stub = await startStub();
    const session = sessionFor(stub);
    stub.on('GET /beta/vps/servers', { status: 200, body: { srv1, has_more: true } });
    await errorOf(session.servers());
    stub.on('GET /beta/vps/servers', { status: 404, body: {} });
    expect(await errorOf(session.servers())).toMatchObject({ code: 'PROVIDER_PROTOCOL' });
  });
});
