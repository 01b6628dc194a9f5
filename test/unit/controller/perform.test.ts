import { describe, expect, it } from 'vitest';
import { ConnectionSecrets } from '../../../src/controller/connection-secrets.ts';
import { CreateLimit } from '../../../src/controller/create-limit.ts';
import { Holders } from '../../../src/controller/holders.ts';
import { openJournal } from '../../../src/controller/journal.ts';
import { perform } from '../../../src/controller/perform.ts';
import type { Action, Outcome } from '../../../src/decision/types.ts';
import type { Kube } from '../../../src/kube/types.ts';
import { createLogger } from '../../../src/logger.ts';
import { NotFoundError } from '../../../src/provider/errors/not-found-error.ts';
import { ResponseError } from '../../../src/provider/errors/response-error.ts';
import type { Product, Server, Session } from '../../../src/provider/types.ts';
import {
  ACCOUNT,
  ELSEWHERE,
  KNOWN,
  OTHER_KEY,
  SERVER,
  TASKED,
  UID,
  gathered,
  memo,
  webWith,
} from '../../gen/decision.ts';
import { FakeTimers } from '../../gen/timers.ts';

const denied = new NotFoundError('404');
const PRODUCTS: Product[] = [{ code: 'vps-1gb' }];

interface Provider {
  /** What each call answers, one after the other; the last one stays. */
  servers?: (Server | Error)[];
  tasks?: Error[];
  products?: Product[] | Error;
  account?: string;
}

/** Carries an action out with a provider that answers like this; `calls`: what it was asked, in order. */
async function run(action: Action, { servers = [denied], tasks = [denied], products = PRODUCTS, account }: Provider) {
  const calls: string[] = [];
  const answer = <T>(call: string, answers: (T | Error)[]): Promise<T> => {
    const value = answers[calls.filter((other) => other === call).length] ?? answers.at(-1);
    calls.push(call);
    return value instanceof Error ? Promise.reject(value) : Promise.resolve(value as T);
  };
  const session = {
    account: account ?? ACCOUNT,
    products: () => answer('products', [products]),
    readServer: () => answer('read', servers),
    pollTask: () => answer('poll', tasks),
    deleteServer: () => answer('delete', [denied]),
  } as unknown as Session;
  const object = webWith(KNOWN, { deleting: action.type === 'deleteServer', status: { serverStatus: 'running' } });
  const kube = { getVirtualServer: () => Promise.resolve(object) } as unknown as Kube;
  const holders = new Holders(() => ACCOUNT);
  const room = {
    kube,
    journal: await openJournal({ dir: undefined }),
    holders,
    limit: new CreateLimit(0),
    mint: () => 'a1',
    leads: () => true,
    timers: new FakeTimers(),
    probe: () => Promise.reject(new Error('nothing asks for an SSH server here')),
    connections: new ConnectionSecrets({
      secrets: undefined,
      kube,
      leads: () => true,
      log: createLogger({ level: 'silent' }),
    }),
  };
  const target = { object, session, facts: () => gathered({ memo: memo({}) }), saw: () => undefined };
  const outcome: Outcome = await perform(action, target, room);
  return { outcome, calls, holders };
}

const read: Action = { type: 'readServer', record: KNOWN, identifier: 'srv1' };
const cancel: Action = { type: 'deleteServer', record: KNOWN, identifier: 'srv1' };
const poll: Action = { type: 'pollTask', record: TASKED, task: 7 };

describe('a 404', () => {
  it.each([
    { action: read, what: 'server', calls: ['read', 'products', 'read'], type: 'serverNotFound' },
    { action: poll, what: 'task', calls: ['poll', 'products', 'poll'], type: 'taskNotFound' },
    { action: cancel, what: 'DELETE', calls: ['delete', 'read', 'products', 'read'], type: 'serverNotFound' },
  ])(
    'for a $what is asked about twice, with a look at the lists in between',
    async ({ action, calls: asked, type }) => {
      const { outcome, calls } = await run(action, {});
      expect(outcome).toMatchObject({ type, counts: true });
      expect(calls).toEqual(asked);
    },
  );

  it.each([
    { reason: 'the list of products is empty', products: [] },
    { reason: 'the list of products is answered with 404', products: new ResponseError(404, 'no such path') },
  ])('does not count where $reason', async ({ products }) => {
    expect((await run(read, { products })).outcome).toMatchObject({ type: 'serverNotFound', counts: false });
    expect((await run(poll, { products })).outcome).toEqual({ type: 'taskNotFound', counts: false });
  });

  it.each([OTHER_KEY, ELSEWHERE])('does not count under another account (%s)', async (account) => {
    const { outcome } = await run(read, { account });
    expect(outcome).toMatchObject({ type: 'serverNotFound', counts: false });
  });

  it('does not count where the provider cannot be asked for its lists', async () => {
    const { outcome } = await run(read, { products: new ResponseError(503, 'down') });
    expect(outcome).toMatchObject({ type: 'failed' });
  });

  it('was a fault where the second answer shows the server', async () => {
    const { outcome } = await run(read, { servers: [denied, SERVER] });
    expect(outcome).toMatchObject({ type: 'server', server: SERVER, account: ACCOUNT });
  });

  it('to a DELETE is a fault where the server is shown', async () => {
    const { outcome } = await run(cancel, { servers: [SERVER] });
    expect(outcome).toMatchObject({ type: 'failed' });
  });
});

describe('an adoption', () => {
  const adopt: Action = { type: 'adopt', record: undefined, identifier: 'srv1' };

  it('reserves the server before it is read', async () => {
    const { outcome, holders } = await run(adopt, { servers: [SERVER] });
    expect(outcome).toMatchObject({ type: 'server' });
    expect(holders.others('another').withServer('srv1', { account: ACCOUNT })).toEqual(['default/web']);
    expect(holders.others(UID).withServer('srv1', { account: ACCOUNT })).toEqual([]);
  });
});
