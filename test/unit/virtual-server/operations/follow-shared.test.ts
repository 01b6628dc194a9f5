/** Tasks that may lead to a server of another object or of another account are not polled. */
import type { TaskNumber } from '../../../../src/base/exact-numbers.ts';
import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ACCOUNT, ELSEWHERE, HELD, OTHER_KEY, TASKED, TIMING, UID, webWith } from '../../../fixtures/decision.ts';
import { shownBy, visit, type Given } from '../../../fixtures/visits.ts';

const shared = { withTask: (task: TaskNumber) => (task === 7 ? ['default/other'] : []) };
const byOthers = {
  withTask: (_task: TaskNumber, account: string | undefined) => (account === ACCOUNT ? [] : ['default/other']),
};
const accepting = (word: string) => ({ annotations: { [ACCEPT_SERVER_ANNOTATION]: word } });
const noKey = { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret' } } as const;

interface Case {
  why: string;
  object: VirtualServer;
  given: Given;
}

describe('a task', () => {
  it.each<Case & { shows: string; words: string }>([
    {
      why: 'one task must not lead two objects to one server',
      object: webWith(TASKED),
      given: { others: shared },
      shows: 'TaskInUse',
      words: 'Task 7 is also the task of default/other',
    },
    {
      why: 'a deleted object does not follow such a task to a server either',
      object: webWith(TASKED, { deleting: true }),
      given: { others: shared },
      shows: 'TaskInUse',
      words: 'Task 7 is also the task of default/other',
    },
    {
      why: 'that two objects follow one task shows even without a key',
      object: webWith(TASKED),
      given: { others: shared, key: noKey },
      shows: 'TaskInUse',
      words: 'Task 7 is also the task of default/other',
    },
    {
      why: 'task numbers of another account belong to other servers',
      object: webWith(TASKED),
      given: { account: OTHER_KEY },
      shows: 'IdentityUnproven',
      words: `${ACCEPT_SERVER_ANNOTATION}=task-7@${OTHER_KEY}`,
    },
    {
      why: 'an identifier proves nothing at another base URL',
      object: webWith(HELD),
      given: { account: ELSEWHERE },
      shows: 'IdentityUnproven',
      words: `${ACCEPT_SERVER_ANNOTATION}=task-7@${ELSEWHERE}`,
    },
    {
      why: 'you have accepted the task of another account',
      object: webWith(TASKED, accepting(`task-7@${ELSEWHERE}`)),
      given: { account: OTHER_KEY },
      shows: 'IdentityUnproven',
      words: `${ACCEPT_SERVER_ANNOTATION}=task-7@${OTHER_KEY}`,
    },
  ])('is not polled: $why', async ({ object, given, shows, words }) => {
    const visited = await visit(object, given);
    expect(visited.calls).toEqual(['write', 'write']);
    expect(shownBy(visited).reason).toBe(shows);
    expect(shownBy(visited).message).toContain(words);
    expect(visited.memo.plan?.operation).toBe('follow');
    expect(visited.requeueAfterMs).toBe(TIMING.pollMs);
  });

  it.each<Case>([
    {
      why: 'only the other account has an object with such a task',
      object: webWith(TASKED),
      given: { others: byOthers },
    },
    {
      why: 'an object that knows its server can tell when the task names another one',
      object: webWith(HELD),
      given: { others: shared },
    },
    {
      why: 'the identifier that the task named can prove that it is the same one',
      object: webWith(HELD),
      given: { account: OTHER_KEY },
    },
    {
      why: 'you have accepted this very task',
      object: webWith(TASKED, accepting(`task-7@${OTHER_KEY}`)),
      given: { account: OTHER_KEY },
    },
    {
      why: 'a record of an earlier version names no account',
      object: webWith({ owner: UID, mode: 'create', attempt: 'a1', task: 7 }),
      given: { account: OTHER_KEY },
    },
  ])('is polled: $why', async ({ object, given }) => {
    const visited = await visit(object, { ...given, answers: { task: { state: 'pending', identifier: 'srv1' } } });
    expect(visited.calls[0]).toBe('poll');
    expect(shownBy(visited).reason).not.toBe('IdentityUnproven');
    expect(shownBy(visited).reason).not.toBe('TaskInUse');
  });
});
