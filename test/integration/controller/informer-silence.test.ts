/**
 * How long an informer has shown no sign of life, which distinguishes a stuck reflector from an unreachable API server.
 */
import { afterEach, beforeEach, expect, inject, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { longestSilenceMs } from '../../../src/controller/reflector.ts';
import { observe, until, type Observed } from './informer-support.ts';
import { answerStatus, startProxy, type FaultProxy } from '../kube/proxy.ts';

let clock: number;
let proxy: FaultProxy;
let http: KubeHttp;
let observed: Observed;

beforeEach(async () => {
  clock = 0;
  proxy = await startProxy(loadCluster(inject('kubeconfigPath')));
  http = createKubeHttp({ cluster: proxy.cluster, timeoutMs: 3_600_000 });
  observed = observe(http, { namespaces: 'all', timers: { ...realTimers, monotonic: () => clock } });
});

afterEach(async () => {
  await observed.informer.stop();
  await http.close();
  await proxy.close();
});

it('is zero before the start, however late the informer starts', () => {
  clock = 1_000_000;
  expect(observed.informer.silentForMs()).toBe(0);
  proxy.refusing = true;
  observed.informer.start();
  expect(observed.informer.silentForMs()).toBe(0);
});

it.each(['refuses every connection', 'answers 503', 'answers 403'])(
  'ends with each failure while the API server %s',
  async (fault) => {
    if (fault.startsWith('refuses')) proxy.refusing = true;
    else proxy.intercept = (_request, response) => answerStatus(response, Number(fault.slice(-3)));
    observed.informer.start();
    for (clock of [1_000_000, 2_000_000, 3_000_000]) await until(() => observed.informer.silentForMs() === 0);
  },
);

it('continues while a call hangs', async () => {
  proxy.intercept = () => true;
  observed.informer.start();
  await until(() => proxy.requests.length > 0);
  clock = longestSilenceMs(15_000) + 1;
  expect(observed.informer.silentForMs()).toBe(clock);
});
