import { describe, expect, it } from 'vitest';
import { currentReason } from '../../../../../src/api/conditions.ts';
import { HAND_OVER_ANNOTATION } from '../../../../../src/api/names.ts';
import { clockOf, expiryOf, timeOf } from '../../../../../src/virtual-server/decision/expiry.ts';
import { knownRecord } from '../../../../../src/virtual-server/decision/known-record.ts';
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
import { cancels, park, releases, soon, verifyChecks } from './support.ts';

const READY = { serverStatus: 'running' };
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const over = { expiresAt: at(-1) };
const later = { expiresAt: at(1) };
const EXPIRED = { ...HELD, expiredAt: '2026-01-01T00:00:00Z' };

verifyChecks('the checks of expiry', {
  serverHasExpired: [
    ['the object stays, and reports Expired', webWith(EXPIRED), { type: 'expire', record: EXPIRED }],
    [
      'a failed write of the connection Secret is retried only after a pause',
      webWith(EXPIRED),
      { type: 'wait', when: { afterMs: 50 } },
      soon(webWith(EXPIRED), 'expire'),
    ],
    [
      'a deleted object is released without a call, even if its spec protects the expired server',
      webWith(EXPIRED, { deleting: true, spec: { deletionProtection: true } }),
      releases('cancelled', EXPIRED),
    ],
    [
      'an orphan is still unresolved',
      webWith({ ...EXPIRED, orphans: [{ task: 3 }] }, { deleting: true }),
      park('OrphanedServer'),
    ],
    ['the server has not expired', webWith(HELD), undefined],
  ],
  serverIsToExpire: [
    ["the server's expiry has passed", webWith(HELD, { status: READY, spec: over }), cancels(HELD)],
    [
      'the server was cancelled, which must be recorded',
      webWith(HELD, { status: READY, spec: over }),
      { type: 'expire', record: HELD },
      facts({ memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }) }),
    ],
    [
      'the absence of the server is proven, which must be recorded',
      webWith(HELD, { status: READY, spec: over }),
      { type: 'expire', record: HELD },
      facts({ memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } }) }),
    ],
    [
      'a server of another account is read again by the cancellation itself',
      webWith(HELD, { status: READY, spec: over }),
      cancels(HELD),
      facts({ key: { ok: true, value: { account: OTHER_KEY } } }),
    ],
    [
      'the server is about to be handed over',
      webWith(HELD, { status: READY, spec: over, annotations: { [HAND_OVER_ANNOTATION]: 'web' } }),
      undefined,
    ],
    ['the expiry is a moment ahead', webWith(HELD, { status: READY, spec: later }), undefined],
    [
      "the expiry is ahead by the API server's clock, and the local clock may be wrong",
      webWith(HELD, { status: READY, spec: over }),
      undefined,
      { ...withKey(), apiServerNow: NOW - HOUR_MS },
    ],
    [
      'the server is protected',
      webWith(HELD, { status: READY, spec: { ...over, deletionProtection: true } }),
      undefined,
    ],
    [
      'deletionPolicy is Retain',
      webWith(HELD, { status: READY, spec: { ...over, deletionPolicy: 'Retain' } }),
      undefined,
    ],
    [
      'ttl counts from the time in the record',
      webWith({ ...HELD, readyAt: at(-HOUR_MS) }, { status: READY, spec: { ttl: '1h' } }),
      cancels({ ...HELD, readyAt: at(-HOUR_MS) }),
    ],
    ['ttl does not count before the server is ready', webWith(HELD, { status: READY, spec: { ttl: '1s' } }), undefined],
  ],
  timeIsOver: [
    ['the operator does not order a server only to cancel it', web({ spec: over }), park('Expired')],
    [
      'the operator does not adopt a server only to cancel it',
      web({ spec: over, ...adopting('srv1') }),
      park('Expired'),
    ],
    ['the expiry is ahead', web({ spec: later }), undefined],
    ['the order was sent, so the operator must follow it', webWith(TASKED, { spec: over }), undefined],
  ],
});

describe('an expired server', () => {
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
    expect(expiryOf(web({ spec: { ttl } }), record({ identifier: 'srv1', readyAt: at(0) }))).toBe(NOW + ms);
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

describe('a time', () => {
  it.each([
    '2027-02-30T00:00:00Z',
    '2027-04-31T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '2027-01-31T24:00:00Z',
    '2027-13-01T00:00:00Z',
  ])('that does not exist is no time, and cancels nothing: %s', (text) => {
    expect(timeOf(text)).toBeUndefined();
    expect(expiryOf({ spec: { ...web().spec, expiresAt: text } }, undefined)).toBeUndefined();
  });

  it.each<[string, number]>([
    ['2028-02-29T00:00:00Z', Date.UTC(2028, 1, 29)],
    ['2027-01-31T18:00:00,5-24:00', Date.UTC(2027, 1, 1, 18, 0, 0, 500)],
  ])('may have each form that the API server accepts: %s', (text, at) => {
    expect(timeOf(text)).toBe(at);
  });
});
