import { ACCOUNT, HELD, NOW, TASKED, withKey, memo, record, web, webWith } from '../../../../fixtures/decision.ts';
import { follows, looks, planned, soon, verifyChecks } from './support.ts';

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const adopted = record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' });
const fresh = web();
const ready = webWith(HELD, { status: READY });

verifyChecks('checks on a task and its server', {
  taskRuns: [
    ['the task is polled', webWith(TASKED), follows(TASKED)],
    [
      'the next call is not due yet',
      webWith(TASKED),
      { type: 'wait', when: { afterMs: 50 } },
      soon(webWith(TASKED), 'follow'),
    ],
    [
      'the next call is due',
      webWith(TASKED),
      follows(TASKED),
      withKey({ memo: planned(webWith(TASKED), 'follow', NOW) }),
    ],
    [
      'you changed the object since the poll was planned',
      webWith(TASKED),
      follows(TASKED),
      withKey({ memo: memo({}, { plan: { operation: 'follow', from: 0, at: NOW + 50, inputs: 'others' } }) }),
    ],
    [
      'the clock was set back by a day since the poll was planned',
      webWith(TASKED),
      follows(TASKED),
      withKey({ memo: planned(webWith(TASKED), 'follow', NOW + 86_460_000, NOW + 86_400_000) }),
    ],
    [
      'the task has nothing new to report, so the server is read',
      webWith(HELD),
      looks(HELD),
      withKey({ memo: memo({ task: { state: 'silent', why: 'taskNotFound' } }) }),
    ],
    [
      'a failed read of the server is retried only after a pause',
      webWith(HELD),
      { type: 'wait', when: { afterMs: 50 } },
      withKey({
        memo: {
          ...planned(webWith(HELD), 'look', NOW + 50),
          evidence: { task: { state: 'silent', why: 'taskNotFound' } },
        },
      }),
    ],
    [
      'the task has answered 303',
      webWith(HELD),
      undefined,
      withKey({ memo: memo({ task: { state: 'over', identifier: 'srv1' } }) }),
    ],
    [
      'the server counts as gone, so there is no task to poll',
      webWith({ ...HELD, missingAt: '2026-01-01T12:00:00Z' }),
      undefined,
    ],
    [
      'you say that the server is gone, so there is no task to poll',
      webWith(HELD, { deleting: true }),
      undefined,
      withKey({ memo: memo({ end: { state: 'gone', identifier: 'srv1', wasRequested: false } }) }),
    ],
    [
      'another server is gone',
      webWith(HELD, { deleting: true }),
      follows(HELD),
      withKey({ memo: memo({ end: { state: 'gone', identifier: 'srv0', wasRequested: false } }) }),
    ],
    [
      "another server's task has answered 303",
      webWith(HELD),
      follows(HELD),
      withKey({ memo: memo({ task: { state: 'over', identifier: 'srv0' } }) }),
    ],
    ['the server was read', ready, undefined],
    [
      'the status fields were copied from another object',
      web({ annotated: TASKED, mirror: foreign, status: READY }),
      follows(TASKED),
    ],
  ],
  serverIsHeld: [
    ['the server is read when the read is due', ready, looks(HELD)],
    ['the next call is not due yet', ready, { type: 'wait', when: { afterMs: 50 } }, soon(ready, 'look')],
    ['a wiped status is filled in at once', webWith(adopted), looks(adopted), soon(webWith(adopted), 'look')],
    [
      'a wiped status is no reason to hurry if the last call failed',
      webWith(adopted),
      { type: 'wait', when: { afterMs: 50 } },
      withKey({ memo: { ...planned(webWith(adopted), 'look', NOW + 50), failures: 1 } }),
    ],
    ['nothing is held', fresh, undefined],
  ],
});
