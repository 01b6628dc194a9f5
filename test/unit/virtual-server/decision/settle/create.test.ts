import { withoutPointer } from '../../../../../src/api/documentation.ts';
import { ProviderError, ResponseError } from '../../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import type { CreateOutcome } from '../../../../../src/provider/types.ts';
import type { Action } from '../../../../../src/virtual-server/decision/types.ts';
import {
  ACCOUNT,
  ATTEMPTED,
  NOW,
  TASKED,
  facts,
  gathered,
  memo,
  record,
  web,
  webWith,
  decide,
  settle,
  type Shape,
} from '../../../../gen/decision.ts';
import { conditionsOf } from './support.ts';

const create: Action = {
  type: 'create',
  record: ATTEMPTED,
  attempt: 'a1',
  request: { product: 'vps-1gb', image: 'debian-13.qcow2/minimal', diskSize: 20, sshKeys: '' },
};
const error = new ResponseError(500, 'the words of the provider', {});
const after = (result: CreateOutcome) =>
  settle(
    web({ annotated: ATTEMPTED }),
    create,
    { type: 'sent', result },
    facts({ memo: memo({ failures: 2 }), jitter: 0.5 }),
  );
const left = record({ account: ACCOUNT });
const sending = { attempt: 'a1', state: 'sending' } as const;

describe('settling a create', () => {
  it('records the task and polls it in the same visit', () => {
    const object = web({ annotated: ATTEMPTED });
    const planned = memo({ failures: 2, next: { action: 'gather', from: 0, at: Infinity, inputs: '' } });
    const outcome = { type: 'sent', result: { kind: 'created', task: 7 } } as const;
    const next = settle(object, create, outcome, facts({ memo: planned }));
    expect(next).toEqual({ record: TASKED, memo: { failures: 0 }, events: [], again: true });
    expect(decide(webWith(TASKED), gathered({ memo: next.memo }))).toMatchObject({ type: 'pollTask', task: 7 });
  });

  it('shows the task at once if the status has fields of another server', () => {
    const copied = webWith(ATTEMPTED, { status: { serverStatus: 'running', identifier: 'srv9' } });
    const next = settle(copied, create, { type: 'sent', result: { kind: 'created', task: 7 } }, facts());
    expect(next).toMatchObject({ record: TASKED, again: true, status: { record: TASKED, task: { id: 7 } } });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Creating', Reconciling: 'True Creating' });
    expect(next.events).toEqual([]);
  });

  it('removes the attempt from record and mirror when nothing was created, and retries after the requested pause', () => {
    const next = after({
      kind: 'notCreated',
      error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs: 90_000 }),
    });
    expect(next.record).toEqual(left);
    expect(next.status?.record).toEqual(left);
    expect(conditionsOf(next)).toEqual({ Ready: 'False ProviderRateLimited', Reconciling: 'True ProviderRateLimited' });
    expect(next.memo).toMatchObject({ failures: 3, next: { action: 'gather', at: NOW + 90_000 } });
  });

  it.each([400, 404, 405, 413, 415, 422])('never retries an unchanged spec after %i', (status) => {
    const next = after({ kind: 'refused', status, error });
    expect(next.record).toEqual(left);
    expect(next.memo.next).toMatchObject({ action: 'gather', at: Infinity });
    expect(next).not.toHaveProperty('requeueAfterMs');
    expect(conditionsOf(next)).toEqual({ Ready: 'False CreateRejected', Stalled: 'True CreateRejected' });
    expect(next.status?.conditions?.[0]?.message).toContain(
      'The words of the provider. The operator orders again when you change spec',
    );
  });

  it.each([402, 403])('retries hourly after %i', (status) => {
    expect(after({ kind: 'refused', status, error }).requeueAfterMs).toBe(3_600_000 * 0.95);
  });

  it('keeps an attempt whose outcome is unknown, and plans nothing', () => {
    const next = after({ kind: 'unknown', error });
    expect(next).not.toHaveProperty('record');
    expect(next).not.toHaveProperty('requeueAfterMs');
    expect(next.memo).not.toHaveProperty('next');
    expect(next.status?.record).toEqual(ATTEMPTED);
    expect(conditionsOf(next)).toEqual({
      Ready: 'Unknown CreateOutcomeUnknown',
      Stalled: 'True CreateOutcomeUnknown',
    });
    const message = next.status?.conditions?.[0]?.message;
    expect(message).toContain('vps-operator.dev/not-created=a1');
    expect(message).toContain('the words of the provider');
  });

  it('records and names the task that an unknown outcome hints at, and never follows it', () => {
    const next = after({ kind: 'unknown', error, task: 7 });
    const hinted = { ...ATTEMPTED, hintedTask: 7 };
    expect(next.record).toEqual(hinted);
    expect(next.status?.record).toEqual(hinted);
    expect(next.status?.conditions?.[0]?.message).toContain('The answer named task 7.');
    const action = decide(webWith(hinted, { status: next.status ?? {} }), gathered({ notes: [sending] }));
    expect(action).toMatchObject({ type: 'park', verdict: { reason: 'CreateOutcomeUnknown' } });
    // The condition ends the sentence and adds the page again.
    const { message = '' } = next.status?.conditions?.[0] ?? {};
    expect(action).toMatchObject({ verdict: { message: withoutPointer(message).replace(/\.$/, '') } });
  });

  it('keeps the cause of an unknown outcome, and gives the advice that fits the object now', () => {
    const { status = {} } = after({ kind: 'unknown', error });
    const now = (shape: Shape): unknown =>
      decide(webWith(ATTEMPTED, { status, ...shape }), gathered({ notes: [sending] }));
    const saying = (words: string) => ({ verdict: { message: expect.stringContaining(words) as string } });
    for (const shape of [{}, { deleting: true }]) expect(now(shape)).toMatchObject(saying(`(${error.message})`));
    expect(now({})).toMatchObject(saying('the operator then orders again'));
    expect(now({ deleting: true })).toMatchObject(saying('the deletion then continues'));
  });

  it.each(['created', 'notCreated', 'refused', 'unknown'] as const)(
    'leaves no status field of another server after %s',
    (kind) => {
      const copied = webWith(ATTEMPTED, {
        status: { serverStatus: 'running', ipv6: ['2001:db8::9'], identifier: 'srv9' },
      });
      const result = { kind, task: 7, status: 400, error } as CreateOutcome;
      const { status } = settle(copied, create, { type: 'sent', result }, facts());
      expect(status).not.toHaveProperty('serverStatus');
      expect(status).not.toHaveProperty('ipv6');
      expect(status).not.toHaveProperty('identifier');
    },
  );
});
