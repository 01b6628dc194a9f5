/** Answers that no source tells of, and that must neither cost a server nor block its object. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import type { StoredRecord } from '../../../../src/api/record.ts';
import type { NamedOutcome, Server, TaskState } from '../../../../src/provider/types.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { userDataText } from '../../../../src/virtual-server/operations/user-data.ts';
import { ACCOUNT, KNOWN, NOW, PRICED, SERVER, UID, memo, web, webWith } from '../../../fixtures/decision.ts';
import { fakeKube } from '../../../fixtures/doubles.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';
import { deleted, next, recordIn, sentIn } from './named-support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const IDENTIFIER = 'web00000000004h';
const accepted: NamedOutcome = { kind: 'created', task: 7 };
const inUse: NamedOutcome = { kind: 'inUse', error: new ResponseError(409, 'in use', {}) };
const creating = { state: 'pending', identifier: IDENTIFIER } as const;
const named = { ...SERVER, identifier: IDENTIFIER };

const ordering = (object: VirtualServer, answer: NamedOutcome, given: Given = {}): Promise<Visited> =>
  visit(object, { ordersNamed: true, ...given, answers: { named: answer, task: creating, ...given.answers } });

/** Visits until the object is gone or `forMs` are over; resolves with the calls and the last visit. */
async function during(
  first: Visited,
  forMs: number,
  given: (round: number) => Given,
  process: 'same' | 'other' = 'same',
): Promise<{ calls: string[]; last: Visited }> {
  let last = first;
  const calls: string[] = [];
  for (let round = 0; last.object !== undefined && round * 10 * MINUTE < forMs; round++) {
    last = await next(last, NOW + (round + 1) * 10 * MINUTE, { listsServers: true, ...given(round) }, process);
    calls.push(...last.calls);
  }
  return { calls, last };
}

/** The object with these fields in its record. */
function withRecord({ object, ...visited }: Visited, fields: Partial<StoredRecord>): Visited {
  const own = object && knownRecord(object);
  return {
    ...visited,
    object: object && own && webWith({ ...own, ...fields }, { spec: object.spec, status: object.status }),
  };
}

describe.each([
  [
    '500 with a page of HTML',
    new ResponseError(500, 'Checking progress failed: the provider answered 500', { said: '' }),
  ],
  ['a redirect', new ProviderError('PROVIDER_PROTOCOL', 'a redirect that the operator does not follow')],
])('a task that answers %s forever', (_what, task) => {
  const runs = (): Given => ({ answers: { task, server: named, servers: [IDENTIFIER], removed: 'ok' } });

  it('keeps no server that runs from being Ready', async () => {
    const { last } = await during(await ordering(web(), accepted), 2 * HOUR, runs);
    expect(shownBy(last).reason).toBe('Available');
  });

  it('is believed for an hour: the server may still be created', async () => {
    const { calls } = await during(await ordering(web(), accepted), 50 * MINUTE, runs);
    expect(calls).not.toContain('server');
  });

  it.each(['same', 'other'] as const)('keeps no server from being cancelled (%s process)', async (process) => {
    const first = await next(await ordering(web(), accepted), NOW + 10_000, { answers: { task: creating } });
    expect((await during(deleted(first), 2 * HOUR, runs, process)).calls).toContain('delete');
  });

  it('keeps no retained server from being released', async () => {
    const object = web({ spec: { ...web().spec, deletionPolicy: 'Retain' } });
    const first = await next(await ordering(object, accepted), NOW + 10_000, { answers: { task: creating } });
    expect((await during(deleted(first), 2 * HOUR, runs)).last.object).toBeUndefined();
  });
});

it('a provider without a list that it has shown before does not prove that a server is gone', async () => {
  const running = webWith(PRICED, { status: { serverStatus: 'running' } });
  let last = deleted(await visit(running, { listsServers: true, answers: { server: SERVER, servers: ['srv1'] } }));
  for (let minute = 1; last.object !== undefined && minute < 60; minute++)
    last = await next(last, NOW + minute * MINUTE, { listsServers: true, answers: { server: DENIED } });
  expect(last.object).toBeDefined();
});

describe('an order whose server and list the provider denies', () => {
  const gone: Given = { listsServers: true, answers: { task: DENIED, server: DENIED, servers: [], named: accepted } };
  const everyMinute = async (first: Visited): Promise<{ calls: string[]; last: Visited }> => {
    let last = first;
    const calls: string[] = [];
    for (let minute = 2; minute < 90; minute++) {
      last = await next(last, NOW + minute * MINUTE, gone);
      calls.push(...last.calls);
    }
    return { calls, last };
  };

  it('is not sent again if an operator that observes, which writes no record, has shown the server', async () => {
    const visited = await ordering(web(), accepted);
    const status = {
      ...visited.object?.status,
      identifier: IDENTIFIER,
      serverStatus: 'running',
      record: recordIn(visited),
    };
    const seen = { ...visited, object: visited.object && { ...visited.object, status } };
    const { calls, last } = await everyMinute(await next(seen, NOW + MINUTE, gone, 'other'));
    expect(calls).not.toContain('named');
    expect(shownBy(last).reason).toBe('ServerMissing');
  });

  it('has its task polled again if the repeated order is answered with the same task', async () => {
    const { calls } = await everyMinute(await ordering(web(), accepted));
    const count = (of: string): number => calls.filter((call) => call === of).length;
    expect(count('named')).toBeGreaterThan(1);
    expect(count('poll')).toBeGreaterThan(count('named'));
  });
});

it('an order under an identifier in use keeps its deleted object, also if the answer to a DELETE was lost', async () => {
  const lost = new ResponseError(502, 'bad gateway', {});
  const { last, calls } = await during(deleted(await ordering(web(), inUse)), 3 * HOUR, (round) => ({
    definition: 'kept',
    answers: { server: DENIED, servers: [], removed: round === 0 ? lost : DENIED },
  }));
  expect(calls).toContain('delete');
  expect(last.object).toBeDefined();
});

it('a server that is being created forever makes its object ask after a day', async () => {
  const busy = new ResponseError(409, 'being provisioned', { said: 'being provisioned' });
  const { last } = await during(await ordering(web(), inUse), 26 * HOUR, () => ({
    answers: { server: busy, servers: [] },
  }));
  expect(shownBy(last).reason).toBe('CreateOutcomeUnknown');
});

it('a 404 to an order is not the last word: a gateway may have answered', async () => {
  const notFound = new ResponseError(404, 'Not Found', {});
  const first = await ordering(web(), { kind: 'notOffered', error: notFound });
  const second = await next(first, NOW + MINUTE, {
    ordersNamed: false,
    answers: { order: { kind: 'refused', status: 404, error: notFound } },
  });
  expect(shownBy(second).reason).toBe('CreateRejected');
  const third = await next(second, NOW + 3 * HOUR, { ordersNamed: true, answers: { named: accepted, task: creating } });
  expect(sentIn(third)).toBe(1);
});

it.each([true, false])(
  'a 400 that says out of stock needs no person: the order follows once there is stock (list of servers: %s)',
  async (ordersNamed) => {
    const error = new ResponseError(400, 'No host has room for this product', {});
    const refused = { kind: 'refused', status: 400, error } as const;
    const orders = ({ calls }: Visited): number => calls.filter((call) => call === 'named' || call === 'order').length;
    let last = await visit(web(), { ordersNamed, answers: { named: refused, order: refused } });
    let sent = 0;
    for (let minute = 1; minute <= 24 * 60; minute++) {
      last = await next(last, NOW + minute * MINUTE, { ordersNamed, answers: { named: refused, order: refused } });
      sent += orders(last);
    }
    expect(shownBy(last).reason).toBe('CreateRejected');
    expect(sent).toBeGreaterThan(20);
    expect(sent).toBeLessThan(28);
    const answers = { named: accepted, order: accepted, task: creating };
    last = await next(last, NOW + 26 * HOUR, { ordersNamed, answers });
    expect(orders(last)).toBe(1);
    expect(shownBy(last).reason).toBe('Creating');
  },
);

describe('a server that the provider shows as cancelled after the DELETE', () => {
  const off = { ...SERVER, status: 'shut down' };
  const cancelled = { ...SERVER, status: 'Cancelled' };
  const list: Given = { listsServers: true, definition: 'kept' };
  const cancelling = (answers: Given['answers']): Promise<Visited> =>
    visit(webWith(KNOWN, { deleting: true, status: { serverStatus: 'running' } }), {
      ...list,
      answers: { servers: ['srv1'], ...answers },
    });

  it('is gone, although it did not run before', async () => {
    expect((await cancelling({ server: off, removed: 'ok', after: cancelled })).object).toBeUndefined();
  });

  it.each([DENIED, ...[409, 400].map((status) => new ResponseError(status, 'x', { said: 'already cancelled' }))])(
    'is gone for the next process too, which another DELETE tells nothing new ($status)',
    async (removed) => {
      expect((await cancelling({ server: cancelled, removed })).object).toBeUndefined();
    },
  );

  it.each([403, 500, 503])('is not gone if the provider fails to answer the DELETE (%i)', async (status) => {
    const removed = new ResponseError(status, 'no', status === 403 ? { code: 'PROVIDER_FORBIDDEN' } : {});
    expect((await cancelling({ server: cancelled, removed })).object).toBeDefined();
  });

  it.each([409, 400])('is not gone if it runs, and the provider refuses the DELETE (%i)', async (status) => {
    expect((await cancelling({ server: SERVER, removed: new ResponseError(status, 'locked') })).object).toBeDefined();
  });

  it('is not cancelled again for a living object', async () => {
    const { calls, object } = await visit(webWith(KNOWN), { answers: { server: cancelled } });
    expect(calls).not.toContain('delete');
    expect(object).toBeDefined();
  });

  it.each([404, 403])('is not gone after a later %i that the list contradicts', async (status) => {
    const unreadable = new ProviderError('PROVIDER_TIMEOUT', 'no answer');
    const first = await cancelling({ server: SERVER, removed: 'ok', after: unreadable });
    expect(first.object).toBeDefined();
    const server = new ResponseError(status, 'does not exist', { code: 'PROVIDER_NOT_FOUND' });
    const again = await next(first, NOW + MINUTE, { ...list, answers: { server, servers: ['srv1'] } });
    expect(again.object).toBeDefined();
  });

  it('is not gone if it lives on after the 200, and is denied once while the list has it', async () => {
    const runs = { server: SERVER, removed: 'server is locked', after: SERVER, servers: ['srv1'] };
    let last = await cancelling(runs);
    for (const at of [10, 20]) last = await next(last, NOW + at * MINUTE, { ...list, answers: runs });
    expect(shownBy(last).reason).toBe('CancellationUnconfirmed');
    last = await next(last, NOW + 21 * MINUTE, { ...list, answers: { server: DENIED, servers: ['srv1'] } });
    expect(last.object).toBeDefined();
  });

  const lost = new ResponseError(502, 'bad gateway');
  it.each([
    { first: 'one read after the 200', removed: 'ok', minutes: [1] },
    { first: 'a grace period after a lost answer', removed: lost, minutes: [1, 4, 7] },
  ])('is gone $first, whatever another DELETE would get', async ({ removed, minutes }) => {
    let last = await cancelling({ server: SERVER, removed, after: SERVER });
    const answers = { server: cancelled, servers: [], removed: new ResponseError(500, 'already cancelled') };
    for (const minute of minutes) {
      expect(last.object).toBeDefined();
      last = await next(last, NOW + minute * MINUTE, { ...list, answers });
      expect(last.calls).not.toContain('delete');
    }
    expect(last.object).toBeUndefined();
  });

  it('is gone one read after the 200 if it was shown as cancelled before, and the list no longer has it', async () => {
    const first = await cancelling({ server: cancelled, removed: 'ok', after: cancelled });
    expect(first.object).toBeDefined();
    const last = await next(first, NOW + MINUTE, { ...list, answers: { server: cancelled, servers: [] } });
    expect(last.object).toBeUndefined();
  });

  it('is not gone by a word that passes if its DELETE may not have arrived: it is cancelled then', async () => {
    const first = await cancelling({ server: SERVER, removed: lost, after: SERVER });
    const word = await next(first, NOW + MINUTE, { ...list, answers: { server: cancelled, servers: [] } });
    expect(word.object).toBeDefined();
    const answers = { server: SERVER, servers: ['srv1'], removed: 'ok', after: DENIED };
    const last = await next(word, NOW + 3 * MINUTE, { ...list, answers });
    expect(last.calls).toContain('delete');
    expect(last.object).toBeUndefined();
  });
});

describe('a provider that says "removed" of a server that runs', () => {
  const removed = { ...SERVER, status: 'removed' };

  it('sends another DELETE if the answer was lost, also when the list lacks the server: the word is no answer', async () => {
    const given: Given = { listsServers: true, definition: 'kept' };
    const lost = { server: removed, servers: [], removed: new ResponseError(502, 'bad gateway') };
    let last = await visit(webWith(KNOWN, { deleting: true }), { ...given, answers: lost });
    for (const minute of [1, 4, 7]) {
      last = await next(last, NOW + minute * MINUTE, { ...given, answers: lost });
      expect(last.calls).toContain('delete');
    }
    expect(last.object).toBeDefined();
  });

  it.each(['same', 'other'] as const)('keeps the object until a DELETE has arrived (%s process)', async (process) => {
    const given: Given = { listsServers: true, definition: 'kept' };
    const lost = { server: removed, servers: ['srv1'], removed: new ResponseError(502, 'bad gateway') };
    const first = await visit(webWith(KNOWN, { deleting: true }), { ...given, answers: lost });
    const again = await next(first, NOW + MINUTE, { ...given, answers: lost }, process);
    expect(again.object).toBeDefined();
    expect(again.calls).toContain('delete');
    const locked = { server: removed, servers: ['srv1'], removed: 'server is locked', after: removed };
    let kept = await next(again, NOW + 2 * MINUTE, { ...given, answers: locked }, process);
    kept = await next(kept, NOW + 4 * MINUTE, { ...given, answers: locked });
    expect(kept.object).toBeDefined();
    const heard = { server: removed, servers: ['srv1'], removed: 'ok', after: DENIED };
    expect((await next(again, NOW + 10 * MINUTE, { ...given, answers: heard }, process)).object).toBeUndefined();
  });
});

describe('a provider that says "removed" of a server in the making, and refuses to cancel it', () => {
  it('keeps the object until the server is there, and cancels it then', async () => {
    const never = webWith({ ...KNOWN, fingerprint: undefined }, { deleting: true, status: {} });
    const over = memo({ task: { state: 'over', identifier: 'srv1' } });
    const making = { server: { ...SERVER, status: 'removed' }, removed: new ResponseError(409, 'still being created') };
    const given: Given = { listsServers: true, definition: 'kept' };
    let last = await visit(never, { ...given, memo: over, answers: { ...making, servers: [] } });
    expect(last.object).toBeDefined();
    last = await next(last, NOW + MINUTE, { ...given, answers: { ...making, servers: [] } });
    expect(last.object).toBeDefined();
    const ready = { server: SERVER, servers: ['srv1'], removed: 'ok', after: DENIED };
    last = await next(last, NOW + 3 * MINUTE, { ...given, answers: ready });
    expect(last.calls).toContain('delete');
    expect(last.object).toBeUndefined();
  });
});

describe('the server of an accepted order that counted as missing, and appears after all', () => {
  const name = `default/web (${UID.slice(0, 8)})`;
  const late = { ...SERVER, identifier: IDENTIFIER, name };
  const over: TaskState = { state: 'complete', identifier: IDENTIFIER };
  const missing = async (object = web()): Promise<Visited> => {
    const first = await next(await ordering(object, accepted), NOW + 10_000, {
      answers: { task: over, server: DENIED, servers: [] },
    });
    let last = first;
    for (let minute = 2; minute < 90; minute += 2)
      last = await next(last, NOW + minute * MINUTE, { listsServers: true, answers: { server: DENIED, servers: [] } });
    expect(shownBy(last).reason).toBe('ServerMissing');
    return last;
  };
  const shown = (server: Server): Given => ({
    answers: { server, servers: [IDENTIFIER], removed: 'ok' },
    definition: 'kept',
    listsServers: true,
  });

  it.each(['same', 'other'] as const)('is held again without a person (%s process)', async (process) => {
    const found = await next(await missing(), NOW + 10 * HOUR, shown(late), process);
    expect(shownBy(found).reason).toBe('Available');
    expect(recordIn(found)).not.toHaveProperty('missingAt');
  });

  it('is cancelled with its object', async () => {
    expect((await next(deleted(await missing()), NOW + 10 * HOUR, shown(late))).calls).toContain('delete');
  });

  it.each([undefined, 'default/web', 'team-b/db (0123abcd)'])('is not if its name is %s', async (other) => {
    const found = await next(await missing(), NOW + 10 * HOUR, shown({ ...late, name: other }));
    expect(shownBy(found).reason).toBe('IdentityUnproven');
  });

  it('is not if others could choose its identifier', async () => {
    const object = web({ spec: { ...web().spec, identifier: IDENTIFIER } });
    const first = await visit(object, {
      ordersNamed: true,
      answers: { server: DENIED, servers: [], named: accepted, task: creating },
    });
    const sealed = withRecord(first, { missingAt: '2026-01-02T00:00:00Z' });
    const found = await next(sealed, NOW + 10 * HOUR, shown(late), 'other');
    expect(shownBy(found).reason).toBe('IdentityUnproven');
  });

  it('is not if it was read before, and shows nothing of what it showed', async () => {
    const sealed = withRecord(await missing(), { fingerprint: { ipv6: ['2001:db8::99'] } });
    const found = await next(sealed, NOW + 10 * HOUR, shown({ ...late, macs: [] }), 'other');
    expect(shownBy(found).reason).toBe('IdentityUnproven');
  });
});

it('a list that has the same server twice has one server', async () => {
  const name = `default/web (${UID.slice(0, 8)})`;
  const twice = [
    { identifier: 'web0old', name },
    { identifier: 'web0old', name },
  ];
  const server = { ...SERVER, identifier: 'web0old', name };
  const visited = await ordering(web(), accepted, { answers: { listed: twice, server } });
  expect(recordIn(visited)).toMatchObject({ identifier: 'web0old' });
});

it('a name that looks like the mark of an object is refused', async () => {
  const object = web({ spec: { ...web().spec, serverName: 'shop/web (0123abcd) ' } });
  const visited = await ordering(object, accepted);
  expect(shownBy(visited)).toMatchObject({ reason: 'InvalidSpec' });
  expect(shownBy(visited).message).toContain(
    'spec.serverName must not end with eight hexadecimal digits in parentheses',
  );
  expect(visited.requests).toEqual([]);
});

it('the identifier of a failed order that shows the mark of another object is that of another object', async () => {
  const failed = [{ attempt: 'a0', identifier: 'srv9', account: ACCOUNT, said: 'no host' }];
  const theirs = { ...SERVER, identifier: 'srv9', name: 'team-b/db (0123abcd)' };
  const object = webWith({ owner: UID, mode: 'create', format: 2, failed });
  const answers = {
    server: theirs,
    servers: ['srv9'],
    order: { kind: 'created', task: 8 },
    task: { state: 'pending' },
  } as const;
  const visited = await visit(object, { listsServers: true, answers });
  expect(recordIn(visited)).toMatchObject({ task: 8, failed });
  expect(recordIn(visited)).not.toHaveProperty('identifier');
});

it('a Secret that no order may send is not read for what is masked: the mask would tell what is in it', async () => {
  const data = { url: 'postgres://app:hunter2@db' };
  const userDataFrom = { secretKeyRef: { name: 'db', key: 'url' } };
  const object = webWith({ ...KNOWN, mode: 'adopt' }, { spec: { userDataFrom } });
  const kubeWith = (type: string): ReturnType<typeof fakeKube> =>
    fakeKube({ getSecret: () => Promise.resolve({ type, data, resourceVersion: '1' }) });
  expect(await userDataText(object, kubeWith('Opaque'))).toBeUndefined();
  expect(await userDataText(object, kubeWith('vps-operator.dev/user-data'))).toBe(data.url);
});
