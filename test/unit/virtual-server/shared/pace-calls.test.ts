import { withVerdict } from '../../../../src/controller/conditions.ts';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import { describe, expect, it } from 'vitest';
import { PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { Parts } from '../../../../src/virtual-server/decision/compose.ts';
import { NEW_MEMO, type Calls, type Planned } from '../../../../src/virtual-server/decision/memo.ts';
import { ON_CHANGE } from '../../../../src/virtual-server/decision/next.ts';
import { endVisit } from '../../../../src/virtual-server/decision/outcome.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { callsOf, urgencyOf } from '../../../../src/virtual-server/shared/pace.ts';
import { ATTEMPTED, HELD, NOW, TASKED, facts, record, web, webWith, type Shape } from '../../../fixtures/decision.ts';

const ADOPTED = record({ mode: 'adopt', identifier: 'srv1' });
const status = (reason: ReadyReason, more: VirtualServerStatus = {}): VirtualServerStatus => ({
  conditions: withVerdict([], { reason, message: 'm' }, 1, NOW),
  ...more,
});
const verdict = (reason: ReadyReason) => ({ reason, message: 'm' });
const running = (reason: ReadyReason): Shape => ({ status: status(reason, { serverStatus: 'running' }) });

describe('how often an object makes the operator call the provider', () => {
  it.each<[calls: Calls, what: string, object: ReturnType<typeof web>, told?: Calls]>([
    ['none', 'an object without a record', web()],
    ['none', 'an attempt that no visit has followed yet', webWith(ATTEMPTED)],
    ['poll', 'a task that no visit has followed yet', webWith(TASKED)],
    ['poll', 'a task with an identifier', webWith(HELD)],
    ['resync', 'a server that no visit has read yet', webWith(HELD, running('Available'))],
    ['none', 'a deletion that no visit has begun yet', webWith(HELD, { deleting: true, ...running('Available') })],
    ['poll', 'a server that the last visit reads again soon', webWith(HELD, running('Unreachable')), 'poll'],
    ['none', 'a server that the last visit made no plan for', webWith(HELD, running('Available')), 'none'],
    ['resync', 'a deleted server that runs on', webWith(HELD, { deleting: true, ...running('Available') }), 'resync'],
    ['none', 'an expired server', webWith({ ...HELD, expiredAt: '2026-01-01T00:00:00Z' })],
    ['none', 'a record of another object', web({ mirror: { ...HELD, owner: 'another' }, ...running('Available') })],
    ['none', 'a released object', webWith(TASKED, { deleting: true, finalizers: ['example.org/x'] }), 'poll'],
    ['none', 'a paused task', webWith(TASKED, { annotations: { [PAUSED_ANNOTATION]: 'true' } }), 'poll'],
    [
      'resync',
      'an object that is no longer paused',
      webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' }, ...running('Available') }),
    ],
  ])('is %s for %s', (calls, _what, object, told) => {
    expect(callsOf(object, { ...NEW_MEMO, calls: told })).toBe(calls);
  });

  const at = viewOf(webWith(HELD, running('Available')), facts());
  const failed = { status: 'False', reason: 'ConnectionSecretFailed', message: 'm' } as const;
  it.each<[calls: Calls, operation: Planned | undefined, parts: Partial<Parts>]>([
    ['resync', 'look', { verdict: verdict('Available') }],
    ['resync', 'look', { verdict: verdict('ServerMissing') }],
    ['resync', 'look', { verdict: verdict('ProviderUnavailable') }],
    ['poll', 'look', { verdict: verdict('ServerNotRunning') }],
    ['poll', 'look', { verdict: verdict('AddressPending') }],
    ['poll', 'look', { verdict: verdict('Booting') }],
    ['poll', 'look', { verdict: verdict('Unreachable') }],
    ['poll', 'look', { verdict: verdict('Available'), connection: failed }],
    ['none', 'look', { verdict: verdict('SecretNotFound') }],
    ['poll', 'follow', { verdict: verdict('Creating') }],
    ['poll', 'follow', { verdict: verdict('TaskNotFound') }],
    ['none', 'follow', { verdict: verdict('InvalidCredentials') }],
    ['none', 'cancel', { verdict: verdict('Deleting') }],
    ['none', 'order', { verdict: verdict('ServerLimit') }],
    ['none', undefined, { verdict: verdict('IdentifierInUse') }],
  ])('is %s after a visit that plans to %s (%j)', (calls, operation, parts) => {
    const when = operation === undefined ? ON_CHANGE : { operation, afterMs: 1000 };
    expect(endVisit(at, { record: HELD, ...parts }, when).memo.calls).toBe(calls);
  });
});

describe('how urgent the next visit of an object is', () => {
  const ready = running('Available').status;
  const at = (observedGeneration: number): Shape => ({ status: { ...ready, observedGeneration } });

  it('puts deletions before what is begun, that before orders, then tasks that take minutes, then resyncs', () => {
    const deleting = webWith(HELD, { ...at(1), deleting: true });
    const objects = {
      gone: undefined,
      deleting,
      kept: webWith(HELD, { ...at(1), deleting: true, spec: { deletionDelay: '5m' } }),
      polled: webWith(TASKED, { status: status('Creating', { record: TASKED }) }),
      adopted: webWith(ADOPTED, { status: status('Creating', { record: ADOPTED }) }),
      edited: webWith(HELD, at(0)),
      new: web(),
      attempted: webWith(ATTEMPTED, { status: status('CreateInFlight', { record: ATTEMPTED }) }),
      ready: webWith(HELD, at(1)),
    };
    const urgencies = (usual?: number): [string, number][] =>
      Object.entries(objects).map(([name, object]) => [name, urgencyOf(object, { usual: () => usual }, NOW)]);
    const minutes = Object.fromEntries(urgencies(120_000));
    expect(minutes).toEqual({
      gone: 0,
      deleting: 0,
      kept: 1,
      polled: 3,
      adopted: 1,
      edited: 1,
      new: 2,
      attempted: 2,
      ready: 4,
    });
    expect(Object.fromEntries(urgencies())).toEqual(minutes);
    expect(Object.fromEntries(urgencies(5_000))).toEqual({ ...minutes, polled: 1 });
  });
});
