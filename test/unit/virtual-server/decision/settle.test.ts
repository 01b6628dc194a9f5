import { reasonPage } from '../../../../src/api/documentation.ts';
import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import type { Action, Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  LEAVE,
  NOW,
  SERVER,
  TASKED,
  TIMING,
  UID,
  facts,
  memo,
  record,
  web,
  webWith,
  settle,
} from '../../../gen/decision.ts';
import { conditionsOf, reasons, settled } from './settle/support.ts';

const done: Outcome = { type: 'done' };
const failed: Outcome = { type: 'failed', error: new ProviderError('PROVIDER_UNREACHABLE', 'no way', {}) };

describe('settling a wait', () => {
  it('reports on the first visit that the object was seen, and keeps the plan', () => {
    const next = settle(web(), { type: 'wait', afterMs: 50 }, done, facts({ memo: memo({ cancelled: 'x' }) }));
    expect(next).toMatchObject({ again: false, requeueAfterMs: 50, memo: { cancelled: 'x' } });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Pending', Reconciling: 'True Pending' });
    expect(next.status?.observedGeneration).toBe(1);
    expect(next).not.toHaveProperty('record');
  });

  it('leaves an up-to-date status deep-equal, so that nothing is written', () => {
    const status = settle(web(), { type: 'wait' }, done, facts()).status;
    const later = settle(web({ status: status ?? {} }), { type: 'wait' }, done, facts({ now: NOW + 99_000 }));
    expect(later.status).toEqual(status);
    expect(later.events).toEqual([]);
    expect(later).not.toHaveProperty('requeueAfterMs');
  });

  it('writes nothing for a deleted object without finalizers', () => {
    const gone = web({ deleting: true, finalizers: [] });
    expect(settle(gone, { type: 'wait' }, done, facts())).not.toHaveProperty('status');
  });

  it('shows a pause, keeps Ready, and leaves observedGeneration at the old spec', () => {
    const { status = {} } = settled(web(), { type: 'wait' }, done);
    const paused = web({ status: { ...status, observedGeneration: 0 }, annotations: { [PAUSED_ANNOTATION]: 'true' } });
    const next = settle(paused, { type: 'wait' }, done, facts());
    expect(conditionsOf(next)).toEqual({ Ready: 'False Pending', Reconciling: 'True Pending', Paused: 'True Paused' });
    expect(next.status?.observedGeneration).toBe(0);
    const resumed = settle(web({ status: next.status ?? {} }), { type: 'wait' }, done, facts());
    expect(conditionsOf(resumed)).not.toHaveProperty('Paused');
    expect(resumed.status?.observedGeneration).toBe(1);
  });
});

describe('settling a park', () => {
  const invalid: Action = { type: 'park', verdict: { reason: 'RecordInvalid', message: 'no JSON' } };

  it('reports the reason, and waits for a change if no time is given', () => {
    const next = settle(web({ annotated: '{', mirror: HELD }), invalid, done, facts());
    expect(conditionsOf(next)).toEqual({ Ready: 'False RecordInvalid', Stalled: 'True RecordInvalid' });
    expect(next.status?.record).toEqual(HELD);
    expect(next).not.toHaveProperty('requeueAfterMs');
    expect(next.memo).not.toHaveProperty('next');
    expect(next.events).toEqual([
      { type: 'Warning', reason: 'RecordInvalid', note: `no JSON. See ${reasonPage('RecordInvalid')}` },
    ]);
  });

  it('drops the proof that a server is gone, since it may be outdated at the next visit', () => {
    const action: Action = { type: 'park', verdict: { reason: 'OrphanedServer', message: 'task 3' } };
    const given = facts({ memo: memo({ gone: 'srv1' }) });
    expect(settle(webWith(HELD, { deleting: true }), action, done, given).memo).not.toHaveProperty('gone');
  });

  it('sends one Event', () => {
    const { status = {} } = settle(web({ annotated: '{' }), invalid, done, facts());
    const again = settle(web({ annotated: '{', status }), invalid, done, facts({ now: NOW + 5000 }));
    expect(again.events).toEqual([]);
    expect(again.status).toEqual(status);
  });

  it('checks again after the given time, without a plan that would delay a call', () => {
    const action: Action = { type: 'park', verdict: { reason: 'IdentifierInUse', message: 'held' }, afterMs: 60_000 };
    const next = settle(webWith(HELD), action, done, facts());
    expect(next.requeueAfterMs).toBe(60_000);
    expect(next.memo).not.toHaveProperty('next');
  });

  it('plans the next try of the delayed call', () => {
    const object = web();
    const verdict = { reason: 'CreateLimit', message: 'brake' } as const;
    const next = settle(object, { type: 'park', verdict, retry: 'gather', afterMs: 9 }, done, facts());
    expect(next.memo.next).toEqual({ action: 'gather', from: NOW, at: NOW + 9, inputs: inputsOf(object) });
    expect(next.requeueAfterMs).toBe(9);
  });

  it('backs off if no time is given, at most one poll interval for a missing Secret', () => {
    const verdict = { reason: 'SecretNotFound', message: 'none' } as const;
    const patient = facts({ memo: memo({ failures: 30 }), jitter: 0.5 });
    expect(settle(web(), { type: 'park', verdict, retry: 'gather' }, done, patient)).toMatchObject({
      requeueAfterMs: TIMING.pollMs,
      memo: { failures: 31 },
    });
    const other = { reason: 'SSHKeyNotFound', message: 'none' } as const;
    const next = settle(web(), { type: 'park', verdict: other, retry: 'gather' }, done, patient);
    expect(next.requeueAfterMs).toBe(600_000);
  });

  it('checks again soon after the next login with a refused key, however often it has failed', () => {
    const verdict = { reason: 'InvalidCredentials', message: 'refused' } as const;
    const pause = (atLeastMs: number, jitter: number, failures = 30): number | undefined => {
      const patient = facts({ memo: memo({ failures }), jitter });
      return settle(web(), { type: 'park', verdict, retry: 'gather', atLeastMs }, done, patient).requeueAfterMs;
    };
    expect(pause(20_000, 0)).toBe(20_000);
    expect(pause(20_000, 1)).toBe(22_000);
    expect(pause(3, 0)).toBe(1_000);
    expect(pause(600_000, 0)).toBe(TIMING.pollMs);
    // The first visits come sooner, in case the Secret is fixed right away.
    expect(pause(600_000, 0.5, 0)).toBe(1_000);
    expect(pause(600_000, 0.5, 2)).toBe(4_000);
  });

  it("remembers when another process's attempt was first seen, and keeps that time", () => {
    const action: Action = { type: 'park', verdict: { reason: 'CreateInFlight', message: 'wait' }, afterMs: 5 };
    const first = settle(webWith(ATTEMPTED), action, done, facts());
    expect(first.memo.foreignAttempt).toEqual({ attempt: 'a1', since: NOW });
    const second = settle(webWith(ATTEMPTED), action, done, facts({ now: NOW + 5, memo: first.memo }));
    expect(second.memo.foreignAttempt).toEqual({ attempt: 'a1', since: NOW });
    const setBack = settle(webWith(ATTEMPTED), action, done, facts({ now: NOW - 5, memo: first.memo }));
    expect(setBack.memo.foreignAttempt).toEqual({ attempt: 'a1', since: NOW - 5 });
  });
});

describe('settling a record', () => {
  it('continues at once, and updates an existing mirror in the same step', () => {
    const next = settled(
      web({ annotated: ATTEMPTED, mirror: HELD }),
      { type: 'record', record: HELD, why: 'restored' },
      done,
    );
    expect(next).toMatchObject({ again: true, record: HELD, events: [] });
    expect(next.status?.record).toEqual(HELD);
  });

  it('writes no status for the restored record of an object without one', () => {
    const next = settled(
      web({ annotated: HELD, finalizers: [] }),
      { type: 'record', record: HELD, why: 'restored' },
      done,
    );
    expect(next).not.toHaveProperty('status');
  });

  it('clears everything about an attempt that created nothing', () => {
    const left = record({ account: ACCOUNT });
    const object = webWith(HELD, { status: { identifier: 'srv1', task: { id: 7 } } });
    const next = settled(object, { type: 'record', record: left, why: 'notCreated' }, done);
    expect(next.status).toMatchObject({ record: left });
    expect(next.status).not.toHaveProperty('identifier');
    expect(next.status).not.toHaveProperty('task');
    expect(conditionsOf(next)).toEqual({ Ready: 'False Pending', Reconciling: 'True Pending' });
  });

  it('drops the plan, so that the next step happens at once', () => {
    const planned = facts({ memo: memo({ next: { action: 'gather', from: 0, at: Infinity, inputs: '' } }) });
    const next = settle(webWith(ATTEMPTED), { type: 'record', record: record(), why: 'notCreated' }, done, planned);
    expect(next.memo).toEqual({ failures: 0 });
  });
});

describe('settling a claim', () => {
  it('writes a new attempt, and keeps only the orphans of earlier ones', () => {
    const before = record({ account: 'old', orphans: [{ task: 3 }] });
    const action: Action = { type: 'claim', record: before, account: ACCOUNT };
    const next = settled(webWith(before), action, { type: 'minted', attempt: 'a2' });
    expect(next).toEqual({
      record: {
        format: 1,
        owner: UID,
        mode: 'create',
        account: ACCOUNT,
        attempt: 'a2',
        attemptedAt: '2026-01-02T00:00:00Z',
        orphans: [{ task: 3 }],
      },
      claimed: 'a2',
      memo: { failures: 0 },
      events: [],
      again: true,
    });
  });
});

describe('settling a release', () => {
  it.each([
    { why: 'nothingCreated', of: record(), events: [] },
    { why: 'foreign', of: HELD, events: [] },
    { why: 'cancelled', of: HELD, events: ['Normal ServerCancelled: Server srv1 was cancelled'] },
    {
      why: 'gone',
      of: HELD,
      events: [
        'Warning ServerGone: Server srv1 no longer exists at the provider, and this process did not cancel it. ' +
          "If you did not cancel it elsewhere, look for it in the provider's control panel. " +
          `See ${reasonPage('ServerGone')}`,
      ],
    },
    {
      why: 'retained',
      of: HELD,
      events: [
        'Warning RetainedServer: Server srv1 keeps running and costs money, because spec.deletionPolicy is Retain. ' +
          "To cancel the server, use the provider's control panel. To let the operator manage it again, create an object " +
          `that adopts it. See ${reasonPage('RetainedServer')}`,
      ],
    },
  ] as const)('removes record and finalizer ($why) and reports what is left behind', ({ why, of, events }) => {
    const next = settled(webWith(of, { deleting: true }), { type: 'release', why, record: of }, done);
    expect(next).toMatchObject({ record: null, again: false });
    expect(next).not.toHaveProperty('status');
    expect(next.events.map(({ type, reason, note }) => `${type} ${reason}: ${note}`)).toEqual(events);
  });

  it('names orphans that are left behind, too', () => {
    const of = { ...HELD, orphans: [{ task: 3 }, { attempt: 'a0' }] };
    const next = settled(webWith(of, { deleting: true }), { type: 'release', why: 'retained', record: of }, done);
    expect(next.events[0]?.note).toContain('3,a0');
  });
});

describe('settling a failure', () => {
  const actions: (Action & { record: ServerRecord | undefined })[] = [
    { type: 'pollTask', record: TASKED, task: 7 },
    { type: 'readServer', record: HELD, identifier: 'srv1' },
    { type: 'adopt', record: undefined, identifier: 'srv1' },
    { type: 'deleteServer', record: HELD, identifier: 'srv1', leave: LEAVE },
  ];

  it.each(actions)('plans $type again after a growing pause, and keeps the record', (action) => {
    const object = action.record === undefined ? web({ finalizers: [FINALIZER] }) : webWith(action.record);
    const next = settle(object, action, failed, facts({ memo: memo({ failures: 3 }), jitter: 0.5 }));
    expect(next).not.toHaveProperty('record');
    expect(next.memo).toMatchObject({ failures: 4, next: { action: action.type, at: NOW + 8_000 } });
    expect(next.requeueAfterMs).toBe(8_000);
    expect(next.status?.record).toEqual(action.record);
    expect(reasons(next)).toContain('ProviderUnavailable');
  });

  it('leaves no status field that was copied from another object', () => {
    const foreign = { ...HELD, owner: 'another-uid', identifier: 'srv9' };
    const copied = web({ annotated: HELD, mirror: foreign, status: { serverStatus: 'running', identifier: 'srv9' } });
    const { status } = settled(copied, { type: 'readServer', record: HELD, identifier: 'srv1' }, failed);
    expect(status).toMatchObject({ record: HELD, identifier: 'srv1' });
    expect(status).not.toHaveProperty('serverStatus');
  });

  it('keeps a Ready server Ready', () => {
    const read: Action = { type: 'readServer', record: HELD, identifier: 'srv1' };
    const ready = settled(webWith(HELD), read, { type: 'server', server: SERVER, account: ACCOUNT });
    const next = settled(webWith(HELD, { status: ready.status ?? {} }), read, failed);
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Reconciling: 'True ProviderUnavailable' });
    expect(next.status?.serverStatus).toBe('running');
  });

  it('rejects an outcome that does not belong to its action', () => {
    expect(() => settled(web(), { type: 'claim', record: undefined, account: ACCOUNT }, done)).toThrow(
      'does not belong',
    );
    expect(() => settled(web(), { type: 'gather', what: 'catalog' }, done)).toThrow('does not belong');
  });
});
