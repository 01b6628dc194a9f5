/** A whole operator with a refused key: its requests, its writes, and the recovery of all objects. */
import { currentReason } from '../../../src/api/conditions.ts';
import { expect, it } from 'vitest';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Operator } from '../../../src/operator.ts';
import { createProvider } from '../../../src/provider/provider.ts';
import type { ProviderAnswer, Wire } from '../../../src/provider/transport.ts';
import { fakeKube } from '../../fixtures/doubles.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { OPERATOR } from '../../fixtures/operator.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { stored } from '../../fixtures/virtual-server.ts';

const NAMES = ['a', 'b', 'c'];
const ACCEPTED = { status: 200, headers: {}, body: '{"access_token":"token","expires_in":3600}' };
const REFUSED = { status: 401, headers: {}, body: '{"error":"invalid_client"}' };

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Objects that order with one key, from a provider that offers nothing. */
async function running() {
  const timers = new FakeTimers();
  timers.chance = 0.5;
  const feed = feedOf(...NAMES.map((name) => stored(name)));
  const counts = { logins: 0, writes: 0 };
  let login: ProviderAnswer = REFUSED;
  const transport: Wire = {
    send: ({ operation }) => {
      if (operation !== 'login') {
        return Promise.resolve({ status: 200, headers: {}, body: operation === 'diskSizes' ? '{}' : '[]' });
      }
      counts.logins += 1;
      return Promise.resolve(login);
    },
    connect: () => Promise.reject(new Error('nothing can be ordered here')),
    sendAlone: (exchange) => transport.send(exchange),
    within: (_ms, work) => work(new AbortController().signal),
    close: () => Promise.resolve(),
  };
  const operator = new Operator({
    ...OPERATOR,
    kube: fakeKube({
      getSecret: () => Promise.resolve({ data: { keyId: 'k', secret: 's' }, resourceVersion: '1' }),
      writeStatus: ({ name }, status) => {
        counts.writes += 1;
        return Promise.resolve(feed.put({ ...(feed.get(name) ?? stored(name)), status }));
      },
    }),
    servers: feed.informer,
    provider: createProvider({
      baseUrl: 'https://api.example.org',
      authUrl: 'https://auth.example.org',
      qps: Infinity,
      transport,
      timers,
    }),
    journal: await openJournal({ dir: undefined }),
    timers,
  });
  await operator.start();
  await settled();
  const reasons = () => NAMES.map((name) => currentReason(feed.get(name)?.status?.conditions));
  /** Advances in steps, so that visits happen on time. */
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      timers.advance(1_000);
      await settled();
    }
  };
  return { counts, reasons, pass, accept: () => (login = ACCEPTED) };
}

const all = (reason: string) => NAMES.map(() => reason);

it('retries a refused key, which then works for all objects that failed with it', async () => {
  const { counts, reasons, pass, accept } = await running();
  expect(reasons()).toEqual(all('InvalidCredentials'));
  expect(counts).toEqual({ logins: 1, writes: NAMES.length });
  accept();
  await pass(59);
  expect(counts).toEqual({ logins: 1, writes: NAMES.length });
  await pass(4);
  expect(counts.logins).toBe(2);
  expect(reasons()).toEqual(all('InvalidSpec'));
});

it('makes one login, and one write per status, for each announced retry of a key that stays refused', async () => {
  const { counts, reasons, pass } = await running();
  await pass(3_600);
  expect(reasons()).toEqual(all('InvalidCredentials'));
  // At 0, 1, 3, 7, 15, 25, 35, 45 and 55 minutes, each slightly later.
  expect(counts.logins).toBe(9);
  expect(counts.writes).toBe(counts.logins * NAMES.length);
});
