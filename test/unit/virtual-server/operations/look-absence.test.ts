/** When a server or a task that the provider denies counts as gone, and what follows. */
import { describe, expect, it } from 'vitest';
import { ON_CHANGE, untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import { FINALIZER } from '../../../../src/api/names.ts';
import type { Held } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { afterRefusal } from '../../../../src/virtual-server/operations/cancel.ts';
import type { Circumstances } from '../../../../src/virtual-server/decision/view.ts';
import {
  ACCOUNT,
  HELD,
  KNOWN,
  PRICED,
  NOW,
  OTHER_KEY,
  TASKED,
  TIMING,
  decide,
  denials,
  denied,
  memo,
  record,
  shown,
  webWith,
  withKey,
  type Shape,
  opened,
  doubted,
} from '../../../fixtures/decision.ts';
import { visit, type Given } from '../../../fixtures/visits.ts';
import {
  OVER,
  UNREACHABLE,
  cancelDenied,
  conditionsOf,
  deleted,
  living,
  looked,
  messageOf,
  owned,
  polled,
  saysGone,
} from './support.ts';

const SEALED = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
const PROVING = [0, 150_000, 300_000];
const NO_TASK = { type: 'taskNotFound', counts: true, detail: '' } as const;
const SILENT = memo({ task: { state: 'silent', why: 'taskNotFound' } });
const GONE = { state: 'gone', identifier: 'srv1', wasRequested: false };

const at = (ms: number, held = memo(), changes: Partial<Circumstances> = {}): Circumstances =>
  withKey({ now: NOW + ms, memo: held, ...changes });

type Denied = (given: Circumstances) => Outcome;
const lookDenied =
  (object: VirtualServer): Denied =>
  (given) =>
    looked(object, denied(true), given);

/** The result of the last of several denials at these times (ms). */
const deniedAt = (deny: Denied, moments: number[], held = memo()): Outcome =>
  moments.reduce<Outcome>((next, ms) => deny(at(ms, next.memo)), { memo: held, events: [], when: ON_CHANGE });

describe('a 404 for the server of a living object', () => {
  const deny = lookDenied(living());

  it('is a hint: the operator keeps Ready, records the doubt, and checks again soon', () => {
    const next = deny(at(0, memo({}, { failures: 5 })));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Reconciling: 'True AbsenceUnproven' });
    expect(next.status?.serverStatus).toBe('running');
    expect(next.record).toEqual(doubted(KNOWN, 'AbsenceUnproven'));
    expect(next.memo).toMatchObject({ failures: 0, evidence: { denials: { of: 'server srv1', counted: 1 } } });
    expect(untilVisit(next.when)).toBe(60_000);
    const rarely = at(0, memo(), { timing: { ...TIMING, pollMs: 900_000 } });
    expect(untilVisit(deny(rarely).when)).toBe(150_000);
  });

  it('is proof with enough others over the grace period: the absence is recorded', () => {
    const next = deniedAt(deny, PROVING);
    const sealed = { ...KNOWN, missingAt: '2026-01-02T00:05:00Z' };
    expect(conditionsOf(next)).toEqual({ Ready: 'False ServerMissing', Stalled: 'True ServerMissing' });
    expect(next.record).toEqual(sealed);
    expect(next.status?.record).toEqual(sealed);
    expect(next.events).toMatchObject([{ type: 'Warning', reason: 'ServerMissing' }]);
    expect(untilVisit(next.when)).toBe(540_000);
  });

  it('neither counts nor resets the count with a key that sees nothing', () => {
    const blind = (given: Circumstances): Outcome => looked(living(), denied(false), given);
    const before = deniedAt(deny, [0, 150_000]).memo;
    const next = blind(at(400_000, before));
    expect(conditionsOf(next).Stalled).toBe('True ServerNotVisible');
    expect(next.memo.evidence.denials).toEqual(before.evidence.denials);
    for (const object of [living(), living(SEALED)])
      expect(looked(object, denied(false), at(0)).memo.evidence.denials).toBeUndefined();
    expect(blind(at(0, memo({ denials: denials('server srv1') }))).record).toEqual(opened(KNOWN, 'ServerNotVisible'));
  });

  it.each([[[0]], [PROVING]])('is not recorded again, and the object stays ServerMissing (after %s ms)', (moments) => {
    const next = deniedAt(lookDenied(living(SEALED)), moments);
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    expect(next.record).toBeUndefined();
  });

  it.each([
    { what: 'a server that was never read', own: HELD, moments: Array.from({ length: 13 }, (_, n) => n * 300_000) },
    {
      what: 'an adopted server',
      own: record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' }),
      moments: PROVING,
    },
  ])('marks $what as missing after its own period', ({ own, moments }) => {
    const unread = lookDenied(webWith(own));
    const end = moments.at(-1) ?? 0;
    expect(deniedAt(unread, [...moments.slice(0, -1), end - 1]).record).not.toHaveProperty('missingAt');
    expect(deniedAt(unread, moments).record).toHaveProperty('missingAt');
  });
});

describe('a 404 for the server of a deleted object', () => {
  const deny: Denied = (given) => cancelDenied(deleted(), denied(true), given);
  const releaseOf = async (held: Memo) => {
    expect(decide(deleted(), at(300_000, held))).toMatchObject({ type: 'release', why: 'gone' });
    return visit(deleted(), { memo: held });
  };

  it('releases the object once the absence is proven, and reports that the operator did not cancel the server', async () => {
    const next = deniedAt(lookDenied(deleted()), PROVING);
    expect(next).toMatchObject({ when: { now: true }, memo: { evidence: { end: GONE } } });
    const { object, events } = await releaseOf(next.memo);
    expect(object).toBeUndefined();
    expect(events).toMatchObject([{ type: 'Warning', reason: 'ServerGone' }]);
  });

  it('leads to a report of a cancellation if the answer to a DELETE was lost', async () => {
    const lost = new ProviderError('PROVIDER_TIMEOUT', '60 s');
    const requested = afterRefusal(...owned(deleted(), at(0)), shown(), lost);
    const { events } = await releaseOf(deniedAt(deny, PROVING, requested.memo).memo);
    expect(events).toMatchObject([{ type: 'Normal', reason: 'ServerCancelled' }]);
  });

  it('is forgotten when a read shows the server', () => {
    const found = looked(deleted(), shown(), at(200_000, deniedAt(deny, [0, 150_000]).memo));
    expect(found).toMatchObject({
      when: { now: true },
      memo: { evidence: { task: { state: 'over', identifier: 'srv1' } } },
    });
    expect(found.memo.evidence.denials).toBeUndefined();
  });

  it('is removed from the record and its mirror at once when a read shows the server', () => {
    const found = looked(deleted(SEALED), shown(), at(200_000));
    expect(found.record).toEqual(KNOWN);
    expect(found.status?.record).toEqual(KNOWN);
  });
});

describe('a 404 for an expired server', () => {
  const expiring = living(KNOWN, OVER);

  it('is recorded as the expiry once it is proven', async () => {
    const next = deniedAt(lookDenied(expiring), PROVING);
    expect(next).toMatchObject({ when: { now: true }, memo: { evidence: { end: GONE } } });
    const { object, events } = await visit(expiring, { now: NOW + 300_000, memo: next.memo });
    expect(object?.status?.record?.expiredAt).toBe('2026-01-02T00:05:00Z');
    expect(events[0]?.note).toContain('no longer exists at the provider');
  });
});

describe('a 404 for a task', () => {
  const OLD = { ...TASKED, attemptedAt: '2026-01-01T00:00:00Z' };
  const deny: Denied = (given) => polled(webWith(OLD), NO_TASK, given);

  it('is proof with enough others over the grace period, and the task is still polled', () => {
    const next = deniedAt(deny, PROVING);
    expect(conditionsOf(next)).toEqual({ Ready: 'False TaskNotFound', Stalled: 'True TaskNotFound' });
    expect(messageOf(next)).toContain('vps-operator.dev/not-created=a1');
    expect(next.when).toMatchObject({ operation: 'follow' });
    expect(untilVisit(next.when)).toBeGreaterThanOrEqual(60_000);
  });

  it.each([
    { type: 'pending', status: 'installing' },
    { type: 'complete', identifier: 'srv1' },
  ] as const)('counts from one again after an answer of the task ($type)', (answer) => {
    const before = deniedAt(deny, [0, 150_000]).memo;
    expect(polled(webWith(OLD), answer, at(200_000, before)).memo.evidence.denials).toBeUndefined();
  });

  it('is not confused with those of its server, which an answer of the task keeps', () => {
    const held = memo({ denials: denials('server srv1') });
    const next = polled(webWith(HELD), { type: 'pending', identifier: 'srv1' }, at(0, held));
    expect(next.memo.evidence.denials).toEqual(held.evidence.denials);
  });

  it.each([true, false])('has the server read that the task has named (counts: %s)', (counts) => {
    const next = polled(webWith(HELD), { ...NO_TASK, counts }, at(0));
    expect(next).toMatchObject({ when: { now: true }, memo: SILENT });
  });

  it('does not count for the server read in its place either, if the key sees nothing', () => {
    const next = looked(webWith(HELD), denied(false), at(0, SILENT));
    expect(conditionsOf(next).Stalled).toBe('True ServerNotVisible');
    expect(next.memo.evidence).toEqual({});
  });

  it('needs the absence of the server too if the task has named one', () => {
    const own = { ...HELD, attemptedAt: OLD.attemptedAt };
    const vanished: Denied = ({ now, memo: { evidence } }) =>
      looked(webWith(own), denied(true), at(now - NOW, memo({ ...evidence, ...SILENT.evidence })));
    const early = deniedAt(vanished, [0, 1, 2]);
    expect(conditionsOf(early).Ready).toBe('False AbsenceUnproven');
    expect(early.when).toMatchObject({ operation: 'follow' });
    expect(early.memo.evidence.task).toBeUndefined();
    expect(conditionsOf(deniedAt(vanished, PROVING)).Stalled).toBe('True TaskNotFound');
  });
});

describe('your annotation that the server is gone', () => {
  const SAID = saysGone('srv1');

  it.each([
    { what: 'one 404', own: KNOWN, answer: denied(true), held: memo() },
    { what: 'one 404 that does not count', own: KNOWN, answer: denied(false), held: memo() },
    {
      what: 'a server that cannot be recognized',
      own: KNOWN,
      answer: shown({ macs: [] }, OTHER_KEY),
      held: memo(),
    },
    { what: 'one 404 in place of its task', own: HELD, answer: denied(true), held: SILENT },
    { what: 'one 404 in place of its task that does not count', own: HELD, answer: denied(false), held: SILENT },
  ])('makes $what enough', ({ own, answer, held }) => {
    const next = looked(webWith(own, SAID), answer, at(0, held));
    expect(next.record).toEqual({ ...own, missingAt: '2026-01-02T00:00:00Z' });
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    const doomed = webWith(own, { deleting: true, ...SAID });
    const goes = looked(doomed, answer, at(0, held));
    expect(goes).toMatchObject({ when: { now: true }, memo: { evidence: { end: GONE } } });
    expect(decide(doomed, at(0, goes.memo))).toMatchObject({ type: 'release', why: 'gone' });
  });

  it('has no effect after a read has shown the server, until you set it again', () => {
    const next = looked(living(KNOWN, SAID), shown(), at(0));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    expect(next.record).toEqual({ ...PRICED, goneRefuted: true });
    const refuted = { ...KNOWN, goneRefuted: true as const };
    const endAfterDenial = (own: Held) => cancelDenied(deleted(own, SAID), denied(true), at(0)).memo.evidence.end;
    expect(endAfterDenial(refuted)).toBeUndefined();
    expect(decide(living(refuted, SAID), at(0))).not.toMatchObject({ why: 'annotationTakenBack' });
    const takenBack = { type: 'record', record: KNOWN, why: 'annotationTakenBack' };
    expect(decide(living(refuted), at(0))).toEqual(takenBack);
    expect(decide(deleted(refuted, saysGone('srv2')), at(0))).toEqual(takenBack);
    expect(endAfterDenial(KNOWN)).toEqual(GONE);
  });

  const NO_KEY: Given = { key: { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret' } } };
  const unread = webWith(HELD, { deleting: true, ...SAID });

  it.each([
    { operation: 'cancel', object: deleted(KNOWN, SAID), held: memo() },
    { operation: 'follow', object: unread, held: memo() },
    { operation: 'look', object: unread, held: SILENT },
  ])('releases a deleted object if $operation gets no answer or has no key', async ({ operation, object, held }) => {
    expect(decide(object, at(0, held)).type).toBe(operation);
    for (const given of [{ answers: { server: UNREACHABLE, task: UNREACHABLE } }, NO_KEY]) {
      const { object: left, events } = await visit(object, { memo: held, ...given });
      expect(left).toBeUndefined();
      expect(events).toMatchObject([{ reason: 'ServerGone' }]);
    }
  });

  it.each<{ what: string; own?: Held; shape?: Shape; reason: string }>([
    { what: 'is missing', shape: {}, reason: 'SecretNotFound' },
    { what: 'names another server', shape: saysGone('srv2'), reason: 'SecretNotFound' },
    { what: 'was refuted by a read', own: { ...KNOWN, goneRefuted: true }, reason: 'SecretNotFound' },
    { what: 'does not tell about an orphan', own: { ...KNOWN, orphans: [{ task: 3 }] }, reason: 'OrphanedServer' },
  ])('keeps a deleted object without a key if it $what', async ({ own = KNOWN, shape = SAID, reason }) => {
    const { object } = await visit(deleted(own, shape), NO_KEY);
    expect(object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(Object.values(conditionsOf(object))).toContainEqual(expect.stringContaining(reason));
  });
});
