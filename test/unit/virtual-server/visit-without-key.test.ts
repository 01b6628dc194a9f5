/** Without a key, no operation calls the provider; each is planned again for when the key may be there. */
import { describe, expect, it } from 'vitest';
import { SERVER_GONE_ANNOTATION } from '../../../src/api/names.ts';
import { Accounts } from '../../../src/accounts/accounts.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { FailingReads } from '../../../src/kube/failing-reads.ts';
import { HELD, NOW, TASKED, adopting, web, webWith } from '../../fixtures/decision.ts';
import { fakeSession } from '../../fixtures/doubles.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { shownBy, visit } from '../../fixtures/visits.ts';

const READY = { serverStatus: 'running' };
const noKey = { ok: false, error: { reason: 'SecretNotFound', message: 'no Secret', retryAfterMs: 5 } } as const;

describe('without a key', () => {
  it.each([
    { operation: 'order', object: web() },
    { operation: 'adopt', object: web(adopting('srv1')) },
    { operation: 'follow', object: webWith(TASKED) },
    { operation: 'look', object: webWith(HELD, { status: READY }) },
    { operation: 'cancel', object: webWith(HELD, { status: READY, deleting: true }) },
    {
      operation: 'cancel',
      object: webWith(HELD, { status: READY, spec: { expiresAt: '2026-01-01T00:00:00Z' } }),
    },
  ])('$operation gives the reason and the time of the next try', async ({ operation, object }) => {
    const visited = await visit(object, { key: noKey });
    expect(visited.calls).toEqual(['write']);
    expect(visited.object?.metadata).toEqual(object.metadata);
    expect(shownBy(visited).reason).toBe('SecretNotFound');
    expect(shownBy(visited).message).toMatch(/^no Secret\./);
    expect(visited.memo.plan?.operation).toBe(operation);
    expect(visited.requeueAfterMs).toBe(5);
  });

  it.each([
    { object: web(), until: 'before an order' },
    { object: webWith(HELD, { status: READY, deleting: true }), until: 'before a cancellation' },
  ])('because the API server keeps failing to read the Secret, the object tells it: $until', async ({ object }) => {
    const timers = new FakeTimers(NOW);
    const reads = new FailingReads(timers);
    const broken = new KubeError('ServerError', 'unable to transform key', { status: 500 });
    const accounts = new Accounts({
      kube: { getSecret: (namespace, name) => reads.read(`${namespace}/${name}`, () => Promise.reject(broken)) },
      provider: fakeProvider(() => fakeSession({})),
      timers,
      log: createLogger({ level: 'silent' }),
      refreshMs: 60_000,
      operatorNamespace: 'operator',
      onChange: () => undefined,
      onOrders: () => undefined,
    });
    const given = { accounts: { get: accounts.get.bind(accounts), suspect: () => undefined } };
    expect((await visit(object, { ...given, fails: true })).calls).toEqual([]);
    timers.advance(10_000);
    // A deletion also tries the Secret that replaces it.
    if (object.metadata.deletionTimestamp !== undefined) await visit(object, { ...given, fails: true });
    timers.advance(10_000);
    const visited = await visit(object, given);
    expect(shownBy(visited).reason).toBe('SecretForbidden');
    expect(shownBy(visited).message).toContain(
      'unable to transform key. The API server answers 500 since 2026-01-02T00:00:00Z.',
    );
  });

  const gone = { annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } };

  it('your annotation that the server is gone releases no object that is not being deleted', async () => {
    const visited = await visit(webWith(HELD, { ...gone, status: READY }), { key: noKey });
    expect(shownBy(visited).reason).toBe('SecretNotFound');
  });
});
