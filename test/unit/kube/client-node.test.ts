/**
 * What the installed version of client-node does: the facts in the section "Why parts are our own" of docs/concepts/design.md.
 * If a test fails after an update, correct that section, and use the package if it now keeps the promise.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import * as clientNode from '@kubernetes/client-node';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';

const PATH = '/api/v1/configmaps';
const OBJECT = { metadata: { name: 'a', namespace: 'ns', resourceVersion: '7' } };
const servers: Server[] = [];
const folder = mkdtempSync(join(tmpdir(), 'client-node-'));

afterEach(() => {
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) server.closeAllConnections();
});
afterAll(() => rmSync(folder, { recursive: true }));

const version = (resourceVersion: string, uid: string) => ({
  metadata: { name: 'a', namespace: 'ns', uid, resourceVersion },
});

/** Writes a kubeconfig file whose context and cluster have these names. */
function kubeconfig(context: string, cluster: string): string {
  const path = join(folder, context);
  const user = { as: 'jane', 'as-uid': '1', 'as-groups': ['admins'], tokenFile: 'token' };
  const file = {
    'current-context': context,
    clusters: [{ name: cluster, cluster: { server: 'https://api' } }],
    users: [{ name: cluster, user }],
    contexts: [{ name: context, context: { cluster, user: cluster } }],
  };
  writeFileSync(path, JSON.stringify(file));
  return path;
}

/** An API server that answers a watch with these lines and a list with an empty one. It notes queries and connections. */
async function serve(status: number, lines: readonly string[]) {
  const queries: URLSearchParams[] = [];
  const connections: Socket[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://api');
    queries.push(searchParams);
    response.writeHead(status, { 'content-type': 'application/json' });
    if (!searchParams.has('watch')) {
      response.end('{"metadata": {"resourceVersion": "7"}, "items": []}');
      return;
    }
    for (const line of lines) response.write(`${line}\n`);
    if (status !== 200) response.end();
  });
  server.on('connection', (socket) => connections.push(socket));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const config = new clientNode.KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'u' },
  );
  return { config, queries, connections };
}

describe('client-node', () => {
  it('has no leader election', () => {
    expect(Object.keys(clientNode).filter((name) => /leader/i.test(name))).toEqual([]);
  });

  it('drops a line of a watch that is not JSON without an error', async () => {
    const line = JSON.stringify({ type: 'ADDED', object: OBJECT });
    const { config } = await serve(200, ['{"type": "ADDED", "obj', line]);
    const ends: unknown[] = [];
    const watch = new clientNode.Watch(config);
    const first = await new Promise((resolve) => {
      void watch.watch(
        PATH,
        {},
        (_type, object: unknown) => resolve(object),
        (error: unknown) => ends.push(error),
      );
    });
    expect(first).toEqual(OBJECT);
    expect(ends).toEqual([]);
  });

  it('swallows what the callback of a watch throws', async () => {
    const lines = ['1', '2'].map((uid) => JSON.stringify({ type: 'ADDED', object: version('7', uid) }));
    const { config } = await serve(200, lines);
    const seen: unknown[] = [];
    const ends: unknown[] = [];
    await new Promise<void>((resolve) => {
      const onEvent = (_type: string, object: unknown): void => {
        if (seen.push(object) === lines.length) resolve();
        throw new Error('a bug in the callback');
      };
      void new clientNode.Watch(config).watch(PATH, {}, onEvent, (error: unknown) => ends.push(error));
    });
    expect(ends).toEqual([]);
  });

  it('ends a watch that is silent for 30 seconds', async () => {
    const { config } = await serve(200, ['']);
    const watch = new clientNode.Watch(config);
    expect(watch).toMatchObject({ requestTimeoutMs: 30_000 });
    Object.assign(watch, { requestTimeoutMs: 50 });
    const end = await new Promise((resolve) => void watch.watch(PATH, {}, () => undefined, resolve));
    expect(end).toMatchObject({ name: 'TimeoutError' });
  });

  it('stops its informer at an error of the API server, and asks for no bookmarks', async () => {
    const { config, queries } = await serve(503, []);
    const list = (): Promise<{ metadata: object; items: never[] }> =>
      Promise.resolve({ metadata: { resourceVersion: '7' }, items: [] });
    const pauses: number[] = [];
    const delayFn = async (ms: number): Promise<void> => {
      pauses.push(ms);
      return new Promise(() => undefined);
    };
    const informer = new clientNode.ListWatch(PATH, new clientNode.Watch(config), list, false, '', '', {
      delayFn,
    });
    const failed = new Promise((resolve) => informer.on('error', resolve));
    await informer.start();
    expect(await failed).toMatchObject({ statusCode: 503 });
    expect(queries.map((query) => query.get('allowWatchBookmarks'))).toEqual([null]);
    // Before it asks again, it waits with this function.
    await setImmediate();
    expect(pauses).toEqual([]);
  });

  it('takes a re-created object for an update, and an older version for a newer one', async () => {
    const events = [version('9', 'second'), version('3', 'second')].map((object) => ({ type: 'MODIFIED', object }));
    const { config, queries } = await serve(
      200,
      events.map((event) => JSON.stringify(event)),
    );
    const list = () => Promise.resolve({ metadata: { resourceVersion: '8' }, items: [version('8', 'first')] });
    const informer = new clientNode.ListWatch(PATH, new clientNode.Watch(config), list, false);
    const told: unknown[] = [];
    for (const verb of ['add', 'update', 'delete'] as const) {
      informer.on(verb, ({ metadata }) => told.push([verb, metadata.uid, metadata.resourceVersion]));
    }
    await informer.start();
    await vi.waitUntil(() => informer.latestResourceVersion() === '3');
    expect(told).toEqual([
      ['add', 'first', '8'],
      ['update', 'second', '9'],
      ['update', 'second', '3'],
    ]);
    expect(queries).toHaveLength(1);
    await informer.stop();
  });

  it('opens a connection for each call', async () => {
    const { config, connections } = await serve(200, []);
    const api = config.makeApiClient(clientNode.CoreV1Api);
    for (let calls = 0; calls < 3; calls += 1) await api.listNamespacedConfigMap({ namespace: 'ns' });
    expect(connections).toHaveLength(3);
  });

  it('reads kubeconfigs unlike kubectl', () => {
    const files = [kubeconfig('first', 'one'), kubeconfig('second', 'two')];
    const load = (paths: readonly string[]): clientNode.KubeConfig => {
      vi.stubEnv('KUBECONFIG', paths.join(delimiter));
      const config = new clientNode.KubeConfig();
      config.loadFromDefault();
      return config;
    };
    // kubectl takes the current context from the first file, and from the user also uid, groups and token file.
    const loaded = load(files);
    expect(loaded.getCurrentContext()).toBe('second');
    expect(loaded.getCurrentUser()).toEqual({ name: 'two', impersonateUser: 'jane' });
    // kubectl skips a file that is missing, and takes the first of two entries with one name.
    expect(() => load([join(folder, 'missing'), ...files])).toThrow('ENOENT');
    expect(() => load([...files, kubeconfig('third', 'one')])).toThrow('Duplicate cluster: one');
  });
});
