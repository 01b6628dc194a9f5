/** What an order checks before it claims an attempt, in which order, and what it sends. */
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { ProviderError } from '../../../../src/provider/error.ts';
import { CreateLimit } from '../../../../src/virtual-server/shared/limits.ts';
import { ACCOUNT, ATTEMPTED, TASKED, TIMING, record, web, webWith } from '../../../fixtures/decision.ts';
import { shownBy, visit, type Given, type Answers } from '../../../fixtures/visits.ts';

const PAUSE_MS = 700_000;
const down = new ProviderError('PROVIDER_UNREACHABLE', 'down', { retryAfterMs: PAUSE_MS });
const noKey = { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret' } } as const;
const keysOfTeam = web({ spec: { sshKeysFrom: [{ name: 'team', key: 'keys' }] } });

const PRICES = { products: { VPSX4: 1000 }, disks: { ssd: { price: 50, extent: 10 } } };
const AVAILABLE = { state: 'Available', list: PRICES } as const;

/** True if an order of the namespace has been counted. */
const isTaken = (limit: CreateLimit): boolean => 'freeInMs' in limit.reserve('default', 'uid-of-another', 0);

describe('an order with a zone', () => {
  it.each([
    ['has no list of zones', { state: 'Unavailable' }],
    ['cannot be asked', { state: 'Unknown' }],
    ['lists the zone', { state: 'Available', list: [{ code: 'lon' }] }],
    [
      'lists the zone since a moment ago',
      [
        { state: 'Available', list: [] },
        { state: 'Available', list: [{ code: 'lon' }] },
      ],
    ],
    ['cannot be asked whether it lists the zone now', [{ state: 'Available', list: [] }, { state: 'Unavailable' }]],
  ] satisfies [string, Answers['zones']][])('is sent if the provider %s', async (_what, zones) => {
    const answers = { zones, order: { kind: 'created', task: 7 }, task: { state: 'pending' } } as const;
    const { calls } = await visit(web({ spec: { zone: 'lon' } }), { answers });
    expect(calls).toContain('order');
  });
});

describe('an order that cannot be sent', () => {
  interface Prevented {
    why: string;
    object?: VirtualServer;
    given: Given;
    /** Calls before the status is written. */
    calls: readonly string[];
    shows: string;
    requeueAfterMs?: number;
  }

  it.each<Prevented>([
    { why: 'there is no key', object: keysOfTeam, given: { key: noKey }, calls: [], shows: 'SecretNotFound' },
    {
      why: "an SSH key is missing, which shows before the provider's lists are read",
      object: keysOfTeam,
      given: { answers: { catalog: down } },
      calls: [],
      shows: 'SSHKeyNotFound',
    },
    {
      why: "the provider's lists cannot be read",
      given: { answers: { catalog: down } },
      calls: ['catalog'],
      shows: 'ProviderUnavailable',
      requeueAfterMs: PAUSE_MS,
    },
    {
      why: 'the provider does not offer what spec asks for, which shows before any limit',
      object: web({ spec: { product: 'VPSX3' } }),
      given: { places: 1, taken: 1 },
      calls: ['catalog'],
      shows: 'InvalidSpec',
      requeueAfterMs: TIMING.resyncMs,
    },
    {
      why: 'the provider does not list the zone',
      object: web({ spec: { zone: 'lno' } }),
      given: { answers: { zones: { state: 'Available', list: [{ code: 'lon' }, { code: 'cam' }] } } },
      calls: ['catalog', 'zones', 'zones'],
      shows: 'InvalidSpec',
      requeueAfterMs: TIMING.resyncMs,
    },
    {
      why: 'the provider does not list the host',
      object: web({ spec: { advanced: { hostServer: 'host9' } } }),
      given: { answers: { hosts: { state: 'Available', list: ['host1', 'host2'] } } },
      calls: ['catalog', 'hosts', 'hosts'],
      shows: 'InvalidSpec',
      requeueAfterMs: TIMING.resyncMs,
    },
    {
      why: 'the namespace has no place for another server',
      given: { places: 1, taken: 1 },
      calls: ['catalog'],
      shows: 'ServerLimit',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'the servers of the namespace would cost more than they may',
      given: { maxPrice: 8.99, taken: 1, price: 4.5 },
      calls: ['catalog'],
      shows: 'PriceLimit',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'it is the first of its model, and would cost more than it may by the list of prices',
      given: { maxPrice: 1049, answers: { prices: AVAILABLE } },
      calls: ['catalog', 'prices'],
      shows: 'PriceLimit',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'the provider no longer states the price of a server in the namespace',
      given: { maxPrice: 100, taken: 1, price: 4.5, unstated: true },
      calls: ['catalog'],
      shows: 'PriceUnknown',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'a server of unknown price is on its way',
      given: { maxPrice: 100, taken: 1 },
      calls: ['catalog', 'prices'],
      shows: 'PricePending',
      requeueAfterMs: TIMING.pollMs,
    },
    {
      why: 'there is no connection, which the order waits for last',
      given: { answers: { opened: down }, places: 1 },
      calls: ['catalog', 'open'],
      shows: 'ProviderUnavailable',
      requeueAfterMs: PAUSE_MS,
    },
  ])('claims no attempt, and counts toward no limit: $why', async (prevented) => {
    const { object = web(), given, calls, shows, requeueAfterMs } = prevented;
    const limit = new CreateLimit(1);
    const visited = await visit(object, { ...given, limit });
    expect(visited.calls).toEqual([...calls, 'write']);
    expect(visited.object?.metadata).toEqual(object.metadata);
    expect(visited.object?.status?.record).toBeUndefined();
    expect(visited.journal.entries(object.metadata.uid)).toEqual([]);
    expect(shownBy(visited).reason).toBe(shows);
    expect(visited.memo.plan?.operation).toBe('order');
    if (requeueAfterMs !== undefined) expect(visited.requeueAfterMs).toBe(requeueAfterMs);
    expect(isTaken(limit)).toBe(false);
    const isFull = 'full' in visited.quota.reserve('default', 'uid-of-another', object.spec);
    expect(isFull).toBe((given.taken ?? 0) > 0);
  });
});

describe('an order', () => {
  it.each<{ why: string; given: Given; asks: boolean }>([
    { why: 'the list allows it', given: { maxPrice: 1050, answers: { prices: AVAILABLE } }, asks: true },
    { why: 'there is no list', given: { maxPrice: 1 }, asks: true },
    { why: 'a server like it is known to cost less', given: { maxPrice: 20, taken: 1, price: 9 }, asks: false },
    { why: 'there is no limit in money', given: { answers: { prices: AVAILABLE } }, asks: false },
  ])('is sent, and asks for the list of prices only if that can decide: $why', async ({ given, asks }) => {
    const order = { kind: 'created', task: 7 } as const;
    const visited = await visit(web(), { ...given, answers: { ...given.answers, order, task: { state: 'pending' } } });
    expect(visited.requests).toHaveLength(1);
    expect(visited.calls.filter((call) => call === 'prices')).toHaveLength(asks ? 1 : 0);
  });

  it.each<{ why: string; object: VirtualServer; given?: Given; shows: string }>([
    {
      why: 'another process may still be sending it',
      object: webWith(ATTEMPTED),
      shows: 'CreateInFlight',
    },
    {
      why: 'this process has sent it, and its answer was lost',
      object: webWith(ATTEMPTED),
      given: { notes: [{ attempt: 'a1', state: 'sending' }] },
      shows: 'CreateOutcomeUnknown',
    },
    {
      why: 'it was accepted',
      object: webWith(TASKED),
      given: { answers: { task: { state: 'pending' } } },
      shows: 'Creating',
    },
    { why: 'its time is up', object: web({ spec: { expiresAt: '2026-01-01T00:00:00Z' } }), shows: 'Expired' },
    {
      why: 'you have mistyped an annotation',
      object: web({ annotations: { 'vps-operator.dev/adoptt': 'srv1' } }),
      shows: 'UnknownAnnotation',
    },
  ])('is not sent again, or at all: $why', async ({ object, given, shows }) => {
    const visited = await visit(object, given);
    expect(visited.requests).toEqual([]);
    expect(visited.calls).not.toContain('open');
    expect(shownBy(visited).reason).toBe(shows);
  });

  it.each([
    { stored: 'another attempt', mirror: { ...ATTEMPTED, attempt: 'a2' } },
    { stored: 'the task of another attempt', mirror: { ...TASKED, attempt: 'a2' } },
    { stored: 'a server', mirror: record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' }) },
  ])('is not sent if the claim meets an object with $stored', async ({ mirror }) => {
    let writes = 0;
    const visited = await visit(web(), {
      answers: { task: { state: 'pending' }, server: new ProviderError('PROVIDER_UNREACHABLE', 'down') },
      beforeWrite: (stored) => ((writes += 1) === 1 ? { ...stored, status: { record: mirror } } : stored),
    });
    expect(writes).toBeGreaterThan(0);
    expect(visited.requests).toEqual([]);
    expect(visited.calls).not.toContain('order');
  });
});
