import { ACCOUNT, HELD, NOW, TASKED, withKey, memo, record, web, webWith } from '../../../../fixtures/decision.ts';
import { planned, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const adopted = record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' });
const fresh = web();
const ready = webWith(HELD, { status: READY });

const cases: CheckCase[] = [
  {
    check: 'taskRuns',
    reason: 'the task is polled',
    object: webWith(TASKED),
    given: withKey(),
    operation: { type: 'follow', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the next call is not due yet',
    object: webWith(TASKED),
    given: withKey({ memo: planned(webWith(TASKED), 'follow', NOW + 50) }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'taskRuns',
    reason: 'the next call is due',
    object: webWith(TASKED),
    given: withKey({ memo: planned(webWith(TASKED), 'follow', NOW) }),
    operation: { type: 'follow', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'you changed the object since the poll was planned',
    object: webWith(TASKED),
    given: withKey({ memo: memo({}, { plan: { operation: 'follow', from: 0, at: NOW + 50, inputs: 'others' } }) }),
    operation: { type: 'follow', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the clock was set back by a day since the poll was planned',
    object: webWith(TASKED),
    given: withKey({ memo: planned(webWith(TASKED), 'follow', NOW + 86_460_000, NOW + 86_400_000) }),
    operation: { type: 'follow', record: TASKED, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: 'the task has nothing new to report, so the server is read',
    object: webWith(HELD),
    given: withKey({ memo: memo({ task: { state: 'silent', why: 'taskNotFound' } }) }),
    operation: { type: 'look', record: HELD, identifier: 'srv1' },
  },
  {
    check: 'taskRuns',
    reason: 'a failed read of the server is retried only after a pause',
    object: webWith(HELD),
    given: withKey({
      memo: {
        ...planned(webWith(HELD), 'look', NOW + 50),
        evidence: { task: { state: 'silent', why: 'taskNotFound' } },
      },
    }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'taskRuns',
    reason: 'the task has answered 303',
    object: webWith(HELD),
    given: withKey({ memo: memo({ task: { state: 'over', identifier: 'srv1' } }) }),
    operation: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'the server counts as gone, so there is no task to poll',
    object: webWith({ ...HELD, missingAt: '2026-01-01T12:00:00Z' }),
    given: withKey(),
    operation: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'you say that the server is gone, so there is no task to poll',
    object: webWith(HELD, { deleting: true }),
    given: withKey({ memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } }) }),
    operation: undefined,
  },
  {
    check: 'taskRuns',
    reason: 'another server is gone',
    object: webWith(HELD, { deleting: true }),
    given: withKey({ memo: memo({ end: { state: 'gone', identifier: 'srv0', wasRequested: false } }) }),
    operation: { type: 'follow', record: HELD, task: 7 },
  },
  {
    check: 'taskRuns',
    reason: "another server's task has answered 303",
    object: webWith(HELD),
    given: withKey({ memo: memo({ task: { state: 'over', identifier: 'srv0' } }) }),
    operation: { type: 'follow', record: HELD, task: 7 },
  },
  { check: 'taskRuns', reason: 'the server was read', object: ready, given: withKey(), operation: undefined },
  {
    check: 'taskRuns',
    reason: 'the status fields were copied from another object',
    object: web({ annotated: TASKED, mirror: foreign, status: READY }),
    given: withKey(),
    operation: { type: 'follow', record: TASKED, task: 7 },
  },
  {
    check: 'serverIsHeld',
    reason: 'the server is read when the read is due',
    object: ready,
    given: withKey(),
    operation: { type: 'look', record: HELD, identifier: 'srv1' },
  },
  {
    check: 'serverIsHeld',
    reason: 'the next call is not due yet',
    object: ready,
    given: withKey({ memo: planned(ready, 'look', NOW + 50) }),
    operation: { type: 'wait', afterMs: 50 },
  },
  {
    check: 'serverIsHeld',
    reason: 'a wiped status is filled in at once',
    object: webWith(adopted),
    given: withKey({ memo: planned(webWith(adopted), 'look', NOW + 50) }),
    operation: { type: 'look', record: adopted, identifier: 'srv1' },
  },
  {
    check: 'serverIsHeld',
    reason: 'a wiped status is no reason to hurry if the last call failed',
    object: webWith(adopted),
    given: withKey({ memo: { ...planned(webWith(adopted), 'look', NOW + 50), failures: 1 } }),
    operation: { type: 'wait', afterMs: 50 },
  },
  { check: 'serverIsHeld', reason: 'nothing is held', object: fresh, operation: undefined },
];

verifyChecks('checks on a task and its server', cases);
