import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION } from '../../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import { inputsOf } from '../../../../../src/virtual-server/decision/inputs.ts';
import type { Action, Next, Outcome } from '../../../../../src/virtual-server/decision/types.ts';
import { ProviderError } from '../../../../../src/provider/error.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  OTHER_KEY,
  SERVER,
  TASKED,
  TIMING,
  UID,
  denials,
  facts,
  gathered,
  memo,
  others,
  web,
  webWith,
  decide,
  settle,
  LEAVE,
} from '../../../../gen/decision.ts';
import { conditionsOf, settled } from './support.ts';

const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };
const pollHeld: Action = { type: 'pollTask', record: HELD, task: 7 };
const read: Action = { type: 'readServer', record: KNOWN, identifier: 'srv1' };
const readFirst: Action = { ...read, record: HELD };
const cancel: Action = { type: 'deleteServer', record: HELD, identifier: 'srv1', leave: LEAVE };
const pending = (identifier?: string, status?: string): Outcome => ({
  type: 'pending',
  identifier,
  status,
});
const seen = (changes: Partial<typeof SERVER> = {}, account = ACCOUNT): Outcome => ({
  type: 'server',
  server: { ...SERVER, ...changes },
  account,
});
const missing = (counts: boolean): Outcome => ({ type: 'serverNotFound', counts, detail: 'another key' });
const HOUR_MS = 3_600_000;
const overdue = facts({ now: NOW + HOUR_MS });
const message = (next: Next): string => next.status?.conditions?.[0]?.message ?? '';

describe('settling a poll', () => {
  it('shows the progress, and writes no metadata while the identifier is unknown', () => {
    const next = settled(webWith(TASKED), poll, pending(undefined, 'installing 20 % complete'));
    expect(next).not.toHaveProperty('record');
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
    const first = settle(webWith(HELD), pollHeld, pending('srv1', 'at 10%'), gathered({ timing }));
    const object = webWith(HELD, { status: first.status ?? {} });
    const later = gathered({ timing, memo: first.memo, monotonic: facts().monotonic + afterMs });
    const second = settle(object, pollHeld, pending('srv1', 'at 20%'), later);
    expect(second.status?.task?.message).toBe(isTold ? 'at 20%' : undefined);
    expect(second.requeueAfterMs).toBe(first.requeueAfterMs);
    const failed = settle(object, pollHeld, pending('srv1', 'failed'), later);
    expect(failed.again).toBe(true);
  });

  it('leaves no status field that was copied from another object', () => {
    const copied = webWith(TASKED, { status: { serverStatus: 'running', ipv6: ['2001:db8::9'] } });
    const { status } = settled(copied, poll, pending('srv1'));
    expect(status).not.toHaveProperty('serverStatus');
    expect(status).not.toHaveProperty('ipv6');
  });

  it('records the identifier with the first poll that shows it', () => {
    const next = settled(webWith(TASKED), poll, pending('srv1'));
    expect(next.status).toMatchObject({ identifier: 'srv1', record: HELD });
    // The write that records the fingerprint adds it to the annotation.
    expect(next).not.toHaveProperty('record');
  });

  it('records the identifier in the annotation if the status that named it could not be written', () => {
    const first = settle(webWith(TASKED), poll, pending('srv1'), gathered());
    const second = settle(webWith(TASKED), poll, pending('srv1'), gathered({ memo: first.memo }));
    expect([first.record, second.record]).toEqual([undefined, HELD]);
  });

  it.each<{ what: string; object: VirtualServer; outcome: Outcome }>([
    { what: 'is being deleted', object: webWith(TASKED, { deleting: true }), outcome: pending('srv1') },
    {
      what: 'seems to have failed',
      object: webWith(TASKED),
      outcome: { type: 'pending', identifier: 'srv1', status: 'Installation failed' },
    },
  ])('records the identifier in the annotation at once if the order $what', ({ object, outcome }) => {
    expect(settled(object, poll, outcome).record).toEqual(HELD);
  });

  it.each<{ outcome: Outcome; reason: string }>([
    { outcome: pending('srv2'), reason: 'another server' },
    {
      outcome: { type: 'complete', identifier: 'srv2' },
      reason: 'another server when complete',
    },
  ])('keeps its identifier and reads its own server when the task names $reason', ({ outcome }) => {
    const next = settled(webWith(HELD), pollHeld, outcome);
    expect(next).not.toHaveProperty('record');
    expect(next).toMatchObject({ again: true, memo: { readInstead: { why: 'renamed', named: 'srv2' } } });
    expect(next.memo).not.toHaveProperty('taskComplete');
    expect(decide(webWith(HELD), gathered({ memo: next.memo }))).toEqual(readFirst);
  });

  it.each(['', 'x'.repeat(254)])('never truncates an identifier that is too long or empty (%s)', (identifier) => {
    const next = settled(webWith(TASKED), poll, pending(identifier));
    expect(next).not.toHaveProperty('record');
    expect(conditionsOf(next).Stalled).toBe('True ProviderProtocolError');
  });

  it('continues with the server when the task is complete, and records its identifier', () => {
    const next = settled(webWith(TASKED), poll, { type: 'complete', identifier: 'srv1' });
    expect(next).toMatchObject({ again: true, record: HELD, memo: { taskComplete: 'srv1' } });
  });

  it('reads the server itself when the task has vanished', () => {
    expect(settled(webWith(HELD), pollHeld, { type: 'taskNotFound', counts: true, detail: '' })).toMatchObject({
      again: true,
      memo: { readInstead: { why: 'taskNotFound' } },
    });
  });

  it('keeps polling when the task has vanished before it named a server', () => {
    const proven = facts({ memo: memo({ denials: denials('task 7') }) });
    const next = settle(webWith(TASKED), poll, { type: 'taskNotFound', counts: true, detail: '' }, proven);
    expect(conditionsOf(next)).toEqual({ Ready: 'False TaskNotFound', Stalled: 'True TaskNotFound' });
    expect(message(next)).toContain('vps-operator.dev/not-created=a1');
    expect(next.memo.next?.action).toBe('pollTask');
    expect(next.requeueAfterMs).toBeGreaterThanOrEqual(60_000);
  });

  it('reports a task that runs for more than an hour, and polls less and less often', () => {
    const next = settle(webWith(TASKED), poll, pending(undefined, 'waiting'), {
      ...overdue,
      memo: memo({ failures: 8 }),
    });
    expect(conditionsOf(next).Ready).toBe('False TaskOverdue');
    expect(next.requeueAfterMs).toBeGreaterThan(200_000);
  });

  it.each([true, false])('reads the server of an overdue task (object deleted: %s)', (deleting) => {
    const next = settle(webWith(HELD, { deleting }), pollHeld, pending('srv1'), overdue);
    expect(next).toMatchObject({ again: true, memo: { readInstead: { why: 'overdue' } } });
  });

  it('reports that the server of a deleted object is cancelled after its task', () => {
    expect(conditionsOf(settled(webWith(TASKED, { deleting: true }), poll, pending())).Ready).toBe('False Deleting');
  });
});

describe('settling a read', () => {
  const provisioned = (): VirtualServer =>
    webWith(KNOWN, { status: settled(webWith(KNOWN), read, seen()).status ?? {} });

  it('reports Ready, and reads again after the resync interval', () => {
    const next = settled(webWith(KNOWN, { status: { task: { id: 7 } } }), read, seen());
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    expect(next.status).not.toHaveProperty('task');
    expect(next).not.toHaveProperty('record');
    expect(next).toMatchObject({ requeueAfterMs: 540_000, memo: { failures: 0, taskComplete: 'srv1' } });
  });

  it('leaves the status of an unchanged server deep-equal', () => {
    const object = provisioned();
    const next = settle(object, read, seen(), facts({ now: NOW + HOUR_MS }));
    expect(next.status).toEqual(object.status);
    expect(next.events).toEqual([]);
  });

  it('records the fingerprint from the first read', () => {
    const next = settled(webWith(HELD), readFirst, seen());
    expect(next.record).toEqual(KNOWN);
    expect(next.status?.record).toEqual(KNOWN);
  });

  it('renews the account when another key shows the same server', () => {
    const next = settled(webWith(KNOWN), read, seen({}, OTHER_KEY));
    expect(next.record).toEqual({ ...KNOWN, account: OTHER_KEY });
    expect(next.status?.record?.account).toBe(OTHER_KEY);
  });

  it.each([
    { reason: 'ServerNotRunning', changes: { status: 'stopped' } },
    { reason: 'ServerNotRunning', changes: { status: undefined } },
    { reason: 'AddressPending', changes: { ipv6: [], sshProxy: undefined } },
    { reason: 'Available', changes: { status: ' Running', ipv6: [] } },
  ])('reports $reason and reads again after the right pause for $changes', ({ reason, changes }) => {
    const next = settled(webWith(KNOWN), read, seen(changes));
    expect(conditionsOf(next).Ready).toContain(reason);
    expect(next.requeueAfterMs).toBe(reason === 'Available' ? 540_000 : 54_000);
  });

  it('shows how the server differs from the spec', () => {
    const next = settled(webWith(KNOWN), read, seen({ product: 'vps-2gb' }));
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Drifted: 'True Drifted' });
    expect(next.events.map(({ reason }) => reason)).toEqual(['Available', 'Drifted']);
  });

  it('keeps a server that this key cannot see', () => {
    const hidden = settled(provisioned(), read, missing(false));
    expect(conditionsOf(hidden)).toEqual({ Ready: 'Unknown ServerNotVisible', Stalled: 'True ServerNotVisible' });
    expect(hidden.status?.record).toEqual(KNOWN);
    expect(hidden).not.toHaveProperty('record');
  });

  it('names both servers when the task names another one and the earlier one is not visible', () => {
    const renamed = memo({ readInstead: { why: 'renamed', named: 'srv2' } });
    const next = settle(webWith(HELD), readFirst, missing(true), facts({ memo: renamed }));
    expect(conditionsOf(next).Stalled).toBe('True TaskInUse');
    expect(message(next)).toContain('now names server srv2. Before, it named server srv1');
    expect(message(next)).toContain(`${ADOPT_ANNOTATION}=srv2`);
    expect(next.memo).not.toHaveProperty('readInstead');
    expect(next.memo.denials?.of).toBe('server srv1');
    expect(next.memo.next?.action).toBe('pollTask');
  });

  it('polls the task again when neither task nor server is visible', () => {
    const proven = memo({ readInstead: { why: 'taskNotFound' }, denials: denials('server srv1') });
    const next = settle(webWith(HELD), readFirst, missing(true), facts({ memo: proven }));
    expect(conditionsOf(next).Stalled).toBe('True TaskNotFound');
    expect(next.memo).not.toHaveProperty('readInstead');
    expect(next.memo.next?.action).toBe('pollTask');
  });

  it('adds to every verdict that another adoption is ignored', () => {
    const next = settled(webWith(KNOWN, { annotations: { [ADOPT_ANNOTATION]: 'srv2' } }), read, seen());
    expect(message(next)).toContain('AdoptIgnored');
    expect(next.status?.identifier).toBe('srv1');
  });
});

describe('settling an adoption', () => {
  const adopt: Action = { type: 'adopt', record: undefined, identifier: 'srv1' };
  const { fingerprint } = KNOWN;
  const adopted = { format: 1, owner: UID, mode: 'adopt', account: ACCOUNT, identifier: 'srv1', fingerprint };

  it('records the server first, and shows nothing of it until then', () => {
    const next = settled(web(), adopt, seen());
    expect(next.record).toEqual(adopted);
    expect(next).not.toHaveProperty('status');
    expect(next.again).toBe(true);
    expect(next.events.map(({ reason }) => reason)).toEqual(['ServerAdopted']);
  });

  it('resolves an attempt, and keeps its accepted task as an orphan', () => {
    const resolved = { ...adopted, settled: ['a1'] };
    expect(settled(webWith(ATTEMPTED), { ...adopt, record: ATTEMPTED }, seen()).record).toEqual(resolved);
    const next = settled(webWith(TASKED), { ...adopt, record: TASKED }, seen());
    expect(next.record).toEqual({
      ...resolved,
      orphans: [{ attempt: 'a1', attemptedAt: TASKED.attemptedAt, task: 7 }],
    });
  });

  it('makes no orphan of a task that another object follows too', () => {
    const shared = facts({ others: others({ withTask: () => ['default/other'] }) });
    const next = settle(webWith(TASKED), { ...adopt, record: TASKED }, seen(), shared);
    expect(next.record).toEqual({ ...adopted, settled: ['a1'] });
  });

  it('names no holder from another namespace, and keeps an open attempt', () => {
    const held: Outcome = { type: 'held', holders: ['secret-project/db'] };
    const next = settled(webWith(ATTEMPTED), { ...adopt, record: ATTEMPTED }, held);
    expect(conditionsOf(next).Stalled).toBe('True IdentifierInUse');
    expect(message(next)).toContain('is held by an object in another namespace, so the operator does not adopt it.');
    expect(message(next)).toContain('vps-operator.dev/not-created=a1');
    expect(message(next)).not.toContain('secret-project');
    expect(next).not.toHaveProperty('record');
    expect(next.memo.next?.action).toBe('adopt');
    expect(next.requeueAfterMs).toBeLessThanOrEqual(TIMING.pollMs);
  });

  it('holds nothing while the server is not visible', () => {
    const next = settled(webWith(ATTEMPTED), { ...adopt, record: ATTEMPTED }, missing(false));
    expect(next).not.toHaveProperty('record');
    expect(next.status?.record).toEqual(ATTEMPTED);
    expect(conditionsOf(next).Stalled).toBe('True ServerNotVisible');
    expect(next.memo.next?.action).toBe('adopt');
  });
});

describe('settling a cancellation', () => {
  const deleting = webWith(HELD, { deleting: true });

  it('takes a DELETE that a read has confirmed as proof at once', () => {
    expect(settled(deleting, cancel, { type: 'cancelled' })).toEqual({
      memo: { failures: 0, cancelled: 'srv1', looked: inputsOf(deleting) },
      events: [],
      again: true,
    });
  });

  it('keeps a server that this key cannot see', () => {
    const next = settled(deleting, cancel, missing(false));
    expect(next.memo).not.toHaveProperty('cancelled');
    expect(next).not.toHaveProperty('record');
    expect(conditionsOf(next).Stalled).toBe('True ServerNotVisible');
    expect(next.memo.next?.action).toBe('deleteServer');
  });

  it.each([
    ['servers', 'deleting', 'CRDDeleting', 'virtualservers.vps-operator.dev vps-operator.dev/allow-deletion=true'],
    [
      'servers',
      'forbidden',
      'CRDForbidden',
      'may not read the CustomResourceDefinition virtualservers.vps-operator.dev',
    ],
    ['sets', 'deleting', 'CRDDeleting', 'virtualserversets.vps-operator.dev vps-operator.dev/allow-deletion=true'],
    ['sets', 'missing', 'CRDDeleting', 'virtualserversets.vps-operator.dev is missing'],
    [
      'sets',
      'forbidden',
      'CRDForbidden',
      'may not read the CustomResourceDefinition virtualserversets.vps-operator.dev',
    ],
  ] as const)('waits while the definition of %s is %s (%s)', (of, definition, reason, text) => {
    const next = settled(deleting, cancel, { type: 'heldBack', of, definition });
    expect(conditionsOf(next).Stalled).toBe(`True ${reason}`);
    const message = next.status?.conditions?.[0]?.message;
    expect(message).toContain(text);
    if (reason === 'CRDDeleting') expect(message).toContain('"deletionPolicy":"Retain"');
    else expect(message).toContain('ClusterRole vps-operator-definition');
    expect(next.memo).not.toHaveProperty('cancelled');
    expect(next).not.toHaveProperty('record');
    expect(next.memo.next?.action).toBe('deleteServer');
  });
});

describe('a server that is still shown after the documented answer to a DELETE', () => {
  const doomed = webWith(KNOWN, { deleting: true });
  const expired = webWith(KNOWN, { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
  const remove: Action = { type: 'deleteServer', record: KNOWN, identifier: 'srv1', leave: LEAVE };
  const look: Action = { ...remove, leave: { ok: false, outcome: seen() } };
  const still: Outcome = {
    type: 'unconfirmed',
    said: 'locked',
    shown: { type: 'server', server: SERVER, account: ACCOUNT },
  };
  const after = (ms: number, before: Next['memo']) => facts({ now: NOW + ms, memo: before });
  const known = facts({ memo: memo({ taskComplete: 'srv1' }) });
  const first = settle(doomed, remove, still, known);
  const reasonOf = (next: Next) => conditionsOf(next).Stalled ?? conditionsOf(next).Reconciling;

  it('keeps its object, which asks again after a poll interval, without a Warning for a short lag', () => {
    expect(first).not.toHaveProperty('record');
    expect(first.memo).not.toHaveProperty('cancelled');
    expect(first.memo.next).toMatchObject({ action: 'deleteServer', at: NOW + TIMING.pollMs });
    expect(first.events).toMatchObject([{ type: 'Normal', reason: 'Deleting' }]);
    expect(message(first)).toContain('answered 200 ("locked")');
  });

  it.each([
    { what: 'deleted', object: doomed, keeps: '"deletionPolicy":"Retain"' },
    { what: 'expired', object: expired, keeps: '"deletionPolicy":"Retain","expiresAt":null' },
  ])('is reported after a poll interval, with what you can do, if its object is $what', ({ object, keeps }) => {
    const next = settle(object, look, seen(), after(TIMING.pollMs, settle(object, remove, still, known).memo));
    expect(reasonOf(next)).toBe('True CancellationUnconfirmed');
    expect(next.events).toContainEqual(expect.objectContaining({ type: 'Warning', reason: 'CancellationUnconfirmed' }));
    const text = next.status?.conditions?.find(({ type }) => type === 'Stalled')?.message;
    expect(text).toContain(keeps);
    expect(text).toContain('Next check in 60 s');
    expect(next.memo.next).toMatchObject({ action: 'deleteServer' });
  });

  it.each([
    { ms: 74_999, type: 'deleteServer', leave: false },
    { ms: 75_000, type: 'deleteServer', leave: true },
  ])('gets another DELETE no sooner than a quarter of the grace period later ($ms ms)', ({ ms, type, leave }) => {
    expect(decide(doomed, gathered({ now: NOW + ms, memo: first.memo }))).toMatchObject({ type, leave: { ok: leave } });
  });

  it('is cancelled once a single counted denial follows', () => {
    const next = settle(doomed, look, missing(true), after(TIMING.pollMs, first.memo));
    expect(next).toMatchObject({ again: true, memo: { cancelled: 'srv1' } });
    const action = decide(doomed, after(TIMING.pollMs, next.memo));
    expect(action).toMatchObject({ type: 'release', why: 'cancelled' });
  });

  it('is cancelled once another server is shown in its place', () => {
    const next = settle(doomed, look, seen({ macs: ['00:00:5e:00:53:ff'] }), after(TIMING.pollMs, first.memo));
    expect(next.memo.cancelled).toBe('srv1');
  });

  it('has expired once a single counted denial follows', () => {
    const held = settle(expired, remove, still, known).memo;
    const next = settle(expired, look, missing(true), after(TIMING.pollMs, held));
    expect(decide(expired, after(TIMING.pollMs, next.memo))).toMatchObject({ type: 'record', why: 'expired' });
  });

  it('is not cancelled by a denial that does not count', () => {
    const next = settle(doomed, look, missing(false), after(TIMING.pollMs, first.memo));
    expect(next.memo).not.toHaveProperty('cancelled');
    expect(next.memo.cancelAnswered).toEqual(first.memo.cancelAnswered);
  });

  it('is read again after a failure, and the answer is remembered', () => {
    const error = new ProviderError('PROVIDER_TIMEOUT', '60 s');
    const next = settle(doomed, remove, { type: 'failed', error, said: 'locked' }, facts({}));
    expect(next.memo.next?.action).toBe('deleteServer');
    const later = settle(doomed, look, missing(true), after(TIMING.pollMs, next.memo));
    expect(later.memo.cancelled).toBe('srv1');
  });

  it('needs the whole proof again if its object lives on', () => {
    const alive = webWith(KNOWN, {});
    const next = settle(alive, read, seen(), after(TIMING.pollMs, first.memo));
    expect(next.memo).not.toHaveProperty('cancelAnswered');
  });

  it('is not cancelled by a denial if it was never shown before the DELETE either', () => {
    const unseen: Outcome = {
      type: 'unconfirmed',
      said: 'ok',
      shown: { type: 'serverNotFound', counts: true, detail: '' },
    };
    const next = settle(webWith(HELD, { deleting: true }), cancel, unseen, facts({}));
    expect(next.memo).toMatchObject({ cancelAsked: 'srv1', denials: { counted: 1 } });
    expect(next.memo).not.toHaveProperty('cancelled');
    expect(reasonOf(next)).toBe('True AbsenceUnproven');
  });

  it('was shown before a DELETE whose answer was lost, so earlier denials no longer count', () => {
    const error = new ProviderError('PROVIDER_TIMEOUT', '60 s');
    const held = memo({ denials: denials('server srv1') });
    const next = settle(doomed, remove, { type: 'failed', error, cancelAsked: true }, facts({ memo: held }));
    expect(next.memo).not.toHaveProperty('denials');
  });
});
