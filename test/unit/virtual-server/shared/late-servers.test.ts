import { describe, expect, it } from 'vitest';
import type { Server } from '../../../../src/provider/types.ts';
import { Holders, type Holding } from '../../../../src/virtual-server/shared/holders.ts';
import { SERVER } from '../../../fixtures/decision.ts';

const ACCOUNT = 'provider-key';
const MINUTE_MS = 60_000;
const holding = (changes: Partial<Holding>): Holding => ({
  namespace: 'ns',
  name: 'other',
  secret: 'vps-api-key',
  account: ACCOUNT,
  ...changes,
});
const open = (order: string, changes: Partial<Holding> = {}): Holding =>
  holding({ order, isOrdering: true, ...changes });

describe('the server of a failed order that appears without a mark', () => {
  const ownerOf = (all: Holders, server: Server = SERVER, now = 0): string =>
    all.ownerOfLate('u1', server, { account: ACCOUNT, now });

  it('belongs to its object if no order of another one is open', () => {
    const all = new Holders(() => undefined);
    all.set('u1', open('a'));
    expect(ownerOf(all)).toBe('own');
  });

  it.each([
    { whose: 'the account', account: ACCOUNT, owner: 'ordering' },
    { whose: 'another key of the provider', account: 'provider-other', owner: 'ordering' },
    { whose: 'an unknown account', account: undefined, owner: 'ordering' },
    { whose: 'another provider', account: 'elsewhere-key', owner: 'own' },
  ])('waits for the order of $whose: $owner', ({ account, owner }) => {
    const all = new Holders(() => undefined);
    all.set('u2', open('b', { account }));
    expect(ownerOf(all)).toBe(owner);
  });

  it('waits for each order that was open at first sight, until that one has a server or has ended', () => {
    const all = new Holders(() => undefined);
    all.set('u2', open('b'));
    all.set('u3', open('c', { isOrdering: false }));
    expect(ownerOf(all)).toBe('waiting');
    all.set('u3', holding({ identifier: 'srv3' }));
    all.set('u4', open('d', { isOrdering: false }));
    expect(ownerOf(all)).toBe('ordering');
    all.set('u2', open('b2'));
    expect(ownerOf(all)).toBe('own');
  });

  it.each([
    { what: 'it has other addresses', other: { ...SERVER, macs: ['00:00:5e:00:53:77'] }, missed: false },
    { what: 'it has one more address', other: { ...SERVER, ipv6: [...SERVER.ipv6, '2001:db8::77'] }, missed: false },
    { what: 'the provider denied it in between', other: SERVER, missed: true },
  ])('is seen for the first time again if $what', ({ other, missed }) => {
    const all = new Holders(() => undefined);
    expect(ownerOf(all)).toBe('own');
    all.set('u2', open('b'));
    expect(ownerOf(all)).toBe('own');
    if (missed) all.missedLate('u1', SERVER.identifier.toUpperCase());
    expect(ownerOf(all, other)).toBe('ordering');
  });

  it('is asked about after an hour, whatever others wait for', () => {
    const all = new Holders(() => undefined);
    all.set('u2', open('b'));
    for (let minute = 0; minute < 60; minute += 1) expect(ownerOf(all, SERVER, minute * MINUTE_MS)).toBe('ordering');
    expect(ownerOf(all, SERVER, 60 * MINUTE_MS)).toBe('waiting');
    const bare = { ...SERVER, macs: [], ipv6: [] };
    for (let minute = 0; minute < 60; minute += 1) {
      all.set('u2', open(`b${minute}`));
      expect(ownerOf(all, bare, minute * MINUTE_MS)).toBe('ordering');
    }
    expect(ownerOf(all, bare, 60 * MINUTE_MS)).toBe('waiting');
  });

  it('counts as first seen if no visit has looked for it for an hour', () => {
    const all = new Holders(() => undefined);
    expect(ownerOf(all)).toBe('own');
    all.set('u2', open('b'));
    expect(ownerOf(all, SERVER, 59 * MINUTE_MS)).toBe('own');
    expect(ownerOf(all, SERVER, 119 * MINUTE_MS)).toBe('ordering');
  });

  it('may belong to any later order too if no address tells it from another one', () => {
    const all = new Holders(() => undefined);
    const bare = { ...SERVER, macs: ['00:00:00:00:00:00'], ipv6: ['fe80::1'] };
    expect(ownerOf(all, bare)).toBe('own');
    all.set('u2', open('b'));
    expect(ownerOf(all, bare)).toBe('ordering');
  });

  it('belongs to the object whose order has just named it, though nothing confirms that yet', () => {
    const all = new Holders(() => undefined);
    expect(ownerOf(all)).toBe('own');
    all.set('u2', holding({ identifier: SERVER.identifier, account: 'provider-other' }));
    expect(ownerOf(all)).toBe('ordering');
  });

  it('is forgotten with its object', () => {
    const all = new Holders(() => undefined);
    expect(ownerOf(all)).toBe('own');
    all.set('u2', open('b'));
    all.forget('u1');
    expect(ownerOf(all)).toBe('ordering');
  });
});
