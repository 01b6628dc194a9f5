/** The ways a step ends that several operations share. */
import type { Reason } from '../../../../src/api/conditions.ts';
import { describe, expect, it } from 'vitest';
import { isNow, ON_CHANGE, type Pause } from '../../../../src/virtual-server/decision/next.ts';
import { NOT_CREATED_ANNOTATION, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { Following, Held } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { parked, waited, withAsked } from '../../../../src/virtual-server/decision/outcome.ts';
import { recorded } from '../../../../src/virtual-server/operations/write-record.ts';
import type { Planned } from '../../../../src/virtual-server/decision/memo.ts';
import type { Outcome, Park } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { notAdopted } from '../../../../src/virtual-server/operations/adopt.ts';
import { afterRefusal } from '../../../../src/virtual-server/operations/cancel.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  HELD,
  OTHER_KEY,
  TASKED,
  TIMING,
  facts,
  memo,
  others,
  record,
  shown,
  web,
  webWith,
  opened,
} from '../../../fixtures/decision.ts';
import { visit, type Given } from '../../../fixtures/visits.ts';
import { FAILED, UNREACHABLE, conditionsOf, looked, owned, polled } from '../operations/support.ts';

describe('a wait', () => {
  const wait = (object: VirtualServer, when: Pause = ON_CHANGE, given = facts()): Outcome =>
    waited(viewOf(object, given), when);

  it('reports on the first visit that the object was seen, and keeps what is remembered', () => {
    const held = memo({ end: { state: 'confirmed', identifier: 'x' } });
    const next = wait(web(), { afterMs: 50 }, facts({ memo: held }));
    expect(next).toMatchObject({ when: { afterMs: 50 }, memo: held });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Pending', Reconciling: 'True Pending' });
    expect(next.status?.observedGeneration).toBe(1);
    expect(next.record).toBeUndefined();
  });

  it('writes nothing for a deleted object without finalizers', () => {
    expect(wait(web({ deleting: true, finalizers: [] }))).not.toHaveProperty('status');
  });

  it('shows a pause, keeps Ready, and leaves observedGeneration at the old spec', () => {
    const status = { ...wait(web()).status, observedGeneration: 0 };
    const paused = wait(web({ status, annotations: { [PAUSED_ANNOTATION]: 'true' } }));
    expect(conditionsOf(paused)).toEqual({
      Ready: 'False Pending',
      Reconciling: 'True Pending',
      Paused: 'True Paused',
    });
    expect(paused.status?.observedGeneration).toBe(0);
    const resumed = wait(web({ status: paused.status ?? {} }));
    expect(conditionsOf(resumed)).not.toHaveProperty('Paused');
    expect(resumed.status?.observedGeneration).toBe(1);
  });
});

describe('a park', () => {
  const park = (object: VirtualServer, why: Park, given = facts()): Outcome => parked(viewOf(object, given), why);

  it.each([
    { wasRequested: false, left: undefined },
    { wasRequested: true, left: { state: 'requested', identifier: 'srv1' } },
  ])('drops the proof that a server is gone, but no lost DELETE ($wasRequested)', ({ wasRequested, left }) => {
    const given = facts({ memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested } }) });
    const orphaned = { verdict: { reason: 'OrphanedServer', message: 'task 3' } } as const;
    expect(park(webWith(HELD, { deleting: true }), orphaned, given).memo.evidence.end).toEqual(left);
  });

  it('checks again after the given time, without a plan that would delay a call', () => {
    const next = park(webWith(HELD), {
      verdict: { reason: 'IdentifierInUse', message: 'held' },
      when: { afterMs: 60_000 },
    });
    expect(next.when).toEqual({ afterMs: 60_000 });
  });

  it.each([
    { reason: 'SSHKeyNotFound', jitter: 0.5, pauseMs: 600_000 },
    // At most one poll interval for a missing Secret, and soon after the next login with a refused key.
    { reason: 'SecretNotFound', jitter: 0.5, pauseMs: TIMING.pollMs },
    { reason: 'InvalidCredentials', atLeastMs: 20_000, jitter: 0, pauseMs: 20_000 },
    { reason: 'InvalidCredentials', atLeastMs: 20_000, jitter: 1, pauseMs: 22_000 },
    { reason: 'InvalidCredentials', atLeastMs: 3, jitter: 0, pauseMs: 1_000 },
    { reason: 'InvalidCredentials', atLeastMs: 600_000, jitter: 0, pauseMs: TIMING.pollMs },
    // The first visits come sooner, in case the Secret is fixed right away.
    { reason: 'InvalidCredentials', atLeastMs: 600_000, jitter: 0.5, failures: 0, pauseMs: 1_000 },
    { reason: 'InvalidCredentials', atLeastMs: 600_000, jitter: 0.5, failures: 2, pauseMs: 4_000 },
  ] as const)('with $reason backs off for $pauseMs ms if no time is given', (row) => {
    const { reason, jitter, pauseMs } = row;
    const failures = 'failures' in row ? (row.failures ?? 30) : 30;
    const atLeast = 'atLeastMs' in row ? { atLeastMs: row.atLeastMs } : {};
    const given = facts({ memo: memo({}, { failures }), jitter });
    const next = park(web(), { verdict: { reason, message: 'none' }, when: { operation: 'order', ...atLeast } }, given);
    expect(next).toMatchObject({ when: { afterMs: pauseMs }, memo: { failures: failures + 1 } });
  });
});

describe('a new record', () => {
  it('continues at once, and updates an existing mirror in the same step', () => {
    const next = recorded(viewOf(web({ annotated: ATTEMPTED, mirror: HELD }), facts()), HELD, 'restored');
    expect(next).toMatchObject({ when: { now: true }, record: HELD, events: [], status: { record: HELD } });
  });

  it('clears everything about an attempt that created nothing, and the plan, so that the next step follows at once', () => {
    const left = record({ account: ACCOUNT });
    const object = webWith(HELD, { status: { identifier: 'srv1', task: { id: 7 } } });
    const planned = memo({}, { plan: { operation: 'order', from: 0, at: Infinity, inputs: '' } });
    const next = recorded(viewOf(object, facts({ memo: planned })), left, 'notCreated');
    expect(next.status).toMatchObject({ record: left });
    for (const field of ['identifier', 'task']) expect(next.status).not.toHaveProperty(field);
    expect(conditionsOf(next)).toEqual({ Ready: 'False Pending', Reconciling: 'True Pending' });
    expect(next.memo).toEqual(memo());
  });
});

describe('a failed call', () => {
  const given = facts({ memo: memo({}, { failures: 3 }), jitter: 0.5 });

  it.each<{ operation: Planned; next: Outcome }>([
    { operation: 'follow', next: polled(webWith(HELD), FAILED, given) },
    { operation: 'look', next: looked(webWith(HELD), FAILED, given) },
    { operation: 'adopt', next: notAdopted(viewOf(webWith(HELD), given), HELD, 'srv1', FAILED) },
    { operation: 'cancel', next: afterRefusal(...owned(webWith(HELD), given), shown(), UNREACHABLE) },
  ])('plans $operation again after a growing pause, and keeps the record', ({ operation, next }) => {
    expect(next.record).toBeUndefined();
    expect(next).toMatchObject({ error: UNREACHABLE, status: { record: HELD }, memo: { failures: 4 } });
    expect(next.when).toEqual({ operation, afterMs: 8_000 });
    expect(Object.values(conditionsOf(next))).toContain('True ProviderUnavailable');
  });

  it('leaves no status field that was copied from another object', () => {
    const foreign = { ...HELD, owner: 'another-uid', identifier: 'srv9' };
    const copied = web({ annotated: HELD, mirror: foreign, status: { serverStatus: 'running', identifier: 'srv9' } });
    const { status } = looked(copied, FAILED);
    expect(status).toMatchObject({ record: HELD, identifier: 'srv1' });
    expect(status).not.toHaveProperty('serverStatus');
  });
});

describe('your annotation that nothing was created', () => {
  const saying = (attempt: string, deleting = false) =>
    webWith(TASKED, { deleting, annotations: { [NOT_CREATED_ANNOTATION]: attempt } });

  it('continues the visit once, after the first call to the provider since you set it', () => {
    const object = saying('a1');
    const poll = (held = memo()): Outcome => {
      const [at, own] = owned<Following | Held>(object, facts({ memo: held }));
      const answer = { type: 'pending', status: 'failed' } as const;
      return withAsked(at, { type: 'follow', record: own, task: 7 }, polled(object, answer, at));
    };
    const first = poll();
    const { evidence, plan } = first.memo;
    expect(first.when).toEqual({ now: true });
    expect(evidence.asked).toBe(inputsOf(object));
    // Otherwise, the task would be polled twice in a row.
    expect(plan?.operation).toBe('follow');
    expect(isNow(poll(first.memo).when)).toBe(false);
  });

  it.each<{ why: string; given: Given; shows: Reason }>([
    {
      why: 'another object follows the task too',
      given: { others: others({ withTask: () => ['default/other'] }) },
      shows: 'TaskInUse',
    },
    { why: 'the key belongs to another account', given: { account: OTHER_KEY }, shows: 'IdentityUnproven' },
  ])('is obeyed if the provider is not asked: $why', async ({ given, shows }) => {
    expect((await visit(saying('a1', true), given)).object).toBeUndefined();
    expect((await visit(saying('a0', true), given)).object?.status?.record).toEqual(opened(TASKED, shows));
  });
});
