import { describe, expect, it } from 'vitest';
import { currentReason } from '../../../../../src/controller/conditions.ts';
import { clockOf, expiryOf } from '../../../../../src/virtual-server/decision/expiry.ts';
import type { End } from '../../../../../src/virtual-server/decision/memo.ts';
import { knownRecord } from '../../../../../src/virtual-server/decision/record.ts';
import {
  HELD,
  NOW,
  OTHER_KEY,
  TASKED,
  adopting,
  facts,
  withKey,
  memo,
  record,
  web,
  webWith,
  decide,
} from '../../../../fixtures/decision.ts';
import { visit } from '../../../../fixtures/visits.ts';
import { cancels, park, planned, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const over = { expiresAt: at(-1) };
const later = { expiresAt: at(1) };
const EXPIRED = { ...HELD, expiredAt: '2026-01-01T00:00:00Z' };

const cases: CheckCase[] = [
  {
    check: 'serverHasExpired',
    reason: 'the object stays, and reports Expired',
    object: webWith(EXPIRED),
    operation: { type: 'expire', record: EXPIRED },
  },
  {
    check: 'serverHasExpired',
    reason: 'a failed write of the connection Secret is retried only after a pause',
    object: webWith(EXPIRED),
    given: facts({ memo: planned(webWith(EXPIRED), 'expire', NOW + 50) }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'serverHasExpired',
    reason: 'a deleted object is released without a call, even if its spec protects the expired server',
    object: webWith(EXPIRED, { deleting: true, spec: { deletionProtection: true } }),
    operation: { type: 'release', why: 'cancelled', record: EXPIRED },
  },
  {
    check: 'serverHasExpired',
    reason: 'an orphan is still unresolved',
    object: webWith({ ...EXPIRED, orphans: [{ task: 3 }] }, { deleting: true }),
    operation: park('OrphanedServer'),
  },
  { check: 'serverHasExpired', reason: 'the server has not expired', object: webWith(HELD), operation: undefined },
  {
    check: 'serverIsToExpire',
    reason: "the server's expiry has passed",
    object: webWith(HELD, { status: READY, spec: over }),
    given: withKey(),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToExpire',
    reason: 'the server was cancelled, which must be recorded',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    operation: { type: 'expire', record: HELD },
  },
  {
    check: 'serverIsToExpire',
    reason: 'the absence of the server is proven, which must be recorded',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } }) }),
    operation: { type: 'expire', record: HELD },
  },
  {
    check: 'serverIsToExpire',
    reason: 'a server of another account is read again by the cancellation itself',
    object: webWith(HELD, { status: READY, spec: over }),
    given: facts({ key: { ok: true, account: OTHER_KEY } }),
    operation: cancels(HELD),
  },
  {
    check: 'serverIsToExpire',
    reason: 'the expiry is a moment ahead',
    object: webWith(HELD, { status: READY, spec: later }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: "the expiry is ahead by the API server's clock, and the local clock may be wrong",
    object: webWith(HELD, { status: READY, spec: over }),
    given: { ...withKey(), apiServerNow: NOW - HOUR_MS },
    operation: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'the server is protected',
    object: webWith(HELD, { status: READY, spec: { ...over, deletionProtection: true } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'deletionPolicy is Retain',
    object: webWith(HELD, { status: READY, spec: { ...over, deletionPolicy: 'Retain' } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'serverIsToExpire',
    reason: 'ttl counts from the time in the record',
    object: webWith({ ...HELD, readyAt: at(-HOUR_MS) }, { status: READY, spec: { ttl: '1h' } }),
    given: withKey(),
    operation: cancels({ ...HELD, readyAt: at(-HOUR_MS) }),
  },
  {
    check: 'serverIsToExpire',
    reason: 'ttl does not count before the server is ready',
    object: webWith(HELD, { status: READY, spec: { ttl: '1s' } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'timeIsOver',
    reason: 'the operator does not order a server only to cancel it',
    object: web({ spec: over }),
    operation: park('Expired'),
  },
  {
    check: 'timeIsOver',
    reason: 'the operator does not adopt a server only to cancel it',
    object: web({ spec: over, ...adopting('srv1') }),
    operation: park('Expired'),
  },
  { check: 'timeIsOver', reason: 'the expiry is ahead', object: web({ spec: later }), operation: undefined },
  {
    check: 'timeIsOver',
    reason: 'the order was sent, so the operator must follow it',
    object: webWith(TASKED, { spec: over }),
    operation: undefined,
  },
];

verifyChecks('the checks of expiry', cases);

describe('an expired server', () => {
  it.each<[string, End]>([
    ['cancelled', { state: 'confirmed', identifier: 'srv1' }],
    ['proven to be gone', { state: 'gone', identifier: 'srv1', wasRequested: false }],
  ])('is recorded with the time when it was %s', async (_what, end) => {
    const object = webWith(HELD, { status: READY, spec: over });
    const visited = await visit(object, { memo: memo({ end }) });
    expect(knownRecord(visited.object ?? object)).toEqual({ ...HELD, expiredAt: '2026-01-02T00:00:00Z' });
    expect(visited.object?.status?.record).toEqual(knownRecord(visited.object ?? object));
    expect(visited.calls.filter((call) => call !== 'write')).toEqual([]);
  });

  it.each([
    ['spec', webWith(EXPIRED, { spec: later })],
    ['ttl', webWith({ ...EXPIRED, readyAt: at(0) }, { spec: { ttl: '72h' } })],
    ['adopt', webWith(EXPIRED, adopting('srv2'))],
    ['a lost annotation', web({ mirror: EXPIRED })],
    ['a lost mirror', web({ annotated: EXPIRED })],
    ['an outdated annotation', web({ annotated: HELD, mirror: EXPIRED })],
    ['an outdated annotation of an adoption', web({ annotated: { ...HELD, mode: 'adopt' }, mirror: EXPIRED })],
  ])('is never ordered or called again, whatever changes: %s', async (_what, object) => {
    const visited = await visit(object, { notes: [{ attempt: 'a1', state: 'task', task: 7 }] });
    expect(visited.calls.filter((call) => call !== 'write')).toEqual([]);
    expect(currentReason(visited.object?.status?.conditions)).toBe('Expired');
    expect(knownRecord(visited.object ?? object)).toMatchObject({
      identifier: 'srv1',
      expiredAt: EXPIRED.expiredAt,
    });
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
      expect(decide(object, withKey()).type).toBe('look');
    },
  );

  it('is judged by the earlier of two clocks', () => {
    expect(clockOf(facts())).toBe(NOW);
    expect(clockOf(facts({ apiServerNow: NOW - 5 }))).toBe(NOW - 5);
    expect(clockOf(facts({ apiServerNow: NOW + 5 }))).toBe(NOW);
  });
});
