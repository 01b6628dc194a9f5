import { describe, expect, it } from 'vitest';
import type { ServerCatalog, ServerCatalogStatus, ServerList } from '../../../../src/api/server-catalog.ts';
import {
  catalogStatus,
  isRequested,
  refreshMs,
  type Reading,
} from '../../../../src/server-catalog/decision/catalog-status.ts';
import type { Catalog, OrdersGo, Zone } from '../../../../src/provider/types.ts';
import { storedCatalog } from '../../../fixtures/server-catalog.ts';
import { err, ok } from '../../../../src/base/result.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const LATER = NOW + 3_600_000;

const object = (status?: ServerCatalogStatus, generation = 1, refreshInterval = '1h'): ServerCatalog =>
  storedCatalog('c', { generation, refreshInterval, ...(status && { status }) });

const lists = (
  changes: Partial<Catalog> = {},
  serverList: ServerList = 'Unavailable',
  ordersGo: OrdersGo = 'anonymous',
): Reading & { ok: true } =>
  ok({
    serverList,
    ordersGo,
    zones: { state: 'Unavailable' },
    prices: { state: 'Unavailable' },
    catalog: {
      products: [
        { code: 'b', ram: 2048 },
        { code: 'a', ram: 1024 },
      ],
      images: [{ name: 'x/y', description: 'An image' }],
      diskSizes: { ssd: [20, 10], hdd: [5] },
      shapes: { products: 'Array', images: 'Array' },
      ...changes,
    },
  });
const failing = (
  reason: 'ProviderUnavailable' | 'InvalidCredentials' | 'Unauthorized' | 'PermissionDenied' | 'SecretNotFound',
) => err({ reason, message: 'no' });
const condition = ({ conditions }: ServerCatalogStatus, type: string) =>
  conditions?.find((other) => other.type === type);

describe('lists', () => {
  it('are sorted, with counts', () => {
    const status = catalogStatus(object(), lists(), NOW);
    expect(status).toMatchObject({
      products: [
        { code: 'a', ram: 1024 },
        { code: 'b', ram: 2048 },
      ],
      images: [{ name: 'x/y', description: 'An image' }],
      diskSizes: [
        { type: 'hdd', sizes: [5] },
        { type: 'ssd', sizes: [10, 20] },
      ],
      counts: { products: 2, images: 1, diskSizes: 3 },
      observedAt: '2026-01-01T12:00:00Z',
      observedGeneration: 1,
    });
    expect(condition(status, 'Ready')).toMatchObject({ status: 'True', message: '2 products, 1 images, 3 disk sizes' });
  });

  it('leave the status unchanged if only their order changes', () => {
    const status = catalogStatus(object(), lists(), NOW);
    const turned = lists({
      products: [...lists().value.catalog.products].reverse(),
      diskSizes: { hdd: [5], ssd: [10, 20, 20] },
    });
    expect(catalogStatus(object(status), turned, LATER)).toEqual(status);
  });

  it('update observedAt when they change', () => {
    const status = catalogStatus(object(), lists(), NOW);
    const changed = catalogStatus(object(status), lists({ products: [] }), LATER);
    expect(changed).toMatchObject({ products: [], observedAt: '2026-01-01T13:00:00Z' });
  });

  it('are cut at 500 entries, which Ready reports', () => {
    const sizes = Array.from({ length: 501 }, (_, index) => index + 1);
    const products = sizes.map((size) => ({ code: `p${size}` }));
    const images = sizes.map((size) => ({ name: `i${size}` }));
    const status = catalogStatus(object(), lists({ products, images, diskSizes: { ssd: sizes } }), NOW);
    expect([status.products?.length, status.images?.length, status.diskSizes?.[0]?.sizes.length]).toEqual([
      500, 500, 500,
    ]);
    expect(status.counts).toEqual({ products: 501, images: 501, diskSizes: 501 });
    expect(condition(status, 'Ready')?.message).toBe(
      ['products', 'images', 'disk sizes'].map((what) => `501 ${what} (status lists the first 500)`).join(', '),
    );
  });

  it('omit entries that cannot be stored unchanged, and invalid sizes', () => {
    const odd = ['', 'x'.repeat(257), 'a\u0007b', 'half \ud800'];
    const status = catalogStatus(
      object(),
      lists({
        products: odd.map((code) => ({ code })),
        images: [...odd.map((name) => ({ name })), { name: 'x/y', description: `bell\u0007\n${'é'.repeat(300)}` }],
        diskSizes: { ssd: [0, -1, 10], ['t'.repeat(65)]: [1] },
      }),
      NOW,
    );
    expect(status.products).toEqual([]);
    expect(status.images).toEqual([{ name: 'x/y', description: `bell ${'é'.repeat(251)}` }]);
    expect(status.diskSizes).toEqual([{ type: 'ssd', sizes: [10] }]);
  });
});

describe('zones', () => {
  const withZones = (list: Zone[]): Reading => ok({ ...lists().value, zones: { state: 'Available', list } });
  const without = (state: 'Unavailable' | 'Forbidden' | 'Unknown'): Reading =>
    ok({ ...lists().value, zones: { state } });
  const shown = catalogStatus(object(), withZones([{ code: 'lon', description: 'London' }, { code: 'cam' }]), NOW);
  const ZONES = [{ code: 'cam' }, { code: 'lon', description: 'London' }];

  it('are sorted, with a count', () => {
    expect(shown).toMatchObject({ zones: ZONES, counts: { zones: 2 }, provider: { zoneList: 'Available' } });
    expect(condition(shown, 'Ready')?.message).toBe('2 products, 1 images, 3 disk sizes, 2 zones');
    expect(
      catalogStatus(object(shown), withZones([{ code: 'cam' }, { code: 'lon', description: 'London' }]), LATER),
    ).toEqual(shown);
  });

  it.each(['Unavailable', 'Forbidden'] as const)('are gone once the list is %s', (state) => {
    const status = catalogStatus(object(shown), without(state), LATER);
    expect([status.zones, status.counts?.zones, status.provider?.zoneList]).toEqual([undefined, undefined, state]);
    expect(status.observedAt).not.toBe(shown.observedAt);
  });

  it('stay while the read of them fails, but not those of another spec', () => {
    const failed = catalogStatus(object(shown), without('Unknown'), LATER);
    expect(failed).toMatchObject({ zones: ZONES, counts: { zones: 2 }, provider: { zoneList: 'Unknown' } });
    expect(failed.observedAt).toBe(shown.observedAt);
    expect(catalogStatus(object(shown), failing('ProviderUnavailable'), LATER)).toMatchObject({ zones: ZONES });
    expect(catalogStatus(object(shown, 2), without('Unknown'), LATER).zones).toBeUndefined();
  });

  it('are cut at 500 entries, which Ready reports, without codes that cannot be stored', () => {
    const codes = [...Array.from({ length: 501 }, (_, index) => `z${index}`), '', 'x'.repeat(257)];
    const status = catalogStatus(object(), withZones(codes.map((code) => ({ code }))), NOW);
    expect([status.zones?.length, status.counts?.zones]).toEqual([500, 501]);
    expect(condition(status, 'Ready')?.message).toContain(', 501 zones (status lists the first 500)');
  });
});

describe('the provider', () => {
  it.each(['Available', 'Unavailable', 'Unknown'] as const)(
    'is shown, with a list of servers that is %s',
    (serverList) => {
      const shapes = { products: 'Object', images: 'Array' } as const;
      const status = catalogStatus(object(), lists({ shapes }, serverList), NOW);
      expect(status.provider).toEqual({
        ...{ productList: 'Object', imageList: 'Array' },
        ...{ serverList, zoneList: 'Unavailable', priceList: 'Unavailable', orders: 'Anonymous' },
      });
      expect(condition(status, 'Ready')).toMatchObject({
        status: 'True',
        message: '2 products, 1 images, 3 disk sizes',
      });
    },
  );

  it('is in order if the API key may not list servers, which Ready reports', () => {
    const status = catalogStatus(object(), lists({}, 'Forbidden'), NOW);
    expect(status.provider?.serverList).toBe('Forbidden');
    expect(condition(status, 'Ready')).toMatchObject({
      status: 'True',
      reason: 'Available',
      message:
        '2 products, 1 images, 3 disk sizes. The API key may not list servers, so no list can confirm that a server is gone',
    });
    expect(condition(status, 'Stalled')).toBeUndefined();
    expect(catalogStatus(object(status), lists({}, 'Forbidden'), LATER)).toEqual(status);
  });

  it.each([
    ['named', 'Named', /disk sizes$/],
    ['anonymous', 'Anonymous', /disk sizes$/],
    ['refused', 'Anonymous', /has refused an order under an identifier, so orders go without one/],
    ['unknown', 'Unknown', /New orders wait: .* --orders=anonymous$/],
  ] as const)('says which way orders go: %s', (ordersGo, orders, message) => {
    const status = catalogStatus(object(), lists({}, 'Available', ordersGo), NOW);
    expect(status.provider?.orders).toBe(orders);
    expect(condition(status, 'Ready')).toMatchObject({ status: 'True', reason: 'Available' });
    expect(condition(status, 'Ready')?.message).toMatch(message);
    expect(catalogStatus(object(status), lists({}, 'Available', ordersGo), LATER)).toEqual(status);
  });

  it('may change without a change of the lists', () => {
    const status = catalogStatus(object(), lists(), NOW);
    const after = catalogStatus(object(status), lists({}, 'Available'), LATER);
    expect(after).toEqual({ ...status, provider: { ...status.provider, serverList: 'Available' } });
  });
});

describe('a request for a read', () => {
  const asking = (value: string, status?: ServerCatalogStatus): ServerCatalog =>
    storedCatalog('c', { annotations: { 'vps-operator.dev/reconcile-at': value }, ...(status && { status }) });

  it.each([['lists', lists()] as const, ['a failure', failing('ProviderUnavailable')] as const])(
    'is handled once, by %s',
    (_what, reading) => {
      expect(isRequested(object())).toBe(false);
      expect(isRequested(asking('1'))).toBe(true);
      const status = catalogStatus(asking('1'), reading, NOW);
      expect(status.lastHandledReconcileAt).toBe('1');
      expect(isRequested(asking('1', status))).toBe(false);
      expect(isRequested(asking('2', status))).toBe(true);
    },
  );

  it('is absent when the annotation is removed, or when the same value returns', () => {
    const met = catalogStatus(asking('1'), lists(), NOW);
    expect(isRequested(object(met))).toBe(false);
    const later = catalogStatus(object(met), lists(), LATER);
    expect(later).toEqual(met);
    expect(isRequested(asking('1', later))).toBe(false);
  });

  it('is handled however long it is', () => {
    const long = 'a'.repeat(300);
    const status = catalogStatus(asking(long), lists(), NOW);
    expect(status.lastHandledReconcileAt).toBe('a'.repeat(256));
    expect(isRequested(asking(long, status))).toBe(false);
  });
});

describe('a failure', () => {
  const ready = catalogStatus(object(), lists(), NOW);

  it('of the provider keeps the lists and Ready', () => {
    const status = catalogStatus(object(ready), failing('ProviderUnavailable'), LATER);
    const { products, provider, observedAt } = ready;
    expect(status).toMatchObject({ products, provider, observedAt });
    expect(condition(status, 'Ready')).toEqual(condition(ready, 'Ready'));
    expect(condition(status, 'Reconciling')?.reason).toBe('ProviderUnavailable');
  });

  it.each(['InvalidCredentials', 'Unauthorized', 'PermissionDenied', 'SecretNotFound'] as const)(
    'of the key (%s) keeps the lists and ends Ready',
    (reason) => {
      const status = catalogStatus(object(ready), failing(reason), LATER);
      expect(status.products).toEqual(ready.products);
      expect(condition(status, 'Ready')).toMatchObject({
        status: 'False',
        reason,
        lastTransitionTime: '2026-01-01T13:00:00Z',
      });
      expect(condition(status, 'Stalled')?.reason).toBe(reason);
      expect(catalogStatus(object(status), failing(reason), LATER + 1000)).toEqual(status);
    },
  );

  it('for another spec drops the lists, which may belong to another account', () => {
    const status = catalogStatus(object(ready, 2), failing('ProviderUnavailable'), LATER);
    expect(status).not.toHaveProperty('products');
    expect(status).not.toHaveProperty('provider');
    expect(status).not.toHaveProperty('observedAt');
    expect(condition(status, 'Ready')?.status).toBe('False');
    expect(catalogStatus(object(status, 2), lists(), LATER)).toMatchObject({ observedGeneration: 2, counts: {} });
  });
});

it.each([
  ['1h', 3_600_000],
  ['1h30m', 5_400_000],
  ['300s', 300_000],
  ['1s', 300_000],
])('reads the interval %s', (text, ms) => {
  expect(refreshMs(object(undefined, 1, text))).toBe(ms);
});
