import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION, FINALIZER } from '../../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import type { Action, Next, Outcome } from '../../../../../src/virtual-server/decision/types.ts';
import {
  ACCOUNT,
  ELSEWHERE,
  HELD,
  KNOWN,
  NOW,
  OTHER_KEY,
  SERVER,
  TASKED,
  TIMING,
  denials,
  gathered,
  memo,
  others,
  webWith,
  type Shape,
  decide,
  settle,
} from '../../../../gen/decision.ts';
import { visit } from '../../../../gen/visits.ts';
import { conditionsOf, settled } from './support.ts';

const OTHER_MAC = '00:00:5e:00:53:ff';
const seen = (changes: Partial<typeof SERVER> = {}, account = ACCOUNT): Outcome => ({
  type: 'server',
  server: { ...SERVER, ...changes },
  account,
});
const other = seen({ macs: [OTHER_MAC], ipv6: ['2001:db8::bad'] });
const readOf = (own: ServerRecord): Action => ({ type: 'readServer', record: own, identifier: 'srv1' });
const READY = settled(webWith(KNOWN), readOf(KNOWN), seen()).status ?? {};
const living = (own: ServerRecord = KNOWN, shape: Shape = {}): VirtualServer =>
  webWith(own, { status: READY, ...shape });
const accepting = (word: string): Shape => ({ annotations: { [ACCEPT_SERVER_ANNOTATION]: word } });
const message = (next: Next): string => next.status?.conditions?.[0]?.message ?? '';
const sealed = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };

describe('a server that may be another one', () => {
  it('is not shown, keeps the record, and names the annotations that resolve it', () => {
    const next = settled(living(), readOf(KNOWN), other);
    expect(conditionsOf(next)).toEqual({ Ready: 'Unknown IdentityUnproven', Stalled: 'True IdentityUnproven' });
    expect(next).not.toHaveProperty('record');
    expect(next.status?.record).toEqual(KNOWN);
    expect(JSON.stringify(next.status)).not.toContain('2001:db8::bad');
    expect(message(next)).toContain(`-n default vps-operator.dev/accept-server=srv1@${OTHER_MAC}`);
    expect(message(next)).toContain('-n default vps-operator.dev/server-gone=srv1');
    expect(next.requeueAfterMs).toBe(540_000);
  });

  it('becomes the server of the object once you accept it', () => {
    const object = living(KNOWN, accepting(`srv1@${OTHER_MAC}`));
    const next = settled(object, readOf(KNOWN), other);
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    expect(next.record).toEqual({ ...KNOWN, fingerprint: { macs: [OTHER_MAC] } });
  });

  it('keeps a deleted object, and the cancellation is retried after the pause', () => {
    const doomed = living(KNOWN, { deleting: true });
    const { object, memo: held } = visit(doomed, { answers: { deleteServer: other } });
    expect(object?.status?.conditions?.[0]).toMatchObject({ reason: 'IdentityUnproven' });
    expect(object?.metadata.finalizers).toEqual([FINALIZER]);
    expect(JSON.stringify(object?.status)).not.toContain('2001:db8::bad');
    expect(held).toMatchObject({ unrecognized: 'srv1', next: { action: 'deleteServer', at: NOW + 540_000 } });
    expect(decide(object ?? doomed, gathered({ memo: held })).type).toBe('wait');
    expect(decide(object ?? doomed, gathered({ memo: held, now: NOW + 540_000 })).type).toBe('deleteServer');
  });

  it('keeps an expired object', () => {
    const over = living(KNOWN, { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
    const { object } = visit(over, { answers: { deleteServer: other } });
    expect(object?.status?.conditions?.[0]).toMatchObject({ reason: 'IdentityUnproven' });
    expect(object?.status?.record).toEqual(KNOWN);
  });

  it('must be cancelled at once if it is recognized', () => {
    const doomed = living(KNOWN, { deleting: true });
    expect(() => visit(doomed, { answers: { deleteServer: seen() } })).toThrow('is cancelled at once');
  });

  it('stays missing once its absence is recorded', () => {
    const next = settled(living(sealed), readOf(sealed), other);
    expect(conditionsOf(next).Stalled).toBe('True ServerMissing');
    expect(message(next)).toContain('it is a different server');
    expect(next).not.toHaveProperty('record');
  });

  it('releases a deleted object if the absence of its server is recorded', () => {
    const doomed = living(sealed, { deleting: true });
    const { object, events } = visit(doomed, { answers: { deleteServer: other } });
    expect(object).toBeUndefined();
    expect(events).toMatchObject([{ type: 'Warning', reason: 'ServerGone' }]);
  });

  it('keeps a deleted object if the absence is recorded and nothing distinguishes the two servers', () => {
    const doomed = living({ ...HELD, missingAt: sealed.missingAt }, { deleting: true });
    const { object } = visit(doomed, { answers: { deleteServer: seen() } });
    expect(object?.status?.conditions?.[0]?.reason).toBe('IdentityUnproven');
  });

  it('expires once its expiry has passed and its absence is recorded', () => {
    const over = living(sealed, { spec: { expiresAt: '2026-01-01T00:00:00Z' } });
    const { object } = visit(over, { answers: { deleteServer: other } });
    expect(object?.status?.record).toHaveProperty('expiredAt');
  });

  it('does not end a recorded absence by the same account alone', () => {
    const own = { ...HELD, missingAt: sealed.missingAt };
    expect(conditionsOf(settled(living(own), readOf(own), seen())).Stalled).toBe('True IdentityUnproven');
  });
});

describe('a server whose address another server shows too', () => {
  const shared = { others: others({ withAddress: () => ['default/other'] }) };
  const given = { ...shared, answers: { readServer: seen(), deleteServer: seen() } };

  it('stays Ready while its object lives', () => {
    const next = settle(living(), readOf(KNOWN), seen(), gathered(shared));
    expect(conditionsOf(next).Ready).toBe('True Available');
    expect(next).not.toHaveProperty('record');
  });

  it('is not cancelled before you accept it', () => {
    const cancellation = { identifier: 'srv1', shown: seen() };
    const object = living(KNOWN, { deleting: true });
    expect(decide(object, gathered({ ...shared, cancellation }))).toMatchObject({ leave: { ok: false } });
    const kept = visit(object, given).object;
    const condition = kept?.status?.conditions?.find(({ reason }) => reason === 'IdentityUnproven');
    expect(condition?.message).toContain('the server of default/other has it too');
    const word = /accept-server=([^`]+)/.exec(condition?.message ?? '')?.[1] ?? '';
    const accepted = living(KNOWN, { deleting: true, ...accepting(word) });
    expect(decide(accepted, gathered({ ...shared, cancellation }))).toEqual({ type: 'gather', what: 'liveObject' });
  });

  it('is cancelled without help once the other server is gone', () => {
    const { object, memo: held } = visit(living(KNOWN, { deleting: true }), given);
    const cancellation = { identifier: 'srv1', shown: seen() };
    const later = gathered({ memo: held, cancellation, now: NOW + TIMING.resyncMs });
    expect(decide(object ?? living(), later)).toEqual({ type: 'gather', what: 'liveObject' });
  });
});

describe('a server that had counted as gone', () => {
  it('is Ready again if its hardware address proves that it is the same server', () => {
    const next = settled(living(sealed), readOf(sealed), seen());
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available' });
    expect(next.record).toEqual(KNOWN);
  });
});

describe('another account', () => {
  it('is not recorded for a server that proves nothing', () => {
    const next = settled(living(HELD), readOf(HELD), seen({}, OTHER_KEY));
    expect(conditionsOf(next).Stalled).toBe('True IdentityUnproven');
    expect(next).not.toHaveProperty('record');
    expect(next.status?.record?.account).toBe(ACCOUNT);
  });

  it.each([OTHER_KEY, ELSEWHERE])('keeps a deleted object whose server proves nothing (%s)', (account) => {
    const doomed = living(KNOWN, { deleting: true });
    const credentials = { ok: true, account } as const;
    const { object } = visit(doomed, { credentials, answers: { deleteServer: seen({ macs: [] }, account) } });
    expect(object?.status?.conditions?.[0]?.reason).toBe('IdentityUnproven');
  });
});

describe('a task under another account', () => {
  const withKey = (account: string) => gathered({ credentials: { ok: true, account }, memo: memo({ failures: 0 }) });
  const poll = (own: ServerRecord): Action => ({ type: 'pollTask', record: own, task: 7 });
  const pending = (identifier?: string): Outcome => ({ type: 'pending', identifier, status: 'installing' });

  const complete = (identifier: string): Outcome => ({ type: 'complete', identifier });

  // Number and identifier may belong to an order of the other account, whose 404 would then count.
  it.each([pending('srv1'), pending('SRV1')])(
    'is followed, but does not renew the account ($identifier)',
    (outcome) => {
      const next = settle(webWith(HELD), poll(HELD), outcome, withKey(OTHER_KEY));
      expect(next).not.toHaveProperty('record');
      expect(conditionsOf(next).Ready).toBe('False Creating');
    },
  );

  it('renews the account once that account shows the server that the task names', () => {
    const credentials = { ok: true, account: OTHER_KEY } as const;
    const answers = { pollTask: complete('srv1'), readServer: seen({}, OTHER_KEY) };
    const { object } = visit(webWith(HELD), { credentials, answers });
    expect(object?.status?.conditions?.[0]?.reason).toBe('Available');
    expect(object?.status?.record).toEqual({ ...KNOWN, account: OTHER_KEY });
  });

  it('no longer vouches for a server once it names another one', () => {
    const named = settle(webWith(HELD), poll(HELD), complete('srv1'), withKey(OTHER_KEY));
    expect(named.memo.vouched).toEqual({ identifier: 'srv1', account: OTHER_KEY });
    const facts = { ...withKey(OTHER_KEY), memo: named.memo };
    expect(settle(webWith(HELD), poll(HELD), complete('srv2'), facts).memo).not.toHaveProperty('vouched');
  });

  it('proves nothing about a server that was read before under another account', () => {
    const memoOf = memo({ vouched: { identifier: 'srv1', account: OTHER_KEY } });
    const next = settle(living(), readOf(KNOWN), seen({ macs: [] }, OTHER_KEY), gathered({ memo: memoOf }));
    expect(conditionsOf(next).Stalled).toBe('True IdentityUnproven');
  });

  it('keeps a deleted object while that account does not show the server, however many denials there are', () => {
    const credentials = { ok: true, account: OTHER_KEY } as const;
    const doomed = webWith(HELD, { deleting: true });
    const denied: Outcome = { type: 'serverNotFound', counts: false, detail: 'another key' };
    const given = { credentials, memo: memo({ denials: denials('server srv1') }) };
    const { object } = visit(doomed, { ...given, answers: { pollTask: complete('srv1'), deleteServer: denied } });
    expect(object?.status?.conditions?.[0]?.reason).toBe('ServerNotVisible');
    expect(object?.status?.record?.account).toBe(ACCOUNT);
  });

  it.each([
    { what: 'another identifier', outcome: pending('srv2') },
    { what: 'none', outcome: pending() },
    { what: 'another one when complete', outcome: { type: 'complete', identifier: 'srv2' } as const },
  ])('proves nothing when it names $what', ({ outcome }) => {
    const next = settle(webWith(HELD), poll(HELD), outcome, withKey(OTHER_KEY));
    expect(conditionsOf(next).Stalled).toBe('True IdentityUnproven');
    expect(next).not.toHaveProperty('record');
    expect(next.memo).not.toHaveProperty('taskComplete');
    expect(message(next)).toContain(`-n default vps-operator.dev/accept-server=task-7@${OTHER_KEY}`);
    expect(next.requeueAfterMs).toBeGreaterThanOrEqual(TIMING.pollMs);
  });

  it('is followed once you accept it', () => {
    const object = webWith(TASKED, accepting(`task-7@${OTHER_KEY}`));
    const next = settle(object, poll(TASKED), pending('srv1'), withKey(OTHER_KEY));
    expect(next.record).toEqual({ ...HELD, account: OTHER_KEY });
  });
});

describe('a task that another object may follow', () => {
  const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };
  const held = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });

  it.each<Outcome>([
    { type: 'pending', identifier: 'srv1' },
    { type: 'complete', identifier: 'srv1' },
  ])('does not lead to a server that another object holds ($type)', (outcome) => {
    const next = settle(webWith(TASKED), poll, outcome, gathered({ others: held }));
    expect(conditionsOf(next).Stalled).toBe('True TaskInUse');
    expect(next).not.toHaveProperty('record');
    expect(next.memo).not.toHaveProperty('taskComplete');
    expect(message(next)).toContain('server srv1, which belongs to default/other');
  });

  it('leads to a server that no other object holds', () => {
    const next = settle(webWith(TASKED), poll, { type: 'pending', identifier: 'srv2' }, gathered({ others: held }));
    expect(next.status?.record).toEqual({ ...TASKED, identifier: 'srv2' });
  });
});

describe('a task whose text reports a failure', () => {
  const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };

  it.each(['Failed', 'error: no space', 'installation aborted', 'cancelled', 'Canceled by admin', 'FAILURE 3'])(
    'is TaskFailed, and is still polled: %s',
    (status) => {
      const next = settled(webWith(TASKED), poll, { type: 'pending', status });
      expect(conditionsOf(next)).toEqual({ Ready: 'False TaskFailed', Stalled: 'True TaskFailed' });
      expect(message(next)).toContain('vps-operator.dev/not-created=a1');
      expect(next.memo.next?.action).toBe('pollTask');
    },
  );

  it.each(['installing 20 %', 'failover node chosen', 'terrorbird', ''])(
    'counts as running otherwise: %s',
    (status) => {
      const next = settled(webWith(TASKED), poll, { type: 'pending', status });
      expect(conditionsOf(next).Ready).toBe('False Creating');
    },
  );

  it('has its server read when you say that nothing was created', () => {
    const object = webWith(HELD, { annotations: { 'vps-operator.dev/not-created': 'a1' } });
    const next = settled(object, { ...poll, record: HELD }, { type: 'pending', identifier: 'srv1', status: 'failed' });
    expect(next).toMatchObject({ again: true, memo: { readInstead: { why: 'overdue', message: 'failed' } } });
  });
});
