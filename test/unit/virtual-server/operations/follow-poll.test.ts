import { describe, expect, it } from 'vitest';
import { isNow, untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { TaskAnswer } from '../../../../src/virtual-server/decision/types.ts';
import { HELD, NOW, TASKED, decide, facts, memo, web, webWith, withKey } from '../../../fixtures/decision.ts';
import { conditionsOf, messageOf, polled } from './support.ts';

const pending = (identifier?: string, status?: string): TaskAnswer => ({ type: 'pending', identifier, status });
const complete = (identifier: string): TaskAnswer => ({ type: 'complete', identifier });
const overdue = facts({ now: NOW + 3_600_000 });

describe('a task that runs', () => {
  it('shows the progress, and writes no metadata while the identifier is unknown', () => {
    const next = polled(webWith(TASKED), pending(undefined, 'installing 20 % complete'));
    expect(next.record).toBeUndefined();
    expect(next.status?.task).toEqual({ id: 7, message: 'installing 20 % complete', percent: 20 });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Creating', Reconciling: 'True Creating' });
    // A minute has brought 20 percent.
    expect(untilVisit(next.when)).toBe(18_000);
  });

  it.each([
    { pollMs: 60_000, afterMs: 9_999, isTold: false },
    { pollMs: 60_000, afterMs: 10_000, isTold: true },
    { pollMs: 100, afterMs: 999, isTold: false },
    { pollMs: 100, afterMs: 1_000, isTold: true },
  ])('tells progress every ten seconds or ten polls ($afterMs ms at $pollMs ms)', ({ pollMs, afterMs, isTold }) => {
    const timing = { ...facts().timing, pollMs };
    const first = polled(webWith(HELD), pending('srv1', 'at 10%'), withKey({ timing }));
    const object = webWith(HELD, { status: first.status ?? {} });
    const later = withKey({ timing, memo: first.memo, monotonic: facts().monotonic + afterMs });
    const second = polled(object, pending('srv1', 'at 20%'), later);
    expect(second.status?.task?.message).toBe(isTold ? 'at 20%' : undefined);
    expect(untilVisit(second.when)).toBeLessThanOrEqual(pollMs);
    expect(isNow(polled(object, pending('srv1', 'failed'), later).when)).toBe(true);
  });

  it('is not told of while it may be over within seconds', () => {
    const object = web({ annotated: TASKED });
    const ordered = Date.parse(TASKED.attemptedAt);
    const asked = withKey({ now: ordered + 500 });
    const first = polled(object, pending('srv1'), asked);
    expect(first.status).toBeUndefined();
    expect(first.record).toBeUndefined();
    expect(untilVisit(first.when)).toBeLessThanOrEqual(2_000);
    // It is, if it says that it takes longer, or if it does.
    expect(polled(object, pending('srv1', '20 seconds remaining'), asked).status).toMatchObject({ identifier: 'srv1' });
    const second = polled(object, pending('srv1'), withKey({ now: ordered + 2_500, memo: first.memo }));
    expect(second.status).toMatchObject({ identifier: 'srv1', record: HELD });
    expect(second.record).toBeUndefined();
  });

  it('says when it should end, unless it seems to have failed or never to end', () => {
    const at = (status: string, now = NOW): unknown =>
      polled(webWith(TASKED), pending(undefined, status), withKey({ now })).status?.task?.expectedAt;
    expect(at('20 seconds remaining')).toBe('2026-01-02T00:00:20Z');
    expect(at('failed, 20 seconds remaining')).toBeUndefined();
    expect(at('20 seconds remaining', NOW + 3_600_000)).toBeUndefined();
  });

  it('is reported once it runs for more than an hour, and polled less and less often', () => {
    const next = polled(webWith(TASKED), pending(undefined, 'waiting'), {
      ...overdue,
      memo: memo({}, { failures: 8 }),
    });
    expect(conditionsOf(next).Ready).toBe('False TaskOverdue');
    expect(untilVisit(next.when)).toBeGreaterThan(200_000);
  });
});

describe('the server that a task names', () => {
  it('is recorded in the status by the first poll, and in the annotation once that status could not be written', () => {
    const first = polled(webWith(TASKED), pending('srv1'), withKey());
    expect(first.status).toMatchObject({ identifier: 'srv1', record: HELD });
    // The write that records the fingerprint adds the identifier to the annotation.
    expect(first.record).toBeUndefined();
    expect(polled(webWith(TASKED), pending('srv1'), withKey({ memo: first.memo })).record).toEqual(HELD);
  });

  it.each<{ what: string; object: VirtualServer; answer: TaskAnswer }>([
    { what: 'is being deleted', object: webWith(TASKED, { deleting: true }), answer: pending('srv1') },
    { what: 'seems to have failed', object: webWith(TASKED), answer: pending('srv1', 'Installation failed') },
  ])('is recorded in the annotation at once if the order $what', ({ object, answer }) => {
    expect(polled(object, answer).record).toEqual(HELD);
  });

  it('is recorded and read next once the task is complete', () => {
    const task = { state: 'over', identifier: 'srv1' };
    const next = polled(webWith(TASKED), complete('srv1'));
    expect(next).toMatchObject({ when: { now: true }, record: HELD, memo: { evidence: { task } } });
  });

  it.each([pending('srv2'), complete('srv2')])(
    'does not replace another one, which is read instead ($type)',
    (answer) => {
      const next = polled(webWith(HELD), answer);
      expect(next.record).toBeUndefined();
      expect(isNow(next.when)).toBe(true);
      expect(next.memo.evidence.task).toEqual({ state: 'silent', why: 'renamed', named: 'srv2' });
      expect(decide(webWith(HELD), withKey({ memo: next.memo }))).toEqual({
        type: 'look',
        record: HELD,
      });
    },
  );

  it.each(['', 'x'.repeat(254)])('is never truncated if its identifier is too long or empty (%s)', (identifier) => {
    const next = polled(webWith(TASKED), pending(identifier));
    expect(next.record).toBeUndefined();
    expect(conditionsOf(next).Stalled).toBe('True ProviderProtocolError');
  });
});

describe('a task whose text reports a failure', () => {
  it.each(['Failed', 'error: no space', 'installation aborted', 'cancelled', 'Canceled by admin', 'FAILURE 3'])(
    'is TaskFailed, and is still polled: %s',
    (status) => {
      const next = polled(webWith(TASKED), pending(undefined, status));
      expect(conditionsOf(next)).toEqual({ Ready: 'False TaskFailed', Stalled: 'True TaskFailed' });
      expect(messageOf(next)).toContain('vps-operator.dev/not-created=a1');
      expect(next.when).toMatchObject({ operation: 'follow' });
    },
  );

  it.each(['installing 20 %', 'failover node chosen', 'terrorbird', ''])(
    'counts as running otherwise: %s',
    (status) => {
      expect(conditionsOf(polled(webWith(TASKED), pending(undefined, status))).Ready).toBe('False Creating');
    },
  );
});
