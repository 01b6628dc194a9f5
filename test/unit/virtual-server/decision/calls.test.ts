import { withVerdict } from '../../../../src/controller/conditions.ts';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServerStatus } from '../../../../src/api/virtual-server.ts';
import type { Condition } from '../../../../src/api/meta.ts';
import { callsOf, urgencyOf, type Calls } from '../../../../src/virtual-server/shared/pace.ts';
import { ATTEMPTED, HELD, NOW, TASKED, web, webWith, type Shape } from '../../../fixtures/decision.ts';

const status = (reason: ReadyReason, more: VirtualServerStatus = {}): VirtualServerStatus => ({
  conditions: withVerdict([], { reason, message: 'm' }, 1, NOW),
  ...more,
});
const running = (reason: ReadyReason): Shape => ({ status: status(reason, { serverStatus: 'running' }) });

describe('how often an object makes the operator call the provider', () => {
  it.each<{ what: string; object: ReturnType<typeof web>; calls: Calls }>([
    { what: 'an object without a status', object: web(), calls: 'none' },
    { what: 'an object that waits for its order', object: web({ status: status('ServerLimit') }), calls: 'none' },
    { what: 'an invalid spec', object: web({ status: status('InvalidSpec') }), calls: 'none' },
    { what: 'an attempt', object: webWith(ATTEMPTED, { status: status('CreateInFlight') }), calls: 'none' },
    { what: 'a lost answer', object: webWith(ATTEMPTED, { status: status('CreateOutcomeUnknown') }), calls: 'none' },
    { what: 'a task', object: webWith(TASKED, { status: status('Creating') }), calls: 'poll' },
    { what: 'a task with an identifier', object: webWith(HELD, { status: status('Creating') }), calls: 'poll' },
    {
      what: 'a task that has run for an hour',
      object: webWith(HELD, { status: status('TaskOverdue') }),
      calls: 'poll',
    },
    { what: 'a task that has vanished', object: webWith(TASKED, { status: status('TaskNotFound') }), calls: 'poll' },
    { what: 'a Ready server', object: webWith(HELD, running('Available')), calls: 'resync' },
    { what: 'a server in an outage', object: webWith(HELD, running('ProviderUnavailable')), calls: 'resync' },
    { what: 'a missing server', object: webWith(HELD, running('ServerMissing')), calls: 'resync' },
    { what: 'a stopped server', object: webWith(HELD, running('ServerNotRunning')), calls: 'poll' },
    { what: 'a server without an address', object: webWith(HELD, running('AddressPending')), calls: 'poll' },
    { what: 'a server that boots', object: webWith(HELD, running('Booting')), calls: 'poll' },
    { what: 'a server that does not answer', object: webWith(HELD, running('Unreachable')), calls: 'poll' },
    { what: 'a server without its key', object: webWith(HELD, running('SecretNotFound')), calls: 'none' },
    { what: 'a server held twice', object: webWith(HELD, running('IdentifierInUse')), calls: 'none' },
    { what: 'a record in conflict', object: webWith(HELD, running('RecordConflict')), calls: 'none' },
    {
      what: 'an expired server',
      object: webWith({ ...HELD, expiredAt: '2026-01-01T00:00:00Z' }, { status: status('Expired') }),
      calls: 'none',
    },
    {
      what: 'a record of another object',
      object: web({ mirror: { ...HELD, owner: 'another' }, ...running('Available') }),
      calls: 'none',
    },
    {
      what: 'a protected server that is being deleted',
      object: webWith(HELD, { deleting: true, ...running('DeletionProtected') }),
      calls: 'none',
    },
    {
      what: 'a server that is being cancelled',
      object: webWith(HELD, { deleting: true, ...running('Deleting') }),
      calls: 'none',
    },
    {
      what: 'a task whose server will be cancelled',
      object: webWith(HELD, { deleting: true, status: status('Deleting') }),
      calls: 'poll',
    },
    {
      what: 'a released object',
      object: webWith(TASKED, { deleting: true, finalizers: ['example.org/x'], status: status('Deleting') }),
      calls: 'none',
    },
    {
      what: 'a paused task',
      object: webWith(TASKED, { annotations: { [PAUSED_ANNOTATION]: 'true' }, status: status('Creating') }),
      calls: 'none',
    },
    {
      what: 'an object that is no longer paused',
      object: webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' }, ...running('Available') }),
      calls: 'resync',
    },
    {
      what: "a deletion with the operator's finalizer in place",
      object: webWith(TASKED, { deleting: true, finalizers: [FINALIZER], status: status('Deleting') }),
      calls: 'poll',
    },
  ])('is $calls for $what', ({ object, calls }) => {
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

  it('puts deletions before what is begun, that before new orders, and these before resyncs', () => {
    const deleting = webWith(HELD, { ...at(1), deleting: true });
    const objects = {
      gone: undefined,
      deleting,
      polled: webWith(TASKED, { status: status('Creating', { record: TASKED }) }),
      adopted: webWith(HELD, { status: status('Creating', { record: HELD }) }),
      edited: webWith(HELD, at(0)),
      new: web(),
      attempted: webWith(ATTEMPTED, { status: status('CreateInFlight', { record: ATTEMPTED }) }),
      ready: webWith(HELD, at(1)),
    };
    const urgencies = Object.entries(objects).map(([name, object]) => [name, urgencyOf(object)]);
    expect(Object.fromEntries(urgencies)).toEqual({
      gone: 0,
      deleting: 0,
      polled: 1,
      adopted: 1,
      edited: 1,
      new: 2,
      attempted: 2,
      ready: 3,
    });
  });
});
