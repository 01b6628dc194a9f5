import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../../../src/api/meta.ts';
import {
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  TASKED,
  TIMING,
  adopting,
  facts,
  withKey,
  others,
  memo,
  record,
  web,
  webWith,
} from '../../../../fixtures/decision.ts';
import { serverIsToBeOrdered } from '../../../../../src/virtual-server/decision/decide.ts';
import { viewOf } from '../../../../../src/virtual-server/decision/view.ts';
import { park, planned, saying, verifyChecks, type CheckCase } from './support.ts';

const busy = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });
const note = { attempt: 'a1', state: 'sending' } as const;
const fresh = web();
const condition = (reason: Condition['reason']): Condition => ({
  type: 'Reconciling',
  status: 'True',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

const FRUITLESS = [
  'TaskNotFound',
  'TaskFailed',
  'TaskOverdue',
  'TaskInUse',
  'IdentityUnproven',
  'ServerNotVisible',
  'IdentifierInUse',
  'AdoptInvalid',
] as const;

const cases: CheckCase[] = [
  {
    check: 'createIsInFlight',
    reason: "the wait for another process's attempt starts now",
    object: webWith(ATTEMPTED),
    operation: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait starts when the attempt was first seen here',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW - 1000 } }) }),
    operation: park('CreateInFlight', { afterMs: TIMING.takeoverMs - 1000 }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait starts now if the clock was set back by a day since',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW + 86_400_000 } }) }),
    operation: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait has ended',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW - TIMING.takeoverMs } }) }),
    operation: undefined,
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait for an earlier attempt does not count for this one',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a0', since: 0 } }) }),
    operation: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'an attempt in the journal of this process is no longer in flight',
    object: webWith(ATTEMPTED),
    given: facts({ notes: [note] }),
    operation: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'an invalid identifier causes no call',
    object: web(adopting('two words')),
    given: withKey(),
    operation: park('AdoptInvalid'),
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the operator reads the server before it names a holder',
    object: web(adopting('srv1')),
    given: withKey({ others: busy }),
    operation: { type: 'adopt', record: undefined, identifier: 'srv1' },
  },
  {
    check: 'adoptionIsAsked',
    reason: "an invalid adopt annotation is not reported while the object's task runs",
    object: webWith(TASKED, { ...adopting('two words'), status: { conditions: [condition('Creating')] } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: "an invalid adopt annotation is reported once the object's task is fruitless",
    object: webWith(TASKED, { ...adopting('two words'), status: { conditions: [condition('TaskNotFound')] } }),
    given: withKey(),
    operation: park('AdoptInvalid'),
  },
  {
    check: 'adoptionIsAsked',
    reason: "the object's task will name the server that it creates",
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
    given: withKey(),
    operation: undefined,
  },
  ...FRUITLESS.map((reason): CheckCase => ({
    check: 'adoptionIsAsked',
    reason: `${reason}: the object's task will not name a server`,
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition(reason)] } }),
    given: withKey(),
    operation: { type: 'adopt', record: TASKED, identifier: 'srv1' },
  })),
  {
    check: 'adoptionIsAsked',
    reason: 'a new object adopts the server instead of ordering one',
    object: web(adopting('srv1')),
    given: withKey(),
    operation: { type: 'adopt', record: undefined, identifier: 'srv1' },
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the operator does not wait for a task that has run for an hour, whatever its condition',
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
    given: withKey({ now: NOW + 3_600_000 }),
    operation: { type: 'adopt', record: TASKED, identifier: 'srv1' },
  },
  ...(['TaskInUse', 'TaskNotFound'] as const).map((reason): CheckCase => ({
    check: 'adoptionIsAsked',
    reason: `${reason}: you name another server in place of one that was never seen`,
    object: webWith(HELD, { ...adopting('srv2'), status: { conditions: [condition(reason)] } }),
    given: withKey(),
    operation: { type: 'adopt', record: HELD, identifier: 'srv2' },
  })),
  {
    check: 'adoptionIsAsked',
    reason: 'a server that was seen is not exchanged for another one that the task names',
    object: webWith(KNOWN, { ...adopting('srv2'), status: { conditions: [condition('TaskInUse')] } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the object does not adopt its own server under another spelling',
    object: webWith(HELD, { ...adopting('SRV1'), status: { conditions: [condition('TaskInUse')] } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the object keeps the server that it holds',
    object: webWith(HELD, adopting('srv2')),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'a failed adoption is not retried before its time',
    object: web(adopting('srv1')),
    given: withKey({ memo: planned(web(adopting('srv1')), 'adopt', NOW + 50) }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'createOutcomeIsUnknown',
    reason: 'the outcome is unknown',
    object: webWith(ATTEMPTED),
    operation: park('CreateOutcomeUnknown'),
  },
  { check: 'createOutcomeIsUnknown', reason: 'a task is known', object: webWith(TASKED), operation: undefined },
  {
    check: 'annotationIsUnknown',
    reason: 'a typo of adopt orders nothing, and the message has the commands that correct and remove it',
    object: web({ annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: withKey(),
    operation: saying(
      'If you mean vps-operator.dev/adopt, run `kubectl annotate --overwrite vps web -n default ' +
        'vps-operator.dev/adopt=VALUE vps-operator.dev/adoptt-`. To remove the annotation and let the operator order a ' +
        'server, run `kubectl annotate vps web -n default vps-operator.dev/adoptt-`',
    ),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'several unknown annotations are removed with one command',
    object: web({ annotations: { 'vps-operator.dev/team': '', 'vps-operator.dev/owner': '' } }),
    given: withKey(),
    operation: saying('`kubectl annotate vps web -n default vps-operator.dev/team- vps-operator.dev/owner-`'),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'an order that you resolved is not sent again either',
    object: webWith(record({ settled: ['a1'] }), { annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: withKey(),
    operation: park('UnknownAnnotation'),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'an object that holds something continues',
    object: webWith(TASKED, { annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'annotationIsUnknown',
    reason: 'known annotations and other prefixes do not matter',
    object: web({ annotations: { 'vps-operator.dev/reconcile-at': '1', 'example.org/adoptt': '', adoptt: '' } }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'a refused create waits for a change, however long',
    object: fresh,
    given: withKey({ memo: planned(fresh, 'order', Infinity) }),
    operation: { type: 'wait' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the operator makes no call and no claim while it cannot write the journal',
    object: fresh,
    given: facts({ journalProblem: 'no space left on device' }),
    operation: {
      type: 'park',
      verdict: {
        reason: 'JournalUnavailable',
        message:
          'The operator cannot write its journal in --journal-dir: no space left on device. The operator orders nothing ' +
          'until it can, and retries automatically. Ask an administrator to free space there, or to make the folder writable',
      },
      retry: 'order',
      afterMs: TIMING.pollMs,
    },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'nothing is held, and nothing may be on its way',
    object: fresh,
    given: withKey(),
    operation: { type: 'order', record: undefined },
  },
];

verifyChecks('checks on the way to a server', cases);

describe('serverIsToBeOrdered', () => {
  it.each([
    { reason: 'an attempt', object: webWith(ATTEMPTED) },
    { reason: 'a task', object: webWith(TASKED) },
    { reason: 'a server', object: webWith(HELD) },
    { reason: 'its deletion', object: web({ deleting: true }) },
  ])('refuses an object with $reason: it is the last line of defense', ({ object }) => {
    expect(() => serverIsToBeOrdered(viewOf(object, withKey()))).toThrow('no create');
  });
});
