import { ACCEPT_SERVER_ANNOTATION } from '../../../../../src/api/names.ts';
import {
  ACCOUNT,
  ELSEWHERE,
  HELD,
  NOW,
  OTHER_KEY,
  TASKED,
  TIMING,
  UID,
  facts,
  gathered,
  memo,
  record,
  web,
  webWith,
} from '../../../../gen/decision.ts';
import { park, planned, saying, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const adopted = record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' });
const otherKey = gathered({ credentials: { ok: true, account: OTHER_KEY } });
const fresh = web();
const ready = webWith(HELD, { status: READY });
const secretGone = { ok: false, reason: 'SecretNotFound', message: 'no Secret', retryAfterMs: 5 } as const;

const cases: CheckCase[] = [
  {
    check: 'taskRuns',
    reason: 'with a key, the task is polled',
    object: webWith(TASKED),
    action: { type: 'gather', what: 'credentials' },
  },
  {
    check: 'taskRuns',
    reason: 'without a key, the condition gives the reason and the time of the next try',
    object: webWith(TASKED),
    given: facts({ credentials: secretGone }),
    action: park('SecretNotFound', { retry: 'pollTask', afterMs: 5 }),
  },
  {
    check: 'taskRuns',
    reason: 'the task is polled',
    object: webWith(TASKED),
    given: gathered(),
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the next call is not due yet',
    object: webWith(TASKED),
    given: gathered({ memo: planned(webWith(TASKED), 'pollTask', NOW + 50) }),
    action: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'taskRuns',
    reason: 'the next call is due',
    object: webWith(TASKED),
    given: gathered({ memo: planned(webWith(TASKED), 'pollTask', NOW) }),
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'you changed the object since the poll was planned',
    object: webWith(TASKED),
    given: gathered({ memo: { failures: 0, next: { action: 'pollTask', from: 0, at: NOW + 50, inputs: 'others' } } }),
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the clock was set back by a day since the poll was planned',
    object: webWith(TASKED),
    given: gathered({ memo: planned(webWith(TASKED), 'pollTask', NOW + 86_460_000, NOW + 86_400_000) }),
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the task has nothing new to report, so the server is read',
    object: webWith(HELD),
    given: gathered({ memo: memo({ readInstead: { why: 'taskNotFound' } }) }),
    action: { type: 'readServer', record: HELD, identifier: 'srv1' },
  },
  {
    check: 'taskRuns',
    reason: 'a failed read of the server is retried only after a pause',
    object: webWith(HELD),
    given: gathered({
      memo: { ...planned(webWith(HELD), 'readServer', NOW + 50), readInstead: { why: 'taskNotFound' } },
    }),
    action: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'taskRuns',
    reason: 'the task has answered 303',
    object: webWith(HELD),
    given: gathered({ memo: memo({ taskComplete: 'srv1' }) }),
    action: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'the server counts as gone, so there is no task to poll',
    object: webWith({ ...HELD, missingAt: '2026-01-01T12:00:00Z' }),
    given: gathered(),
    action: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'you say that the server is gone, so there is no task to poll',
    object: webWith(HELD, { deleting: true }),
    given: gathered({ memo: memo({ gone: 'srv1' }) }),
    action: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'another server is gone',
    object: webWith(HELD, { deleting: true }),
    given: gathered({ memo: memo({ gone: 'srv0' }) }),
    action: { type: 'pollTask', record: HELD, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: "another server's task has answered 303",
    object: webWith(HELD),
    given: gathered({ memo: memo({ taskComplete: 'srv0' }) }),
    action: { type: 'pollTask', record: HELD, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'task numbers of another account belong to other servers',
    object: webWith(TASKED),
    given: otherKey,
    action: park('IdentityUnproven', { retry: 'pollTask', afterMs: TIMING.pollMs }),
  },
  {
    check: 'taskRuns',
    reason: 'the identifier that the task named can prove that it is the same one',
    object: webWith(HELD),
    given: otherKey,
    action: { type: 'pollTask', record: HELD, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'an identifier proves nothing at another base URL',
    object: webWith(HELD),
    given: gathered({ credentials: { ok: true, account: ELSEWHERE } }),
    action: park('IdentityUnproven', { retry: 'pollTask', afterMs: TIMING.pollMs }),
  },
  {
    check: 'taskRuns',
    reason: 'you have accepted this very task',
    object: webWith(TASKED, { annotations: { [ACCEPT_SERVER_ANNOTATION]: `task-7@${OTHER_KEY}` } }),
    given: otherKey,
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'you have accepted the task of another account',
    object: webWith(TASKED, { annotations: { [ACCEPT_SERVER_ANNOTATION]: `task-7@${ELSEWHERE}` } }),
    given: otherKey,
    action: saying(`vps-operator.dev/accept-server=task-7@${OTHER_KEY}`),
  },
  {
    check: 'taskRuns',
    reason: 'a record of an earlier version names no account',
    object: webWith({ owner: UID, mode: 'create', attempt: 'a1', task: 7 }),
    given: otherKey,
    action: { type: 'pollTask', record: { owner: UID, mode: 'create', attempt: 'a1', task: 7 }, task: 7 },
  },
  { check: 'taskRuns', reason: 'the server was read', object: ready, given: gathered(), action: undefined },
  {
    check: 'taskRuns',
    reason: 'the status fields were copied from another object',
    object: web({ annotated: TASKED, mirror: foreign, status: READY }),
    given: gathered(),
    action: { type: 'pollTask', record: TASKED, task: 7 },
  },
  {
    check: 'serverIsHeld',
    reason: 'the server is read when the read is due',
    object: ready,
    given: gathered(),
    action: { type: 'readServer', record: HELD, identifier: 'srv1' },
  },
  {
    check: 'serverIsHeld',
    reason: 'the next call is not due yet',
    object: ready,
    given: gathered({ memo: planned(ready, 'readServer', NOW + 50) }),
    action: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'serverIsHeld',
    reason: 'a wiped status is filled in at once',
    object: webWith(adopted),
    given: gathered({ memo: planned(webWith(adopted), 'readServer', NOW + 50) }),
    action: { type: 'readServer', record: adopted, identifier: 'srv1' },
  },
  {
    check: 'serverIsHeld',
    reason: 'a wiped status is no reason to hurry if the last call failed',
    object: webWith(adopted),
    given: gathered({ memo: { ...planned(webWith(adopted), 'readServer', NOW + 50), failures: 1 } }),
    action: { type: 'wait', afterMs: 50 },
  },
  { check: 'serverIsHeld', reason: 'nothing is held', object: fresh, action: undefined },
];

verifyChecks('checks on a task and its server', cases);
