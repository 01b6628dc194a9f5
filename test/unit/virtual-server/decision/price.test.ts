import { describe, expect, it } from 'vitest';
import type { VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import { placeOf, pricedModel, priceText, pricesIn, sumOf } from '../../../../src/virtual-server/decision/price.ts';
import { HELD, web, webWith } from '../../../fixtures/decision.ts';

const SHOWN: VirtualServerStatus = {
  identifier: 'srv1',
  serverStatus: 'running',
  product: 'VPSX4',
  specs: { diskSize: 10240 },
  price: 4.5,
};
const showing = (status: Partial<VirtualServerStatus> = {}) => webWith(HELD, { status: { ...SHOWN, ...status } });

describe('the price of a model', () => {
  it.each(['running', 'stopped'])(
    'is what a server of this product and disk size shows while it is %s',
    (serverStatus) => {
      expect(pricedModel(showing({ serverStatus }))).toEqual({ product: 'VPSX4', diskSize: 10240, price: 4.5 });
    },
  );

  it.each([
    ['was not read', { serverStatus: undefined }],
    ['shows no product', { product: undefined }],
    ['shows no disk size', { specs: { cores: 1 } }],
    ['shows no price', { price: undefined }],
    ['shows a price below 0', { price: -1 }],
  ])('is not known from a server that %s', (_why, status) => {
    expect(pricedModel(showing(status))).toBeUndefined();
  });

  it('is the highest of several', () => {
    const objects = [4.5, 9, 1].map((price) => showing({ price }));
    expect([...pricesIn([...objects, showing({ specs: { diskSize: 20480 } })]).values()]).toEqual([
      { product: 'VPSX4', diskSize: 10240, price: 9 },
      { product: 'VPSX4', diskSize: 20480, price: 4.5 },
    ]);
  });
});

describe('the place of an object', () => {
  it('has the price of its own server, and none that status shows of another one', () => {
    expect(placeOf(showing(), HELD).price).toBe(4.5);
    expect(placeOf(showing(), { ...HELD, identifier: 'srv2' }).price).toBeUndefined();
    expect(placeOf(web({ status: SHOWN }), HELD).price).toBeUndefined();
    expect(placeOf(web(), undefined)).toMatchObject({ product: 'VPSX4', diskSize: 10240, price: undefined });
  });
});

describe('sums and texts', () => {
  it('adds decimals as people do, and shows two decimals or more', () => {
    expect(sumOf([0.1, 0.2])).toBe(0.3);
    expect([4.5, 0.0123, 12].map(priceText)).toEqual(['4.50', '0.0123', '12.00']);
  });
});
