/** What an adoption waits for, and what it tells about other objects. */
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../../src/api/meta.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { ACCOUNT, NOW, SERVER, TASKED, TIMING, adopting, record, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Given } from '../../../fixtures/visits.ts';

const creating: Condition = {
  type: 'Reconciling',
  status: 'True',
  reason: 'Creating',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
const busy = { withServer: (identifier: string) => (identifier === 'srv1' ? ['default/other'] : []) };
const ordering = { ordering: (account: string | undefined) => (account === ACCOUNT ? ['default/other'] : []) };
const noKey = { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret', retryAfterMs: 5 } } as const;
const asking = web(adopting('srv1'));

describe('an adoption', () => {
  it('reads the server with the key of the object, and holds it before anything else is written', async () => {
    const visited = await visit(asking, { answers: { server: SERVER } });
    expect(visited.calls).toEqual(['read', 'write', 'read', 'write']);
    expect(knownRecord(visited.object ?? asking)).toMatchObject(
      record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' }),
    );
    expect(shownBy(visited).reason).toBe('Available');
  });

  it.each<{
    why: string;
    object?: VirtualServer;
    given: Given;
    calls: readonly string[];
    shows: string;
    words: string;
    requeueAfterMs: number;
  }>([
    {
      why: 'a holder is named only after the server was read',
      given: { others: busy, answers: { server: SERVER } },
      calls: ['read'],
      shows: 'IdentifierInUse',
      words: 'is held by default/other',
      requeueAfterMs: TIMING.pollMs * 0.9,
    },
    {
      why: 'an object whose key does not show the server learns of no holder',
      given: { others: busy, answers: { server: DENIED } },
      calls: ['read', 'products', 'read'],
      shows: 'ServerNotVisible',
      words: 'is not visible with this API key',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'an object without a key learns of no holder and of no order',
      given: { others: { ...busy, ordering: () => ['default/other'] }, key: noKey },
      calls: [],
      shows: 'SecretNotFound',
      words: 'no Secret',
      requeueAfterMs: 5,
    },
    {
      why: 'an open order of the account may turn out to have created the named server',
      given: { others: ordering },
      calls: [],
      shows: 'Pending',
      words: 'which server default/other ordered',
      requeueAfterMs: 5_000,
    },
    {
      why: 'an order in another namespace may be of the same account, and is not named',
      given: { others: { ordering: () => ['secret-project/db'] } },
      calls: [],
      shows: 'Pending',
      words: 'which server an object in another namespace ordered',
      requeueAfterMs: 5_000,
    },
    {
      why: 'a waiting overdue order reports the wait, or another order would wait for it',
      object: webWith(TASKED, { ...adopting('srv1'), status: { conditions: [creating] } }),
      given: { now: NOW + 3_600_000, others: ordering },
      calls: [],
      shows: 'TaskOverdue',
      words: 'which server default/other ordered',
      requeueAfterMs: 5_000,
    },
  ])('holds nothing yet: $why', async ({ object = asking, given, calls, shows, words, requeueAfterMs }) => {
    const visited = await visit(object, given);
    const writes = shows === 'TaskOverdue' ? ['write', 'write'] : ['write'];
    expect(visited.calls).toEqual([...calls, ...writes]);
    if (writes.length === 1) expect(visited.object?.metadata).toEqual(object.metadata);
    const { reason, message } = shownBy(visited);
    expect(reason).toBe(shows);
    expect(message).toContain(words);
    if (shows !== 'IdentifierInUse') expect(message).not.toContain('is held by');
    expect(visited.requeueAfterMs).toBe(requeueAfterMs);
  });
});
