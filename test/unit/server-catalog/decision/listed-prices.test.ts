/** What the status of a ServerCatalog shows of the provider's list of prices. */
import { describe, expect, it } from 'vitest';
import { priceListIn } from '../../../../src/api/price-list.ts';
import type { ServerCatalogStatus } from '../../../../src/api/server-catalog.ts';
import { ok } from '../../../../src/base/result.ts';
import type { FurtherRead, PriceList } from '../../../../src/provider/types.ts';
import { catalogStatus } from '../../../../src/server-catalog/decision/catalog-status.ts';
import { storedCatalog } from '../../../fixtures/server-catalog.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const PRICES = {
  products: { VPSX4: 1018, gone: 7 },
  disks: { ssd: { price: 50, extent: 5 }, hdd: { price: 20, extent: 50 } },
  ipv4: 240,
};
const AVAILABLE = { state: 'Available', list: PRICES } as const;

function after(
  prices: FurtherRead<PriceList>,
  before?: ServerCatalogStatus,
  generation = 1,
  now = NOW,
): ServerCatalogStatus {
  const products = [{ code: 'VPSX4', ram: 1024, period: 'on-demand' }, { code: 'toString' }];
  const shapes = { products: 'Object', images: 'Object' } as const;
  const catalog = { products, images: [], diskSizes: {}, shapes };
  const object = storedCatalog('c', { generation, ...(before && { status: before }) });
  return catalogStatus(
    object,
    ok({ catalog, serverList: 'Available', ordersGo: 'named', zones: { state: 'Unavailable' }, prices }),
    now,
  );
}

describe('the prices of a catalog', () => {
  it('are those of its products, of disk types in order, and of an address', () => {
    const status = after(AVAILABLE);
    expect(status.products).toEqual([
      { code: 'toString' },
      { code: 'VPSX4', ram: 1024, period: 'on-demand', price: 1018 },
    ]);
    expect(status.prices).toEqual({
      ipv4: 240,
      disks: [
        { type: 'hdd', price: 20, extent: 50 },
        { type: 'ssd', price: 50, extent: 5 },
      ],
    });
    expect(status.provider?.priceList).toBe('Available');
    expect(priceListIn(status)).toEqual({ ...PRICES, products: { VPSX4: 1018 } });
  });

  it('stay as they are while the list cannot be read, for the same spec', () => {
    const before = after(AVAILABLE);
    const later = after({ state: 'Unknown' }, before, 1, NOW + 1000);
    expect(later).toEqual({ ...before, provider: { ...before.provider, priceList: 'Unknown' } });
    expect(after({ state: 'Unknown' }, before, 2).prices).toBeUndefined();
  });

  it.each(['Unavailable', 'Forbidden'] as const)('are gone when the list is %s', (state) => {
    const status = after({ state }, after(AVAILABLE));
    expect([status.prices, status.products?.some((product) => 'price' in product)]).toEqual([undefined, false]);
    expect(status.provider?.priceList).toBe(state);
    expect(priceListIn(status)).toBeUndefined();
  });

  it.each([
    { ...PRICES, products: { ...PRICES.products, VPSX4: 1019 } },
    { ...PRICES, ipv4: 241 },
    { ...PRICES, disks: { ssd: PRICES.disks.ssd } },
  ])('change the time of the last change', (prices) => {
    const [before, later] = [after(AVAILABLE), NOW + 3_600_000];
    expect(after({ state: 'Available', list: prices }, before, 1, later).observedAt).toBe('2026-01-01T13:00:00Z');
    expect(after(AVAILABLE, before, 1, later)).toEqual(before);
  });
});
