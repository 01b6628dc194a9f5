import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { observe, until, type Observed } from './informer-support.ts';
import { answerLines, answerStatus, isList, isListLine, isWatch, startProxy, type FaultProxy } from '../kube/proxy.ts';
import { adminHttp, create, createNamespace, edit, manifest, remove } from '../kube/support.ts';

const GONE = JSON.stringify({
  type: 'ERROR',
  object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' },
});
const TRYING_AGAIN = 'warn cannot watch the API server; retrying';

let admin: KubeHttp;
let http: KubeHttp;
let proxy: FaultProxy;
let namespace: string;
let observed: Observed;

beforeEach(async () => {
  admin = adminHttp();
  proxy = await startProxy(loadCluster(inject('kubeconfigPath')));
  http = createKubeHttp({ cluster: proxy.cluster });
  namespace = await createNamespace(admin);
});
afterEach(async () => {
  await observed.informer.stop();
  await Promise.all([http.close(), admin.close()]);
  await proxy.close();
});

const lists = () => proxy.requests.filter(isListLine);
const watches = () => proxy.requests.filter((line) => line.includes('watch=true'));

async function start(options: Partial<Parameters<typeof observe>[1]> = {}) {
  observed = observe(http, { namespaces: [namespace], ...options });
  observed.informer.start();
  await observed.informer.synced();
  await until(() => watches().length >= 1);
  return observed;
}

/** Breaks the watch, and prevents a new one until `change` is done. */
async function duringAnOutage(change: () => Promise<void>): Promise<void> {
  proxy.refusing = true;
  proxy.cut();
  await change();
  const attempts = proxy.connections.total;
  await until(() => proxy.connections.total > attempts);
  proxy.refusing = false;
}

describe('an informer', () => {
  it('resumes after a network failure without missing a change', async () => {
    const kept = await create(admin, namespace, manifest('kept'));
    const lost = await create(admin, namespace, manifest('lost'));
    const { seen, holds, logged } = await start();
    await duringAnOutage(async () => {
      await remove(admin, lost);
      await create(admin, namespace, manifest('new'));
      await edit(admin, kept, { spec: { deletionProtection: true } });
    });
    await until(() => seen.length === 5);
    expect(seen.slice(2).map(({ kind, key }) => [kind, key.split('/')[1]])).toEqual([
      ['gone', 'lost'],
      ['upsert', 'new'],
      ['upsert', 'kept'],
    ]);
    expect(holds(...seen.slice(3).map(({ object }) => object))).toBe(true);
    expect(lists()).toHaveLength(1);
    expect(logged).toEqual([TRYING_AGAIN, 'info informer recovered']);
  });

  it.each([
    ['an ERROR event with code 410', (response: Parameters<typeof answerLines>[0]) => answerLines(response, GONE)],
    ['HTTP status 410', (response: Parameters<typeof answerLines>[0]) => answerStatus(response, 410)],
    ['a line that is not JSON', (response: Parameters<typeof answerLines>[0]) => answerLines(response, '{"type":"ADD')],
    ['an unknown event', (response: Parameters<typeof answerLines>[0]) => answerLines(response, '{"type":"SURPRISE"}')],
  ])('lists again after %s, and is correct afterwards', async (_, answer) => {
    const kept = await create(admin, namespace, manifest('kept'));
    const lost = await create(admin, namespace, manifest('lost'));
    const replaced = await create(admin, namespace, manifest('replaced'));
    const { seen, holds } = await start();
    let recreated = replaced;
    await duringAnOutage(async () => {
      await remove(admin, lost);
      await remove(admin, replaced);
      recreated = await create(admin, namespace, manifest('replaced'));
      let answered = false;
      proxy.intercept = (request, response) => isWatch(request) && !answered && (answered = answer(response));
    });
    await until(() => holds(kept, recreated));
    expect(seen.slice(3).map(({ kind, object, previous }) => [kind, object.metadata.uid, previous])).toEqual([
      ['gone', lost.metadata.uid, undefined],
      ['gone', replaced.metadata.uid, undefined],
      ['upsert', recreated.metadata.uid, undefined],
    ]);
    expect(lists()).toHaveLength(2);
    const late = await create(admin, namespace, manifest('late'));
    await until(() => holds(kept, recreated, late));
  });

  it('restarts a list whose pages have expired', async () => {
    const objects = await Promise.all(['a', 'b', 'c'].map((name) => create(admin, namespace, manifest(name))));
    let answered = false;
    proxy.intercept = (request, response) =>
      request.url?.includes('continue=') === true && !answered && (answered = answerStatus(response, 410));
    const { seen, holds } = await start({ pageSize: 2 });
    expect(holds(...objects)).toBe(true);
    expect(seen).toHaveLength(3);
    expect(lists().map((line) => line.includes('continue='))).toEqual([false, true, false, true]);
  });

  it.each([429, 500, 503])('resumes from the same version after HTTP status %i', async (status) => {
    const { holds } = await start();
    let answers = 0;
    await duringAnOutage(() => {
      proxy.intercept = (request, response) =>
        isWatch(request) && (answers += 1) <= 3 && answerStatus(response, status);
      return Promise.resolve();
    });
    const object = await create(admin, namespace, manifest('a'));
    await until(() => holds(object));
    expect(answers).toBe(4);
    expect(lists()).toHaveLength(1);
    expect(new Set(watches().map((line) => /resourceVersion=\d+/.exec(line)?.[0])).size).toBe(1);
  });

  it('waits as long as Retry-After says', async () => {
    const times: number[] = [];
    proxy.intercept = (request, response) =>
      isList(request) && times.push(performance.now()) === 1 && answerStatus(response, 429, { 'retry-after': '1' });
    await start();
    expect(times).toHaveLength(2);
    // Timers may fire a millisecond early.
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(998);
  });

  it('ends a watch that has gone silent', async () => {
    const impatient = createKubeHttp({ cluster: proxy.cluster, timeoutMs: 300 });
    const { holds } = await start({ http: impatient, silenceMs: 300 });
    proxy.silent = true;
    const object = await create(admin, namespace, manifest('a'));
    const before = proxy.requests.length;
    await until(() => proxy.requests.length > before);
    proxy.silent = false;
    await until(() => holds(object));
    expect(lists()).toHaveLength(1);
    await impatient.close();
  });

  it('logs an outage once, however long it lasts', async () => {
    const { logged } = await start();
    await duringAnOutage(async () => {
      const attempts = proxy.connections.total;
      await until(() => proxy.connections.total > attempts + 5);
    });
    await until(() => logged.length === 2);
    expect(logged).toEqual([TRYING_AGAIN, 'info informer recovered']);
  });

  it('backs off from an API server that closes every watch at once', async () => {
    let answers = 0;
    proxy.intercept = (request, response) => isWatch(request) && (answers += 1) > 0 && answerLines(response);
    const hour = { baseMs: 3_600_000, maxMs: 3_600_000 };
    await start({ backoff: hour });
    await until(() => answers === 1);
    await http.call({ path: '/version' });
    expect(answers).toBe(1);
  });
});
