import { withVerdict } from '../../../../src/controller/conditions.ts';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import { callsOf, urgencyOf, type Calls } from '../../../../src/virtual-server/shared/pace.ts';
import { ATTEMPTED, HELD, NOW, TASKED, record, web, webWith, type Shape } from '../../../fixtures/decision.ts';

const ADOPTED = record({ mode: 'adopt', identifier: 'srv1' });
const status = (reason: ReadyReason, more: VirtualServerStatus = {}): VirtualServerStatus => ({
  conditions: withVerdict([], { reason, message: 'm' }, 1, NOW),
  ...more,
});
const running = (reason: ReadyReason): Shape => ({ status: status(reason, { serverStatus: 'running' }) });

describe('how often an object makes the operator call the provider', () => {
  it.each<[calls: Calls, what: string, object: ReturnType<typeof web>]>([
    ['none', 'an object without a status', web()],
    ['none', 'an object that waits for its order', web({ status: status('ServerLimit') })],
    ['none', 'an invalid spec', web({ status: status('InvalidSpec') })],
    ['none', 'an attempt', webWith(ATTEMPTED, { status: status('CreateInFlight') })],
    ['none', 'a lost answer', webWith(ATTEMPTED, { status: status('CreateOutcomeUnknown') })],
    ['poll', 'a task', webWith(TASKED, { status: status('Creating') })],
    ['poll', 'a task with an identifier', webWith(HELD, { status: status('Creating') })],
    ['poll', 'a task that has run for an hour', webWith(HELD, { status: status('TaskOverdue') })],
    ['poll', 'a task that has vanished', webWith(TASKED, { status: status('TaskNotFound') })],
    ['resync', 'a Ready server', webWith(HELD, running('Available'))],
    ['resync', 'a server in an outage', webWith(HELD, running('ProviderUnavailable'))],
    ['resync', 'a missing server', webWith(HELD, running('ServerMissing'))],
    ['poll', 'a stopped server', webWith(HELD, running('ServerNotRunning'))],
    ['poll', 'a server without an address', webWith(HELD, running('AddressPending'))],
    ['poll', 'a server that boots', webWith(HELD, running('Booting'))],
    ['poll', 'a server that does not answer', webWith(HELD, running('Unreachable'))],
    ['none', 'a server without its key', webWith(HELD, running('SecretNotFound'))],
    ['none', 'a server held twice', webWith(HELD, running('IdentifierInUse'))],
    ['none', 'a record in conflict', webWith(HELD, running('RecordConflict'))],
    [
      'none',
      'an expired server',
      webWith({ ...HELD, expiredAt: '2026-01-01T00:00:00Z' }, { status: status('Expired') }),
    ],
    ['none', 'a record of another object', web({ mirror: { ...HELD, owner: 'another' }, ...running('Available') })],
    [
      'none',
      'a protected server that is being deleted',
      webWith(HELD, { deleting: true, ...running('DeletionProtected') }),
    ],
    ['none', 'a server that is being cancelled', webWith(HELD, { deleting: true, ...running('Deleting') })],
    ['poll', 'a task whose server will be cancelled', webWith(HELD, { deleting: true, status: status('Deleting') })],
    [
      'none',
      'a released object',
      webWith(TASKED, { deleting: true, finalizers: ['example.org/x'], status: status('Deleting') }),
    ],
    [
      'none',
      'a paused task',
      webWith(TASKED, { annotations: { [PAUSED_ANNOTATION]: 'true' }, status: status('Creating') }),
    ],
    [
      'resync',
      'an object that is no longer paused',
      webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' }, ...running('Available') }),
    ],
    [
      'poll',
      "a deletion with the operator's finalizer in place",
      webWith(TASKED, { deleting: true, finalizers: [FINALIZER], status: status('Deleting') }),
    ],
  ])('is %s for %s', (calls, _what, object) => {
    expect(callsOf(object)).toBe(calls);
  });

  it('is poll for a server whose connection Secret cannot be written', () => {
    const condition: Condition = {
      type: 'ConnectionSecret',
      status: 'False',
      reason: 'ConnectionSecretFailed',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 1,
    };
    const available = status('Available', { serverStatus: 'running' });
    const conditions = [...(available.conditions ?? []), condition];
    expect(callsOf(webWith(HELD, { status: { ...available, conditions } }))).toBe('poll');
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
      polled: webWith(TASKED, { status: status('Creating', { record: TASKED }) }),
      adopted: webWith(ADOPTED, { status: status('Creating', { record: ADOPTED }) }),
      edited: webWith(HELD, at(0)),
      new: web(),
      attempted: webWith(ATTEMPTED, { status: status('CreateInFlight', { record: ATTEMPTED }) }),
      ready: webWith(HELD, at(1)),
    };
    const urgencies = (usual?: number): [string, number][] =>
      Object.entries(objects).map(([name, object]) => [name, urgencyOf(object, { usual: () => usual })]);
    const minutes = Object.fromEntries(urgencies(120_000));
    expect(minutes).toEqual({
      gone: 0,
      deleting: 0,
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
