import { describe, expect, it } from 'vitest';
import type { Held } from '../../../../src/api/record.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { modelOf, NO_PRODUCT, placeOf, withPrice, type Place } from '../../../../src/virtual-server/decision/price.ts';
import { ServerQuota } from '../../../../src/virtual-server/shared/limits.ts';
import { NOW, PRICED, SERVER, web, webWith } from '../../../fixtures/decision.ts';

const SMALL = { product: 'small', diskSize: 10 };
const LARGE_DISK = { product: 'small', diskSize: 40 };

/** A server that runs and shows its price. */
const running = (price: number, model = SMALL): Place => ({ ...model, price, teaches: { ...model, price } });

describe('ServerQuota', () => {
  it('gives each namespace as many places as the limit allows', () => {
    const quota = new ServerQuota(2);
    quota.set('ns', 'u1', SMALL);
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u3', SMALL)).toEqual({ full: 'servers', maximum: 2 });
    expect(quota.reserve('other', 'u3', SMALL)).toHaveProperty('release');
  });

  it('keeps the place of a server that was left behind, until an object holds it', () => {
    const quota = new ServerQuota(1);
    const place = { ...SMALL, identifier: 'srv1' };
    quota.set('ns', 'u1', place);
    quota.set('ns', 'u1', undefined);
    quota.left('ns', 'left 0', place);
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('full');
    expect(quota.reserve('other', 'u2', SMALL)).toHaveProperty('release');
    quota.set('elsewhere', 'u4', { ...place, identifier: 'SRV1' });
    quota.set('elsewhere', 'u4', undefined);
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
  });

  it('counts the orphans of an object, also for the object itself, until it reports none', () => {
    const quota = new ServerQuota(2);
    quota.set('ns', 'u1', undefined, { orphans: [SMALL, SMALL] });
    for (const uid of ['u1', 'u2']) expect(quota.reserve('ns', uid, SMALL)).toEqual({ full: 'servers', maximum: 2 });
    expect(quota.reserve('other', 'u3', SMALL)).toHaveProperty('release');
    quota.set('ns', 'u1', undefined, { orphans: [SMALL] });
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
  });

  it('counts an orphan once that another object holds, in whichever namespace', () => {
    const quota = new ServerQuota(1);
    quota.set('ns', 'u1', undefined, { orphans: [{ ...SMALL, identifier: 'srv1' }] });
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('full');
    quota.set('elsewhere', 'u3', { ...SMALL, identifier: 'srv1' });
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
  });

  it('counts what a hand-over moves for the object that has taken it, as long as that object exists', () => {
    const quota = new ServerQuota(2);
    quota.set('ns', 'giver', SMALL, { orphans: [SMALL] });
    quota.set('ns', 'taker', SMALL, { takes: 'ns/giver' });
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
    quota.set('ns', 'taker', undefined);
    expect(quota.reserve('ns', 'u4', SMALL)).toHaveProperty('full');
  });
});

const limited = (usual: number, namespaces = {}): ServerQuota => new ServerQuota(0, { usual, namespaces });

describe('ServerQuota after an upgrade from a version that kept no periods', () => {
  const model = modelOf(web().spec);
  /** The place before and after the first read by this version. */
  const placesOf = (own: Held, server: Partial<Server>): Place[] => {
    const power = server.isDormant === true ? 'Dormant' : 'On';
    const status = { serverStatus: power === 'On' ? 'running' : 'shut down', price: own.price?.amount };
    const next = withPrice(webWith(own, { status, spec: { power } }), own, { ...SERVER, ...server }, NOW);
    return [own, next].map((one) => placeOf(webWith(one, { status, spec: { power } }), one));
  };

  it.each(['on-demand', 'month', 'hour', 'week'])(
    'counts a server that the operator ordered, and that is billed by %s, with its price, and orders by that',
    (period) => {
      for (const place of placesOf(PRICED, { period })) {
        const quota = limited(20);
        quota.set('ns', 'u1', place);
        expect(quota.reserve('ns', 'u2', model)).toHaveProperty('release');
        expect(quota.reserve('ns', 'u3', model)).toEqual({ full: 'price', maximum: 20, sum: 19, price: 9.5 });
      }
    },
  );

  it.each(['hour', 'week'])('counts an adopted server that is billed by %s only like another one', (period) => {
    const [, place] = placesOf({ ...PRICED, mode: 'adopt' }, { period });
    const quota = limited(20);
    quota.set('ns', 'u1', place);
    expect(quota.reserve('ns', 'u2', model)).toMatchObject({ full: 'unclear', names: ['web'] });
    quota.set('elsewhere', 'u4', { ...model, price: 12, teaches: { ...model, price: 12 } });
    expect(quota.reserve('ns', 'u2', model)).toMatchObject({ full: 'price', sum: 12, price: 12 });
  });

  it('orders nothing by the price of a dormant server', () => {
    const asleep = { ...PRICED, price: { ...PRICED.price, amount: 1.05 } };
    for (const place of placesOf(asleep, { isDormant: true, status: 'shut down', price: 1.05, period: 'on-demand' })) {
      const quota = limited(15);
      quota.set('ns', 'u1', place);
      expect(quota.reserve('ns', 'u2', model)).toMatchObject({ full: 'unclear', names: ['web'] });
      quota.set('elsewhere', 'u4', { ...model, price: 9.5, teaches: { ...model, price: 9.5 } });
      expect(quota.reserve('ns', 'u2', model)).toEqual({ full: 'price', maximum: 15, sum: 9.5, price: 9.5 });
    }
  });
});

describe('ServerQuota with a limit in money', () => {
  it('counts a server that was never read awake like another one of its model, and orders nothing without that', () => {
    const quota = limited(20);
    quota.set('ns', 'u1', { ...SMALL, name: 'asleep', atLeast: 3, state: 'unclear' });
    expect(quota.reserve('ns', 'u2', LARGE_DISK)).toEqual({ full: 'unclear', maximum: 20, names: ['asleep'] });
    quota.set('elsewhere', 'u3', running(10));
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u4', SMALL)).toEqual({ full: 'price', maximum: 20, sum: 20, price: 10 });
  });

  it('counts such a server with no less than it costs now', () => {
    const quota = limited(20);
    quota.set('ns', 'u1', { ...SMALL, name: 'asleep', atLeast: 15, state: 'unclear' });
    quota.set('elsewhere', 'u3', running(10));
    expect(quota.reserve('ns', 'u2', SMALL)).toEqual({ full: 'price', maximum: 20, sum: 15, price: 10 });
  });

  it('gives a place if the sum reaches the limit, and none if it would pass it', () => {
    const quota = limited(0.3);
    quota.set('ns', 'u1', running(0.1));
    quota.set('ns', 'u2', running(0.1));
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u4', SMALL)).toEqual({ full: 'price', maximum: 0.3, sum: 0.3, price: 0.1 });
  });

  it('counts what is on its way and what was left behind with its expected price', () => {
    const quota = limited(10);
    quota.set('elsewhere', 'u1', running(3));
    quota.set('ns', 'ordered', SMALL);
    quota.left('ns', 'left 0', SMALL);
    expect(quota.reserve('ns', 'reserved', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'asking', SMALL)).toEqual({ full: 'price', maximum: 10, sum: 9, price: 3 });
  });

  it('gives one place while a price is unknown, and the next when it is known, in each namespace', () => {
    const quota = limited(10);
    const first = quota.reserve('ns', 'u1', { ...SMALL, name: 'first' });
    expect(first).toHaveProperty('release');
    expect(quota.reserve('ns', 'u2', SMALL)).toEqual({ full: 'unread', maximum: 10, names: ['first'] });
    expect(quota.reserve('ns', 'u2', LARGE_DISK)).toEqual({ full: 'unread', maximum: 10, names: ['first'] });
    expect(quota.reserve('elsewhere', 'u2', SMALL)).toHaveProperty('release');
    quota.set('ns', 'u1', running(3));
    expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u4', SMALL)).toEqual({ full: 'price', maximum: 10, sum: 9, price: 3 });
  });

  it('gives the first server of a model no place if it would pass the limit by the list of prices', () => {
    const quota = limited(10);
    quota.set('ns', 'u1', running(6, LARGE_DISK));
    const full = { full: 'price', maximum: 10, sum: 6, price: 4.5, isListed: true };
    expect(quota.reserve('ns', 'u2', { ...SMALL, listed: 4.5 })).toEqual(full);
    expect(quota.reserve('ns', 'u2', { ...SMALL, listed: 4 })).toHaveProperty('release');
    expect(quota.reserve('elsewhere', 'u3', { ...SMALL, listed: 11 })).toHaveProperty('full', 'price');
    // A product that is listed as free passes no limit that holds it back without a list.
    const spent = limited(6);
    spent.set('ns', 'u1', running(6, LARGE_DISK));
    expect(spent.reserve('ns', 'u2', { ...SMALL, listed: 0 })).toHaveProperty('full', 'price');
  });

  it('lets no list of prices give a place that would not be there without it', () => {
    const quota = limited(10);
    quota.reserve('ns', 'u1', { ...SMALL, name: 'first', listed: 1 });
    expect(quota.reserve('ns', 'u2', { ...SMALL, listed: 1 })).toEqual({
      full: 'unread',
      maximum: 10,
      names: ['first'],
    });
    quota.set('ns', 'u1', { ...SMALL, name: 'first', state: 'unstated' });
    expect(quota.reserve('ns', 'u2', { ...SMALL, listed: 1 })).toHaveProperty('full', 'unstated');
    quota.set('ns', 'u1', running(6));
    expect(quota.reserve('ns', 'u2', { ...SMALL, listed: 1 })).toEqual({
      full: 'price',
      maximum: 10,
      sum: 6,
      price: 6,
    });
  });

  describe('for a change', () => {
    const wanted = { ...LARGE_DISK, name: 'web' };

    it('takes room only if the server gets dearer, by the prices of servers or by one list', () => {
      const quota = limited(10);
      quota.set('ns', 'u1', running(6));
      quota.set('ns', 'u2', running(9, LARGE_DISK));
      expect(quota.reserveChange('ns', 'u1', wanted, { price: 6 })).toHaveProperty('full', 'price');
      expect(quota.reserveChange('ns', 'u1', wanted, { price: 9 })).toHaveProperty('price', 9);
      const unlearned = { ...wanted, product: 'other' };
      // The list may be in another unit than the price of the server.
      const [listed, price] = [3, 6];
      expect(quota.reserveChange('ns', 'u1', { ...unlearned, listed }, { price })).toHaveProperty('full');
      expect(quota.reserveChange('ns', 'u1', { ...unlearned, listed }, { price, listed: 3 })).toHaveProperty('release');
      expect(quota.reserveChange('ns', 'u1', { ...unlearned, listed }, { price, listed: 2 })).toHaveProperty('full');
    });

    it('lets no other one follow while what a server will cost is unknown', () => {
      const quota = limited(10);
      quota.set('ns', 'u1', { ...running(1), name: 'web' });
      quota.set('ns', 'u2', { ...running(1), name: 'db' });
      const first = quota.reserveChange('ns', 'u1', wanted, { price: 1 });
      expect(first).toHaveProperty('price', undefined);
      const full = { full: 'unread', maximum: 10, names: ['web'] };
      expect(quota.reserveChange('ns', 'u2', { ...wanted, name: 'db' }, { price: 1 })).toEqual(full);
      expect(quota.reserve('ns', 'u3', SMALL)).toEqual(full);
      if ('release' in first) first.release();
      expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
    });

    it('lets no other one follow while another change of the server, of unknown price, may still be made', () => {
      const quota = limited(10);
      quota.set('ns', 'u1', { ...SMALL, product: NO_PRODUCT, price: undefined, name: 'web' });
      quota.set('elsewhere', 'u2', running(6, LARGE_DISK));
      quota.reserveChange('ns', 'u1', wanted, { price: 1 });
      expect(quota.reserve('ns', 'u3', LARGE_DISK)).toEqual({ full: 'unread', maximum: 10, names: ['web'] });
    });

    it('counts a server that is about to be changed with the higher price', () => {
      const quota = limited(10);
      quota.set('ns', 'u1', running(1));
      quota.set('elsewhere', 'u2', running(6, LARGE_DISK));
      quota.reserveChange('ns', 'u1', wanted, { price: 1 });
      expect(quota.reserve('ns', 'u3', LARGE_DISK)).toEqual({ full: 'price', maximum: 10, sum: 6, price: 6 });
    });
  });

  it('needs the list of prices only for a model of unknown price, where there is a limit', () => {
    const quota = limited(10, { free: 0 });
    expect(quota.needsList('ns', SMALL)).toBe(true);
    expect(quota.needsList('free', SMALL)).toBe(false);
    quota.set('free', 'u1', running(3));
    expect([quota.needsList('ns', SMALL), quota.needsList('ns', LARGE_DISK)]).toEqual([false, true]);
    expect(new ServerQuota(3).needsList('ns', SMALL)).toBe(false);
  });

  it.each<{ what: string; place: Place; full?: object }>([
    {
      what: 'whose last price is known, none',
      place: { ...running(3), name: 'web', state: 'unstated' },
      full: { full: 'unstated', maximum: 10, names: ['web'] },
    },
    {
      what: 'that never had a price, none',
      place: { ...SMALL, name: 'web', state: 'unstated' },
      full: { full: 'unstated', maximum: 10, names: ['web'] },
    },
    {
      what: 'whose last price leaves no room, none',
      place: { ...running(9), state: 'unstated' },
      full: { full: 'price', maximum: 10, sum: 9, price: 9 },
    },
    { what: 'that is gone, one', place: { ...SMALL, state: 'gone' } },
  ])('gives beside a server without a stated price $what', ({ place, full }) => {
    const quota = limited(10);
    quota.set('ns', 'u1', place);
    if (full === undefined) expect(quota.reserve('ns', 'u2', SMALL)).toHaveProperty('release');
    else expect(quota.reserve('ns', 'u2', SMALL)).toEqual(full);
    expect(quota.reserve('elsewhere', 'u2', SMALL)).toHaveProperty('release');
  });

  it('counts an orphan with the price of another server like it, and gives no place while there is none', () => {
    const quota = limited(10);
    quota.set('ns', 'u1', undefined, { orphans: [{ ...SMALL, name: 'web', state: 'orphaned' }] });
    expect(quota.reserve('ns', 'u2', SMALL)).toEqual({ full: 'orphaned', maximum: 10, names: ['web'] });
    expect(quota.reserve('elsewhere', 'u2', SMALL)).toHaveProperty('release');
    quota.set('elsewhere', 'u2', running(6));
    expect(quota.reserve('ns', 'u3', SMALL)).toEqual({ full: 'price', maximum: 10, sum: 6, price: 6 });
  });

  it('counts the price of the server itself, not the price of others like it', () => {
    const quota = limited(10);
    quota.set('ns', 'u1', { ...SMALL, price: 8 });
    quota.set('elsewhere', 'u2', running(1));
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u4', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'u5', SMALL)).toMatchObject({ sum: 10 });
  });

  it('learns the highest price of the same product and disk size, and keeps the price of the last such server', () => {
    const quota = limited(10);
    quota.set('elsewhere', 'u1', running(20, LARGE_DISK));
    expect(quota.reserve('ns', 'asking', SMALL)).toHaveProperty('release');
    quota.set('elsewhere', 'u2', running(6));
    quota.set('elsewhere', 'u3', running(11));
    quota.set('elsewhere', 'u2', running(5));
    expect(quota.reserve('ns', 'asking', SMALL)).toMatchObject({ price: 11 });
    quota.set('elsewhere', 'u3', undefined);
    expect(quota.reserve('ns', 'asking', SMALL)).toHaveProperty('release');
    quota.set('elsewhere', 'u2', running(11));
    quota.set('elsewhere', 'u2', undefined);
    expect(quota.reserve('ns', 'asking', SMALL)).toMatchObject({ price: 11 });
    quota.set('elsewhere', 'u4', running(4));
    expect(quota.reserve('ns', 'asking', SMALL)).toHaveProperty('release');
    expect(quota.reserve('ns', 'asking', { ...SMALL, diskSize: 40 })).toMatchObject({ price: 20 });
  });

  it('gives a place for a server of unknown price until the known sum has reached the limit', () => {
    const quota = limited(10);
    quota.set('ns', 'u1', running(9.99, LARGE_DISK));
    const place = quota.reserve('ns', 'u2', SMALL);
    expect(place).toHaveProperty('release');
    if ('release' in place) place.release();
    quota.set('ns', 'u1', running(10, LARGE_DISK));
    expect(quota.reserve('ns', 'u3', SMALL)).toEqual({ full: 'price', maximum: 10, sum: 10, price: undefined });
  });

  it('frees the place of an order that was not sent', () => {
    const quota = limited(10);
    quota.set('elsewhere', 'u1', running(10));
    const place = quota.reserve('ns', 'u2', SMALL);
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('full');
    if ('release' in place) place.release();
    expect(quota.reserve('ns', 'u3', SMALL)).toHaveProperty('release');
  });

  it('has limits of single namespaces', () => {
    const quota = limited(5, { rich: 20, free: 0 });
    quota.set('elsewhere', 'u1', running(10));
    expect(quota.reserve('poor', 'u2', SMALL)).toHaveProperty('full');
    expect(quota.reserve('rich', 'u3', SMALL)).toHaveProperty('release');
    expect(quota.reserve('rich', 'u4', SMALL)).toHaveProperty('release');
    expect(quota.reserve('rich', 'u5', SMALL)).toHaveProperty('full');
    expect(quota.reserve('free', 'u6', SMALL)).toHaveProperty('release');
    expect(quota.reserve('free', 'u7', SMALL)).toHaveProperty('release');
  });
});
