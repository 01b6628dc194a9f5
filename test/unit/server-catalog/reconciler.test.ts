import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION, RECONCILE_AT_ANNOTATION, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import { formatRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Accounts } from '../../../src/accounts/accounts.ts';
import { EventRecorder } from '../../../src/controller/event-recorder.ts';
import { CatalogReconciler } from '../../../src/server-catalog/reconciler.ts';
import { Operator } from '../../../src/operator.ts';
import { ProviderError, ResponseError } from '../../../src/provider/error.ts';
import type { Catalog, OrdersGo, OrdersTold, Session } from '../../../src/provider/types.ts';
import { fakeKube, fakeSession } from '../../fixtures/doubles.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { OPERATOR } from '../../fixtures/operator.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const HOUR_MS = 3_600_000;

/** Runs everything that does not have to wait for a clock. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A running operator over these catalogs and one paused server, each Secret with a key of its name. */
async function running(
  catalogs: ServerCatalog[],
  product = 'a',
  calls: Partial<Session> = {},
  others: VirtualServer[] = [],
  onTold: (told: OrdersTold | undefined) => void = () => undefined,
) {
  const timers = new FakeTimers();
  timers.chance = 1;
  const lists: Catalog = {
    products: [{ code: product }],
    images: [],
    diskSizes: {},
    shapes: { products: 'Object', images: 'Array' },
  };
  const session = fakeSession({ catalog: () => Promise.resolve(lists), ...calls });
  /** The key IDs for which an account was created. */
  const accounts: string[] = [];
  const paused = stored('web', storedWith({ metadata: { annotations: { [PAUSED_ANNOTATION]: 'true' } } }));
  const servers = feedOf(paused, ...others);
  const shelf = feedOf(...catalogs);
  const operator = new Operator({
    ...OPERATOR,
    kube: fakeKube({
      getSecret: (_namespace, name) => Promise.resolve({ data: { keyId: name, secret: 's' }, resourceVersion: '1' }),
      writeStatus: (_version, status) => Promise.resolve({ ...paused, status }),
    }),
    servers: servers.informer,
    catalogs: {
      informer: shelf.informer,
      client: {
        writeStatus: ({ name }, status) =>
          Promise.resolve(shelf.put({ ...(shelf.get(name) ?? storedCatalog(name)), status })),
      },
    },
    provider: fakeProvider(
      () => session,
      ({ keyId }, told) => {
        accounts.push(keyId);
        onTold(told);
        return {};
      },
    ),
    journal: await openJournal({ dir: undefined }),
    timers,
  });
  await operator.start();
  await settled();
  const products = (name: string) => shelf.get(name)?.status?.products?.map(({ code }) => code);
  const pass = async (ms: number): Promise<void> => {
    timers.advance(ms);
    await settled();
  };
  return { servers, shelf, accounts, lists, products, pass };
}

describe('the key of a catalog', () => {
  it('is kept while a catalog uses it, even if no server does, and forgotten within a minute after the catalog is gone', async () => {
    const leaving = storedCatalog('leaving', { secret: 'old' });
    const staying = storedCatalog('staying', { secret: 'used' });
    const { shelf, accounts, pass } = await running([staying, leaving]);
    expect(accounts.sort()).toEqual(['old', 'used']);
    shelf.remove(leaving);
    await pass(61_000);
    for (const [name, secret] of [
      ['again', 'old'],
      ['another', 'used'],
    ] as const) {
      shelf.put(storedCatalog(name, { secret }));
      await pass(0);
    }
    expect(accounts).toEqual(['old', 'used', 'old']);
  });
});

describe('the list of servers', () => {
  const readyOf = ({ status }: ServerCatalog) => status?.conditions?.find(({ type }) => type === 'Ready');

  it.each<[string, Session['servers'], string]>([
    ['is there', () => Promise.resolve(new Set(['vs1'])), 'Available'],
    ['is empty', () => Promise.resolve(new Set()), 'Available'],
    ['does not exist', () => Promise.resolve(undefined), 'Unavailable'],
    [
      'is not for this key',
      () => Promise.reject(new ResponseError(403, 'Not authorised', { code: 'PROVIDER_FORBIDDEN' })),
      'Forbidden',
    ],
    ['cannot be read now', () => Promise.reject(new ResponseError(503, 'later')), 'Unknown'],
    ['has an unknown form', () => Promise.reject(new ProviderError('PROVIDER_PROTOCOL', 'what?')), 'Unknown'],
    ['is not answered', () => Promise.reject(new ProviderError('PROVIDER_TIMEOUT', 'no answer')), 'Unknown'],
  ])('that %s leaves the catalog Ready', async (_what, servers, serverList) => {
    const { shelf, products } = await running([storedCatalog('c')], 'a', { servers });
    const catalog = shelf.get('c') as ServerCatalog;
    expect(catalog.status?.provider).toMatchObject({ productList: 'Object', imageList: 'Array', serverList });
    expect(readyOf(catalog)).toMatchObject({ status: 'True', reason: 'Available' });
    expect(products('c')).toEqual(['a']);
  });

  it('is not asked for with a key that cannot read the other lists', async () => {
    const refusal = new ResponseError(403, 'Not authorised', { code: 'PROVIDER_FORBIDDEN' });
    const { shelf } = await running([storedCatalog('c')], 'a', {
      catalog: () => Promise.reject(refusal),
      servers: () => Promise.reject(new Error('was asked for')),
    });
    const catalog = shelf.get('c') as ServerCatalog;
    expect(readyOf(catalog)).toMatchObject({ status: 'False', reason: 'PermissionDenied' });
    expect(catalog.status).not.toHaveProperty('provider');
  });
});

describe('the way of orders', () => {
  it('is shown, and shown again as soon as it changes', async () => {
    let way: OrdersGo = 'named';
    let told: OrdersTold | undefined;
    const calls = { ordersGo: () => way };
    const { shelf, pass } = await running([storedCatalog('c')], 'a', calls, [], (tell) => (told = tell));
    expect(shelf.get('c')?.status?.provider?.orders).toBe('Named');
    way = 'refused';
    told?.('refused', 'named');
    await pass(0);
    expect(shelf.get('c')?.status?.provider?.orders).toBe('Anonymous');
  });

  it('is not read twice if the read itself changes it', async () => {
    let reads = 0;
    let told: OrdersTold | undefined;
    const calls = {
      servers: () => {
        reads += 1;
        told?.('named', 'unknown');
        return Promise.resolve(new Set<string>());
      },
    };
    const { pass } = await running([storedCatalog('c')], 'a', calls, [], (tell) => (told = tell));
    await pass(0);
    expect(reads).toBe(1);
  });
});

describe('the servers of a catalog', () => {
  const listed = (...identifiers: string[]) => Promise.resolve(identifiers.map((identifier) => ({ identifier })));
  const holding = (name: string, identifier: string): VirtualServer => {
    const record = formatRecord({ owner: `uid-of-${name}`, mode: 'adopt', account: 'acc', identifier });
    const annotations = { [PAUSED_ANNOTATION]: 'true', [RECORD_ANNOTATION]: record };
    return stored(name, storedWith({ metadata: { annotations, finalizers: [FINALIZER] } }));
  };
  const statesOf = (catalog: ServerCatalog | undefined) =>
    catalog?.status?.servers?.map(({ identifier, state }) => [identifier, state]);

  it('are not shown, nor is the list read for them, unless spec asks for it', async () => {
    const { shelf } = await running([storedCatalog('c')], 'a', {
      servers: () => Promise.resolve(new Set(['vs1'])),
      listedServers: () => Promise.reject(new Error('was asked for')),
    });
    expect(shelf.get('c')?.status).toMatchObject({ provider: { serverList: 'Available' } });
    expect(shelf.get('c')?.status).not.toHaveProperty('servers');
  });

  it('are held as long as an object held them at any time of the read', async () => {
    const holder = holding('old', 'vs1');
    const later = holding('new', 'vs2');
    let during = (): void => undefined;
    const catalog = storedCatalog('c', { listServers: true });
    const calls = {
      listedServers: () => {
        during();
        return listed('vs1', 'vs2', 'vs3');
      },
    };
    const { servers, shelf } = await running([catalog], 'a', calls, [holder]);
    during = () => {
      servers.remove(holder);
      servers.put(later);
    };
    shelf.put({ ...catalog, metadata: { ...catalog.metadata, generation: 2 } });
    await settled();
    expect(statesOf(shelf.get('c'))).toEqual([
      ['vs3', 'Orphaned'],
      ['vs1', 'Held'],
      ['vs2', 'Held'],
    ]);
  });

  it('are not written again while nothing changes', async () => {
    const { shelf, pass } = await running([storedCatalog('c', { listServers: true })], 'a', {
      listedServers: () => listed('vs1'),
    });
    const before = shelf.get('c');
    expect(statesOf(before)).toEqual([['vs1', 'Orphaned']]);
    await pass(HOUR_MS);
    await pass(HOUR_MS);
    expect(shelf.get('c')).toBe(before);
  });
});

describe('a catalog', () => {
  const asked = { annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } };

  it('is not read again after a start if the last request was handled and the interval has not passed', async () => {
    const before = await running([storedCatalog('c', asked)], 'a');
    const { status } = before.shelf.get('c') ?? {};
    const { products, pass } = await running([storedCatalog('c', { ...asked, ...(status && { status }) })], 'b');
    await pass(HOUR_MS - 1);
    expect(products('c')).toEqual(['a']);
    await pass(1);
    expect(products('c')).toEqual(['b']);
  });

  it('is read at once when its spec or the request changes, and for nothing else', async () => {
    const { shelf, lists, products } = await running([storedCatalog('c', asked)]);
    const change = async (metadata: Partial<ServerCatalog['metadata']>, code: string): Promise<void> => {
      const present = shelf.get('c') ?? storedCatalog('c');
      lists.products = [{ code }];
      shelf.put({ ...present, metadata: { ...present.metadata, ...metadata } });
      await settled();
    };
    await change({ annotations: { ...asked.annotations, 'example.org/note': 'a' } }, 'b');
    expect(products('c')).toEqual(['a']);
    await change({ annotations: { [RECONCILE_AT_ANNOTATION]: 'later' } }, 'c');
    expect(products('c')).toEqual(['c']);
    await change({ annotations: {} }, 'd');
    expect(products('c')).toEqual(['c']);
    await change({ generation: 2 }, 'e');
    expect(products('c')).toEqual(['e']);
  });

  it('is read again when its Secret gets another key while the lists are being read', async () => {
    const catalog = storedCatalog('c');
    const shelf = feedOf(catalog);
    const reads: string[] = [];
    let duringRead = (): void => undefined;
    const session = fakeSession({
      catalog: () => {
        reads.push('lists');
        duringRead();
        return Promise.resolve({ products: [], images: [], diskSizes: {} });
      },
    });
    const timers = new FakeTimers();
    const kube = fakeKube({
      getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
    });
    const reconciler = new CatalogReconciler({
      informer: shelf.informer,
      client: { writeStatus: (_version, status) => Promise.resolve({ ...catalog, status }) },
      wrote: () => undefined,
      accounts: new Accounts({
        kube,
        provider: fakeProvider(() => session),
        timers,
        log: OPERATOR.log,
        refreshMs: HOUR_MS,
        operatorNamespace: undefined,
        onChange: () => undefined,
        onOrders: () => undefined,
      }),
      claims: () => [],
      recorder: new EventRecorder(kube.events, timers, OPERATOR.log),
      timers,
      log: OPERATOR.log,
      stopping: new AbortController().signal,
    });
    duringRead = () => {
      duringRead = () => undefined;
      reconciler.wake('default', catalog.spec.apiKeySecretRef.name);
    };
    await reconciler.reconcile('default/c', catalog);
    await reconciler.reconcile('default/c', catalog);
    await reconciler.reconcile('default/c', catalog);
    expect(reads).toEqual(['lists', 'lists']);
  });
});
