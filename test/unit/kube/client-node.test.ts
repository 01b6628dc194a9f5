/**
 * Why informer, watch and leader election are our own: what client-node does, at the installed version. If a test fails after
 * an update, read "Why parts are our own" in docs/concepts/design.md again, and use the package where it now carries the
 * promise.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import * as clientNode from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from 'vitest';

const PATH = '/api/v1/configmaps';
const OBJECT = { metadata: { name: 'a', namespace: 'ns', resourceVersion: '7' } };
const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

/** An API server whose watch answers with these lines, and which notes the query of each request. */
async function serve(status: number, lines: readonly string[]) {
  const queries: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    queries.push(new URL(request.url ?? '', 'http://api').searchParams);
    response.writeHead(status);
    for (const line of lines) response.write(`${line}\n`);
    if (status !== 200) response.end();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const config = new clientNode.KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, skipTLSVerify: true },
    { name: 'u' },
  );
  return { config, queries };
}

describe('client-node', () => {
  it('has no leader election', () => {
    expect(Object.keys(clientNode).filter((name) => /leader/i.test(name))).toEqual([]);
  });

  it('drops a line of a watch that is not JSON, and tells nobody', async () => {
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
});
