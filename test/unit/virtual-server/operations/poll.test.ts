import { describe, expect, it } from 'vitest';
import { NOT_CREATED_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { TaskAnswer } from '../../../../src/virtual-server/decision/types.ts';
import { HELD, NOW, TASKED, decide, facts, memo, others, webWith, withKey } from '../../../fixtures/decision.ts';
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
    expect(next.requeueAfterMs).toBe(54_000);
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
    expect(second.requeueAfterMs).toBe(first.requeueAfterMs);
    expect(polled(object, pending('srv1', 'failed'), later).again).toBe(true);
  });

  it('leaves no status field that was copied from another object', () => {
    const copied = webWith(TASKED, { status: { serverStatus: 'running', ipv6: ['2001:db8::9'] } });
    const { status } = polled(copied, pending('srv1'));
    for (const field of ['serverStatus', 'ipv6']) expect(status).not.toHaveProperty(field);
  });

  it('reports that the server of a deleted object is cancelled after its task', () => {
    expect(conditionsOf(polled(webWith(TASKED, { deleting: true }), pending())).Ready).toBe('False Deleting');
  });

  it('is reported once it runs for more than an hour, and polled less and less often', () => {
    const next = polled(webWith(TASKED), pending(undefined, 'waiting'), {
      ...overdue,
      memo: memo({}, { failures: 8 }),
    });
    expect(conditionsOf(next).Ready).toBe('False TaskOverdue');
    expect(next.requeueAfterMs).toBeGreaterThan(200_000);
  });

  it.each([true, false])('has its server read once it is overdue (object deleted: %s)', (deleting) => {
    const next = polled(webWith(HELD, { deleting }), pending('srv1'), overdue);
    expect(next).toMatchObject({ again: true, memo: { evidence: { task: { state: 'silent', why: 'overdue' } } } });
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
    expect(next).toMatchObject({ again: true, record: HELD, memo: { evidence: { task } } });
  });

  it.each([pending('srv2'), complete('srv2')])(
    'does not replace another one, which is read instead ($type)',
    (answer) => {
      const next = polled(webWith(HELD), answer);
      expect(next.record).toBeUndefined();
      expect(next.again).toBe(true);
      expect(next.memo.evidence.task).toEqual({ state: 'silent', why: 'renamed', named: 'srv2' });
      expect(decide(webWith(HELD), withKey({ memo: next.memo }))).toEqual({
        type: 'look',
        record: HELD,
        identifier: 'srv1',
      });
    },
  );

  it.each(['', 'x'.repeat(254)])('is never truncated if its identifier is too long or empty (%s)', (identifier) => {
    const next = polled(webWith(TASKED), pending(identifier));
    expect(next.record).toBeUndefined();
    expect(conditionsOf(next).Stalled).toBe('True ProviderProtocolError');
  });

  const given = withKey({ others: others({ withServer: (named) => (named === 'srv1' ? ['default/other'] : []) }) });

  it.each([pending('srv1'), complete('srv1')])('is not taken from another object that holds it ($type)', (answer) => {
    const next = polled(webWith(TASKED), answer, given);
    expect(conditionsOf(next).Stalled).toBe('True TaskInUse');
    expect(next.record).toBeUndefined();
    expect(next.memo.evidence.task).toBeUndefined();
    expect(messageOf(next)).toContain('server srv1, which belongs to default/other');
  });

  it('is taken if no other object holds it', () => {
    const next = polled(webWith(TASKED), pending('srv2'), given);
    expect(next.status?.record).toEqual({ ...TASKED, identifier: 'srv2' });
  });
});

describe('a task whose text reports a failure', () => {
  it.each(['Failed', 'error: no space', 'installation aborted', 'cancelled', 'Canceled by admin', 'FAILURE 3'])(
    'is TaskFailed, and is still polled: %s',
    (status) => {
      const next = polled(webWith(TASKED), pending(undefined, status));
      expect(conditionsOf(next)).toEqual({ Ready: 'False TaskFailed', Stalled: 'True TaskFailed' });
      expect(messageOf(next)).toContain('vps-operator.dev/not-created=a1');
      expect(next.memo.plan?.operation).toBe('follow');
    },
  );

  it.each(['installing 20 %', 'failover node chosen', 'terrorbird', ''])(
    'counts as running otherwise: %s',
    (status) => {
      expect(conditionsOf(polled(webWith(TASKED), pending(undefined, status))).Ready).toBe('False Creating');
    },
  );

  it('has its server read when you say that nothing was created', () => {
    const object = webWith(HELD, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } });
    const task = { state: 'silent', why: 'overdue', message: 'failed' };
    const next = polled(object, pending('srv1', 'failed'));
    expect(next).toMatchObject({ again: true, memo: { evidence: { task } } });
  });
});
