import { describe, expect, it } from 'vitest';
import { isNow, ON_CHANGE, untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { without } from '../../../../src/base/without.ts';
import { waited } from '../../../../src/virtual-server/decision/outcome.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import {
  ACCOUNT,
  HELD,
  KNOWN,
  NOW,
  PRICED,
  decide,
  denied,
  facts,
  memo,
  record,
  shown,
  webWith,
  withKey,
} from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit } from '../../../fixtures/visits.ts';
import { FAILED, OVER, conditionsOf, looked, polled } from './support.ts';

const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const withSpec = (spec: Partial<VirtualServerSpec>): VirtualServer => webWith(HELD, { spec });
const TTL = withSpec({ ttl: '5m' });
/** Ready for a minute. */
const BEGUN = webWith({ ...KNOWN, readyAt: at(-60_000) }, { spec: { ttl: '5m' }, status: { serverStatus: 'running' } });

const EARLIER = { ...HELD, format: 1 };
const SEEN = memo({ task: { state: 'over', identifier: 'srv1' } });

describe('the time from which ttl counts', () => {
  const READY = {
    type: 'Ready',
    status: 'True',
    reason: 'Available',
    message: '',
    lastTransitionTime: '2026-01-01T12:00:00Z',
  } as const;
  const ready = { serverStatus: 'running', conditions: [READY] };

  // A clock that is behind must not shorten the life of a server.
  it.each([
    { from: 'the first read that shows the server ready', readyAt: '2026-01-02T00:00:00Z' },
    { from: 'the later of two clocks', given: { apiServerNow: NOW + HOUR_MS }, readyAt: '2026-01-02T01:00:00Z' },
    { from: 'the later of two clocks', given: { apiServerNow: NOW - HOUR_MS }, readyAt: '2026-01-02T00:00:00Z' },
    {
      from: 'the creation of the object at the earliest',
      given: { now: Date.parse('2025-12-01T00:00:00Z') },
      readyAt: '2026-01-01T00:00:00Z',
    },
    {
      from: 'when a Ready server became Ready, by the condition that an earlier version has written',
      object: webWith(EARLIER, { spec: { ttl: '72h' }, status: ready }),
      readyAt: '2026-01-01T12:00:00Z',
    },
  ])('is $from ($readyAt)', ({ object = TTL, given = {}, readyAt }) => {
    expect(looked(object, shown(), facts(given)).status?.record).toMatchObject({
      ...without(PRICED, 'format'),
      readyAt,
    });
  });

  it('leads to the expiry in the same visit if the ttl has passed by then', async () => {
    const object = webWith(EARLIER, { spec: { ttl: '72h' }, status: ready });
    const late = webWith(EARLIER, { spec: { ttl: '5m' }, status: ready });
    const answers = { server: shown().server, removed: 'ok', after: DENIED };
    expect((await visit(object, { memo: SEEN, answers })).calls).not.toContain('delete');
    const seen = await visit(late, { memo: SEEN, answers });
    expect(seen.calls).toContain('delete');
    expect(shownBy(seen).reason).toBe('Expired');
    expect(seen.object?.status?.record).toMatchObject({ readyAt: '2026-01-01T12:00:00Z' });
  });

  it('leads an operator that only observes to say in the same visit that the time is up', async () => {
    const late = webWith(EARLIER, { spec: { ttl: '5m' }, status: ready });
    const seen = await visit(late, { memo: SEEN, answers: { server: shown().server }, observes: 'reporting' });
    expect(shownBy(seen).reason).toBe('ObserveOnly');
    expect(seen.requeueAfterMs).not.toBe(0);
  });

  it('is kept', () => {
    const begun = webWith({ ...KNOWN, readyAt: '2026-01-01T23:00:00Z' }, { spec: { ttl: '72h' } });
    expect(looked(begun).record).toBeUndefined();
  });
});

describe('an object that expires', () => {
  it('orders no other server even if its record no longer names the one that expired', async () => {
    const forgotten = webWith(record({ account: ACCOUNT, expiredAt: '2026-01-01T00:00:00Z' }));
    const visited = await visit(forgotten, { answers: {} });
    expect(shownBy(visited)).toMatchObject({
      reason: 'Expired',
      message: expect.stringMatching(/^The server expired at 2026-01-01T00:00:00Z and no longer exists/) as string,
    });
    expect(visited.object?.metadata.annotations).toEqual(forgotten.metadata.annotations);
  });

  const soon = webWith(HELD, { status: { serverStatus: 'running' }, spec: { expiresAt: at(10_000) } });
  const failing = facts({ memo: memo({}, { failures: 20 }) });

  it.each<{ what: string; next: Outcome; pauseMs?: number }>([
    { what: 'a read', next: looked(BEGUN), pauseMs: 240_000 },
    { what: 'a read that failed', next: looked(soon, FAILED, failing) },
    { what: 'a plan for later', next: waited(viewOf(soon, failing), { afterMs: 600_000 }) },
    { what: 'a pause without an end', next: waited(viewOf(soon, failing), ON_CHANGE) },
    { what: 'a missing server', next: looked(soon, denied(true), failing) },
  ])('is visited in time after $what', ({ next, pauseMs = 10_000 }) => {
    expect(untilVisit(next.when)).toBe(pauseMs);
  });

  it('is not visited again at once for a server that is kept beyond its expiry', () => {
    const kept = { ...OVER, spec: { ...OVER.spec, deletionProtection: true }, status: { serverStatus: 'running' } };
    const next = looked(webWith(KNOWN, kept));
    expect(untilVisit(next.when)).toBe(540_000);
    expect(conditionsOf(next)).toMatchObject({ Ready: 'True Available', Expiring: 'True ExpiryBlocked' });
    expect(next.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'ExpiryBlocked' }));
  });

  it('does not wait for a task that never ends', () => {
    const object = webWith(HELD, OVER);
    const late = withKey({ now: NOW + HOUR_MS });
    const pending = { type: 'pending', identifier: 'srv1', status: 'waiting' } as const;
    const task = { state: 'silent', why: 'overdue', message: 'waiting' };
    const next = polled(object, pending, late);
    expect(next).toMatchObject({ when: { now: true }, memo: { evidence: { task } } });
    const found = looked(object, shown(), { ...late, memo: next.memo });
    expect(isNow(found.when)).toBe(true);
    expect(decide(object, { ...late, memo: found.memo })).toEqual({
      type: 'cancel',
      record: HELD,
    });
    const unseen = looked(object, denied(true), { ...late, memo: next.memo });
    expect(conditionsOf(unseen).Ready).toBe('False TaskOverdue');
    expect(unseen.when).toMatchObject({ operation: 'follow' });
    expect(unseen.memo.evidence.task).toBeUndefined();
    const kept = withSpec({ ...OVER.spec, deletionProtection: true });
    expect(polled(kept, pending, late).memo.evidence.task).toEqual(task);
  });

  it('warns once, a day before', () => {
    const near = { spec: { expiresAt: at(23 * HOUR_MS) } };
    const next = looked(webWith(HELD, near));
    expect(conditionsOf(next).Expiring).toBe('True ExpiresSoon');
    expect(next.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'ExpiresSoon' }));
    expect(looked(webWith(HELD, { ...near, status: next.status ?? {} })).events).toEqual([]);
  });

  it.each<[string, VirtualServer, string | undefined]>([
    ['expiresAt', withSpec({ expiresAt: '2026-03-01T01:00:00+02:00' }), '2026-02-28T23:00:00Z'],
    ['ttl', BEGUN, at(240_000).replace('.000', '')],
    ['neither', withSpec({}), undefined],
    ['a protected server', withSpec({ expiresAt: at(HOUR_MS), deletionProtection: true }), undefined],
    ['a time after the year 9999', withSpec({ expiresAt: '9999-12-31T23:59:59-12:00' }), undefined],
  ])('shows in the status when the server is cancelled: %s', (_what, object, cancelsAt) => {
    expect(looked(object).status?.cancelsAt).toBe(cancelsAt);
  });

  it('reports nothing two days before', () => {
    const next = looked(withSpec({ expiresAt: at(48 * HOUR_MS) }));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
  });

  it('shows no address of a server that is gone, from the first write on', async () => {
    const fields = { serverStatus: 'running', ipv6: ['2001:db8::1'], identifier: 'srv1' };
    const states: (VirtualServer | undefined)[] = [];
    const { object, events } = await visit(webWith(HELD, { ...OVER, status: fields }), {
      memo: memo({ end: { state: 'confirmed', identifier: 'srv1' } }),
      beforeWrite: (present) => {
        states.push(present);
        return present;
      },
    });
    states.push(object);
    const expired = states.filter((state) => conditionsOf(state).Ready === 'False Expired');
    expect(expired).toHaveLength(2);
    for (const state of expired)
      for (const field of Object.keys(fields)) expect(state?.status).not.toHaveProperty(field);
    expect(conditionsOf(object)).toEqual({ Ready: 'False Expired', Stalled: 'True Expired' });
    expect(object?.status?.record).toEqual({ ...HELD, expiredAt: '2026-01-02T00:00:00Z' });
    expect(events).toMatchObject([{ reason: 'Expired' }]);
  });
});
