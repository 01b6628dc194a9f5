import { ProviderError, withheldError } from '../../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import { SERVER_GONE_ANNOTATION } from '../../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import { inputsOf } from '../../../../../src/virtual-server/decision/inputs.ts';
import type { Action, Facts, Memo, Next, Outcome } from '../../../../../src/virtual-server/decision/types.ts';
import {
  ACCOUNT,
  HELD,
  KNOWN,
  NOW,
  OTHER_KEY,
  SERVER,
  TASKED,
  TIMING,
  denials,
  facts,
  gathered,
  memo,
  others,
  record,
  webWith,
  type Shape,
  decide,
  settle,
  LEAVE,
} from '../../../../gen/decision.ts';
import { visit } from '../../../../gen/visits.ts';
import { conditionsOf, settled } from './support.ts';

const seen = (changes: Partial<typeof SERVER> = {}, account = ACCOUNT): Outcome => ({
  type: 'server',
  server: { ...SERVER, ...changes },
  account,
});
const notFound = (counts = true): Outcome => ({ type: 'serverNotFound', counts, detail: 'another key' });
const readOf = (own: ServerRecord): Action => ({ type: 'readServer', record: own, identifier: 'srv1' });
const cancelOf = (own: ServerRecord): Action => ({
  type: 'deleteServer',
  record: own,
  identifier: 'srv1',
  leave: LEAVE,
});

const READY = settled(webWith(KNOWN), readOf(KNOWN), seen()).status ?? {};
const living = (own: ServerRecord = KNOWN, shape: Shape = {}): VirtualServer =>
  webWith(own, { status: READY, ...shape });
const deleted = (own: ServerRecord = KNOWN, shape: Shape = {}): VirtualServer =>
  living(own, { deleting: true, ...shape });
const said = (identifier: string): Shape => ({ annotations: { [SERVER_GONE_ANNOTATION]: identifier } });
const over: Shape = { spec: { expiresAt: '2026-01-01T00:00:00Z' } };

const at = (ms: number, held: Memo, changes: Partial<Facts> = {}): Facts =>
  gathered({ now: NOW + ms, memo: held, ...changes });

/** The result of the last of several denials at these times (ms). */
function deniedAt(object: VirtualServer, action: Action, moments: number[], held: Memo = memo({})): Next {
  let next: Next = { memo: held, events: [], again: false };
  for (const moment of moments) next = settle(object, action, notFound(), at(moment, next.memo));
  return next;
}

const PROVING = [0, 150_000, 300_000];

describe('a 404 for the server of a living object', () => {
  const read = readOf(KNOWN);

  it('is a hint: the operator keeps Ready, records nothing, and checks again soon', () => {
    const next = settle(living(), read, notFound(), at(0, memo({ failures: 5 })));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Reconciling: 'True AbsenceUnproven' });
    expect(next.status?.serverStatus).toBe('running');
    expect(next).not.toHaveProperty('record');
    expect(next.memo).toMatchObject({ failures: 0, denials: { of: 'server srv1', counted: 1 } });
    expect(next.requeueAfterMs).toBe(60_000);
    const rarely = { ...TIMING, pollMs: 900_000 };
    expect(settle(living(), read, notFound(), at(0, memo({}), { timing: rarely })).requeueAfterMs).toBe(150_000);
  });

  it('proves nothing when it is repeated within a moment', () => {
    const next = deniedAt(living(), read, [0, 1, 2, 3, 100, 1_000, 10_000]);
    expect(conditionsOf(next).Reconciling).toBe('True AbsenceUnproven');
    expect(next).not.toHaveProperty('record');
  });

  it('proves nothing when it is repeated after a long time', () => {
    expect(conditionsOf(deniedAt(living(), read, [0, 900_000])).Reconciling).toBe('True AbsenceUnproven');
  });

  it('is proof with enough others over the grace period: the absence is recorded', () => {
    const next = deniedAt(living(), read, PROVING);
    const sealed = { ...KNOWN, missingAt: '2026-01-02T00:05:00Z' };
    expect(conditionsOf(next)).toEqual({ Ready: 'False ServerMissing', Stalled: 'True ServerMissing' });
    expect(next.record).toEqual(sealed);
    expect(next.status?.record).toEqual(sealed);
    expect(next.events).toMatchObject([{ type: 'Warning', reason: 'ServerMissing' }]);
    expect(next.requeueAfterMs).toBe(540_000);
  });

  it('counts from one again after the server was read in between', () => {
    const before = deniedAt(living(), read, [0, 150_000]).memo;
    const found = settle(living(), read, seen(), at(200_000, before));
    expect(found.memo).not.toHaveProperty('denials');
    const next = deniedAt(living(), read, [300_000], found.memo);
    expect(conditionsOf(next).Reconciling).toBe('True AbsenceUnproven');
    expect(next.memo.denials).toMatchObject({ counted: 1, since: 300_000 });
  });

  it('keeps its count after another server was read', () => {
    const before = deniedAt(living(), read, [0, 150_000]).memo;
    const other = settle(living(), read, seen({ macs: ['00:00:5e:00:53:ff'] }), at(200_000, before));
    expect(other.memo.denials).toEqual(before.denials);
  });

  it('neither counts nor resets the count with a key that sees nothing', () => {
    const before = deniedAt(living(), read, [0, 150_000]).memo;
    const blind = settle(living(), read, notFound(false), at(400_000, before));
    expect(conditionsOf(blind).Stalled).toBe('True ServerNotVisible');
    expect(blind.memo.denials).toEqual(before.denials);
    const alone = settle(living(), read, notFound(false), at(0, memo({})));
    expect(alone.memo).not.toHaveProperty('denials');
    const late = memo({ denials: denials('server srv1') });
    expect(settle(living(), read, notFound(false), at(0, late))).not.toHaveProperty('record');
  });

  it('is not recorded again, and the object stays ServerMissing', () => {
    const sealed = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
    const next = deniedAt(living(sealed), readOf(sealed), PROVING);
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    expect(next).not.toHaveProperty('record');
    const first = deniedAt(living(sealed), readOf(sealed), [0]);
    expect(conditionsOf(first).Stalled).toBe('True ServerMissing');
  });

  it.each([
    { reason: 'a server that was never read', own: HELD },
    { reason: 'an adopted server', own: record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' }) },
  ])('marks $reason as missing after its own period', ({ own }) => {
    const hour = Array.from({ length: 13 }, (_, n) => n * 300_000);
    const proving = own === HELD ? hour : PROVING;
    const end = proving.at(-1) ?? 0;
    const unread = webWith(own);
    const early = deniedAt(unread, readOf(own), [...proving.slice(0, -1), end - 1]);
    expect(early).not.toHaveProperty('record');
    expect(deniedAt(unread, readOf(own), proving).record).toHaveProperty('missingAt');
  });
});

describe('your annotation that the server is gone', () => {
  it.each([true, false])('makes one 404 enough, whether it counts or not (%s)', (counts) => {
    const next = settle(living(KNOWN, said('srv1')), readOf(KNOWN), notFound(counts), at(0, memo({})));
    expect(next.record).toEqual({ ...KNOWN, missingAt: '2026-01-02T00:00:00Z' });
    const doomed = settle(deleted(KNOWN, said('srv1')), readOf(KNOWN), notFound(counts), at(0, memo({})));
    expect(doomed).toMatchObject({ again: true, memo: { gone: 'srv1' } });
  });

  it('is enough for a server that cannot be recognized', () => {
    const stranger = seen({ macs: [] }, OTHER_KEY);
    const next = settle(living(KNOWN, said('srv1')), readOf(KNOWN), stranger, at(0, memo({})));
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    expect(next.record).toHaveProperty('missingAt');
    const doomed = settle(deleted(KNOWN, said('srv1')), readOf(KNOWN), stranger, at(0, memo({})));
    expect(doomed).toMatchObject({ again: true, memo: { gone: 'srv1' } });
  });

  it('has no effect if the provider shows the server', () => {
    const next = settle(living(KNOWN, said('srv1')), readOf(KNOWN), seen(), at(0, memo({})));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    const doomed = settle(deleted(KNOWN, said('srv1')), readOf(KNOWN), seen(), at(0, memo({})));
    expect(doomed.memo).not.toHaveProperty('gone');
    expect(decide(deleted(KNOWN, said('srv1')), at(0, doomed.memo)).type).toBe('deleteServer');
  });

  it('counts only for the server that it names', () => {
    const next = settle(deleted(KNOWN, said('srv0')), readOf(KNOWN), notFound(), at(0, memo({})));
    expect(next.memo).not.toHaveProperty('gone');
    expect(next).not.toHaveProperty('record');
  });
});

describe('a 404 for the server of a deleted object', () => {
  it('keeps the finalizer, and the cancellation is retried later', () => {
    const next = settle(deleted(), cancelOf(KNOWN), notFound(), at(0, memo({})));
    expect(conditionsOf(next).Reconciling).toBe('True AbsenceUnproven');
    expect(next).toMatchObject({ again: false, requeueAfterMs: 60_000 });
    expect(next.memo).not.toHaveProperty('gone');
    expect(decide(deleted(), at(59_999, next.memo)).type).toBe('wait');
    expect(decide(deleted(), at(60_000, next.memo)).type).toBe('deleteServer');
  });

  it('releases the object once the absence is proven, and reports that the operator did not cancel the server', () => {
    const next = deniedAt(deleted(), readOf(KNOWN), PROVING);
    expect(next).toMatchObject({ again: true, memo: { gone: 'srv1' } });
    const action = decide(deleted(), at(300_000, next.memo));
    expect(action).toMatchObject({ type: 'release', why: 'gone' });
    const { events } = settle(deleted(), action, { type: 'done' }, at(300_000, next.memo));
    expect(events).toMatchObject([{ type: 'Warning', reason: 'ServerGone' }]);
  });

  it('leads to a report of a cancellation if the answer to a DELETE was lost', () => {
    const asked = settle(
      deleted(),
      cancelOf(KNOWN),
      { type: 'failed', error: new ProviderError('PROVIDER_TIMEOUT', '60 s'), cancelAsked: true },
      at(0, memo({})),
    );
    expect(asked.memo.cancelAsked).toBe('srv1');
    const next = deniedAt(deleted(), cancelOf(KNOWN), PROVING, asked.memo);
    const action = decide(deleted(), at(300_000, next.memo));
    const { events } = settle(deleted(), action, { type: 'done' }, at(300_000, next.memo));
    expect(events).toMatchObject([{ type: 'Normal', reason: 'ServerCancelled' }]);
  });

  it('counts a DELETE whose answer was lost for a server that was never read', () => {
    const doomed = webWith(HELD, { deleting: true });
    expect(deniedAt(doomed, cancelOf(HELD), PROVING).memo).not.toHaveProperty('gone');
    expect(deniedAt(doomed, cancelOf(HELD), PROVING, memo({ cancelAsked: 'srv1' })).memo.gone).toBe('srv1');
  });

  it.each([
    withheldError(),
    new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused'),
    new ProviderError('PROVIDER_UNAUTHORIZED', 'refused'),
    new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', {}),
  ])('does not count a DELETE that the provider did not carry out for certain ($code)', (error) => {
    const next = settle(deleted(), cancelOf(KNOWN), { type: 'failed', error }, at(0, memo({})));
    expect(next.memo).not.toHaveProperty('cancelAsked');
  });

  it('does not count a cancellation whose DELETE was never sent, whatever failed', () => {
    const failed = { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'reset') } as const;
    expect(settle(deleted(), cancelOf(KNOWN), failed, at(0, memo({}))).memo).not.toHaveProperty('cancelAsked');
    expect(settle(deleted(), readOf(KNOWN), failed, at(0, memo({}))).memo).not.toHaveProperty('cancelAsked');
  });

  it('is forgotten when a read shows the server', () => {
    const before = deniedAt(deleted(), cancelOf(KNOWN), [0, 150_000]).memo;
    const found = settle(deleted(), readOf(KNOWN), seen(), at(200_000, before));
    expect(found).toMatchObject({ again: true, memo: { taskComplete: 'srv1' } });
    expect(found.memo).not.toHaveProperty('denials');
  });

  it('is removed from the record and its mirror at once when a read shows the server', () => {
    const sealed = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
    const found = settle(deleted(sealed, { mirror: sealed }), readOf(sealed), seen(), at(200_000, memo({})));
    expect(found).toMatchObject({ record: { identifier: 'srv1' }, status: { record: { identifier: 'srv1' } } });
    expect(found.record).not.toHaveProperty('missingAt');
    expect(found.status?.record).not.toHaveProperty('missingAt');
  });

  it('releases the object once a cancellation has succeeded after all', () => {
    const before = deniedAt(deleted(), cancelOf(KNOWN), [0, 150_000]).memo;
    const now = NOW + 310_000;
    const { object, events } = visit(deleted(), {
      now,
      memo: before,
      answers: { deleteServer: { type: 'cancelled' } },
    });
    expect(object).toBeUndefined();
    expect(events).toMatchObject([{ type: 'Normal', reason: 'ServerCancelled' }]);
  });

  it('leads to a report of a cancellation even if the server had counted as gone before', () => {
    const sealed = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
    const { object, events } = visit(deleted(sealed), { answers: { deleteServer: { type: 'cancelled' } } });
    expect(object).toBeUndefined();
    expect(events).toMatchObject([{ type: 'Normal', reason: 'ServerCancelled' }]);
  });
});

describe('a 404 for an expired server', () => {
  const expiring = living(KNOWN, over);

  it('keeps the object unchanged until the absence is proven', () => {
    const next = deniedAt(expiring, cancelOf(KNOWN), [0, 1, 2]);
    expect(conditionsOf(next).Reconciling).toBe('True AbsenceUnproven');
    expect(next.memo).not.toHaveProperty('gone');
  });

  it('is recorded as the expiry once it is proven', () => {
    const next = deniedAt(expiring, readOf(KNOWN), PROVING);
    expect(next).toMatchObject({ again: true, memo: { gone: 'srv1' } });
    const action = decide(expiring, at(300_000, next.memo));
    expect(action).toMatchObject({ type: 'record', why: 'expired', record: { expiredAt: '2026-01-02T00:05:00Z' } });
    const { status } = settle(expiring, action, { type: 'done' }, at(300_000, next.memo));
    expect(status?.conditions?.[0]?.message).toContain('no longer exists at the provider');
  });

  it('is forgotten when the expiry is extended and the server answers', () => {
    const { memo: proven } = deniedAt(expiring, readOf(KNOWN), PROVING);
    const found = settle(living(), readOf(KNOWN), seen(), at(300_000, proven));
    expect(decide(deleted(), at(300_000, found.memo)).type).toBe('deleteServer');
  });
});

describe('a 404 for a task', () => {
  const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };
  const gone: Outcome = { type: 'taskNotFound', counts: true, detail: '' };
  const old = { ...TASKED, attemptedAt: '2026-01-01T00:00:00Z' };
  const pollOld: Action = { ...poll, record: old };
  const asked = (object: VirtualServer, action: Action, moments: number[], outcome = gone, held = memo({})): Next =>
    moments.reduce<Next>((next, ms) => settle(object, action, outcome, at(ms, next.memo)), {
      memo: held,
      events: [],
      again: false,
    });

  it('counts as a task that is not visible yet right after the order', () => {
    const next = asked(webWith(TASKED), poll, [0]);
    expect(conditionsOf(next)).toEqual({ Ready: 'False Creating', Reconciling: 'True Creating' });
    expect(next.status?.conditions?.[0]?.message).toContain('does not show the task yet');
    expect(next.requeueAfterMs).toBe(60_000);
  });

  it('is a hint once the order is older', () => {
    const next = asked(webWith(old), pollOld, [0, 1, 2]);
    expect(conditionsOf(next).Ready).toBe('False AbsenceUnproven');
    expect(next.memo.denials).toMatchObject({ of: 'task 7', counted: 1 });
  });

  it('is proof with enough others over the grace period', () => {
    expect(conditionsOf(asked(webWith(old), pollOld, PROVING)).Stalled).toBe('True TaskNotFound');
  });

  it('does not count with a key that sees nothing', () => {
    const detail = 'the provider lists no products either';
    const next = asked(webWith(old), pollOld, PROVING, { type: 'taskNotFound', counts: false, detail });
    expect(conditionsOf(next)).toEqual({ Ready: 'Unknown ServerNotVisible', Stalled: 'True ServerNotVisible' });
    expect(next.status?.conditions?.[0]?.message).toContain(detail);
    expect(next.memo).not.toHaveProperty('denials');
    expect(next.memo.next?.action).toBe('pollTask');
  });

  it('does not count for the server read in its place either', () => {
    const held = memo({ readInstead: { why: 'taskNotFound' } });
    const next = settle(webWith(HELD), readOf(HELD), notFound(false), at(0, held));
    expect(conditionsOf(next).Stalled).toBe('True ServerNotVisible');
    expect(next.memo).not.toHaveProperty('denials');
    expect(next.memo).not.toHaveProperty('readInstead');
  });

  it.each([true, false])('is enough with your annotation that its server is gone (counts: %s)', (counts) => {
    const held = memo({ readInstead: { why: 'taskNotFound' } });
    const next = settle(webWith(HELD, said('srv1')), readOf(HELD), notFound(counts), at(0, held));
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    expect(next.record).toHaveProperty('missingAt');
    const doomed = webWith(HELD, { deleting: true, ...said('srv1') });
    const goes = settle(doomed, readOf(HELD), notFound(counts), at(0, held));
    expect(goes).toMatchObject({ again: true, memo: { gone: 'srv1' } });
    expect(decide(doomed, at(0, goes.memo))).toMatchObject({ type: 'release', why: 'gone' });
  });

  it('is enough with your annotation if the task itself is not visible', () => {
    const invisible: Outcome = { type: 'taskNotFound', counts: false, detail: '' };
    const asks = settle(webWith(HELD, said('srv1')), { ...poll, record: HELD }, invisible, at(0, memo({})));
    expect(asks).toMatchObject({ again: true, memo: { readInstead: { why: 'taskNotFound' } } });
    const next = settle(webWith(HELD, said('srv1')), readOf(HELD), notFound(false), at(0, asks.memo));
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
  });

  it('counts from one again after an answer of the task', () => {
    const before = asked(webWith(old), pollOld, [0, 150_000]).memo;
    const found = settle(webWith(old), pollOld, { type: 'pending', status: 'installing' }, at(200_000, before));
    expect(found.memo).not.toHaveProperty('denials');
    const done = settle(webWith(old), pollOld, { type: 'complete', identifier: 'srv1' }, at(200_000, before));
    expect(done.memo).not.toHaveProperty('denials');
  });

  it('keeps the denials of its server', () => {
    const held = memo({ denials: denials('server srv1') });
    const pending: Outcome = { type: 'pending', identifier: 'srv1' };
    expect(settle(webWith(HELD), { ...poll, record: HELD }, pending, at(0, held)).memo.denials).toEqual(held.denials);
  });

  it('needs the absence of the server too if the task has named one', () => {
    const own = { ...HELD, attemptedAt: old.attemptedAt };
    const vanished = (moments: number[]): Next =>
      moments.reduce<Next>(
        (next, ms) =>
          settle(webWith(own), readOf(own), notFound(), at(ms, { ...next.memo, readInstead: { why: 'taskNotFound' } })),
        { memo: memo({}), events: [], again: false },
      );
    const early = vanished([0, 1, 2]);
    expect(conditionsOf(early).Ready).toBe('False AbsenceUnproven');
    expect(early.memo.next?.action).toBe('pollTask');
    expect(early.memo).not.toHaveProperty('readInstead');
    expect(conditionsOf(vanished(PROVING)).Stalled).toBe('True TaskNotFound');
  });

  it('proves nothing about a server that an overdue task has named', () => {
    const own = webWith(HELD, { deleting: true });
    const overdue = at(
      3_600_000,
      memo({ readInstead: { why: 'overdue', message: undefined }, denials: denials('server srv1') }),
    );
    const next = settle(own, readOf(HELD), notFound(), overdue);
    expect(conditionsOf(next).Ready).toBe('False TaskOverdue');
    expect(next.memo).not.toHaveProperty('gone');
  });
});

it('restarts the count of denials in a new process, which only delays the proof', () => {
  expect(settle(deleted(), cancelOf(KNOWN), notFound(), facts({ now: NOW + 86_400_000 })).memo).not.toHaveProperty(
    'gone',
  );
});

describe('your annotation that a server is gone', () => {
  it('has no effect after a read has shown the server, until you set it again', () => {
    const next = settle(living(KNOWN, said('srv1')), readOf(KNOWN), seen(), at(0, memo({})));
    expect(next.record).toEqual({ ...KNOWN, goneRefuted: true });
    const refuted = { ...KNOWN, goneRefuted: true as const };
    const denied = settle(deleted(refuted, said('srv1')), cancelOf(refuted), notFound(), at(0, memo({})));
    expect(denied.memo).not.toHaveProperty('gone');
    expect(decide(living(refuted, said('srv1')), at(0, memo({})))).not.toMatchObject({ why: 'wordTakenBack' });
    const takenBack: Action = { type: 'record', record: KNOWN, why: 'wordTakenBack' };
    expect(decide(living(refuted), at(0, memo({})))).toEqual(takenBack);
    expect(decide(deleted(refuted, said('srv2')), at(0, memo({})))).toEqual(takenBack);
    const again = settle(deleted(KNOWN, said('srv1')), cancelOf(KNOWN), notFound(), at(0, memo({})));
    expect(again.memo).toMatchObject({ gone: 'srv1' });
  });

  it.each([
    { call: 'a cancellation', object: deleted(KNOWN, said('srv1')), action: cancelOf(KNOWN) },
    {
      call: 'a poll',
      object: webWith(HELD, { deleting: true, ...said('srv1') }),
      action: { type: 'pollTask', record: HELD, task: 7 } as const,
    },
  ])('releases a deleted object when $call fails', ({ object, action }) => {
    const failed: Outcome = { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'reset') };
    const next = settle(object, action, failed, at(0, memo({})));
    expect(next).toMatchObject({ again: true, memo: { gone: 'srv1' } });
    expect(decide(object, at(0, next.memo))).toMatchObject({ type: 'release', why: 'gone' });
  });

  it('does not release a living object when a call fails', () => {
    const failed: Outcome = { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'reset') };
    const next = settle(living(KNOWN, said('srv1')), readOf(KNOWN), failed, at(0, memo({})));
    expect(next.memo).not.toHaveProperty('gone');
  });

  it('releases a deleted object if there is no key, unless it has an orphan or the annotation was refuted', () => {
    const credentials = { ok: false, reason: 'SecretNotFound', message: 'no Secret' } as const;
    const decided = (own: ServerRecord, shape = said('srv1')): Action =>
      decide(deleted(own, shape), at(0, memo({}), { credentials }));
    expect(decided(KNOWN)).toEqual({ type: 'release', why: 'gone', record: KNOWN });
    expect(decided(KNOWN, {})).toMatchObject({ type: 'park' });
    expect(decided(KNOWN, said('srv2'))).toMatchObject({ type: 'park' });
    expect(decided({ ...KNOWN, goneRefuted: true })).toMatchObject({ type: 'park' });
    expect(decided({ ...KNOWN, orphans: [{ task: 3 }] })).toMatchObject({ type: 'park' });
  });
});

describe('your annotation that nothing was created', () => {
  it('continues the visit once, after the first call to the provider since you set it', () => {
    const object = webWith(TASKED, { annotations: { 'vps-operator.dev/not-created': 'a1' } });
    const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };
    const first = settle(object, poll, { type: 'pending', status: 'failed' }, at(0, memo({})));
    expect(first).toMatchObject({ again: true, memo: { looked: inputsOf(object) } });
    const second = settle(object, poll, { type: 'pending', status: 'failed' }, at(0, first.memo));
    expect(second.again).toBe(false);
  });

  it.each<{ why: string; given: Partial<Facts> }>([
    { why: 'another object follows the task too', given: { others: others({ withTask: () => ['default/other'] }) } },
    { why: 'the key belongs to another account', given: { credentials: { ok: true, account: OTHER_KEY } } },
  ])('is obeyed if the provider is not asked: $why', ({ given }) => {
    const object = webWith(TASKED, { deleting: true, annotations: { 'vps-operator.dev/not-created': 'a1' } });
    expect(visit(object, given).object).toBeUndefined();
    const another = webWith(TASKED, { deleting: true, annotations: { 'vps-operator.dev/not-created': 'a0' } });
    expect(visit(another, given).object?.status?.record).toEqual(TASKED);
  });
});
