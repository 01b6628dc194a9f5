import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { openJournal } from '../../../src/virtual-server/journal/journal.ts';
import { Operator } from '../../../src/operator.ts';
import { longestStepMs } from '../../../src/step-bounds.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { CATALOG_WORKERS } from '../../../src/server-catalog/reconciler.ts';
import type { Vitals } from '../../../src/observability/vitals.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { longestSilenceMs } from '../../../src/controller/reflector.ts';
import type { Kube } from '../../../src/virtual-server/kube.ts';
import { liveChecks, probePage, readyChecks, type Health } from '../../../src/observability/health.ts';
import { fakeKube } from '../../fixtures/doubles.ts';
import { feedOf } from '../../fixtures/feed.ts';
import { OPERATOR } from '../../fixtures/operator.ts';
import { storedCatalog } from '../../fixtures/server-catalog.ts';
import { fakeProvider } from '../../fixtures/provider.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const BOUNDS = { longestSilenceMs: 450_000, longestLeaseAgeMs: 30_000, longestLoginFailureMs: 30_000 };
const WORKERS = 2;
const SETTINGS = { ...OPERATOR, maxConcurrentReconciles: WORKERS };

const never = (): Promise<never> => new Promise<never>(() => undefined);

/** Runs everything that does not depend on the clock. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function storedAs(key: string): VirtualServer {
  const [name = '', namespace = 'default'] = key.split('/').reverse();
  return stored(name, storedWith({ metadata: { namespace } }));
}

/** An operator with two workers, these objects and catalogs, and Secret reads that the test controls. */
async function runningOperator(
  keys: string[],
  getSecret: Kube['getSecret'],
  timers = new FakeTimers(),
  catalogs: string[] = [],
) {
  const servers = feedOf(...keys.map(storedAs));
  const operator = new Operator({
    ...SETTINGS,
    kube: fakeKube({
      getSecret,
      writeStatus: (_version, status) => Promise.resolve({ ...stored('any'), status }),
    }),
    servers: servers.informer,
    catalogs: {
      informer: feedOf(...catalogs.map((name) => storedCatalog(name))).informer,
      client: { writeStatus: never },
    },
    provider: fakeProvider(() => {
      throw new Error('nothing is called in these tests');
    }),
    journal: await openJournal({ dir: undefined }),
    timers,
  });
  await operator.start();
  await settled();
  const livez = () =>
    probePage(
      liveChecks({ vitals: operator.vitals(), stopping: false, standby: undefined, loginFailure: undefined }, BOUNDS),
    );
  return { operator, timers, livez, servers };
}

const bound = longestStepMs({ ...SETTINGS, workers: WORKERS + CATALOG_WORKERS });

describe('/livez', () => {
  it.each([
    { workers: 'all workers', keys: ['one/a', 'two/b'], busy: 2, waiting: 0 },
    { workers: 'all workers that one namespace may have', keys: ['one/a', 'one/b'], busy: 1, waiting: 1 },
  ])('fails when $workers are in a visit that never ends', async ({ keys, busy, waiting }) => {
    const { timers, livez } = await runningOperator(keys, never);
    timers.advance(bound);
    expect(livez()).toEqual({ status: 200, body: 'ok\n' });
    timers.advance(1_000);
    const { status, body } = livez();
    expect(status).toBe(500);
    expect(body).toBe(
      `workers: ${busy} of 2 virtualserver workers are busy, ${waiting} objects wait, ` +
        `and none has made progress for ${Math.floor(bound / 1000) + 1} s\n`,
    );
  });

  it('fails when all catalog workers are stuck, even if the server workers make progress', async () => {
    const { timers, livez } = await runningOperator([], never, new FakeTimers(), ['a', 'b', 'c', 'd']);
    timers.advance(bound);
    expect(livez()).toEqual({ status: 200, body: 'ok\n' });
    timers.advance(1_000);
    expect(livez().status).toBe(500);
    expect(livez().body).toContain('workers: 3 of 4 servercatalog workers are busy, 1 objects wait, and none has');
  });

  it('passes while one worker is free, however long another has been stuck', async () => {
    const { operator, timers, livez } = await runningOperator(['a'], never);
    timers.advance(10 * bound);
    expect(operator.vitals().loops.virtualserver?.busyForMs).toEqual([10 * bound]);
    expect(livez().status).toBe(200);
  });

  it('passes while every call hangs until its deadline, because a failed step counts as finished', async () => {
    const timers = new FakeTimers();
    const hangs = (): Promise<never> =>
      new Promise((_resolve, reject) => {
        const fail = (): void => reject(new KubeError('Unreachable', 'no answer within 15000 ms'));
        timers.set(fail, SETTINGS.kubeTimeoutMs);
      });
    const running = await runningOperator(['one/a', 'one/b', 'two/c', 'two/d'], hangs, timers);
    let busy = 0;
    for (let passed = 0; passed < 3 * bound; passed += 5_000) {
      timers.advance(5_000);
      await settled();
      await settled();
      if (running.operator.vitals().loops.virtualserver?.busyForMs.length === WORKERS) busy += 1;
      expect(running.livez()).toEqual({ status: 200, body: 'ok\n' });
    }
    expect(busy).toBeGreaterThan(0);
  });

  it('passes when the workers are idle for long', async () => {
    const { timers, livez } = await runningOperator([], never);
    timers.advance(100 * bound);
    expect(livez().status).toBe(200);
  });

  it('fails when a reflector shows no sign of life for too long', async () => {
    const { livez, servers } = await runningOperator([], never);
    servers.silentMs = BOUNDS.longestSilenceMs;
    expect(livez().status).toBe(200);
    servers.silentMs += 1_000;
    expect(livez()).toEqual({ status: 500, body: 'informer: no sign of life for 451 s\n' });
  });

  it('passes while the operator stops, however long that takes', async () => {
    const { operator, timers, livez, servers } = await runningOperator(['a', 'b'], never);
    void operator.stop();
    timers.advance(10 * bound);
    servers.silentMs = Infinity;
    expect(livez().status).toBe(200);
  });

  it('fails when a check throws', () => {
    const wrong = (): never => {
      throw new Error('a secret');
    };
    expect(probePage({ sound: () => undefined, odd: wrong })).toEqual({
      status: 500,
      body: 'odd: the check itself failed\n',
    });
  });
});

describe('/readyz', () => {
  const HEALTHY = { stopping: false, standby: undefined, loginFailure: undefined };
  const page = (phase: Vitals['phase'], rest: Partial<Health> = {}) =>
    probePage(readyChecks({ ...HEALTHY, vitals: { phase } as Vitals, ...rest }, BOUNDS));

  it.each([
    { what: 'an operator that has not started', phase: 'idle', body: 'caches: not in sync yet\n' },
    { what: 'an operator that fills its caches', phase: 'syncing', body: 'caches: not in sync yet\n' },
    { what: 'a running operator', phase: 'running', body: 'ok\n' },
    {
      what: 'a stopping operator',
      phase: 'stopping',
      rest: { stopping: true },
      body: 'stopping: the process is about to end\n',
    },
    { what: 'a standby', phase: 'idle', rest: { standby: { leaseAgeMs: 30_000 } }, body: 'ok\n' },
    {
      what: 'a standby that can no longer read the Lease',
      phase: 'idle',
      rest: { standby: { leaseAgeMs: 30_001 } },
      body: 'standby: the API server has not answered for the Lease for 30 s\n',
    },
    {
      what: 'a standby that has not read the Lease yet',
      phase: 'idle',
      rest: { standby: { leaseAgeMs: Infinity } },
      body: 'standby: the API server has not answered for the Lease yet\n',
    },
    {
      what: 'an operator whose credentials are being rotated',
      phase: 'running',
      rest: { loginFailure: { kind: 'refused', forMs: 30_000 } },
      body: 'ok\n',
    },
    {
      what: 'an operator whose credentials stay refused',
      phase: 'running',
      rest: { loginFailure: { kind: 'refused', forMs: 30_001 } },
      body: "credentials: the API server has refused the operator's credentials for 30 s\n",
    },
    {
      what: 'an operator that gets no credentials',
      phase: 'running',
      rest: { loginFailure: { kind: 'missing', forMs: 61_000 } },
      body: 'credentials: the operator has had no credentials for the API server for 61 s\n',
    },
  ] as const)('reports for $what: $body', ({ phase, body, ...rest }) => {
    expect(page(phase, 'rest' in rest ? rest.rest : {})).toEqual({ status: body === 'ok\n' ? 200 : 500, body });
  });
});

describe('the longest step', () => {
  it('and the longest silence match docs/reference/metrics.md for the defaults', async () => {
    const parsed = parseConfig(['--base-url=http://a', '--auth-url=http://b'], {});
    if (parsed.kind !== 'run') throw new Error(parsed.kind);
    const docs = await readFile(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8');
    const workers = parsed.config.maxConcurrentReconciles + CATALOG_WORKERS;
    const minutes = [longestStepMs({ ...parsed.config, workers }), longestSilenceMs(parsed.config.kubeTimeoutMs)].map(
      (ms) => ms / 60_000,
    );
    const given = [...docs.matchAll(/([\d.]+) minutes with the defaults/g)].map(([, number]) => Number(number));
    expect(given).toEqual(minutes.map((number) => Math.floor(number * 2) / 2));
  });

  it('grows with every deadline, the number of workers and the time between two requests', () => {
    expect(bound).toBe(120_000 + 20 * 30_000 + 20 * 15_000 + 5_000 + ((WORKERS + 4) * 20 * 1000) / 10);
    expect(longestStepMs({ ...SETTINGS, workers: WORKERS, providerQps: 0.01 })).toBeGreaterThan(WORKERS * 20 * 100_000);
  });
});
