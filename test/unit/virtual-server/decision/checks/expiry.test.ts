import { describe, expect, it } from 'vitest';
import { clockOf, expiryOf } from '../../../../../src/virtual-server/decision/expiry.ts';
import {
  ACCOUNT,
  HELD,
  NOW,
  OTHER_KEY,
  TASKED,
  adopting,
  facts,
  gathered,
  memo,
  record,
  web,
  webWith,
  decide,
} from '../../../../gen/decision.ts';
import { cancels, park, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const over = { expiresAt: at(-1) };
const later = { expiresAt: at(1) };
const EXPIRED = { ...HELD, expiredAt: '2026-01-01T00:00:00Z' };
const withKey = facts({ credentials: { ok: true, account: ACCOUNT } });

const cases: CheckCase[] = [
  {
    check: 'serverHasExpired',
    reason: 'the object stays, and reports Expired',
    object: webWith(EXPIRED),
    action: park('Expired'),
  },
  {
    check: 'serverHasExpired',
    reason: 'a deleted object is released without a call, even if its spec protects the expired server',
    object: webWith(EXPIRED, { deleting: true, spec: { deletionProtection: true } }),
    action: { type: 'release', why: 'cancelled', record: EXPIRED },
  },
  {
    check: 'serverHasExpired',
    reason: 'an orphan is still unresolved',
    object: webWith({ ...EXPIRED, orphans: [{ task: 3 }] }, { deleting: true }),
    action: park('OrphanedServer'),
  },
  { check: 'serverHasExpired', reason: 'the server has not expired', object: webWith(HELD), action: undefined },
  {
    check: 'serverIsToExpire',
    reason: "the server's expiry has passed",
    object: webWith(HELD, { status: READY, spec: over }),
    given: withKey,
    action: cancels(HELD),
  },
  {
    check: 'serverIsToExpire',
    reason: 'the server was cancelled, which must be recorded',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ memo: memo({ cancelled: 'srv1' }) }),
    action: { type: 'record', record: { ...HELD, expiredAt: '2026-01-02T00:00:00Z' }, why: 'expired' },
  },
  {
    check: 'serverIsToExpire',
    reason: 'the absence of the server is proven, which must be recorded',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ memo: memo({ gone: 'srv1' }) }),
    action: { type: 'record', record: { ...HELD, expiredAt: '2026-01-02T00:00:00Z' }, why: 'expired' },
  },
  {
    check: 'serverIsToExpire',
    reason: 'a server of another account is read again by the cancellation itself',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ credentials: { ok: true, account: OTHER_KEY } }),
    action: cancels(HELD),
  },
  {
    check: 'serverIsToExpire',
    reason: 'the expiry is a moment ahead',
    object: webWith(HELD, { status: READY, spec: later }),
    given: withKey,
    action: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: "the expiry is ahead by the API server's clock, and the local clock may be wrong",
    object: webWith(HELD, { status: READY, spec: over }),
    given: { ...withKey, apiServerNow: NOW - HOUR_MS },
    action: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'the server is protected',
    object: webWith(HELD, { status: READY, spec: { ...over, deletionProtection: true } }),
    given: withKey,
    action: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'deletionPolicy is Retain',
    object: webWith(HELD, { status: READY, spec: { ...over, deletionPolicy: 'Retain' } }),
    given: withKey,
    action: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'ttl counts from the time in the record',
    object: webWith({ ...HELD, readyAt: at(-HOUR_MS) }, { status: READY, spec: { ttl: '1h' } }),
    given: withKey,
    action: cancels({ ...HELD, readyAt: at(-HOUR_MS) }),
  },
  {
    check: 'serverIsToExpire',
    reason: 'ttl does not count before the server is ready',
    object: webWith(HELD, { status: READY, spec: { ttl: '1s' } }),
    given: withKey,
    action: undefined,
  },
  {
    check: 'timeIsOver',
    reason: 'the operator does not order a server only to cancel it',
    object: web({ spec: over }),
    action: park('Expired'),
  },
  {
    check: 'timeIsOver',
    reason: 'the operator does not adopt a server only to cancel it',
    object: web({ spec: over, ...adopting('srv1') }),
    action: park('Expired'),
  },
  { check: 'timeIsOver', reason: 'the expiry is ahead', object: web({ spec: later }), action: undefined },
  {
    check: 'timeIsOver',
    reason: 'the order was sent, so the operator must follow it',
    object: webWith(TASKED, { spec: over }),
    action: undefined,
  },
];

verifyChecks('the checks of expiry', cases);

describe('an expired server', () => {
  it.each([
    ['spec', webWith(EXPIRED, { spec: later })],
    ['ttl', webWith({ ...EXPIRED, readyAt: at(0) }, { spec: { ttl: '72h' } })],
    ['adopt', webWith(EXPIRED, adopting('srv2'))],
    ['a lost annotation', web({ mirror: EXPIRED })],
    ['a lost mirror', web({ annotated: EXPIRED })],
    ['an outdated annotation', web({ annotated: HELD, mirror: EXPIRED })],
    ['an outdated annotation of an adoption', web({ annotated: { ...HELD, mode: 'adopt' }, mirror: EXPIRED })],
  ])('is never ordered or called again, whatever changes: %s', (_what, object) => {
    const action = decide(object, gathered({ notes: [{ attempt: 'a1', state: 'task', task: 7 }] }));
    expect(['park', 'record']).toContain(action.type);
    if (action.type === 'record')
      expect(action.record).toMatchObject({ identifier: 'srv1', expiredAt: EXPIRED.expiredAt });
  });
});

describe('the expiry of a server', () => {
  it.each([
    ['1h30m', 90 * 60_000],
    ['72h', 72 * HOUR_MS],
    ['45s', 45_000],
  ])('is %s after it was ready', (ttl, ms) => {
    expect(expiryOf(web({ spec: { ttl } }), record({ readyAt: at(0) }))).toBe(NOW + ms);
  });

  it.each([
    ['2026-01-02T00:00:00Z', 0],
    ['2026-01-02T00:00:00,5Z', 500],
    ['2026-01-02T00:00:00.123456789Z', 123],
    ['2026-01-02T01:00:00+01:00', 0],
    ['2026-01-01T19:30:00-04:30', 0],
    ['2026-01-03T00:00:00+24:00', 0],
    ['2026-01-01T00:59:00-23:60', 59 * 60_000],
  ])('reads %s as the API server does', (expiresAt, ms) => {
    expect(expiryOf(web({ spec: { expiresAt } }), undefined)).toBe(NOW + ms);
  });

  it.each(['', 'soon', '2026-01-02', '2026-01-02T00:00:00', '2026-13-02T00:00:00Z', '2026-01-02T00:00:00;5Z'])(
    'never comes if it cannot be parsed: %s',
    (expiresAt) => {
      expect(expiryOf(web({ spec: { expiresAt } }), undefined)).toBeUndefined();
      const object = webWith(HELD, { status: READY, spec: { expiresAt } });
      expect(decide(object, withKey).type).toBe('readServer');
    },
  );

  it('is judged by the earlier of two clocks', () => {
    expect(clockOf(facts())).toBe(NOW);
    expect(clockOf(facts({ apiServerNow: NOW - 5 }))).toBe(NOW - 5);
    expect(clockOf(facts({ apiServerNow: NOW + 5 }))).toBe(NOW);
  });
});
