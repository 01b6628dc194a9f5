/** The list of prices, which only the public service has: its forms. */
import { describe, expect, it } from 'vitest';
import type { FurtherRead, PriceList } from '../../../src/provider/types.ts';
import { sessionFor, startStub } from './stub-provider.ts';

const LIST = {
  disk: { ssd: { price: 50, extent: 5 }, hdd: { price: 20, extent: 50 } },
  ipv4: 240,
  products: { a: 1018 },
};
const PRICES = { products: LIST.products, disks: LIST.disk, ipv4: 240 };

async function read(body: unknown): Promise<FurtherRead<PriceList>> {
  const stub = await startStub();
  stub.on('GET /beta/vps/pricing', { status: 200, body });
  return sessionFor(stub).prices(0);
}

describe('the list of prices', () => {
  it('has the prices of products, of disk types by their extent, and of an address', async () => {
    expect(await read(LIST)).toEqual({ state: 'Available', list: PRICES });
  });

  it('drops what is no price, and takes decimal texts', async () => {
    const products = { a: '10.5', b: -1, c: null, d: 'free', e: 1e300, f: { price: 1 }, g: 0, '': 1 };
    const disk = { ssd: { price: 50, extent: 0 }, hdd: 7, nvme: { price: '5', extent: '10' }, odd: { extent: 1 } };
    expect(await read({ products, disk, ipv4: -1 })).toEqual({
      state: 'Available',
      list: { products: { a: 10.5, g: 0 }, disks: { nvme: { price: 5, extent: 10 } } },
    });
  });

  it.each([{}, [], 'x', null, { error: 'Not found' }, { products: {} }, { products: { a: 'free' } }, [LIST]])(
    'is unknown without the price of a product: %j',
    async (body) => {
      expect(await read(body)).toEqual({ state: 'Unknown' });
    },
  );
});
