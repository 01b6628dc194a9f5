import { describe, expect, it } from 'vitest';
import { Holders, type AccountOf, type Holding } from '../../../../src/virtual-server/shared/holders.ts';
import { sourceKey } from '../../../../src/virtual-server/decision/known-record.ts';
import type { Others } from '../../../../src/virtual-server/decision/types.ts';

const ACCOUNT = 'provider-key';
const ASKING = { account: ACCOUNT };

/** `ns/name` holds or follows what `changes` contain, with the key of the account. */
const holding = (key: string, changes: Partial<Holding>): Holding => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name, secret: 'vps-api-key', account: ACCOUNT, ...changes };
};
const holds = (key: string, identifier: string, changes: Partial<Holding> = {}): Holding =>
  holding(key, { identifier, ...changes });

function setUp(accountOf: AccountOf = () => ACCOUNT) {
  const holders = new Holders(accountOf);
  const withServer = (identifier: string, uid: string, asking: Parameters<Others['withServer']>[1] = ASKING) =>
    holders.others(uid).withServer(identifier, asking);
  return { holders, withServer };
}

describe('Holders', () => {
  it('names every other object that holds an identifier, sorted', () => {
    const { holders, withServer } = setUp();
    holders.set('u1', holds('ns/b', 'srv1'));
    holders.set('u2', holds('ns/a', 'srv1'));
    holders.set('u3', holds('ns/c', 'srv2'));
    expect(withServer('srv1', 'u3')).toEqual(['ns/a', 'ns/b']);
    expect(withServer('srv1', 'u1')).toEqual(['ns/a']);
    expect(withServer('srv2', 'u3')).toEqual([]);
    expect(withServer('srv3', 'u1')).toEqual([]);
  });

  it('treats two spellings of an identifier as one server', () => {
    const { holders, withServer } = setUp();
    holders.set('u1', holds('ns/a', 'VS1'));
    for (const spelling of ['vs1', 'VS1', 'Vs1']) expect(withServer(spelling, 'u2')).toEqual(['ns/a']);
  });

  it('follows an object to another identifier, and to none', () => {
    const { holders, withServer } = setUp();
    holders.set('u1', holds('ns/a', 'srv1'));
    holders.set('u1', holds('ns/a', 'srv2'));
    expect(withServer('srv1', 'u2')).toEqual([]);
    expect(withServer('srv2', 'u2')).toEqual(['ns/a']);
    holders.set('u1', undefined);
    expect(withServer('srv2', 'u2')).toEqual([]);
  });

  it('counts the giver of a server until its taker is believed', () => {
    const accepted = new Set<string>();
    const { holders, withServer } = setUp((_namespace, secret) => (accepted.has(secret) ? ACCOUNT : undefined));
    holders.set('u1', holds('ns/giver', 'srv1', { isConfirmed: true }));
    holders.set('u2', holds('ns/taker', 'srv1', { secret: 'other' }), sourceKey({ namespace: 'ns', uid: 'u1' }));
    expect(withServer('srv1', 'u3')).toEqual(['ns/giver']);
    accepted.add('other');
    expect(withServer('srv1', 'u3')).toEqual(['ns/taker']);
  });

  it('admits only the first of two adopters', () => {
    const { holders, withServer } = setUp();
    holders.reserve('u1', holds('ns/a', 'srv1'), () => undefined);
    expect(withServer('srv1', 'u2')).toEqual(['ns/a']);
    expect(withServer('srv1', 'u1')).toEqual([]);
  });

  it('counts a reservation whatever its key, unless only holders are asked for', () => {
    const { holders, withServer } = setUp(() => undefined);
    holders.reserve('u1', holds('ns/a', 'srv1'), () => undefined);
    expect(withServer('srv1', 'u2')).toEqual(['ns/a']);
    expect(withServer('srv1', 'u2', { ...ASKING, held: true })).toEqual([]);
  });

  it('ends a reservation that led to no hold, but not one that became a hold', () => {
    const { holders, withServer } = setUp();
    holders.reserve('u1', holds('ns/a', 'srv1'), () => undefined).release();
    expect(withServer('srv1', 'u2')).toEqual([]);
    const reserved = holders.reserve('u1', holds('ns/a', 'srv1'), () => undefined);
    holders.set('u1', holds('ns/a', 'srv1'));
    reserved.release();
    expect(withServer('srv1', 'u2')).toEqual(['ns/a']);
  });

  it.each([
    { key: 'the key of another account', account: 'provider-other', counts: false },
    { key: 'a key of the account that its record names', account: ACCOUNT, counts: true },
    { key: 'a key that the provider has not accepted', account: undefined, counts: false },
  ])('counts an object with $key: $counts', ({ account, counts }) => {
    const { holders, withServer } = setUp(() => account);
    holders.set('u1', holds('ns/a', 'srv1'));
    expect(withServer('srv1', 'u2')).toEqual(counts ? ['ns/a'] : []);
  });

  it.each([undefined, 'provider-other'])(
    'counts an object whose record the provider has confirmed, whatever its key (%s)',
    (own) => {
      const { holders, withServer } = setUp(() => own);
      holders.set('u1', holds('ns/a', 'srv1', { isConfirmed: true }));
      expect(withServer('srv1', 'u2')).toEqual(['ns/a']);
    },
  );

  it.each([
    { asking: 'another key of the same base URL', account: 'provider-other', isConfirmed: true, counts: true },
    { asking: 'a key of another base URL', account: 'elsewhere-key', isConfirmed: true, counts: false },
    { asking: 'another key of the same base URL', account: 'provider-other', isConfirmed: false, counts: false },
  ])('counts for $asking, confirmed $isConfirmed: $counts', ({ account, isConfirmed, counts }) => {
    const { holders, withServer } = setUp();
    holders.set('u1', holds('ns/a', 'srv1', { isConfirmed }));
    expect(withServer('srv1', 'u2', { account })).toEqual(counts ? ['ns/a'] : []);
  });

  it('treats the same identifier in another account as another server, unless the fingerprints match', () => {
    const { holders, withServer } = setUp(() => 'provider-other');
    const fingerprint = { macs: ['00:00:5e:00:53:01'] };
    holders.set('u1', holds('ns/a', 'srv1', { account: 'provider-other', fingerprint }));
    expect(withServer('srv1', 'u2')).toEqual([]);
    expect(withServer('srv1', 'u2', { ...ASKING, fingerprint })).toEqual(['ns/a']);
    expect(withServer('srv1', 'u2', { ...ASKING, fingerprint: { macs: ['00:00:5e:00:53:02'] } })).toEqual([]);
  });

  describe('an address', () => {
    const MAC = '00:00:5e:00:53:01';
    const asking = { account: ACCOUNT, identifier: 'srv1' };
    const shows = (key: string, identifier: string, macs = [MAC], changes: Partial<Holding> = {}): Holding =>
      holds(key, identifier, { fingerprint: { macs }, ...changes });

    it('leads to the objects that hold another server with it', () => {
      const { holders } = setUp();
      holders.set('u1', shows('ns/a', 'srv1'));
      holders.set('u2', shows('ns/b', 'srv2'));
      holders.set('u3', shows('ns/c', 'srv3', ['00:00:5e:00:53:02', MAC]));
      holders.set('u4', shows('ns/d', 'SRV1'));
      holders.set('u5', holds('ns/e', 'srv5', { fingerprint: { ipv6: ['2001:DB8:0::1'] } }));
      expect(holders.others('u1').withAddress(MAC, asking)).toEqual(['ns/b', 'ns/c']);
      expect(holders.others('u1').withAddress('2001:db8::1', asking)).toEqual(['ns/e']);
      expect(holders.others('u1').withAddress('00:00:5e:00:53:03', asking)).toEqual([]);
    });

    it('leads to no object whose server is gone or shows other addresses now', () => {
      const { holders } = setUp();
      holders.set('u2', shows('ns/b', 'srv2'));
      holders.set('u3', shows('ns/c', 'srv3'));
      holders.set('u4', shows('ns/d', 'srv4'));
      holders.set('u2', { ...shows('ns/b', 'srv2'), identifier: undefined });
      holders.set('u3', shows('ns/c', 'srv3', ['00:00:5e:00:53:02']));
      holders.set('u4', undefined);
      expect(holders.others('u1').withAddress(MAC, asking)).toEqual([]);
      expect(holders.others('u1').withAddress('00:00:5e:00:53:02', asking)).toEqual(['ns/c']);
    });

    it('leads to an object that was last read with another key, once its Secret has a key of this account', () => {
      const { holders } = setUp();
      holders.set('u2', shows('ns/b', 'srv2', [MAC], { account: 'provider-old', isConfirmed: true }));
      expect(holders.others('u1').withAddress(MAC, asking)).toEqual(['ns/b']);
    });

    it.each([
      { whose: 'another account', account: 'provider-other', key: 'provider-other' },
      { whose: 'this account, according to a record alone', account: ACCOUNT, key: 'provider-other' },
      { whose: 'this account, without a key', account: ACCOUNT, key: undefined },
    ])('leads to no object of $whose, confirmed or not', ({ account, key }) => {
      const { holders } = setUp(() => key);
      for (const isConfirmed of [true, false]) {
        holders.set('u2', shows('ns/b', 'srv2', [MAC], { account, isConfirmed }));
        expect(holders.others('u1').withAddress(MAC, asking)).toEqual([]);
      }
    });
  });

  it('shows an open order to another key of the same base URL', () => {
    const { holders } = setUp();
    holders.set('u1', holding('ns/a', { isOrdering: true }));
    expect(holders.others('u2').ordering('provider-other')).toEqual(['ns/a']);
  });

  it('treats the same task number in another account as another task', () => {
    const { holders } = setUp();
    holders.set('u1', holding('ns/a', { task: 7, isOrdering: true }));
    expect(holders.others('u2').withTask(7, ACCOUNT)).toEqual(['ns/a']);
    expect(holders.others('u2').withTask(8, ACCOUNT)).toEqual([]);
    expect(holders.others('u2').withTask(7, 'provider-other')).toEqual([]);
    expect(holders.others('u1').withTask(7, ACCOUNT)).toEqual([]);
    expect(holders.others('u2').ordering('elsewhere-key')).toEqual([]);
  });
});
