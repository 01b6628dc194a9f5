/** What the plugin says of a server whose price is not known yet. */
import { describe, expect, it } from 'vitest';
import type { ServerCatalogStatus } from '../../../src/api/server-catalog.ts';
import { expectedPrice, listsFrom } from '../../../src/plugin/state/expected-price.ts';
import { outcomeOf, totalOf, type Scene } from '../../../src/plugin/plan/plan-servers.ts';
import { render, totalAfter } from '../../../src/plugin/plan/plan-report.ts';
import { sumUp } from '../../../src/plugin/state/totals.ts';
import { modelKey, pricesIn } from '../../../src/virtual-server/decision/price.ts';
import { LISTS } from '../../integration/support/catalog.ts';
import { NOW, TASKED, web, webWith } from '../../fixtures/decision.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';

const STATUS: ServerCatalogStatus = {
  ...LISTS,
  products: [{ code: 'VPSX4', price: 1000 }, { code: 'VPSX8' }],
  prices: { ipv4: 240, disks: [{ type: 'ssd', price: 50, extent: 5 }] },
};
const MODEL = { product: 'VPSX4', diskSize: 10240 };
const scene: Scene = {
  servers: [webWith(TASKED)],
  prices: new Map(),
  lists: () => STATUS,
  missing: () => undefined,
  wrongKeys: () => undefined,
  wrongUserData: () => undefined,
  now: NOW,
};

describe('the expected price', () => {
  it('is the price of a similar server, or else an estimate by the list of prices', () => {
    const known = new Map([[modelKey(MODEL), { ...MODEL, price: 7 }]]);
    expect(expectedPrice(MODEL, known, STATUS)).toEqual({ price: 7 });
    expect(expectedPrice(MODEL, new Map(), STATUS)).toEqual({ price: 1100, estimated: true });
    expect(expectedPrice({ ...MODEL, product: 'VPSX8' }, new Map(), STATUS)).toEqual({ price: undefined });
    for (const lists of [LISTS, undefined])
      expect(expectedPrice(MODEL, new Map(), lists)).toEqual({ price: undefined });
  });

  it('comes from the catalog for the Secret of the server that has read its lists', () => {
    const lists = listsFrom([storedCatalog('new'), storedCatalog('c', { status: STATUS })]);
    expect(lists('default', 'vps-api-key')).toBe(STATUS);
    expect([lists('default', 'other'), lists('elsewhere', 'vps-api-key')]).toEqual([undefined, undefined]);
  });

  it('is in a plan, which says that it is an estimate', () => {
    const { ordered = [] } = outcomeOf(undefined, web(), scene);
    expect(ordered).toEqual([{ name: 'web', price: 1100, estimated: true }]);
    const change = { verb: 'order', kind: 'VirtualServer', namespace: 'default', name: 'web', detail: '' } as const;
    const before = totalOf('default', scene);
    const changes = [{ ...change, ordered, cancelled: [] }];
    const prices = new Map([['default', { before, after: totalAfter(before, changes) }]]);
    const text = render({ changes, prices, notes: [] }, 'markdown', {} as never);
    expect(text).toContain('`about +1100.00`');
    expect(text).toContain('about 1100.00 before, about 2200.00 after');
  });

  it('is counted for servers on their way besides the sum, where catalogs are known', () => {
    const expected = { servers: 1, price: 1100, unknown: 0, estimated: true };
    const all = { servers: 0, price: 0, unpriced: 0, expected };
    expect(sumUp(scene.servers, scene.lists)).toEqual({ namespaces: [{ namespace: 'default', ...all }], all });
    const unknown = { ...all, expected: { servers: 1, price: 0, unknown: 1 } };
    expect(sumUp(scene.servers, () => undefined).all).toEqual(unknown);
    expect(sumUp(scene.servers).all).toEqual({ servers: 0, price: 0, unpriced: 0 });
    expect(pricesIn(scene.servers).size).toBe(0);
  });
});
