/** Which API key a visit uses, and when it asks for another login. */
import { describe, expect, it } from 'vitest';
import { RECONCILE_AT_ANNOTATION } from '../../../src/api/names.ts';
import { Accounts } from '../../../src/accounts/accounts.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { currentReason } from '../../../src/api/conditions.ts';
import { ProviderError } from '../../../src/provider/error.ts';
import { inputsOf } from '../../../src/virtual-server/decision/inputs.ts';
import type { Memo } from '../../../src/virtual-server/decision/memo.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { ACCOUNT, HELD, NOW, SERVER, memo, web, webWith } from '../../fixtures/decision.ts';
import { fakeSession } from '../../fixtures/doubles.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { visit, type Answers, type Visited } from '../../fixtures/visits.ts';

/** Real accounts; `session`: what their key opens. */
function setUp() {
  const secrets = new Map([['vps-api-key', { keyId: 'k', secret: 's' }]]);
  const timers = new FakeTimers();
  const retried: string[] = [];
  const accounts = new Accounts({
    kube: {
      getSecret: (_namespace, name) => {
        const data = secrets.get(name);
        return Promise.resolve(data && { data, resourceVersion: '1' });
      },
    },
    provider: fakeProvider(
      () =>
        fakeSession({
          account: ACCOUNT,
          ensureToken: () => Promise.reject(new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused')),
          readServer: () => Promise.resolve(SERVER),
        }),
      ({ keyId }) => ({ retryLogin: () => void retried.push(keyId) }),
    ),
    timers,
    log: createLogger({ level: 'silent' }),
    refreshMs: 1_000,
    operatorNamespace: undefined,
    onChange: () => undefined,
    onOrders: () => undefined,
  });
  const run = (object: VirtualServer, known?: Memo): Promise<Visited> =>
    visit(object, {
      accounts: {
        get: (namespace, name, use) => accounts.get(namespace, name, use),
        suspect: (namespace, name) => {
          accounts.suspect(namespace, name);
        },
      },
      ...(known && { memo: known }),
    });
  return { secrets, timers, retried, run };
}

const asked = web({ annotations: { [RECONCILE_AT_ANNOTATION]: 'now' } });

describe('another login', () => {
  it('is requested if you have changed the object since its next operation was planned', async () => {
    const { run, retried } = setUp();
    const known = memo(
      {},
      { failures: 1, plan: { operation: 'look', from: NOW, at: Infinity, inputs: inputsOf(web()) } },
    );
    await run(web(), known);
    await run(web({ annotations: { 'example.org/note': 'a' } }), known);
    expect(retried).toEqual([]);
    await run(asked, known);
    expect(retried).toEqual(['k']);
  });
});

describe('the last good key', () => {
  it('is used for an object that holds a server, and for no other', async () => {
    const { secrets, timers, run } = setUp();
    const holder = webWith(HELD, { status: { serverStatus: 'running' } });
    expect((await run(web())).object?.status?.conditions).toBeDefined();
    secrets.delete('vps-api-key');
    timers.advance(1_000);
    const { object } = await run(web());
    expect(currentReason(object?.status?.conditions)).toBe('SecretNotFound');
    expect(currentReason((await run(holder)).object?.status?.conditions)).toBe('Available');
  });
});

describe('the lists of the provider', () => {
  const order = (answers: Answers): Promise<Visited> => visit(web(), { answers });

  it('are read before an order, and a fault is reported instead of one', async () => {
    const down = new ProviderError('PROVIDER_UNREACHABLE', 'down', { retryAfterMs: 700_000 });
    const { object, calls, requeueAfterMs } = await order({ catalog: down });
    expect(calls).toEqual(['catalog', 'write']);
    expect(currentReason(object?.status?.conditions)).toBe('ProviderUnavailable');
    const { message } = object?.status?.conditions?.find(({ reason }) => reason === 'ProviderUnavailable') ?? {};
    expect(message).toContain(
      'Down. The operator retries automatically. If this persists, check --base-url, the network and the provider.',
    );
    expect(requeueAfterMs).toBe(700_000);
  });

  it('are asked for again right after the next login with a refused key, however often it has failed', async () => {
    const token = new ProviderError('PROVIDER_INVALID_CREDENTIALS', 'refused', { retryAfterMs: 20_000 });
    const visited = await visit(web(), { answers: { token }, memo: memo({}, { failures: 30 }) });
    expect(visited.requeueAfterMs).toBe(20_000);
  });

  it('are not at fault for a bug, which is thrown', async () => {
    await expect(order({ catalog: new RangeError('a bug') })).rejects.toThrow('a bug');
  });
});
