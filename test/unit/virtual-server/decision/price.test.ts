import { describe, expect, it } from 'vitest';
import type { VirtualServer, VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { Held } from '../../../../src/api/record.ts';
import { timestamp } from '../../../../src/base/duration.ts';
import { without } from '../../../../src/base/without.ts';
import type { Server } from '../../../../src/provider/types.ts';
import {
  modelKey,
  modelOf,
  listedPrice,
  placeOf,
  pricedModel,
  priceText,
  pricesIn,
  sumOf,
  withPrice,
} from '../../../../src/virtual-server/decision/price.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { HELD, KNOWN, NOW, PRICE, PRICED, SERVER, TASKED, web, webWith } from '../../../fixtures/decision.ts';

const SHOWN: VirtualServerStatus = {
  identifier: 'srv1',
  serverStatus: 'running',
  product: 'VPSX4',
  specs: { diskSize: 10240 },
  price: 4.5,
};
const showing = (status: Partial<VirtualServerStatus> = {}) => webWith(HELD, { status: { ...SHOWN, ...status } });

describe('the price of a model', () => {
  it('is what a server of this product and disk size shows', () => {
    expect(pricedModel(showing())).toEqual({ product: 'VPSX4', diskSize: 10240, price: 4.5 });
  });

  it('is not known from a server that is off until the record says whether it is dormant, as after an operator that observed', () => {
    const off = showing({ serverStatus: 'stopped' });
    expect(pricedModel(off)).toBeUndefined();
    const place = { price: undefined, atLeast: 4.5, state: 'unclear', teaches: undefined };
    expect(placeOf(off, knownRecord(off))).toMatchObject(place);
    const record = { ...PRICED, price: { ...PRICE, amount: 4.5 } };
    const known = webWith(record, { status: { ...SHOWN, serverStatus: 'stopped' } });
    expect(pricedModel(known)).toMatchObject({ price: 4.5 });
  });

  it.each([
    ['was not read', { serverStatus: undefined }],
    ['shows no product', { product: undefined }],
    ['shows no disk size', { specs: { cores: 1 } }],
    ['shows no price', { price: undefined }],
    ['shows a price below 0', { price: -1 }],
    ['shows a price that is none', { price: 1e300 }],
  ])('is not known from a server that %s', (_why, status) => {
    expect(pricedModel(showing(status))).toBeUndefined();
  });

  it('differs by disk type and IPv4 address', () => {
    const objects = [
      showing(),
      showing({ specs: { diskSize: 10240, diskType: 'hdd' }, price: 2 }),
      showing({ ipv4: ['192.0.2.1'], price: 7 }),
    ];
    expect([...pricesIn(objects).values()]).toEqual([
      { product: 'VPSX4', diskSize: 10240, price: 4.5 },
      { product: 'VPSX4', diskSize: 10240, diskType: 'hdd', price: 2 },
      { product: 'VPSX4', diskSize: 10240, ipv4: true, price: 7 },
    ]);
  });

  it('counts an ordered IPv4 address that the provider has not assigned yet, but claims nothing of an adopted server', () => {
    const ordered = showing();
    const object = { ...ordered, spec: { ...ordered.spec, ipv4: true, diskType: 'hdd' } };
    expect(pricedModel(object)).toMatchObject({ diskType: 'hdd', ipv4: true });
    expect(pricedModel(object, { ...HELD, mode: 'adopt' })).toEqual({ product: 'VPSX4', diskSize: 10240, price: 4.5 });
  });

  it('differs by additional cores and memory, but by no other rare field', () => {
    const plain = showing();
    const withExtras = (advanced: NonNullable<VirtualServer['spec']['advanced']>): VirtualServer => ({
      ...plain,
      spec: { ...plain.spec, advanced },
    });
    const extras = { extraCores: 2 };
    const keys = [plain, withExtras(extras), withExtras({ extraMemory: 2 }), withExtras({ tablet: true })].map(
      ({ spec }) => modelKey(modelOf(spec)),
    );
    expect(new Set(keys).size).toBe(3);
    expect(keys[3]).toBe(keys[0]);
    const priced = pricedModel(withExtras({ ...extras, cpuMode: 'Performance' }));
    expect(priced).toEqual({ product: 'VPSX4', diskSize: 10240, price: 4.5, advanced: extras });
  });

  it('is not that of extras which a change in place has not brought yet', () => {
    const plain = showing();
    const asking = (): VirtualServer => ({
      ...plain,
      spec: { ...plain.spec, changePolicy: 'AllowStop', advanced: { extraCores: 2 } },
    });
    expect(pricedModel(asking(), HELD)).toBeUndefined();
    const specs = { ...SERVER.specs, extraCores: 0 };
    const before = withPrice(asking(), HELD, { ...SERVER, specs }, NOW);
    expect(pricedModel(asking(), before)).toMatchObject({ advanced: { extraCores: 0 } });
    const after = withPrice(asking(), before, { ...SERVER, specs: { ...specs, extraCores: 2 } }, NOW);
    expect(pricedModel(asking(), after)).toMatchObject({ advanced: { extraCores: 2 } });
  });

  it('is the highest of several', () => {
    const objects = [4.5, 9, 1].map((price) => showing({ price }));
    expect([...pricesIn([...objects, showing({ specs: { diskSize: 20480 } })]).values()]).toEqual([
      { product: 'VPSX4', diskSize: 10240, price: 9 },
      { product: 'VPSX4', diskSize: 20480, price: 4.5 },
    ]);
  });
});

describe('the price by the list of prices', () => {
  const prices = {
    products: { VPSX4: 1000 },
    disks: { ssd: { price: 50, extent: 5 }, hdd: { price: 20, extent: 50 } },
    ipv4: 240,
  };

  it.each([
    { model: { diskSize: 5120 }, price: 1050 },
    { model: { diskSize: 5121 }, price: 1100 },
    { model: { diskSize: 20480 }, price: 1200 },
    { model: { diskSize: 20480, diskType: 'hdd' }, price: 1020 },
    { model: { diskSize: 20480, ipv4: true }, price: 1440 },
    { model: { diskSize: 20480, diskType: 'nvme' }, price: undefined },
    { model: { diskSize: 20480, product: 'VPSX8' }, price: undefined },
    { model: { diskSize: 20480, product: 'toString' }, price: undefined },
  ])('of $model is $price: product, each begun unit of the disk, and address', ({ model, price }) => {
    expect(listedPrice({ product: 'VPSX4', ...model }, prices)).toBe(price);
  });

  it('is unknown for an address if the list has none', () => {
    const model = { product: 'VPSX4', diskSize: 5120, ipv4: true };
    expect(listedPrice(model, { ...prices, ipv4: undefined })).toBeUndefined();
  });
});

describe('the place of an object', () => {
  it('has the price of the own server, and never the price that status shows for another one', () => {
    expect(placeOf(showing(), HELD).price).toBe(4.5);
    expect(placeOf(showing(), { ...HELD, identifier: 'srv2' }).price).toBeUndefined();
    expect(placeOf(web({ status: SHOWN }), HELD).price).toBeUndefined();
    expect(placeOf(web(), undefined)).toMatchObject({ product: 'VPSX4', diskSize: 10240, price: undefined });
  });
});

describe('what the record keeps of a price', () => {
  const LATER = NOW + 60_000;
  const read = (own: Held, server: Partial<Server>, now = NOW) =>
    withPrice(webWith(own), own, { ...SERVER, ...server }, now);
  const since = timestamp(NOW);

  it('is what the provider states, with the model', () => {
    expect(read(KNOWN, {})).toEqual(without(PRICED, 'readyAt'));
    expect(read(PRICED, {}, LATER)).toBe(PRICED);
    expect(read(PRICED, { price: 12 }).price).toEqual({ ...PRICE, amount: 12 });
  });

  it.each([undefined, -1, NaN, Infinity, 1e12])('stays while the provider states %j, and says since when', (price) => {
    const gone = read(PRICED, { price });
    expect(gone.price).toEqual({ ...PRICE, unstatedSince: since });
    expect(read(gone, { price, product: undefined, specs: undefined }, LATER)).toBe(gone);
    expect(read(gone, {}, LATER).price).toEqual(PRICE);
  });

  it('is missing if none was ever stated, and comes from status if an earlier version has kept it there', () => {
    expect(read(KNOWN, { price: undefined }).price).toEqual({ ...without(PRICE, 'amount'), unstatedSince: since });
    const object = webWith(KNOWN, { status: { serverStatus: 'running', price: 4.5 } });
    const { price } = withPrice(object, KNOWN, { ...SERVER, price: undefined }, NOW);
    expect(price).toEqual({ ...PRICE, amount: 4.5, unstatedSince: since });
  });

  it('comes from a status that an observing operator wrote, and changes no record', () => {
    const status = { identifier: 'srv1', serverStatus: 'running', price: 4.5 };
    const object = webWith(TASKED, { status });
    const { price } = withPrice(object, KNOWN, { ...SERVER, price: undefined }, NOW);
    expect(price).toMatchObject({ amount: 4.5, unstatedSince: since });
    expect(placeOf(object, KNOWN).price).toBe(4.5);
    const copied = webWith({ ...TASKED, owner: 'another' }, { status });
    expect(placeOf(copied, KNOWN).price).toBeUndefined();
  });

  it('is of the model that was ordered, if the provider does not show one', () => {
    const blank = { product: undefined, specs: undefined };
    expect(read(KNOWN, blank)).toEqual(without(PRICED, 'readyAt'));
    expect(read({ ...KNOWN, mode: 'adopt' }, blank).price).toEqual({ identifier: 'srv1', amount: 9.5 });
    const edited = webWith(PRICED, { spec: { product: 'VPSX8' } });
    expect(withPrice(edited, PRICED, { ...SERVER, ...blank }, NOW)).toBe(PRICED);
  });

  it('is that after a change, as long as the record expects it, or unknown', () => {
    const change = { identifier: 'srv1', change: '{"product":"VPSX8"}', since };
    const changing = (more: object): Held => ({ ...PRICED, change: { ...change, ...more } });
    const price = (more: object): number | undefined => placeOf(webWith(changing(more)), changing(more)).price;
    expect(price({})).toBe(9.5);
    expect(price({ price: 20 })).toBe(20);
    expect(price({ price: 5 })).toBe(9.5);
    expect(price({ isUnpriced: true })).toBeUndefined();
  });

  describe('of a dormant server', () => {
    const ASLEEP: Partial<Server> = { isDormant: true, status: 'shut down', price: 3 };
    const shownAsleep = { ...SHOWN, serverStatus: 'shut down', price: 3 };

    it('is what it cost awake, of the model that it was awake, and teaches that', () => {
      const model = { product: 'VPSX0', specs: { diskSize: 5120 } };
      const asleep = read(PRICED, { ...ASLEEP, ...model });
      expect(asleep.price).toEqual({ ...PRICE, isDormant: true });
      const object = webWith(asleep, { status: { ...shownAsleep, product: 'VPSX0', specs: { diskSize: 5120 } } });
      const teaches = { product: 'VPSX4', diskSize: 10240, price: 9.5 };
      expect(placeOf(object, asleep)).toMatchObject({ ...without(teaches, 'price'), price: 9.5, teaches });
      expect(read(asleep, ASLEEP, LATER)).toBe(asleep);
      expect(read(asleep, {}, LATER).price).toEqual(PRICE);
    });

    it('is unknown and teaches nothing if it was never read awake, and is no less than what it costs now', () => {
      const asleep = read(KNOWN, { ...ASLEEP, product: 'VPSX8' });
      expect(asleep.price).toEqual({ ...without(PRICE, 'amount'), product: 'VPSX8', isDormant: true });
      const object = webWith(asleep, { status: { ...shownAsleep, product: 'VPSX8' } });
      const place = { product: 'VPSX8', diskSize: 10240, price: undefined, atLeast: 3, state: 'unclear' };
      expect(placeOf(object, asleep)).toMatchObject({ ...place, teaches: undefined });
      const { price } = withPrice(object, asleep, { ...SERVER, price: undefined }, NOW);
      expect(price).not.toHaveProperty('amount');
    });

    it('counts its address and its kind of disk, although spec asks for neither', () => {
      const adopted: Held = { ...KNOWN, mode: 'adopt' };
      const asleep = read(adopted, { ...ASLEEP, specs: { diskSize: 10240, diskType: 'hdd' }, ipv4: ['192.0.2.1'] });
      const status = { ...shownAsleep, ipv4: ['192.0.2.1'], specs: { diskSize: 10240, diskType: 'hdd' } };
      const place = { product: 'VPSX4', diskSize: 10240, diskType: 'hdd', ipv4: true, state: 'unclear' };
      expect(placeOf(webWith(asleep, { status }), asleep)).toMatchObject(place);
    });

    it('is that of no product while the extras that it was ordered with are not shown', () => {
      const spec = { changePolicy: 'Online', advanced: { extraCores: 2 } } as const;
      const asleep: Held = { ...PRICED, price: { ...without(PRICE, 'amount'), isDormant: true } };
      const object = webWith(asleep, { status: shownAsleep });
      const changing = { ...object, spec: { ...object.spec, ...spec } };
      expect(placeOf(changing, asleep)).toMatchObject({ product: '', state: 'unclear' });
    });

    it('is the higher one, should it cost more than awake', () => {
      const asleep = read(PRICED, { ...ASLEEP, price: 20 });
      expect(placeOf(webWith(asleep, { status: { ...shownAsleep, price: 20 } }), asleep)).toMatchObject({
        price: 20,
        teaches: { price: 9.5 },
      });
    });
  });

  describe('of a server whose record was written before its status', () => {
    it('teaches what the record says: a price of the dormant server and the model of the awake one do not belong together', () => {
      const asleep: Held = { ...PRICED, price: { ...without(PRICE, 'amount'), product: 'VPSX2', isDormant: true } };
      const status = { ...SHOWN, product: 'VPSX2', price: 1 };
      const teaches = { product: 'VPSX4', diskSize: 10240, price: 9.5 };
      expect(pricedModel(webWith(PRICED, { mirror: asleep, status }), PRICED)).toEqual(teaches);
    });

    it('teaches no extras that its price did not have', () => {
      const grown: Held = { ...PRICED, price: { ...PRICE, amount: 14, extraCores: 2 } };
      const object = webWith(grown, { mirror: PRICED, status: SHOWN });
      expect(pricedModel(object, grown)).toMatchObject({ advanced: { extraCores: 2 }, price: 14 });
    });
  });

  describe('of a server that is billed for another period than an order', () => {
    const adopting: Held = { ...KNOWN, mode: 'adopt' };
    const yearly = { ...SHOWN, price: 114 };

    it.each(['year', ' Quarterly ', 'month'])(
      'is counted as it is for a longer one (%s), and teaches nothing',
      (period) => {
        const adopted = read(adopting, { period, price: 114 });
        const otherPeriod = period.trim().toLowerCase();
        expect(adopted.price).toEqual({ ...PRICE, amount: 114, otherPeriod });
        const place = { price: 114, period: otherPeriod, teaches: undefined, state: undefined };
        expect(placeOf(webWith(adopted, { status: yearly }), adopted)).toMatchObject(place);
        expect(read(adopted, { period: undefined, price: 114 }, LATER)).toBe(adopted);
        expect(read(adopted, { period: 'on-demand' }, LATER).price).toEqual({ ...PRICE, period: 'on-demand' });
      },
    );

    it.each(['hour', 'a fortnight'])('is unclear for one that may be shorter (%s)', (period) => {
      const adopted = read(adopting, { period, price: 114 });
      const place = { price: undefined, atLeast: 114, state: 'unclear', teaches: undefined };
      expect(placeOf(webWith(adopted, { status: yearly }), adopted)).toMatchObject(place);
    });

    it.each(['on-demand', 'month', 'hour'])(
      'is found out when the period of an ordered server (%s) changes',
      (period) => {
        const ordered = read(KNOWN, { period });
        expect(ordered.price).toEqual({ ...PRICE, period });
        expect(pricedModel(webWith(ordered), ordered)).toMatchObject({ price: 9.5 });
        expect(read(ordered, { period }, LATER)).toBe(ordered);
        expect(read(ordered, { period: undefined }, LATER)).toBe(ordered);
        const changed = read(ordered, { period: 'week', price: 114 });
        expect(changed.price).toEqual({ ...PRICE, amount: 114, period, otherPeriod: 'week' });
        expect(placeOf(webWith(changed), changed)).toMatchObject({ state: 'unclear', teaches: undefined });
        expect(read(changed, { period: undefined, price: 114 }, LATER)).toBe(changed);
        expect(read(changed, { period }, LATER)).toEqual(ordered);
      },
    );

    it('teaches nothing once an ordered server is billed on demand in place of by the month', () => {
      const changed = read(read(KNOWN, { period: 'month' }), { period: 'on-demand', price: 0.02 }, LATER);
      expect(changed.price).toEqual({ ...PRICE, amount: 0.02, period: 'month', otherPeriod: 'on-demand' });
      const place = { price: undefined, atLeast: 0.02, state: 'unclear', teaches: undefined };
      expect(placeOf(webWith(changed), changed)).toMatchObject(place);
    });

    it('is none if the first read of an ordered server shows no period', () => {
      const unknown = read(KNOWN, {});
      expect(unknown.price).toEqual(PRICE);
      expect(read(unknown, { period: 'hour' }, LATER).price).toEqual({ ...PRICE, period: 'hour' });
    });
  });

  describe('of a record that an earlier version has written, without a period', () => {
    const adopted: Held = { ...PRICED, mode: 'adopt' };
    const teaches = { product: 'VPSX4', diskSize: 10240, price: 9.5 };

    it.each(['on-demand', 'month', 'hour', 'week'])(
      'is that of an order if the operator ordered the server, which is billed by: %s',
      (period) => {
        for (const own of [PRICED, { ...PRICED, mode: 'named' as const }]) {
          const next = read(own, { period }, LATER);
          expect(next.price).toEqual({ ...PRICE, period });
          const place = placeOf(webWith(next), next);
          expect(place).toMatchObject({ price: 9.5, state: undefined, teaches });
          expect(place).not.toHaveProperty('period');
        }
      },
    );

    it.each([
      { period: 'on-demand', price: 9.5, state: undefined, teaches },
      { period: 'month', price: 9.5, state: undefined, teaches: undefined },
      { period: 'hour', price: undefined, state: 'unclear', teaches: undefined },
      { period: 'week', price: undefined, state: 'unclear', teaches: undefined },
    ])('counts with $price if the server was adopted and is billed by: $period', ({ period, ...place }) => {
      const next = read(adopted, { period }, LATER);
      expect(placeOf(webWith(next), next)).toMatchObject(place);
    });

    describe('while the server is dormant', () => {
      const ASLEEP: Partial<Server> = { isDormant: true, status: 'shut down', price: 1.05 };
      const own: Held = { ...PRICED, price: { ...PRICE, amount: 1.05 } };
      const status = { ...SHOWN, serverStatus: 'shut down', price: 1.05 };

      it.each([
        ['the same price and a period', { period: 'on-demand' }],
        ['a price of another tariff, and a period', { period: 'on-demand', price: 1.1 }],
        ['no price, but a period', { period: 'on-demand', price: undefined }],
      ])('is unclear if the next read shows %s', (_what, server) => {
        const next = read(own, { ...ASLEEP, ...server }, LATER);
        expect(next.price).not.toHaveProperty('amount');
        const place = placeOf(webWith(next, { status }), next);
        expect(place).toMatchObject({ price: undefined, atLeast: 1.05, teaches: undefined });
        const again = read(next, { ...ASLEEP, ...server }, LATER);
        expect(again).toBe(next);
        const awake = read(again, { period: 'on-demand' }, LATER);
        expect(awake.price).toEqual({ ...PRICE, period: 'on-demand' });
      });

      it('stays if the provider shows no period, by which a record of this version differs', () => {
        const awake = read(KNOWN, {});
        const next = read(awake, { isDormant: true, status: 'shut down' }, LATER);
        expect(placeOf(webWith(next, { status: { ...status, price: 9.5 } }), next)).toMatchObject({
          price: 9.5,
          teaches,
        });
      });

      it('is unclear before that read, if spec asks for it', () => {
        const object = webWith(own, { status, spec: { power: 'Dormant' } });
        const place = { price: undefined, atLeast: 1.05, state: 'unclear', teaches: undefined };
        expect(placeOf(object, own)).toMatchObject(place);
        const off = webWith(own, { status, spec: { power: 'Off' } });
        expect(placeOf(off, own)).toMatchObject({ price: 1.05, teaches: { price: 1.05 } });
      });

      it('stays if it was read awake, by this version', () => {
        const awake = read(KNOWN, { period: 'on-demand' });
        const next = read(awake, { ...ASLEEP, period: 'on-demand', price: 9.5 }, LATER);
        const object = webWith(next, { status: { ...status, price: 9.5 }, spec: { power: 'Dormant' } });
        expect(placeOf(object, next)).toMatchObject({ price: 9.5, state: undefined, teaches });
      });
    });
  });

  it('does not come from another server', () => {
    const other = { ...PRICED, identifier: 'srv2' };
    expect(read(other, { identifier: 'srv2', price: undefined }).price).not.toHaveProperty('amount');
    expect(placeOf(webWith(other), other)).toMatchObject({ price: undefined, teaches: undefined });
  });

  it('counts when the status is lost, and teaches until the server is gone', () => {
    const teaches = { product: 'VPSX4', diskSize: 10240, price: 9.5 };
    expect(placeOf(webWith(PRICED), PRICED)).toMatchObject({ price: 9.5, state: undefined, teaches });
    const missing = { ...PRICED, missingAt: since };
    expect(placeOf(webWith(missing), missing)).toMatchObject({ price: 9.5, state: 'gone', teaches: undefined });
    const letGo = webWith(PRICED, { deleting: true, finalizers: [] });
    expect(placeOf(letGo, PRICED).teaches).toBeUndefined();
  });

  it.each([
    { kept: 9.5, status: 4 },
    { kept: 4, status: 9.5 },
  ])('counts with $kept in the record and $status in status as the higher one', ({ kept, status }) => {
    const own = { ...PRICED, price: { ...PRICE, amount: kept } };
    expect(placeOf(webWith(own, { status: { ...SHOWN, price: status } }), own).price).toBe(9.5);
  });

  it('is unstated by the record, or by a status that shows the server without a price', () => {
    const gone = { ...PRICED, price: { ...PRICE, unstatedSince: since } };
    expect(placeOf(webWith(gone, { status: SHOWN }), gone)).toMatchObject({ price: 9.5, state: 'unstated' });
    expect(placeOf(showing({ price: undefined }), HELD)).toMatchObject({ price: undefined, state: 'unstated' });
    expect(placeOf(web({ annotated: HELD }), HELD).state).toBeUndefined();
  });
});

describe('sums and texts', () => {
  it('adds decimals as people do, and shows two decimals or more', () => {
    expect(sumOf([0.1, 0.2])).toBe(0.3);
    expect([4.5, 0.0123, 12].map(priceText)).toEqual(['4.50', '0.0123', '12.00']);
  });
});
