/** The list of prices, which only the public service has: its forms, its failures, and that nothing depends on it. */
import { describe, expect, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import type { PricesRead } from '../../../src/provider/types.ts';
import { KEY, providerFor, sessionFor, startStub, type Reply, type StubProvider } from './stub-provider.ts';

const PRICING = '/beta/vps/pricing';
const LIST = {
  disk: { ssd: { price: 50, extent: 5 }, hdd: { price: 20, extent: 50 } },
  ipv4: 240,
  products: { a: 1018 },
};
const PRICES = { products: LIST.products, disks: LIST.disk, ipv4: 240 };

async function answering(reply: Reply): Promise<StubProvider> {
  const stub = await startStub();
  stub.on(`GET ${PRICING}`, reply);
  return stub;
}

const read = async (body: unknown): Promise<PricesRead> => sessionFor(await answering({ status: 200, body })).prices(0);

describe('the list of prices', () => {
  it('has the prices of products, of disk types by their extent, and of an address', async () => {
    expect(await read(LIST)).toEqual({ state: 'Available', prices: PRICES });
  });

  it('drops what is no price, and takes decimal texts', async () => {
    const products = { a: '10.5', b: -1, c: null, d: 'free', e: 1e300, f: { price: 1 }, g: 0, '': 1 };
    const disk = { ssd: { price: 50, extent: 0 }, hdd: 7, nvme: { price: '5', extent: '10' }, odd: { extent: 1 } };
    expect(await read({ products, disk, ipv4: -1 })).toEqual({
      state: 'Available',
      prices: { products: { a: 10.5, g: 0 }, disks: { nvme: { price: 5, extent: 10 } } },
    });
  });

  it.each([{}, [], 'x', null, { error: 'Not found' }, { products: {} }, { products: { a: 'free' } }, [LIST]])(
    'is unknown without the price of a product: %j',
    async (body) => {
      expect(await read(body)).toEqual({ state: 'Unknown' });
    },
  );

  it.each([
    [404, 'Unavailable'],
    [405, 'Unavailable'],
    [501, 'Unavailable'],
    [403, 'Forbidden'],
    [401, 'Unknown'],
    [303, 'Unknown'],
    [429, 'Unknown'],
    [500, 'Unknown'],
  ])('is, after a %i, %s, and no reason to refuse the key or to log in again', async (status, state) => {
    const stub = await answering({ status, body: { error: 'no' } });
    const account = providerFor(stub).account(KEY);
    expect(await account.session('').prices(0)).toEqual({ state });
    expect(account.isRefused()).toBe(false);
    expect([stub.count('GET', PRICING), stub.count('POST', '/auth/login')]).toEqual([1, 1]);
  });

  it('is read once by those that ask at once, and again once it is too old', async () => {
    let now = 0;
    const stub = await answering({ status: 200, body: LIST });
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await Promise.all([session.prices(1000), session.prices(1000)]);
    now += 1000;
    await session.prices(1000);
    expect(stub.count('GET', PRICING)).toBe(1);
    now += 1;
    await session.prices(1000);
    expect(stub.count('GET', PRICING)).toBe(2);
  });

  it('keeps a failure as long, and the last prices while the list cannot be read', async () => {
    let now = 0;
    const stub = await answering({ status: 200, body: LIST });
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await session.prices(1000);
    stub.on(`GET ${PRICING}`, { status: 500 });
    now += 1001;
    expect(await session.prices(1000)).toEqual({ state: 'Unknown', prices: PRICES });
    expect(await session.prices(1000)).toEqual({ state: 'Unknown', prices: PRICES });
    expect(stub.count('GET', PRICING)).toBe(2);
    stub.on(`GET ${PRICING}`, { status: 404 });
    now += 1001;
    expect(await session.prices(1000)).toEqual({ state: 'Unavailable' });
    expect(await session.prices(1000)).toEqual({ state: 'Unavailable' });
    expect(stub.count('GET', PRICING)).toBe(3);
  });
});
