/** An order under an identifier of the operator: sent again until the provider has answered it, and never for a deletion. */
import { describe, expect, it } from 'vitest';
import { KubeError } from '../../../../src/kube/error.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { PagedList } from '../../../../src/provider/paged-list.ts';
import type { NamedOutcome } from '../../../../src/provider/types.ts';
import {
  ADOPT_ANNOTATION,
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../../../src/api/names.ts';
import { timestamp } from '../../../../src/base/duration.ts';
import { isNamed, type Held, type Named, type ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { withEvidence } from '../../../../src/virtual-server/decision/memo.ts';
import { annotatedRecordOf } from '../../../fixtures/records.ts';
import { Holders } from '../../../../src/virtual-server/shared/holders.ts';
import { CreateLimit } from '../../../../src/virtual-server/shared/limits.ts';
import {
  ACCOUNT,
  CATALOG,
  NOW,
  SERVER,
  TIMING,
  UID,
  denials as denialsOf,
  facts,
  web,
  webWith,
  type Shape,
} from '../../../fixtures/decision.ts';
import { inputsOf } from '../../../../src/virtual-server/decision/inputs.ts';
import { withAsked } from '../../../../src/virtual-server/decision/outcome.ts';
import { isSentAgain, sentAgain } from '../../../../src/virtual-server/decision/named.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { SSH_KEY } from '../../../fixtures/virtual-server.ts';
import { deleted, next, recordIn, sentIn } from './named-support.ts';
import { DENIED, shownBy, visit, type Given, type Visited } from '../../../fixtures/visits.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const IDENTIFIER = 'web00000000004h';
const accepted: NamedOutcome = { kind: 'created', task: 7 };
const error = new ResponseError(503, 'the words of the provider', {});
const lost: NamedOutcome = {
  kind: 'unclear',
  error: new ProviderError('PROVIDER_TIMEOUT', 'no answer'),
  isAnswered: false,
};
const failing: NamedOutcome = { kind: 'unclear', error, isAnswered: true };
const inUse: NamedOutcome = { kind: 'inUse', error: new ResponseError(409, 'in use', {}) };
const creating = { state: 'pending', identifier: IDENTIFIER } as const;
const named = { ...SERVER, identifier: IDENTIFIER };

/** The first visit, which orders. */
const ordering = (answer: NamedOutcome, given: Given = {}): Promise<Visited> =>
  visit(web({}), { ordersNamed: true, ...given, answers: { named: answer, task: creating, ...given.answers } });

it('is told in an Event with its identifier, when the provider has accepted it', async () => {
  const visited = await ordering(accepted);
  expect(visited.events).toEqual([
    {
      type: 'Normal',
      reason: 'ServerOrdered',
      note: `Ordered server ${IDENTIFIER} as task 7 with the API key in Secret vps-api-key: product VPSX4, diskSize 10240, image cloudinit-debian-trixie.raw.gz`,
    },
  ]);
  expect((await ordering(lost)).events).toEqual([]);
});

it('names the expected price if the limit in money has asked for it', async () => {
  const list = { products: { VPSX4: 1000 }, disks: { ssd: { price: 9, extent: 10 } } };
  const prices = { state: 'Available', list } as const;
  const { events } = await ordering(accepted, { maxPrice: 5000, answers: { prices } });
  expect(events[0]?.note).toMatch(/\. Expected price: 1009\.00$/);
});

describe('a listed server with the name of the object, which has lost its record', () => {
  const name = `default/web (${UID.slice(0, 8)})`;
  const listing = (given: Given, listed: { identifier: string; name?: string }[] = [{ identifier: 'web0old', name }]) =>
    ordering(accepted, { ...given, answers: { listed, ...given.answers } });

  it('is its server, and nothing is ordered', async () => {
    const visited = await listing({ answers: { server: { ...SERVER, identifier: 'web0old', name } } });
    expect(visited.requests).toEqual([]);
    expect(recordIn(visited)).toMatchObject({ mode: 'named', identifier: 'web0old' });
    expect(shownBy(visited).reason).toBe('Available');
  });

  it.each([{ ordersNamed: false }, { ordersNamed: false, listsServers: true as const }])(
    'is looked for while orders go without an identifier, if the provider has shown a list: %o',
    async (given) => {
      const answers = { server: { ...SERVER, identifier: 'web0old', name }, order: accepted };
      const visited = await listing({ ...given, answers });
      expect(visited.requests).toHaveLength(given.listsServers ? 0 : 1);
      if (given.listsServers) expect(recordIn(visited)).toMatchObject({ mode: 'named', identifier: 'web0old' });
    },
  );

  it('is waited for if no read shows it yet', async () => {
    const visited = await listing({ answers: { server: DENIED, servers: ['web0old'] } });
    expect(visited.requests).toEqual([]);
    expect(recordIn(visited)).toMatchObject({ identifier: 'web0old' });
    expect(shownBy(visited).reason).toBe('Creating');
  });

  it('is its server too if the list is longer than the page that has it', async () => {
    const identifier = 'web0old';
    const listed = new PagedList(new Set([identifier]), [{ identifier, name }]);
    for (const known of [{}, { listsServers: true as const }]) {
      const server = { ...SERVER, identifier, name };
      const visited = await ordering(accepted, { ...known, answers: { listed, server } });
      expect(visited.requests).toEqual([]);
      expect(recordIn(visited)).toMatchObject({ mode: 'named', identifier });
      expect(shownBy(visited).reason).toBe('Available');
    }
  });

  it.each([
    ['has another name', 'default/web (0123abcd)'],
    ['has a name that only ends like it', `Default/web (${UID.slice(0, 8)})`],
    ['has none', undefined],
  ])('is not if it %s', async (_, other) => {
    const visited = await listing({}, [{ identifier: 'web0old', name: other }]);
    expect(visited.requests).toEqual([expect.objectContaining({ identifier: IDENTIFIER })]);
  });

  it('is not if another object holds it', async () => {
    const holders = new Holders(() => ACCOUNT);
    const first = { namespace: 'default', name: 'first', secret: 'provider', account: ACCOUNT, identifier: 'web0old' };
    holders.set('uid-first', first);
    expect((await listing({ holders })).requests).toHaveLength(1);
  });

  it('is ordered neither nor held while another object asks about its listed server', async () => {
    const holders = new Holders(() => ACCOUNT);
    const other = { namespace: 'default', name: 'other', secret: 'key', account: ACCOUNT, identifier: 'web0old' };
    holders.reserve('uid-other', other, () => undefined);
    const asked = await listing({ holders });
    expect(asked.requests).toEqual([]);
    expect(recordIn(asked)).toBeUndefined();
    expect(asked.requeueAfterMs).toBeDefined();
  });

  it('is not the server of a failed order, which is read anyway', async () => {
    const failed = [{ attempt: 'a0', identifier: 'web0old', account: ACCOUNT, said: 'no' }];
    const object = web({ annotated: { owner: UID, mode: 'create', failed } });
    const visited = await visit(object, {
      ordersNamed: true,
      answers: {
        listed: [{ identifier: 'web0old', name }],
        server: DENIED,
        servers: [],
        named: accepted,
        task: creating,
      },
    });
    expect(visited.requests).toEqual([expect.objectContaining({ identifier: IDENTIFIER })]);
  });

  it.each([
    { what: 'does not answer', listed: new ProviderError('PROVIDER_TIMEOUT', 'no answer') },
    { what: 'answers 503', listed: new ResponseError(503, 'Listing the servers failed: the provider answered 503') },
    { what: 'answers 429', listed: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down') },
    { what: 'answers 403', listed: new ResponseError(403, 'may not', { code: 'PROVIDER_FORBIDDEN' }) },
    { what: 'answers something else', listed: new ProviderError('PROVIDER_PROTOCOL', 'no list') },
    {
      what: 'has more pages after the one that lacks it',
      listed: new PagedList(new Set(['a']), [{ identifier: 'a' }]),
    },
  ])('is waited for if the list $what, also for a process that has never read it', async ({ listed }) => {
    for (const known of [{}, { listsServers: true as const }]) {
      const visited = await ordering(accepted, { ...known, answers: { listed } });
      expect(visited.requests).toEqual([]);
      expect(recordIn(visited)).toBeUndefined();
      const { message } = shownBy(visited);
      expect(message).toContain(listed.message);
      const isForbidden = listed.code === 'PROVIDER_FORBIDDEN';
      expect(message?.includes('permission to list servers')).toBe(isForbidden);
      const isPage = listed instanceof PagedList;
      expect(message?.includes('set spec.identifier')).toBe(isPage || (!isForbidden && !('listsServers' in known)));
      expect(message?.includes('to a free identifier, if the provider answers reads of those with 404')).toBe(isPage);
      expect(message).toContain(`set the annotation ${ADOPT_ANNOTATION} to its identifier`);
      expect(message).toContain(
        'server of an earlier order of this object, whose record was lost, so the order waits for it',
      );
      const later = await next(visited, NOW + HOUR, {
        ordersNamed: true,
        answers: { listed: [], named: accepted, task: creating },
      });
      expect(later.requests).toHaveLength(1);
    }
  });

  it.each<{ way: string; shape: Shape; given: Given; requests: number; reason?: string }>([
    {
      way: 'an identifier with a 404',
      shape: { spec: { identifier: 'shop1' } },
      given: { answers: { server: DENIED } },
      requests: 1,
    },
    {
      way: 'no identifier with a 403, which proves nothing',
      shape: { spec: { identifier: 'shop1' } },
      given: { answers: { server: new ResponseError(403, 'no', { code: 'PROVIDER_NOT_FOUND' }) } },
      requests: 0,
    },
    {
      way: 'the adoption of the earlier server',
      shape: { annotations: { [ADOPT_ANNOTATION]: 'web0old' } },
      given: { answers: { server: { ...SERVER, identifier: 'web0old', name } } },
      requests: 0,
      reason: 'Available',
    },
    { way: '--orders=anonymous', shape: {}, given: { ordersNamed: false, answers: { order: accepted } }, requests: 1 },
  ])(
    'is waited for no longer, where only one page of the list is shown, with $way',
    async ({ shape, given, ...then }) => {
      const page = new PagedList(new Set(['a']), [{ identifier: 'a' }]);
      const visited = await visit(web(shape), {
        ordersNamed: true,
        listsServers: true,
        ...given,
        answers: { named: accepted, task: creating, listed: page, servers: page, ...given.answers },
      });
      expect(visited.requests).toHaveLength(then.requests);
      if (then.reason !== undefined) expect(shownBy(visited).reason).toBe(then.reason);
    },
  );

  it('cannot be looked for where the provider answers the list like any unknown path, until it has shown it', async () => {
    const listed = new ResponseError(400, 'Bad request');
    expect((await ordering(accepted, { answers: { listed } })).requests).toHaveLength(1);
    expect((await ordering(accepted, { listsServers: true, answers: { listed } })).requests).toEqual([]);
  });

  it('is one of several only if you say which', async () => {
    const visited = await listing({}, [
      { identifier: 'web0old', name },
      { identifier: 'web0older', name },
    ]);
    expect(visited.requests).toEqual([]);
    const { reason, message } = shownBy(visited);
    expect(reason).toBe('IdentifierTaken');
    expect(message).toContain("The servers web0old and web0older have the name of this object's order");
    expect(message).toContain('vps-operator.dev/adopt=');
  });

  it('takes no place in a limit that it did not have before', async () => {
    const answers = { server: { ...SERVER, identifier: 'web0old', name } };
    const visited = await listing({ places: 1, taken: 1, answers });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited).reason).toBe('Available');
  });
});

describe('the first order', () => {
  it('is claimed with its identifier, and sent with the name of its object', async () => {
    const visited = await ordering(accepted);
    expect(visited.calls).toEqual(['catalog', 'write', 'named', 'poll']);
    expect(visited.requests).toEqual([
      expect.objectContaining({ identifier: IDENTIFIER, product: 'VPSX4', name: `default/web (${UID.slice(0, 8)})` }),
    ]);
    const stored = annotatedRecordOf(visited.object as VirtualServer);
    expect(stored).toMatchObject({ mode: 'named', attempt: 'a1', identifier: IDENTIFIER, account: ACCOUNT });
    expect(stored).not.toHaveProperty('task');
  });

  it('has the name that you choose in its place', async () => {
    const { requests } = await visit(web({ spec: { ...web().spec, serverName: 'Shop' } }), {
      ordersNamed: true,
      answers: { named: accepted, task: creating },
    });
    expect(requests).toEqual([expect.objectContaining({ name: 'Shop' })]);
  });

  it('is ready with two writes more, the last of which is the status', async () => {
    const first = await ordering(accepted);
    const ready = await next(first, NOW + MINUTE, {
      answers: { task: { state: 'complete', identifier: IDENTIFIER }, server: named },
    });
    expect(ready.calls).toEqual(['poll', 'read', 'write']);
    expect(shownBy(ready).reason).toBe('Available');
    expect(recordIn(ready)).toMatchObject({ identifier: IDENTIFIER, fingerprint: { macs: SERVER.macs } });
    const later = await next(ready, NOW + 2 * MINUTE + TIMING.resyncMs, { answers: { server: named } });
    expect(later.calls).toEqual(['read']);
  });

  it.each([
    ['a ttl', { ttl: '2m' }],
    ['an expiry', { expiresAt: '2026-01-02T00:03:00Z' }],
  ])('is visited when its server expires by %s, before the next resync', async (_, spec) => {
    const first = await visit(web({ spec }), { ordersNamed: true, answers: { named: accepted, task: creating } });
    let ready = await next(first, NOW + MINUTE, {
      answers: { task: { state: 'complete', identifier: IDENTIFIER }, server: named },
    });
    expect(shownBy(ready).reason).toBe('Available');
    // The annotation gets the start of the ttl first.
    if ('ttl' in spec) ready = await next(ready, NOW + MINUTE, { answers: { server: named } });
    expect(ready.requeueAfterMs).toBe(2 * MINUTE);
  });

  it('gets the start of a ttl into the annotation at once, since the status may be lost', async () => {
    const fresh = web({});
    const first = await visit(
      { ...fresh, spec: { ...fresh.spec, ttl: '72h' } },
      { ordersNamed: true, answers: { named: accepted, task: creating } },
    );
    const over = { task: { state: 'complete', identifier: IDENTIFIER }, server: named } as const;
    const ready = await next(first, NOW + MINUTE, { answers: over });
    expect(ready.requeueAfterMs).toBe(0);
    const later = await next(ready, NOW + MINUTE, { answers: over });
    expect(annotatedRecordOf(later.object as VirtualServer)).toHaveProperty('readyAt');
  });

  it('leaves nothing if the provider certainly created nothing', async () => {
    for (const answer of [
      { kind: 'refused', status: 400, error },
      { kind: 'notCreated', error },
      { kind: 'notOffered', error },
    ] as const) {
      const visited = await ordering(answer);
      expect(recordIn(visited)).not.toHaveProperty('attempt');
      expect(recordIn(visited)).toMatchObject({ mode: 'create' });
      expect(shownBy(visited).reason).toBe(answer.kind === 'refused' ? 'CreateRejected' : 'ProviderUnavailable');
    }
  });

  it('waits while the provider does not say whether it has a list of servers', async () => {
    const visited = await visit(web({}), { ordersNamed: new ResponseError(500, 'no list', {}) });
    expect(visited.requests).toEqual([]);
    expect(recordIn(visited)).toBeUndefined();
    expect(shownBy(visited)).toMatchObject({ reason: 'ProviderUnavailable' });
    expect(shownBy(visited).message).toMatch(
      /With --orders=auto, this list decides .* so the order waits for it\..* --orders=anonymous/,
    );
  });

  it('says what follows if the provider takes no orders under an identifier', async () => {
    const { message } = shownBy(await ordering({ kind: 'notOffered', error }));
    expect(message).toMatch(/^Nothing was ordered: .* takes no orders under an identifier\. With --orders=auto, /);
    expect(message).toContain('With --orders=named, it cannot order here');
    expect(message).not.toContain('--base-url');
  });

  it('needs no journal', async () => {
    const visited = await ordering(accepted, { journalProblem: 'the disk is full' });
    expect(sentIn(visited)).toBe(1);
  });

  it('is not sent by a process that no longer leads', async () => {
    const visited = await ordering(accepted, { leads: false });
    expect(visited.requests).toEqual([]);
    expect(recordIn(visited)).not.toHaveProperty('attempt');
  });
});

describe('an order without an answer', () => {
  const denied = { answers: { server: DENIED, servers: [], named: accepted, task: creating } };

  it('asks no person', async () => {
    const visited = await ordering(lost);
    expect(shownBy(visited)).toMatchObject({
      reason: 'Creating',
      message: expect.stringContaining('sends the same order again') as string,
    });
    expect(isNamed(recordIn(visited) as ServerRecord)).toBe(true);
  });

  it('is not sent again while it may still be on its way', async () => {
    const first = await ordering(lost);
    for (const process of ['same', 'other'] as const) {
      const soon = await next(first, NOW + TIMING.takeoverMs - 1, denied, process);
      expect(soon.calls).toContain('read');
      expect(sentIn(soon)).toBe(0);
    }
  });

  it('is sent again unchanged after that, by any process', async () => {
    const first = await ordering(lost);
    for (const process of ['same', 'other'] as const) {
      const seen = await next(first, NOW + 1, denied, process);
      const again = await next(seen, NOW + TIMING.takeoverMs + 1, denied);
      expect(again.requests).toEqual(first.requests);
      expect(recordIn(again)).toMatchObject({ attempt: 'a1', identifier: IDENTIFIER, task: 7 });
    }
  });

  it.each([
    ['ahead', 24 * HOUR],
    ['behind', -24 * HOUR],
  ])('is not sent again sooner by another process whose clock is %s', async (_, skew) => {
    const first = await ordering(lost);
    const record = recordIn(first) as Named;
    const at = new Date(NOW - skew).toISOString();
    const skewed = { ...record, sent: { ...record.sent, at }, attemptedAt: timestamp(NOW - skew) };
    const object = { ...first, object: webWith(skewed, { finalizers: [FINALIZER] }) };
    const seen = await next(object, NOW, denied, 'other');
    expect(sentIn(seen)).toBe(0);
    expect(sentIn(await next(seen, NOW + TIMING.takeoverMs - 1, denied))).toBe(0);
  });

  it('is claimed again at a later time, whichever clock the claim before was written under', async () => {
    const record = recordIn(await ordering(lost)) as Named;
    for (const skew of [0, 24 * HOUR]) {
      const at = new Date(NOW + skew).toISOString();
      const before = { ...record, sent: { ...record.sent, at }, attemptedAt: timestamp(NOW + skew) };
      const again = sentAgain(before, viewOf(web(), facts()));
      expect(Date.parse(again.sent.at)).toBeGreaterThan(Date.parse(at));
      expect(isSentAgain(before)).toBe(false);
      expect(isSentAgain(again)).toBe(true);
    }
  });

  it('is sent again under its identifier when you have written down what the provider does anyway', async () => {
    const first = await ordering(lost);
    const object = first.object as VirtualServer;
    object.spec = { ...object.spec, ipv4: false, diskType: 'ssd' };
    const again = await next(first, NOW + TIMING.takeoverMs + 1, denied);
    expect(again.requests).toEqual([expect.objectContaining({ identifier: IDENTIFIER, ipv4: false })]);
  });

  it('is given up in time when it cannot be repeated, because its Secret is gone', async () => {
    const spec = { sshKeysFrom: [{ name: 'team', key: 'keys' }] };
    const answers = { named: lost, task: creating };
    let visited = await visit(web({ spec }), { ordersNamed: true, sshKeys: { team: SSH_KEY }, answers });
    expect(sentIn(visited)).toBe(1);
    let ms = TIMING.takeoverMs + 1;
    for (; recordIn(visited)?.failed === undefined && ms < 3 * HOUR; ms += MINUTE) {
      visited = await next(visited, NOW + ms, { ...denied, listsCreating: true });
      expect(sentIn(visited)).toBe(0);
      if (ms < HOUR / 2) expect(shownBy(visited).message).toContain('can no longer be read');
    }
    expect(recordIn(visited)?.failed).toEqual([expect.objectContaining({ identifier: IDENTIFIER })]);
    expect(ms).toBeGreaterThan(12 * TIMING.absenceMs);
  });

  it('is sent again the same way when the account no longer takes such orders', async () => {
    const first = await ordering(lost);
    const again = await next(first, NOW + TIMING.takeoverMs + 1, { ...denied, ordersNamed: false });
    expect(again.requests).toEqual(first.requests);
    expect(recordIn(again)).toMatchObject({ mode: 'named', attempt: 'a1', identifier: IDENTIFIER });
  });

  it('is refused once it is proven that no earlier request has led to a server', async () => {
    const refused: NamedOutcome = { kind: 'refused', status: 422, error: new ResponseError(422, 'sold out', {}) };
    let visited = await ordering(lost);
    let sent = 0;
    let now = NOW + TIMING.takeoverMs + 1;
    const answers = { ...denied.answers, servers: ['another'], named: refused };
    for (; shownBy(visited).reason !== 'CreateRejected' && now < NOW + 2 * HOUR; now += TIMING.absenceMs / 2) {
      visited = await next(visited, now, { answers, listsCreating: true });
      sent += sentIn(visited);
    }
    expect(shownBy(visited)).toMatchObject({
      reason: 'CreateRejected',
      message: expect.stringContaining('sold out') as string,
    });
    expect(now - NOW).toBeGreaterThan(TIMING.takeoverMs + TIMING.absenceMs);
    expect(sent).toBe(2);
    expect(recordIn(visited)).not.toHaveProperty('attempt');
    expect(recordIn(visited)?.failed).toEqual([expect.objectContaining({ attempt: 'a1', identifier: IDENTIFIER })]);
  });

  it('is looked for again after each request: earlier denials prove nothing about a later one', async () => {
    const proof = {
      of: `server ${IDENTIFIER}`,
      since: -2 * HOUR,
      countedAt: -MINUTE,
      lastAt: -MINUTE,
      counted: 9,
      unlisted: 'yes',
    } as const;
    const first = await ordering(lost);
    const proven = {
      ...first,
      memo: withEvidence(first.memo, { denials: { ...proof, since: proof.since, lastAt: 0 } }),
    };
    const refusals: NamedOutcome[] = [
      { kind: 'refused', status: 402, error },
      { kind: 'notCreated', error },
      { kind: 'notOffered', error },
      inUse,
    ];
    for (const refusal of refusals) {
      const now = NOW + TIMING.takeoverMs + 1;
      const again = await next(proven, now, { answers: { ...denied.answers, named: failing } });
      expect(sentIn(again)).toBe(1);
      const later = await next(again, now + 10_000, { answers: { ...denied.answers, named: refusal } });
      expect(sentIn(later)).toBe(1);
      expect(recordIn(later)).toMatchObject({ attempt: 'a1', identifier: IDENTIFIER });
    }
  });

  it('asks after a day if no list of servers can prove that there is none', async () => {
    const first = await ordering(inUse);
    const late = await next(first, NOW + 25 * HOUR, { answers: { server: DENIED } });
    expect(shownBy(late).reason).toBe('CreateOutcomeUnknown');
  });

  it('counts once in --max-creates-per-hour, however often it is sent', async () => {
    const limit = new CreateLimit(2);
    let visited = await ordering(lost, { limit });
    for (let times = 1; times <= 3; times++)
      visited = await next(visited, NOW + times * (TIMING.takeoverMs + 1), {
        answers: { ...denied.answers, named: lost },
        limit,
      });
    expect(sentIn(visited)).toBe(1);
    const now = 3 * (TIMING.takeoverMs + 1);
    expect(limit.reserve('default', 'of-another', now)).not.toHaveProperty('freeInMs');
    expect(limit.reserve('default', 'of-a-third', now)).toHaveProperty('freeInMs');
  });

  it('forgets the task of an earlier request before it is sent again', async () => {
    const first = await ordering(accepted);
    const gone = { task: DENIED, server: DENIED, servers: [], products: CATALOG.products, named: lost };
    let visited = first;
    let now = NOW;
    for (; sentIn(visited) === 0 || visited === first; now += TIMING.absenceMs / 2) {
      expect(now).toBeLessThan(NOW + 2 * HOUR);
      visited = await next(visited, now, { answers: gone });
    }
    expect(visited.requests).toEqual(first.requests);
    expect(recordIn(visited)).not.toHaveProperty('task');
    // The task of the earlier request is not polled again either.
    const later = await next(visited, now + TIMING.takeoverMs, { answers: { server: named } });
    expect(later.calls).not.toContain('poll');
    expect(shownBy(later).reason).toBe('Available');
  });

  it('is sent again at once after an error that the provider has answered', async () => {
    const first = await ordering(failing);
    const again = await next(first, NOW + MINUTE, denied);
    expect(sentIn(again)).toBe(1);
  });

  it('is not sent again if the provider shows the server, or lists it', async () => {
    const first = await ordering(lost);
    const shown = await next(first, NOW + TIMING.takeoverMs + 1, { answers: { server: named } }, 'other');
    expect(sentIn(shown)).toBe(0);
    expect(shownBy(shown).reason).toBe('Available');
    const listed = await next(first, NOW + TIMING.takeoverMs + 1, {
      answers: { server: DENIED, servers: [IDENTIFIER] },
    });
    expect(sentIn(listed)).toBe(0);
    expect(shownBy(listed).reason).toBe('Creating');
  });

  it('waits for a server of which the provider says that it is being created', async () => {
    const first = await ordering(lost);
    const answers = { server: new ResponseError(409, 'still being created', { said: 'still being created' }) };
    const busy = await next(first, NOW + TIMING.takeoverMs + 1, { answers });
    expect(sentIn(busy)).toBe(0);
    expect(shownBy(busy).reason).toBe('Creating');
  });

  it('is not sent if the API server refuses to store the claim', async () => {
    const refusesMetadata = new KubeError('Forbidden', 'a policy forbids it', { status: 403 });
    const refused = await ordering(accepted, { refusesMetadata, fails: true });
    expect(refused.requests).toEqual([]);
    expect(shownBy(refused).message).toContain('The operator orders nothing before the order is stored');
  });

  it('is not sent again once spec has changed: another one follows when the absence is proven', async () => {
    const first = await ordering(lost);
    const spec = { ...first.object?.spec, product: 'VPSX8' } as VirtualServer['spec'];
    let visited: Visited = { ...first, calls: [], object: { ...(first.object as VirtualServer), spec } };
    let now = NOW + TIMING.takeoverMs;
    for (; sentIn(visited) === 0 && now < NOW + 2 * HOUR; now += TIMING.absenceMs / 2)
      visited = await next(visited, now, denied);
    expect(now - NOW).toBeGreaterThan(12 * TIMING.absenceMs);
    expect(visited.requests).toEqual([expect.objectContaining({ product: 'VPSX8' })]);
  });

  describe.each<[string, Record<string, string>]>([
    ['not-created', { [NOT_CREATED_ANNOTATION]: 'a1' }],
    ['server-gone', { [SERVER_GONE_ANNOTATION]: IDENTIFIER }],
  ])('of which you say %s', (word, said) => {
    const saying = async (): Promise<Visited> => {
      const first = await ordering(lost);
      const object = first.object as VirtualServer;
      const annotations = { ...object.metadata.annotations, ...said };
      return { ...first, object: { ...object, metadata: { ...object.metadata, annotations } } };
    };
    const after = NOW + TIMING.takeoverMs + 1;
    const contrary: [string, Given['answers']][] = [
      ['its list has the server', { server: DENIED, servers: [IDENTIFIER] }],
      ['it answers 409', { server: new ResponseError(409, 'still being created', { said: 'still being created' }) }],
      ['it gives no answer', { server: new ProviderError('PROVIDER_TIMEOUT', 'no answer') }],
      ['it shows no product to the key', { server: DENIED, servers: [], products: [] }],
    ];

    it('is given up once the provider denies the server and nothing can be on its way: another order follows', async () => {
      const asked = await saying();
      const soon = await next(asked, NOW + MINUTE, denied);
      expect(sentIn(soon)).toBe(0);
      expect(recordIn(soon)).toMatchObject({ attempt: 'a1' });
      expect(shownBy(soon).message).toContain(`Annotation vps-operator.dev/${word} counts only once`);
      expect(recordIn(await next(soon, after, denied))?.settled).toEqual(['a1']);
    });

    it('is given up by another process as late as by the one that sent it, whatever its clock says', async () => {
      const asked = await saying();
      const seen = await next(asked, after, denied, 'other');
      expect(sentIn(seen)).toBe(0);
      expect(recordIn(seen)).toMatchObject({ attempt: 'a1' });
      expect(recordIn(await next(seen, after + TIMING.takeoverMs, denied))?.settled).toEqual(['a1']);
    });

    it('is not given up because of a denial from the time when it could be on its way', async () => {
      const soon = await next(await saying(), NOW + MINUTE, denied);
      const shown = await next(soon, after, { answers: { ...denied.answers, server: named } });
      expect(sentIn(shown)).toBe(0);
      expect(recordIn(shown)).toMatchObject({ attempt: 'a1', identifier: IDENTIFIER });
      expect(shownBy(shown).reason).toBe('Available');
    });

    it.each(contrary)('is not given up while the provider says otherwise: %s', async (_, answers) => {
      const before = await next(await saying(), NOW + MINUTE, denied);
      const later = await next(before, after, { listsServers: true, answers: { ...denied.answers, ...answers } });
      expect(later.requests).toEqual([]);
      expect(recordIn(later)).toMatchObject({ attempt: 'a1' });
      expect(shownBy(later).message).toContain(`Annotation vps-operator.dev/${word} counts only once`);
      const again = await next(later, after + MINUTE, {
        listsServers: true,
        answers: { ...denied.answers, ...answers },
      });
      expect(again.requests).toEqual([]);
      expect(recordIn(again)).toMatchObject({ attempt: 'a1' });
      // It counts as soon as the provider denies the server.
      expect(recordIn(await next(again, after + 2 * MINUTE, denied))?.settled).toEqual(['a1']);
    });

    it.each(contrary.slice(0, 2))(
      'keeps its deleted object while the provider says otherwise: %s',
      async (_, answers) => {
        const asked = deleted(await saying());
        const removed = new ResponseError(409, 'being created', {});
        let kept = asked;
        for (const ms of [0, MINUTE])
          kept = await next(kept, after + ms, { listsServers: true, answers: { removed, ...answers } });
        expect(kept.object).toBeDefined();
        const gone = await next(kept, after + 2 * MINUTE, {
          answers: { server: DENIED, servers: [], removed: DENIED },
        });
        expect(gone.object).toBeUndefined();
      },
    );

    it.each(contrary)('is not given up by a denial from before you said so: %s', async (_, answers) => {
      const first = await next(await ordering(inUse), NOW + MINUTE, denied);
      const object = first.object as VirtualServer;
      const annotations = { ...object.metadata.annotations, ...said };
      const asked = { ...first, object: { ...object, metadata: { ...object.metadata, annotations } } };
      const given = { listsServers: true, answers: { ...denied.answers, ...answers } } as const;
      const later = await next(asked, NOW + 2 * MINUTE, given);
      expect(later.requests).toEqual([]);
      expect(recordIn(await next(later, NOW + 3 * MINUTE, given))).toMatchObject({ attempt: 'a1' });
    });

    it('is given up with the key of another account, which cannot ask for the server, once nothing can be on its way', async () => {
      const other = { ...denied, account: 'another-account' } as const;
      const soon = await next(await saying(), NOW + MINUTE, other);
      expect(recordIn(soon)).toMatchObject({ attempt: 'a1' });
      expect(shownBy(soon).message).toContain(`Annotation vps-operator.dev/${word} counts only once`);
      expect(recordIn(await next(soon, after, other))?.settled).toEqual(['a1']);
    });

    it('is given up too if the provider has no list, and has denied the server before', async () => {
      const unlisted = { answers: { ...denied.answers, servers: new ResponseError(404, 'no such call', {}) } };
      const { object = web(), ...first } = await next(await ordering(inUse), NOW + MINUTE, unlisted);
      const annotations = { ...object.metadata.annotations, ...said };
      const asked = { ...first, object: { ...object, metadata: { ...object.metadata, annotations } } };
      expect(recordIn(await next(asked, after, unlisted))?.settled).toEqual(['a1']);
    });

    it('is not given up because of a key that has since been put back', async () => {
      const other = { ...denied, account: 'another-account' } as const;
      const { object = web(), ...first } = await next(await ordering(lost), after, other);
      const annotations = { ...object.metadata.annotations, ...said };
      const asked = { ...first, object: { ...object, metadata: { ...object.metadata, annotations } } };
      const answers = { server: DENIED, servers: [IDENTIFIER] };
      const back = await next(asked, after + MINUTE, { listsServers: true, answers });
      expect(sentIn(back)).toBe(0);
      expect(recordIn(back)).toMatchObject({ attempt: 'a1' });
    });

    it('is not given up by a denial from before the last question', async () => {
      const { object = web(), memo } = await saying();
      const denials = denialsOf(`server ${IDENTIFIER}`, inputsOf(object));
      const view = viewOf(object, facts({ memo: withEvidence(memo, { denials }) }));
      const operation = { type: 'look', record: view.own as Held } as const;
      const asked = withAsked(view, operation, { memo: view.memo, events: [], when: { afterMs: 1 } });
      expect(asked.memo.evidence.denials).toMatchObject({ of: `server ${IDENTIFIER}`, inputs: undefined });
    });

    it('keeps its deleted object if a DELETE is answered with 409', async () => {
      const removed = new ResponseError(409, 'being created', {});
      const answers = { server: DENIED, servers: [], removed };
      const kept = await next(deleted(await saying()), after, { answers });
      expect(kept.calls).toContain('delete');
      expect(kept.object).toBeDefined();
    });
  });

  it('is not sent again with another key', async () => {
    const first = await ordering(lost);
    const other = await next(first, NOW + TIMING.takeoverMs + 1, { ...denied, account: 'another-account' });
    expect(sentIn(other)).toBe(0);
    expect(shownBy(other).reason).toBe('ServerNotVisible');
  });

  it('is not sent again while its identifier is in use', async () => {
    const first = await ordering(inUse);
    const again = await next(first, NOW + TIMING.takeoverMs + 1, denied);
    expect(sentIn(again)).toBe(0);
    expect(shownBy(again)).toMatchObject({
      reason: 'Creating',
      message: expect.stringContaining('is in use') as string,
    });
  });

  it('asks after a day', async () => {
    const first = await next(await ordering(lost), NOW + 1, denied, 'other');
    const late = await next(first, NOW + 25 * HOUR, denied);
    expect(sentIn(late)).toBe(0);
    expect(shownBy(late).reason).toBe('CreateOutcomeUnknown');
    // The server may appear all the same.
    expect(late.requeueAfterMs).toBeLessThanOrEqual(TIMING.resyncMs);
  });

  it('is never sent again for an object that is being deleted', async () => {
    const first = deleted(await ordering(lost));
    const soon = await next(first, NOW + MINUTE, denied);
    expect(shownBy(soon).reason).toBe('CreateInFlight');
    const later = await next(first, NOW + TIMING.takeoverMs + 1, {
      answers: { ...denied.answers, removed: DENIED },
      definition: 'kept',
    });
    expect(sentIn(soon) + sentIn(later)).toBe(0);
    const shown = await next(first, NOW + TIMING.takeoverMs + 1, { answers: { server: named, removed: 'ok' } });
    expect(shown.calls).toContain('delete');
  });
});

describe('an order whose object is deleted with Retain before its server was shown', () => {
  const denied = { answers: { server: DENIED, servers: [] } };
  const retained = (visited: Visited): Visited => {
    const before = deleted(visited);
    if (before.object === undefined) throw new Error('the object is gone');
    const { spec } = before.object;
    return { ...before, object: { ...before.object, spec: { ...spec, deletionPolicy: 'Retain' } } };
  };
  const eventsOf = ({ events }: Visited): (string | undefined)[] => events.map(({ reason }) => reason);

  it('is kept until the provider shows the server, which is then left running', async () => {
    const first = retained(await ordering(failing));
    const unseen = await next(first, NOW + MINUTE, denied);
    expect(unseen.object).toBeDefined();
    expect(shownBy(unseen).reason).toBe('AbsenceUnproven');
    const seen = await next(unseen, NOW + 2 * MINUTE, { answers: { server: named } });
    expect(seen.object).toBeUndefined();
    expect(eventsOf(seen)).toEqual(['RetainedServer']);
    expect([...unseen.calls, ...seen.calls]).not.toContain('delete');
  });

  it('leaves nothing once its absence is proven', async () => {
    let visited = retained(await ordering(failing));
    const seen: string[] = [];
    let ms = MINUTE;
    for (; visited.object !== undefined && ms < 2 * HOUR; ms += MINUTE) {
      const { object } = visited;
      visited = await next(visited, NOW + ms, denied);
      seen.push(...visited.calls);
      if (visited.object !== undefined) expect(visited.object.metadata.uid).toBe(object.metadata.uid);
    }
    expect(visited.object).toBeUndefined();
    expect(ms).toBeGreaterThan(12 * TIMING.absenceMs);
    expect(eventsOf(visited)).toEqual([]);
    expect(seen).not.toContain('delete');
    expect(seen).not.toContain('named');
  });

  it('waits for a running task', async () => {
    const first = retained(await ordering(accepted));
    const runs = await next(first, NOW + 2 * MINUTE, { answers: { task: creating } });
    expect(runs.object).toBeDefined();
    expect(runs.calls).toContain('poll');
    const over = { task: { state: 'complete', identifier: IDENTIFIER }, server: named } as const;
    const seen = await next(runs, NOW + 4 * MINUTE, { answers: over });
    expect(seen.object).toBeUndefined();
    expect(eventsOf(seen)).toEqual(['RetainedServer']);
  });
});

describe('an order of which a proxy may hold back a request', () => {
  const GRACE = TIMING.absenceMs;
  const text = 'No host has room';
  const fails = new ResponseError(500, `failed: ${text}`, { said: text });
  const gone = { server: DENIED, servers: [], products: CATALOG.products };

  /** Visits of one process, a minute apart, until `ends`; how long that took (ms). */
  async function lasts(first: Visited, given: Given, ends: (visited: Visited) => boolean): Promise<number> {
    let visited = first;
    const from = NOW + TIMING.takeoverMs + 1;
    for (let ms = 0; ms < 3 * HOUR; ms += MINUTE) {
      visited = await next(visited, from + ms, { listsCreating: true, definition: 'kept', ...given });
      if (ends(visited)) return ms;
    }
    return Infinity;
  }

  it('is given up as late as one without an answer if the task of a later request fails', async () => {
    const hasFailed = (visited: Visited): boolean => recordIn(visited)?.failed !== undefined;
    const answers = { ...gone, named: accepted, task: fails };
    expect(await lasts(await ordering(lost), { answers }, hasFailed)).toBeGreaterThan(12 * GRACE);
    // If there was one request, its task says all.
    expect(await lasts(await ordering(accepted), { answers }, hasFailed)).toBeLessThan(2 * GRACE);
  });

  it('keeps its object as long after a DELETE whose answer was lost', async () => {
    const isGone = ({ object }: Visited): boolean => object === undefined;
    const from = NOW + TIMING.takeoverMs + 1;
    const answers = { ...gone, removed: new ResponseError(500, 'down', {}) };
    const asked = await next(deleted(await ordering(lost)), from, { answers, definition: 'kept' });
    expect(asked.memo.evidence.end).toMatchObject({ state: 'requested' });
    expect(await lasts(asked, { answers: { ...gone, removed: DENIED } }, isGone)).toBeGreaterThanOrEqual(12 * GRACE);
    // If the process has seen the server, the DELETE explains its absence.
    const shown = { ...answers, server: named };
    const seen = await next(deleted(await ordering(lost)), from, { answers: shown, definition: 'kept' });
    expect(await lasts(seen, { answers: { ...gone, removed: DENIED } }, isGone)).toBeLessThan(2 * GRACE);
  });
});

describe('an order whose task names another server', () => {
  const other = 'c31222v38r';
  const answers = { named: accepted, server: DENIED, servers: [other] };

  it.each(['pending', 'complete'] as const)('is never sent again, and asks you (%s)', async (state) => {
    const given = { listsServers: true, answers: { ...answers, task: { state, identifier: other } } } as const;
    let visited = await visit(web({}), { ordersNamed: true, ...given });
    const first = visited;
    for (let ms = MINUTE; ms <= 2 * HOUR; ms += MINUTE) {
      visited = await next(visited, NOW + ms, given);
      expect(visited.requests).toEqual([]);
    }
    expect(sentIn(first)).toBe(1);
    expect(shownBy(visited)).toMatchObject({ reason: 'TaskInUse' });
    expect(shownBy(visited).message).toContain(`names server ${other}. The order named server ${IDENTIFIER}`);

    const adopting = annotated(visited, { [ADOPT_ANNOTATION]: other });
    const server = { ...SERVER, identifier: other };
    const held = await next(adopting, NOW + 2 * HOUR + MINUTE, { ...given, answers: { ...given.answers, server } });
    expect(recordIn(held)).toMatchObject({ mode: 'adopt', identifier: other });
  });
});

describe('an order that may still arrive when the time of its object is up', () => {
  const expiresAt = timestamp(NOW + MINUTE);

  it('is not ended by your word before it can no longer arrive', async () => {
    const first = await visit(web({ spec: { expiresAt } }), { ordersNamed: true, answers: { named: lost } });
    const said = annotated(first, { [SERVER_GONE_ANNOTATION]: IDENTIFIER });
    const answers = { server: DENIED, servers: [], removed: DENIED };
    const waits = await next(said, NOW + MINUTE + 1, { answers });
    expect(recordIn(waits)).toMatchObject({ identifier: IDENTIFIER });
    expect(recordIn(waits)?.expiredAt).toBeUndefined();
    expect(shownBy(waits).reason).toBe('CreateInFlight');
    const over = await next(waits, NOW + TIMING.takeoverMs + MINUTE, { answers });
    expect(over.requests).toEqual([]);
    expect(shownBy(over).reason).toBe('Expired');
  });
});

function annotated({ object, ...visited }: Visited, annotations: Record<string, string>): Visited {
  if (object === undefined) throw new Error('the object is gone');
  const { metadata } = object;
  return {
    ...visited,
    object: { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } },
  };
}
