import { describe, expect, it } from 'vitest';
import type { CreateOutcome } from '../../../src/provider/types.ts';
import { settle } from '../../../src/decision/settle.ts';
import type { Action } from '../../../src/decision/types.ts';
import { RateLimitedError } from '../../../src/provider/errors/rate-limited-error.ts';
import { ResponseError } from '../../../src/provider/errors/response-error.ts';
import { ACCOUNT, ATTEMPTED, NOW, TASKED, facts, memo, record, web, webWith } from '../../gen/decision.ts';
import { conditionsOf } from './settle-support.ts';

const create: Action = {
  type: 'create',
  record: ATTEMPTED,
  attempt: 'a1',
  request: { product: 'vps-1gb', image: 'debian-13.qcow2/minimal', diskSize: 20, sshKeys: '' },
};
const error = new ResponseError(500, 'the words of the service', {});
const after = (result: CreateOutcome) =>
  settle(
    web({ annotated: ATTEMPTED }),
    create,
    { type: 'sent', result },
    facts({ memo: memo({ failures: 2 }), jitter: 0.5 }),
  );
const left = record({ account: ACCOUNT });

describe('settling a create', () => {
  it('records the task at once and polls it after an interval', () => {
    const next = after({ kind: 'created', task: 7 });
    expect(next.record).toEqual(TASKED);
    expect(next.status).toMatchObject({ record: TASKED, task: { id: 7 } });
    expect(conditionsOf(next)).toEqual({ Ready: 'False Creating', Reconciling: 'True Creating' });
    expect(next.memo).toMatchObject({ failures: 0, next: { action: 'pollTask', at: NOW + 57_000 } });
    expect(next).toMatchObject({ again: false, requeueAfterMs: 57_000 });
    expect(next.events).toMatchObject([{ type: 'Normal', reason: 'Creating' }]);
  });

  it('takes the attempt out of record and mirror when nothing was created, and tries again after what was asked for', () => {
    const next = after({ kind: 'notCreated', error: new RateLimitedError('slow down', { retryAfterMs: 90_000 }) });
    expect(next.record).toEqual(left);
    expect(next.status?.record).toEqual(left);
    expect(conditionsOf(next)).toEqual({ Ready: 'False ProviderRateLimited', Reconciling: 'True ProviderRateLimited' });
    expect(next.memo).toMatchObject({ failures: 3, next: { action: 'gather', at: NOW + 90_000 } });
  });

  it.each([400, 404, 405, 413, 415, 422])('never tries again by itself after %i', (status) => {
    const next = after({ kind: 'refused', status, error });
    expect(next.record).toEqual(left);
    expect(next.memo.next).toMatchObject({ action: 'gather', at: Infinity });
    expect(next).not.toHaveProperty('requeueAfterMs');
    expect(conditionsOf(next)).toEqual({ Ready: 'False CreateRejected', Stalled: 'True CreateRejected' });
    expect(next.status?.conditions?.[0]?.message).toContain(`HTTP ${status}): the words of the service`);
  });

  it.each([402, 403])('tries hourly after %i', (status) => {
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
    expect(message).toContain('the words of the service');
  });

  it.each(['created', 'notCreated', 'refused', 'unknown'] as const)('%s leaves no field of another server', (kind) => {
    const copied = webWith(ATTEMPTED, {
      status: { serverStatus: 'running', ipv6: ['2001:db8::9'], identifier: 'srv9' },
    });
    const result = { kind, task: 7, status: 400, error } as CreateOutcome;
    const { status } = settle(copied, create, { type: 'sent', result }, facts());
    expect(status).not.toHaveProperty('serverStatus');
    expect(status).not.toHaveProperty('ipv6');
    expect(status).not.toHaveProperty('identifier');
  });
});
