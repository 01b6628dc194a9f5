/** `kubectl vps wait` with interruptions: a pause, an unavailable API server, a recreated object. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { PAUSED_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** What happens to a request: it passes, gets this status, loses its connection, or gets no answer. */
type Fate = 'pass' | 503 | 429 | 403 | 'drop' | 'silence';
type FateOf = (request: number, path: string) => Fate | Promise<Fate>;

/** The plugin with an API server that handles the first, second, ... request as `fateOf` says. */
async function behind(world: World, fateOf: FateOf): Promise<{ plugin: Plugin; requests: () => number }> {
  let requests = 0;
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    const fate = await fateOf(++requests, path);
    if (fate === 'silence') return;
    if (fate === 'drop') return void response.destroy();
    if (fate !== 'pass') return void response.writeHead(fate).end();
    response.end(JSON.stringify(await world.http.call({ path })));
  };
  const server = createServer(({ url = '' }, response) => void answer(url, response)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const file = join(world.journalDir, 'front');
  const { port } = server.address() as AddressInfo;
  const config = {
    clusters: [{ name: 'front', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'anonymous', user: {} }],
    contexts: [{ name: 'front', context: { cluster: 'front', user: 'anonymous' } }],
    'current-context': 'front',
  };
  await writeFile(file, stringify(config));
  return { plugin: await createPlugin(folder(), world.namespace, file), requests: () => requests };
}

describe('kubectl vps wait', () => {
  it('gives up on a paused object, and prints the command that resumes it', async () => {
    const world = await createWorld();
    await world.create(virtualServer('web', withAnnotations({ [PAUSED_ANNOTATION]: 'true' })));
    await world.waitForReason('web', 'Paused', 'Paused');
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.kubectl(['vps', 'wait', 'web', '--timeout', '30s']);
    expect([code, stderr]).toEqual([4, expect.stringMatching(/web is stuck and needs you. Paused: /)]);
    expect(stderr).toMatch(/^ {2}kubectl vps resume web +# to continue$/m);
  });

  it('keeps waiting while the API server is unavailable', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const fates: Fate[] = ['pass', 503, 429, 'drop'];
    const { plugin, requests } = await behind(world, (request) => fates[request - 1] ?? 'pass');
    const waiting = plugin.kubectl(['vps', 'wait', 'web', '--timeout', '1m']);
    await world.until(() => requests() > fates.length, 'a request after the outage');
    await world.startOperator();
    expect(await waiting).toMatchObject({ code: 0, stdout: 'web is ready\n' });
  });

  it('reports once that the object is not being deleted yet, and waits until it is gone', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const { plugin } = await behind(world, async (request): Promise<Fate> => {
      if (request === 3) {
        await world.delete('web');
        await world.create(virtualServer('web'));
      }
      return 'pass';
    });
    const { code, stdout, stderr } = await plugin.kubectl([
      'vps',
      'wait',
      'web',
      '--for',
      'deleted',
      '--timeout',
      '1m',
    ]);
    expect([code, stdout]).toEqual([0, 'web is gone\n']);
    expect(stderr.match(/^web is not being deleted yet; waiting$/gm)).toHaveLength(1);
  });

  it('does not wait for an API server that has never answered', async () => {
    const world = await createWorld({ operator: false });
    const { plugin, requests } = await behind(world, () => 'drop');
    expect((await plugin.kubectl(['vps', 'wait', 'web', '--timeout', '1m'])).code).toBe(1);
    expect(requests()).toBe(1);
  });

  it.each([1, 2])('times out when request %s gets no answer', async (silent) => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const { plugin } = await behind(world, (request) => (request < silent ? 'pass' : 'silence'));
    const begun = Date.now();
    const { code, stderr } = await plugin.kubectl(['vps', 'wait', 'web', '--timeout', '3s']);
    expect([code, stderr]).toEqual([5, expect.stringMatching(/^kubectl vps: web: timed out after 3s$/m)]);
    // A call may take 15 s; none that comes after the timeout does.
    expect(Date.now() - begun).toBeLessThan(12_000);
  });

  it('treats an object that was recreated between two polls as gone', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const { plugin } = await behind(world, async (request): Promise<Fate> => {
      if (request === 2) {
        await world.delete('web');
        await world.create(virtualServer('web'));
      }
      return 'pass';
    });
    const waited = await plugin.kubectl(['vps', 'wait', 'web', '--for', 'deleted', '--timeout', '10s']);
    expect(waited).toMatchObject({ code: 0, stdout: 'web is gone\n' });
  });
});

describe('kubectl vps status --watch', () => {
  it('keeps checking while the API server is unavailable, and reports that once', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const fates: Fate[] = ['pass', 503, 'drop', 'pass'];
    // Not by the number of the request: one more call, after one that had timed out, made the Events Forbidden instead of the
    // object, and the screen says so.
    const fateOf: FateOf = (_, path) => (path.includes('/events') ? 'pass' : (fates.shift() ?? 403));
    const { plugin } = await behind(world, fateOf);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'status', 'web', '--watch']);
    // Whole screens, so that a failure shows what changed.
    expect([code, stdout.split(/^(?=web in )/m)]).toEqual([1, [expect.stringMatching(/^web in /)]]);
    expect(stderr).toMatch(/^retrying: .*\nkubectl vps: .*403.*\n$/);
  });
});
