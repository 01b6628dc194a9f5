/** Orders under an identifier of the client: docs/concepts/design.md, "An order under an identifier". */
import { describe, expect, it } from 'vitest';
import type { NamedOutcome, OrderWay } from '../../../src/provider/types.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { KEY, REQUEST, providerFor, sessionFor, startStub, type Reply, type StubProvider } from './stub-provider.ts';

const LIST = '/beta/vps/servers';
const SERVER = `${LIST}/web0k3y`;

/** A session that sees the list, if there is a reply for it. */
async function session(list?: Reply, orders: OrderWay = 'auto', timers = new FakeTimers(0)) {
  const stub = await startStub();
  if (list !== undefined) stub.on(`GET ${LIST}`, list);
  return { stub, session: sessionFor(stub, { orders, timers }) };
}

async function order(reply: Reply): Promise<{ outcome: NamedOutcome; stub: StubProvider }> {
  const { stub, session: opened } = await session();
  stub.on(`POST ${SERVER}`, reply);
  return { outcome: await opened.orderNamed('web0k3y', REQUEST, () => true), stub };
}

describe('an order under an identifier', () => {
  it('sends the body to the identifier', async () => {
    const { stub, outcome } = await order({ status: 202, body: { task: 7 } });
    expect(outcome).toEqual({ kind: 'created', task: 7 });
    const post = stub.seen.find(({ path }) => path === SERVER);
    expect(JSON.parse(post?.body ?? '')).toEqual(REQUEST);
    expect(post?.headers).toMatchObject({ authorization: 'Bearer token-1', 'content-type': 'application/json' });
  });

  it.each([
    [400, { kind: 'refused', status: 400 }],
    [402, { kind: 'refused', status: 402 }],
    [403, { kind: 'refused', status: 403 }],
    [404, { kind: 'notOffered' }],
    [405, { kind: 'notOffered' }],
    [501, { kind: 'notOffered' }],
    [409, { kind: 'inUse' }],
    [429, { kind: 'notCreated' }],
    [500, { kind: 'unclear', isAnswered: true }],
    [503, { kind: 'unclear', isAnswered: true }],
    [302, { kind: 'unclear', isAnswered: true }],
    [410, { kind: 'unclear', isAnswered: true }],
    [200, { kind: 'unclear', isAnswered: false }],
    [202, { kind: 'unclear', isAnswered: false }],
    [408, { kind: 'unclear', isAnswered: false }],
    [502, { kind: 'unclear', isAnswered: false }],
    [504, { kind: 'unclear', isAnswered: false }],
    [524, { kind: 'unclear', isAnswered: false }],
  ])('reads the status %i', async (status, expected) => {
    const { outcome } = await order({ status, body: { error: 'the words of the provider' } });
    expect(outcome).toMatchObject(expected);
  });

  it('has reached the provider if a 200 names a task', async () => {
    const { outcome } = await order({ status: 200, body: { task: 7 } });
    expect(outcome).toMatchObject({ kind: 'unclear', isAnswered: true });
  });

  it('says whether a request without an answer may still be on its way', async () => {
    const { outcome } = await order((_request, response) => void response.destroy());
    expect(outcome).toMatchObject({ kind: 'unclear', isAnswered: false });
    const { session: withheld, stub } = await session();
    expect(await withheld.orderNamed('web0k3y', REQUEST, () => false)).toMatchObject({ kind: 'notCreated' });
    expect(stub.seen.filter(({ method }) => method === 'POST').map(({ path }) => path)).not.toContain(SERVER);
  });
});

describe('which way orders go', () => {
  const listed = { status: 200, body: { web1: { identifier: 'web1' } } };

  it('is named where the provider lists the servers, and anonymous where it has no list', async () => {
    expect(await (await session(listed)).session.ordersNamed()).toBe(true);
    for (const status of [404, 405, 501])
      expect(await (await session({ status, body: {} })).session.ordersNamed()).toBe(false);
  });

  it.each([401, 403, 429, 500, 503])('is open while the list answers %i', async (status) => {
    const { session: opened } = await session({ status, body: { error: 'no' } });
    await expect(opened.ordersNamed()).rejects.toThrow('Reading the list of servers failed');
  });

  it('is asked once, and again ten minutes after the provider had no list', async () => {
    const timers = new FakeTimers(0);
    const { session: opened, stub } = await session({ status: 404, body: {} }, 'auto', timers);
    const asked = (): number => stub.seen.filter(({ method, path }) => method === 'GET' && path === LIST).length;
    await opened.ordersNamed();
    await opened.ordersNamed();
    expect(asked()).toBe(1);
    stub.on(`GET ${LIST}`, listed);
    timers.advance(10 * 60_000);
    expect(await opened.ordersNamed()).toBe(true);
    await opened.ordersNamed();
    expect(asked()).toBe(2);
  });

  it('is anonymous for a while after the provider has refused the call', async () => {
    const { session: opened, stub } = await session(listed);
    stub.on(`POST ${SERVER}`, { status: 405, body: {} });
    expect(await opened.ordersNamed()).toBe(true);
    await opened.orderNamed('web0k3y', REQUEST, () => true);
    expect(await opened.ordersNamed()).toBe(false);
  });

  it.each([404, 405, 501])('stays named while the provider answers %i for a list that it has shown', async (status) => {
    const { session: opened, stub } = await session(listed);
    await opened.servers();
    stub.on(`GET ${LIST}`, { status, body: {} });
    const denied =
      /^Reading the list of servers failed: the provider answers that it has no such list, but it has shown one/;
    await expect(opened.servers()).rejects.toThrow(denied);
    await expect(opened.listedServers(0)).rejects.toThrow(denied);
    expect([await opened.ordersNamed(), opened.ordersGo()]).toEqual([true, 'named']);
  });

  it('is what the flag says', async () => {
    expect(await (await session({ status: 404, body: {} }, 'named')).session.ordersNamed()).toBe(true);
    expect(await (await session(listed, 'anonymous')).session.ordersNamed()).toBe(false);
  });

  it('is told when it changes, and once if several orders are refused', async () => {
    const stub = await startStub();
    const timers = new FakeTimers(0);
    const told: (string | undefined)[][] = [];
    const account = providerFor(stub, { timers }).account(KEY, (...change) => void told.push(change));
    const opened = account.session('');
    const order = () => opened.orderNamed('web0k3y', REQUEST, () => true);
    expect(account.ordersGo()).toBe('unknown');
    stub.on(`GET ${LIST}`, { status: 500, body: {} });
    await expect(opened.ordersNamed()).rejects.toThrow();
    stub.on(`GET ${LIST}`, listed);
    await opened.ordersNamed();
    stub.on(`POST ${SERVER}`, { status: 404, body: {} });
    await Promise.all([order(), order()]);
    expect(account.ordersGo()).toBe('refused');
    // The next order under an identifier is an attempt, and a list proves nothing about it.
    timers.advance(10 * 60_000);
    expect(await opened.ordersNamed()).toBe(true);
    await opened.servers();
    await order();
    expect(opened.ordersGo()).toBe('refused');
    stub.on(`POST ${SERVER}`, { status: 202, body: { task: 7 } });
    timers.advance(10 * 60_000);
    await order();
    expect(told).toEqual([
      ['unknown', undefined],
      ['named', 'unknown'],
      ['refused', 'named'],
      ['named', 'refused'],
    ]);
  });

  it('is known without a list if the flag says it, and never told', async () => {
    const told: unknown[] = [];
    for (const orders of ['named', 'anonymous'] as const) {
      const stub = await startStub();
      const account = providerFor(stub, { orders }).account(KEY, (...change) => void told.push(change));
      stub.on(`GET ${LIST}`, { status: 404, body: {} });
      expect(account.ordersGo()).toBe(orders);
      await account.session('').servers();
      expect(account.session('').ordersGo()).toBe(orders);
    }
    expect(told).toEqual([]);
  });

  it('is named as soon as the provider has a list, even if it had none a moment ago', async () => {
    const { session: opened, stub } = await session({ status: 404, body: {} });
    expect(await opened.ordersNamed()).toBe(false);
    stub.on(`GET ${LIST}`, listed);
    await opened.servers();
    expect([await opened.ordersNamed(), opened.ordersGo()]).toEqual([true, 'named']);
  });
});
