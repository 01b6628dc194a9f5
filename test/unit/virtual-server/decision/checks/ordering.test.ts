import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../../../src/api/meta.ts';
import { ACCOUNT, ATTEMPTED, HELD, KNOWN, NOW, TASKED, TIMING, adopting, facts, gathered, memo, others, record, web, webWith } from '../../../../gen/decision.ts';
import { serverIsToBeOrdered } from '../../../../../src/virtual-server/decision/decide.ts';
import { lookAt } from '../../../../../src/virtual-server/decision/view.ts';
import { SSH_KEY } from '../../../../gen/virtual-server.ts';
import { park, planned, saying, verifyChecks, type CheckCase } from './support.ts';

const busy = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });
const note = { attempt: 'a1', state: 'sending' } as const;
const fresh = web();
const secretGone = { ok: false, reason: 'SecretNotFound', message: 'no Secret' } as const;
const condition = (reason: Condition['reason']): Condition => ({
  type: 'Reconciling',
  status: 'True',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const credentials = { ok: true, account: ACCOUNT } as const;
const { credentials: notRead, ...withoutCredentials } = gathered();
const { createDelayMs, order, ...withoutDelay } = gathered();

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
    check: 'attemptWasClaimedJustNow',
    reason: 'the visit that claimed the attempt sends what the spec asks for',
    object: webWith(ATTEMPTED),
    given: gathered({ claimed: 'a1' }),
    action: {
      type: 'create',
      record: ATTEMPTED,
      attempt: 'a1',
      request: { product: 'vps-1gb', image: 'debian-13.qcow2/minimal', diskSize: 20, sshKeys: SSH_KEY },
    },
  },
  {
    check: 'attemptWasClaimedJustNow',
    reason: 'a later visit never sends it',
    object: webWith(ATTEMPTED),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'attemptWasClaimedJustNow',
    reason: 'the record names another attempt than the claimed one',
    object: webWith(ATTEMPTED),
    given: gathered({ claimed: 'a2' }),
    action: undefined,
  },
  {
    check: 'attemptWasClaimedJustNow',
    reason: 'an accepted create is not sent again',
    object: webWith(TASKED),
    given: gathered({ claimed: 'a1' }),
    action: undefined,
  },
  {
    check: 'createIsInFlight',
    reason: "the wait for another process's attempt starts now",
    object: webWith(ATTEMPTED),
    action: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait starts when the attempt was first seen here',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW - 1000 } }) }),
    action: park('CreateInFlight', { afterMs: TIMING.takeoverMs - 1000 }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait starts now if the clock was set back by a day since',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW + 86_400_000 } }) }),
    action: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait has ended',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a1', since: NOW - TIMING.takeoverMs } }) }),
    action: undefined,
  },
  {
    check: 'createIsInFlight',
    reason: 'the wait for an earlier attempt does not count for this one',
    object: webWith(ATTEMPTED),
    given: facts({ memo: memo({ foreignAttempt: { attempt: 'a0', since: 0 } }) }),
    action: park('CreateInFlight', { afterMs: TIMING.takeoverMs }),
  },
  {
    check: 'createIsInFlight',
    reason: 'an attempt in the journal of this process is no longer in flight',
    object: webWith(ATTEMPTED),
    given: facts({ notes: [note] }),
    action: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'an invalid identifier causes no call',
    object: web(adopting('two words')),
    given: gathered(),
    action: park('AdoptInvalid'),
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the operator reads the server before it names a holder',
    object: web(adopting('srv1')),
    given: gathered({ others: busy }),
    action: { type: 'adopt', record: undefined, identifier: 'srv1' },
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the server is read with the key of the object',
    object: web(adopting('srv1')),
    action: { type: 'gather', what: 'credentials' },
  },
  {
    check: 'adoptionIsAsked',
    reason: 'an object without a key learns of no holder',
    object: web(adopting('srv1')),
    given: gathered({ others: busy, credentials: secretGone }),
    action: park('SecretNotFound', { retry: 'adopt' }),
  },
  {
    check: 'adoptionIsAsked',
    reason: 'an open order may turn out to have created the named server',
    object: web(adopting('srv1')),
    given: gathered({ others: others({ ordering: (account) => (account === ACCOUNT ? ['default/other'] : []) }) }),
    action: park('Pending', { afterMs: 5_000 }),
  },
  {
    check: 'adoptionIsAsked',
    reason: 'a waiting overdue order reports the wait, or another order would wait for it',
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
    given: gathered({ now: NOW + 3_600_000, others: others({ ordering: () => ['default/other'] }) }),
    action: park('TaskOverdue', { afterMs: 5_000 }),
  },
  {
    check: 'adoptionIsAsked',
    reason: 'an order in another namespace may be of the same account, and is not named',
    object: web(adopting('srv1')),
    given: gathered({ others: others({ ordering: () => ['secret-project/db'] }) }),
    action: saying('which server an object in another namespace ordered'),
  },
  {
    check: 'adoptionIsAsked',
    reason: "an invalid adopt annotation is not reported while the object's task runs",
    object: webWith(TASKED, { ...adopting('two words'), status: { conditions: [condition('Creating')] } }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: "an invalid adopt annotation is reported once the object's task is fruitless",
    object: webWith(TASKED, { ...adopting('two words'), status: { conditions: [condition('TaskNotFound')] } }),
    given: gathered(),
    action: park('AdoptInvalid'),
  },
  {
    check: 'adoptionIsAsked',
    reason: "the object's task will name the server that it creates",
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
    given: gathered(),
    action: undefined,
  },
  ...FRUITLESS.map((reason): CheckCase => ({
    check: 'adoptionIsAsked',
    reason: `${reason}: the object's task will not name a server`,
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition(reason)] } }),
    given: gathered(),
    action: { type: 'adopt', record: TASKED, identifier: 'srv1' },
  })),
  {
    check: 'adoptionIsAsked',
    reason: 'a new object adopts the server instead of ordering one',
    object: web(adopting('srv1')),
    given: gathered(),
    action: { type: 'adopt', record: undefined, identifier: 'srv1' },
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the operator does not wait for a task that has run for an hour, whatever its condition',
    object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [condition('Creating')] } }),
    given: gathered({ now: NOW + 3_600_000 }),
    action: { type: 'adopt', record: TASKED, identifier: 'srv1' },
  },
  ...(['TaskInUse', 'TaskNotFound'] as const).map((reason): CheckCase => ({
    check: 'adoptionIsAsked',
    reason: `${reason}: you name another server in place of one that was never seen`,
    object: webWith(HELD, { ...adopting('srv2'), status: { conditions: [condition(reason)] } }),
    given: gathered(),
    action: { type: 'adopt', record: HELD, identifier: 'srv2' },
  })),
  {
    check: 'adoptionIsAsked',
    reason: 'a server that was seen is not exchanged for another one that the task names',
    object: webWith(KNOWN, { ...adopting('srv2'), status: { conditions: [condition('TaskInUse')] } }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the object does not adopt its own server under another spelling',
    object: webWith(HELD, { ...adopting('SRV1'), status: { conditions: [condition('TaskInUse')] } }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'the object keeps the server that it holds',
    object: webWith(HELD, adopting('srv2')),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'adoptionIsAsked',
    reason: 'a failed adoption is not retried before its time',
    object: web(adopting('srv1')),
    given: gathered({ memo: planned(web(adopting('srv1')), 'adopt', NOW + 50) }),
    action: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'createOutcomeIsUnknown',
    reason: 'the outcome is unknown',
    object: webWith(ATTEMPTED),
    action: park('CreateOutcomeUnknown'),
  },
  { check: 'createOutcomeIsUnknown', reason: 'a task is known', object: webWith(TASKED), action: undefined },
  {
    check: 'annotationIsUnknown',
    reason: 'a typo of adopt orders nothing, and the message has the commands that correct and remove it',
    object: web({ annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: gathered(),
    action: saying(
      'If you mean vps-operator.dev/adopt, run `kubectl annotate --overwrite vps web -n default ' +
        'vps-operator.dev/adopt=VALUE vps-operator.dev/adoptt-`. To remove the annotation and let the operator order a ' +
        'server, run `kubectl annotate vps web -n default vps-operator.dev/adoptt-`',
    ),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'several unknown annotations are removed with one command',
    object: web({ annotations: { 'vps-operator.dev/team': '', 'vps-operator.dev/owner': '' } }),
    given: gathered(),
    action: saying('`kubectl annotate vps web -n default vps-operator.dev/team- vps-operator.dev/owner-`'),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'an order that you resolved is not sent again either',
    object: webWith(record({ settled: ['a1'] }), { annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: gathered(),
    action: park('UnknownAnnotation'),
  },
  {
    check: 'annotationIsUnknown',
    reason: 'an object that holds something continues',
    object: webWith(TASKED, { annotations: { 'vps-operator.dev/adoptt': '' } }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'annotationIsUnknown',
    reason: 'known annotations and other prefixes do not matter',
    object: web({ annotations: { 'vps-operator.dev/reconcile-at': '1', 'example.org/adoptt': '', adoptt: '' } }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'a refused create waits for a change, however long',
    object: fresh,
    given: gathered({ memo: planned(fresh, 'gather', Infinity) }),
    action: { type: 'wait' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'an order needs a key first',
    object: fresh,
    action: { type: 'gather', what: 'credentials' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'an order needs the SSH keys next',
    object: fresh,
    given: facts({ credentials }),
    action: { type: 'gather', what: 'sshKeys' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'an SSH key is missing',
    object: fresh,
    given: gathered({ sshKeys: { ok: false, reason: 'SSHKeyNotFound', message: 'none' } }),
    action: park('SSHKeyNotFound', { retry: 'gather' }),
  },
  {
    check: 'serverIsToBeOrdered',
    reason: "an order needs the provider's lists next",
    object: fresh,
    given: facts({ credentials, sshKeys: { ok: true, text: SSH_KEY } }),
    action: { type: 'gather', what: 'catalog' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the operator makes no call and no claim while it cannot write the journal',
    object: fresh,
    given: facts({ ...withoutCredentials, journalProblem: 'no space left on device' }),
    action: {
      type: 'park',
      verdict: {
        reason: 'JournalUnavailable',
        message:
          'The operator cannot write its journal in --journal-dir: no space left on device. The operator orders nothing ' +
          'until it can, and retries automatically. Ask an administrator to free space there, or to make the folder writable',
      },
      retry: 'gather',
      afterMs: TIMING.pollMs,
    },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the operator makes no claim while the provider is down',
    object: fresh,
    given: gathered({ catalog: { ok: false, reason: 'ProviderUnavailable', message: 'down', retryAfterMs: 7 } }),
    action: park('ProviderUnavailable', { retry: 'gather', atLeastMs: 7 }),
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the provider does not offer what the spec asks for',
    object: web({ spec: { product: 'vps-3gb' } }),
    given: gathered(),
    action: park('InvalidSpec', { retry: 'gather', afterMs: TIMING.resyncMs }),
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the create limit is checked after all that costs no wait, since the check reserves',
    object: fresh,
    given: facts(withoutDelay),
    action: { type: 'gather', what: 'createDelay' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the create limit is reached',
    object: fresh,
    given: gathered({ createDelayMs: 9 }),
    action: park('CreateLimit', { retry: 'gather', afterMs: 9 }),
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the order gets its turn, a token and a connection before the claim',
    object: fresh,
    given: facts({ ...withoutDelay, createDelayMs }),
    action: { type: 'gather', what: 'order' },
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'the order has no connection',
    object: fresh,
    given: gathered({ order: { ok: false, reason: 'ProviderUnavailable', message: 'down', retryAfterMs: 7 } }),
    action: park('ProviderUnavailable', { retry: 'gather', atLeastMs: 7 }),
  },
  {
    check: 'serverIsToBeOrdered',
    reason: 'every other check has passed',
    object: fresh,
    given: gathered(),
    action: { type: 'claim', record: undefined, account: ACCOUNT },
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
    expect(() => serverIsToBeOrdered(lookAt(object, gathered()))).toThrow('no create');
  });
});
