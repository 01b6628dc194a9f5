import { ProviderError } from '../../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import type { Action, Outcome } from '../../../../../src/virtual-server/decision/types.ts';
import { ACCOUNT, HELD, KNOWN, NOW, SERVER, facts, memo, webWith, decide } from '../../../../gen/decision.ts';
import { conditionsOf, reasons, settled } from './support.ts';

const READY = { serverStatus: 'running' };
const HOUR_MS = 3_600_000;
const at = (ms: number): string => new Date(NOW + ms).toISOString();
const over = { expiresAt: at(-1) };
const EXPIRED = { ...HELD, expiredAt: '2026-01-01T00:00:00Z' };
const read: Action = { type: 'readServer', record: HELD, identifier: 'srv1' };
const seen = { type: 'server', server: SERVER, account: ACCOUNT } as const;

describe('settling an object that expires', () => {
  it('records when the server was first ready if ttl counts from it, and plans the next visit in time', () => {
    const next = settled(webWith(HELD, { spec: { ttl: '5m' } }), read, seen);
    expect(next.record).toEqual({ ...KNOWN, readyAt: '2026-01-02T00:00:00Z' });
    expect(next.requeueAfterMs).toBe(300_000);
  });

  it('counts ttl from the later of two clocks: a clock that is behind must not shorten it', () => {
    const ttl = webWith(HELD, { spec: { ttl: '5m' } });
    const readyAt = (apiServerNow: number) => settled(ttl, read, seen, facts({ apiServerNow })).record?.readyAt;
    expect(readyAt(NOW + HOUR_MS)).toBe('2026-01-02T01:00:00Z');
    expect(readyAt(NOW - HOUR_MS)).toBe('2026-01-02T00:00:00Z');
  });

  it('never counts ttl from a time before the object was created', () => {
    const behind = facts({ now: Date.parse('2025-12-01T00:00:00Z') });
    const next = settled(webWith(HELD, { spec: { ttl: '5m' } }), read, seen, behind);
    expect(next.record?.readyAt).toBe('2026-01-01T00:00:00Z');
  });

  it('keeps the time from which ttl counts', () => {
    const begun = { ...KNOWN, readyAt: '2026-01-01T23:00:00Z' };
    const next = settled(webWith(begun, { spec: { ttl: '72h' } }), { ...read, record: begun }, seen);
    expect(next).not.toHaveProperty('record');
  });

  it('counts the ttl of a Ready server from when it became Ready', () => {
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Available',
      message: '',
      lastTransitionTime: '2026-01-01T12:00:00Z',
    } as const;
    const next = settled(
      webWith(HELD, { spec: { ttl: '72h' }, status: { ...READY, conditions: [ready] } }),
      read,
      seen,
    );
    expect(next.record?.readyAt).toBe('2026-01-01T12:00:00Z');
  });

  it.each<{ what: string; action: Action; outcome: Outcome }>([
    {
      what: 'a read that failed',
      action: read,
      outcome: { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'reset') },
    },
    { what: 'a plan for later', action: { type: 'wait', afterMs: 600_000 }, outcome: { type: 'done' } },
    { what: 'a pause without an end', action: { type: 'wait' }, outcome: { type: 'done' } },
    { what: 'a missing server', action: read, outcome: { type: 'serverNotFound', counts: true, detail: '' } },
  ])('plans the next visit in time after $what', ({ action, outcome }) => {
    const failing = facts({ memo: memo({ failures: 20 }) });
    const next = settled(webWith(HELD, { status: READY, spec: { expiresAt: at(10_000) } }), action, outcome, failing);
    expect(next.requeueAfterMs).toBe(10_000);
  });

  it('does not visit again at once for a server that is kept beyond its expiry', () => {
    const next = settled(webWith(HELD, { spec: { ...over, deletionProtection: true } }), read, seen);
    expect(next.requeueAfterMs).toBe(540_000);
    expect(conditionsOf(next)).toMatchObject({ Ready: 'True Available', Expiring: 'True ExpiryBlocked' });
    expect(next.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'ExpiryBlocked' }));
  });

  it('does not wait for a task that never ends', () => {
    const held = webWith(HELD, { spec: over });
    const late = facts({ now: NOW + HOUR_MS });
    const poll: Action = { type: 'pollTask', record: HELD, task: 7 };
    const pending: Outcome = { type: 'pending', identifier: 'srv1', status: 'waiting' };
    const polled = settled(held, poll, pending, late);
    expect(polled).toMatchObject({ again: true, memo: { readInstead: { why: 'overdue', message: 'waiting' } } });
    const found = settled(held, read, seen, { ...late, memo: polled.memo });
    expect(found).toMatchObject({ again: true, memo: { taskComplete: 'srv1' } });
    const withKey = { ...late, memo: found.memo, credentials: { ok: true, account: ACCOUNT } } as const;
    expect(decide(held, withKey)).toMatchObject({ type: 'deleteServer', record: HELD, identifier: 'srv1' });
    const unseen = settled(
      held,
      read,
      { type: 'serverNotFound', counts: true, detail: '' },
      { ...late, memo: polled.memo },
    );
    expect(conditionsOf(unseen).Ready).toBe('False TaskOverdue');
    expect(unseen.memo).toMatchObject({ next: { action: 'pollTask' } });
    expect(unseen.memo).not.toHaveProperty('readInstead');
    const kept = webWith(HELD, { spec: { ...over, deletionProtection: true } });
    expect(settled(kept, poll, pending, late).memo.readInstead).toEqual({ why: 'overdue', message: 'waiting' });
  });

  it('warns once, a day before', () => {
    const near = { spec: { expiresAt: at(23 * HOUR_MS) } };
    const next = settled(webWith(HELD, near), read, seen);
    expect(conditionsOf(next).Expiring).toBe('True ExpiresSoon');
    expect(next.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'ExpiresSoon' }));
    const again = settled(webWith(HELD, { ...near, status: next.status ?? {} }), read, seen);
    expect(again.events).toEqual([]);
  });

  it('reports nothing two days before', () => {
    expect(reasons(settled(webWith(HELD, { spec: { expiresAt: at(48 * HOUR_MS) } }), read, seen))).toEqual([
      'Available',
    ]);
  });

  it('shows no address of a server that is gone', () => {
    const action: Action = { type: 'record', record: EXPIRED, why: 'expired' };
    const next = settled(webWith(HELD, { status: { ...READY, ipv6: ['2001:db8::1'], identifier: 'srv1' } }), action, {
      type: 'done',
    });
    expect(next.status).toMatchObject({ record: EXPIRED });
    for (const field of ['ipv6', 'identifier', 'serverStatus']) expect(next.status).not.toHaveProperty(field);
    expect(conditionsOf(next)).toEqual({ Ready: 'False Expired', Stalled: 'True Expired' });
    expect(next.events).toContainEqual(expect.objectContaining({ reason: 'Expired' }));
  });
});
