/** What a deleted object shows and does while it keeps its server for `spec.deletionDelay`. */
import { describe, expect, it } from 'vitest';
import { CANCEL_NOW_ANNOTATION, HAND_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { conditionsOf, HELD, KNOWN, NOW, SERVER, TASKED, webWith, type Shape } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const HOUR_MS = 3_600_000;
/** Deleted at `NOW`. */
const deleted = (shape: Shape = {}, own = KNOWN): VirtualServer =>
  webWith(own, { deleting: true, status: { serverStatus: 'running' }, spec: { deletionDelay: '1h' }, ...shape });
const look = (object: VirtualServer, given: Given = {}): Promise<Visited> =>
  visit(object, { ...given, answers: { server: SERVER, removed: 'cancelled', after: DENIED, ...given.answers } });
const isKept = ({ calls, object }: Visited): boolean => !calls.includes('delete') && object !== undefined;

describe('a deleted object with a delay', () => {
  it('says when its server is cancelled, and keeps its fields up to date', async () => {
    const { object, calls } = await look(deleted(), {
      answers: { server: { ...SERVER, ipv6: ['2001:db8::2'] } },
      now: NOW + 1_000,
    });
    expect(calls).not.toContain('delete');
    expect(object?.status).toMatchObject({
      cancelsAt: '2026-01-02T01:00:00Z',
      identifier: 'srv1',
      ipv6: ['2001:db8::2'],
    });
    expect(conditionsOf({ status: object?.status })).toMatchObject({
      Ready: 'False DeletionDelayed',
      Reconciling: 'True DeletionDelayed',
    });
    const [ready] = object?.status?.conditions ?? [];
    expect(ready?.message).toContain('the operator cancels the server at 2026-01-02T01:00:00Z');
  });

  it('is visited again exactly at the end of the delay', async () => {
    const soon = await look(deleted(), { now: NOW + HOUR_MS - 90_001 });
    expect(soon.requeueAfterMs).toBe(90_001);
    const later = await look(deleted());
    expect(later.requeueAfterMs).toBeLessThan(HOUR_MS);
  });

  it('loses its server at the end of the delay, and not before', async () => {
    expect(isKept(await look(deleted(), { now: NOW + HOUR_MS - 1 }))).toBe(true);
    const after = await look(deleted(), { now: NOW + HOUR_MS });
    expect(after.calls).toContain('delete');
    expect(after.object).toBeUndefined();
  });

  it('keeps the server if a live read shows a longer delay, none before', async () => {
    const live = deleted({ spec: { deletionDelay: '2h' } });
    const kept = await look(deleted(), { now: NOW + HOUR_MS, live });
    expect(kept.calls).toContain('live');
    expect(isKept(kept)).toBe(true);
  });

  it('keeps the server if a live read shows that you no longer want it cancelled now', async () => {
    const now = deleted({ annotations: { [CANCEL_NOW_ANNOTATION]: 'srv1' } });
    expect((await look(now)).calls).toContain('delete');
    expect(isKept(await look(now, { live: deleted() }))).toBe(true);
  });

  it('no longer shows an end when you keep the server', async () => {
    const shown = (await look(deleted())).object;
    for (const kept of [{ deletionDelay: undefined, deletionProtection: true }, { deletionProtection: true }]) {
      const { object } = await look({ ...shown, spec: { ...shown?.spec, ...kept } } as VirtualServer);
      expect(object?.status).not.toHaveProperty('cancelsAt');
    }
  });

  it.each([
    ['a longer delay', { spec: { deletionDelay: '2h' } }],
    ['a hand-over', { annotations: { [HAND_OVER_ANNOTATION]: 'web-back' } }],
  ])('remembers through %s that the provider has promised the cancellation', async (_what, shape) => {
    const end = { state: 'answered', identifier: 'srv1', said: 'cancelled', since: 0, askedAt: 0 } as const;
    const given = { now: NOW + HOUR_MS, memo: { failures: 0, evidence: { end } } };
    const kept = await look(deleted(shape), given);
    expect(isKept(kept)).toBe(true);
    // One 404 is no longer enough to prove the end, because the server kept running.
    expect(kept.memo.evidence.end).toEqual({ state: 'requested', identifier: 'srv1' });
    expect(shownBy(kept).reason).toBe('CancellationUnconfirmed');
    const restarted = await look(kept.object as VirtualServer, { now: NOW + HOUR_MS });
    expect(shownBy(restarted).reason).toBe('CancellationUnconfirmed');
  });

  it('follows its order first, so that the server becomes known', async () => {
    const answers = { task: { state: 'complete', identifier: 'srv1' } as const };
    const { object, calls } = await look(deleted({ status: {} }, TASKED as never), { answers });
    expect(calls).toContain('poll');
    expect(calls).not.toContain('delete');
    expect(object?.status).toMatchObject({ identifier: 'srv1', cancelsAt: '2026-01-02T01:00:00Z' });
  });

  it('is released when its server is gone before the end', async () => {
    const gone = { state: 'gone', identifier: 'srv1', wasRequested: false } as const;
    const { object } = await look(deleted({}, HELD as never), { memo: { failures: 0, evidence: { end: gone } } });
    expect(object).toBeUndefined();
  });
});
