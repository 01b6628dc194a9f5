/** `kubectl vps replace`: one order, one cancellation, whatever interrupts it, and none of the old server too early. */
import { describe, expect, it } from 'vitest';
import { SET_KIND, API_VERSION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations, withSpec } from '../../fixtures/virtual-server.ts';
import { namedFault } from '../../../src/simulator/index.ts';
import { putCatalog } from '../support/catalog.ts';
import { lostOrder, sent } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin, type Result } from '../support/plugin.ts';
import { interruptedAt, pluginBehindProxy } from '../support/plugin-proxy.ts';
import { publicWorld } from '../support/public-service.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

const UBUNTU = 'cloudinit-ubuntu-noble.raw.gz';
const MEMBERSHIP = {
  metadata: {
    ownerReferences: [{ apiVersion: API_VERSION, kind: SET_KIND, name: 'set', uid: 'uid', controller: true }],
  },
};

async function ready(...names: string[]): Promise<{ world: World; plugin: Plugin }> {
  const world = await createWorld();
  for (const name of names) await readyServer(world, name);
  return { world, plugin: await createPlugin(folder(), world.namespace) };
}

const identifierOf = async (world: World, name: string): Promise<string | undefined> =>
  (await world.get(name))?.status?.identifier;

const cancelled = (world: World): string[] => world.simulator.ledger.cancels().map(({ identifier }) => identifier);

describe('kubectl vps replace', () => {
  it('leaves the identifier that you chose to the old server, which has it until the end', async (context) => {
    const world = await publicWorld(context);
    const plugin = await createPlugin(folder(), world.namespace);
    await readyServer(world, 'web', withSpec({ identifier: 'shop' }));
    const { code, stdout } = await plugin.kubectl(['vps', 'replace', 'web', '--yes']);
    expect([code, stdout]).toEqual([0, 'web is replaced by web-v2\n']);
    const next = await world.get('web-v2');
    expect(next?.spec).not.toHaveProperty('identifier');
    expect(next?.status?.identifier).toMatch(/^webv2/);
  });

  it('orders one server, and cancels the old one when the new one is ready', async () => {
    const { world, plugin } = await ready('web');
    await world.patch('web', {
      metadata: {
        labels: { tier: 'front' },
        annotations: { 'example.org/owner': 'team', 'vps-operator.dev/reconcile-at': 'now' },
      },
    });
    const old = await identifierOf(world, 'web');
    const run = (...flags: string[]): Promise<Result> => plugin.kubectl(['vps', 'replace', 'web', '--yes', ...flags]);
    const { code, stdout, stderr } = await run('--image', UBUNTU, '--ssh-check', 'None', '--ttl', '72h');
    expect([code, stdout]).toEqual([0, 'web is replaced by web-v2\n']);
    expect(stderr).toContain(
      "price of web-v2: 1018.00, as a server like it (in the provider's unit)\n" +
        'you pay for both servers until that of web is cancelled\n' +
        'web-v2 is created, and the operator orders its server; web stays until web-v2 is ready\n',
    );
    const next = await world.get('web-v2');
    expect(next?.spec).toMatchObject({ product: 'VPSX4', image: UBUNTU, ttl: '72h' });
    expect(next?.metadata.labels).toEqual({ tier: 'front' });
    expect(next?.metadata.annotations).toMatchObject({ 'example.org/owner': 'team' });
    expect(next?.metadata.annotations).not.toHaveProperty(['vps-operator.dev/reconcile-at']);
    expect(await world.get('web')).toBeUndefined();
    expect(cancelled(world)).toEqual([old]);
    const entries = world.simulator.ledger.entries();
    const completed = entries.findIndex(
      (entry) => entry.kind === 'taskCompleted' && entry.identifier === next?.status?.identifier,
    );
    expect(completed).toBeGreaterThan(-1);
    expect(completed).toBeLessThan(entries.findIndex(({ kind }) => kind === 'cancel'));
    // Again, it orders nothing.
    expect(await run()).toMatchObject({ code: 0, stdout: 'web is gone; web-v2 has replaced it\n' });
    const again = await plugin.kubectl(['vps', 'replace', 'web-v2', '--yes']);
    expect([again.code, again.stdout]).toEqual([0, 'web-v2 is replaced by web-v3\n']);
    expect(world.simulator.ledger.creates()).toHaveLength(3);
    expect(cancelled(world)).toHaveLength(2);
    expect(await run('db')).toMatchObject({ code: 2 });
    expect((await plugin.kubectl(['vps', 'replace', 'db', '--yes'])).code).toBe(3);
  });

  it('takes a manifest of the new server, also one of the old object', async () => {
    const { world, plugin } = await ready('web');
    await plugin.shell(`kubectl get vps web -o yaml | sed 's#image: .*#image: ${UBUNTU}#' > web.yaml`);
    const run = (...flags: string[]): Promise<Result> => plugin.kubectl(['vps', 'replace', 'web', '--yes', ...flags]);
    expect(await run('-f', 'web.yaml', '--image', UBUNTU)).toMatchObject({ code: 2 });
    expect(await run('-f', 'none.yaml')).toMatchObject({ code: 2 });
    const { identifier = '' } = (await world.get('web'))?.status ?? {};
    await plugin.shell(`sed 's#^  image:#  identifier: ${identifier}\\n  image:#' web.yaml > taken.yaml`);
    expect(await run('-f', 'taken.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`web has the identifier ${identifier} until its server is cancelled`) as string,
    });
    expect(sent(world)).toHaveLength(1);
    expect(await run('-f', 'web.yaml', '--name', 'site')).toMatchObject({
      code: 0,
      stdout: 'web is replaced by site\n',
    });
    expect((await world.get('site'))?.spec.image).toBe(UBUNTU);
    expect([sent(world).length, cancelled(world).length]).toEqual([2, 1]);
  });

  it('orders nothing that the catalog does not have, and says what costs money until when', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionDelay: '24h' }));
    const server = await identifierOf(world, 'web');
    const plugin = await createPlugin(folder(), world.namespace);
    await putCatalog(world);
    await plugin.shell(`kubectl get vps web -o yaml | sed 's#product: .*#product: VPSX9#' > web.yaml`);
    for (const [flag, says] of [
      [['--product', 'VPSX9'], /--product "VPSX9" is not in the catalog \S+, which has VPSX4/],
      [['-f', 'web.yaml'], /--filename web\.yaml: spec\.product "VPSX9" is not in the catalog/],
    ] as const) {
      const result = await plugin.kubectl(['vps', 'replace', 'web', '--yes', ...flag]);
      expect([result.code, result.stdout, result.stderr]).toEqual([2, '', expect.stringMatching(says)]);
    }
    expect(sent(world)).toHaveLength(1);
    const replaced =
      `web is replaced by web-v2\nserver ${server} is cancelled 24h after the deletion of web, and costs money until then\n` +
      'kubectl vps cancel web --now   # cancels it now\n';
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'replace', 'web', '--yes']);
    expect([code, stdout]).toEqual([0, replaced]);
    const both = 'you pay for both servers until that of web is cancelled, 24h after the deletion of web';
    expect(stderr).toContain(`${both} (spec.deletionDelay)\n`);
    expect(await plugin.kubectl(['vps', 'replace', 'web', '--yes'])).toMatchObject({ code: 0, stdout: replaced });
    expect([sent(world).length, cancelled(world)]).toEqual([2, []]);
    expect((await plugin.shell('kubectl vps cancel web --now --yes')).code).toBe(0);
    await world.waitGone('web');
    expect(cancelled(world)).toEqual([server]);
  });

  it('keeps the server of an object with Retain, and reports it', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    const old = await identifierOf(world, 'web');
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stdout } = await plugin.kubectl(['vps', 'replace', 'web', '--yes']);
    expect([code, stdout]).toEqual([0, `web is replaced by web-v2\nserver ${old} keeps running and costs money\n`]);
    expect([sent(world).length, cancelled(world).length]).toEqual([2, 0]);
  });

  it('orders nothing if the old server may not be cancelled, or not yet', async () => {
    const { world, plugin } = await ready('web', 'db', 'app', 'lab');
    await lostOrder(world, 'lost', false);
    await world.patch('web', { spec: { deletionProtection: true } });
    await world.annotate('db', { paused: 'true' });
    await world.patch('app', MEMBERSHIP);
    await plugin.shell('kubectl label vps lab --field-manager=argocd-controller team=lab');
    const before = sent(world).length;
    for (const [name, says] of [
      ['web', /^kubectl vps: web is protected, and stays\n {2}kubectl vps unprotect web\n$/],
      ['db', /^kubectl vps: db is paused: .*\n {2}kubectl vps resume db\n$/],
      ['app', /app is a member of a set.*\n {2}kubectl vps rollout restart set\/set /],
      ['lab', /Argo CD applies lab and would create it again, with a third server/],
      ['lost', /not yet: the outcome of order [0-9a-f]+ is unknown\n {2}kubectl vps status lost\n$/],
    ] as const) {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', 'replace', name, '--yes']);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(says)]);
    }
    await world.create(virtualServer('web-v2', withAnnotations({ 'vps-operator.dev/paused': 'true' })));
    await world.patch('web', { spec: { deletionProtection: false } });
    for (const [flags, code, says] of [
      [['--name', 'web-v3'], 2, /not a terminal: pass --yes/],
      [[], 1, /there is already a VirtualServer web-v2: pass another name with --name/],
      [['--yes'], 1, /there is already a VirtualServer web-v2: pass another name with --name/],
      [['--yes', '--name', 'web'], 1, /there is already a VirtualServer web:/],
      [['--yes', '--name', 'Web'], 2, /Invalid VirtualServer name/],
      [['--yes', '--image', ''], 2, /--image: /],
      [['--yes', '--expires-at', '2020-01-01T00:00:00Z'], 2, /expired at 2020-01-01T00:00:00Z/],
    ] as const) {
      const result = await plugin.kubectl(['vps', 'replace', 'web', ...flags]);
      expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) as string });
    }
    expect([sent(world).length, cancelled(world)]).toEqual([before, []]);
  });

  it('keeps the old server while the new one is not ready, and orders no other one', async () => {
    const { world, plugin } = await ready('web');
    const run = (...flags: string[]): Promise<Result> => plugin.kubectl(['vps', 'replace', 'web', '--yes', ...flags]);
    const stuck = await run('--product', 'VPSX9');
    expect([stuck.code, stuck.stderr]).toEqual([4, expect.stringContaining('web-v2 is stuck and needs you.')]);
    expect(await run('--timeout', '1s')).toMatchObject({ code: 5 });
    const other = await run('--product', 'VPSX8', '--name', 'web-v3');
    expect([other.code, other.stderr]).toEqual([
      2,
      expect.stringContaining('web-v2 already replaces web, with another name, product'),
    ]);
    expect([world.simulator.ledger.creates().length, cancelled(world)]).toEqual([1, []]);
    await world.delete('web-v2');
    await world.waitGone('web-v2');
    expect(await run('--product', 'VPSX8')).toMatchObject({ code: 0 });
    expect([world.simulator.ledger.creates().length, cancelled(world).length]).toEqual([2, 1]);
  });

  it('continues after an interruption at each of its requests', async () => {
    const world = await createWorld();
    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    let isDone = false;
    for (let last = 1; !isDone; last += 1) {
      const name = `web${last}`;
      await readyServer(world, name);
      const old = await identifierOf(world, name);
      const { first, signal } = await interruptedAt(last, { plugin, proxy }, `replace ${name} --yes`);
      // With that many requests, the first run got through.
      isDone = first.code === 0;
      if (!isDone) expect(first.code).toBe(signal === 'INT' ? 130 : 137);
      const second = await plugin.shell(`kubectl-vps replace ${name} --yes`);
      expect([second.code, second.stderr]).toEqual([0, second.stderr]);
      expect(await world.get(name)).toBeUndefined();
      expect((await world.get(`${name}-v2`))?.status?.conditions?.[0]?.reason).toBe('Available');
      expect(world.simulator.ledger.creates()).toHaveLength(2 * last);
      expect(cancelled(world)).toHaveLength(last);
      expect(cancelled(world).at(-1)).toBe(old);
      // At least two looks, the order, the wait, the deletion and the wait for its end.
      if (isDone) expect(last).toBeGreaterThan(7);
    }
  });
});

describe.skipIf(noTerminal !== undefined)('kubectl vps replace on a terminal', () => {
  const QUESTION = /web-v2 is ready\. Delete web\? Its server \S+ is then cancelled\..*\(y\/N\)/;

  /** The old server stays, whatever happened between the question and the answer. */
  async function answered(change: (world: World) => Promise<unknown>, says: RegExp, keys = 'y\r'): Promise<World> {
    const { world, plugin } = await ready('web');
    const session = plugin.terminal('kubectl vps replace web');
    await session.shows(QUESTION);
    await change(world);
    session.type(keys);
    expect([await session.ended, session.text()]).toEqual([1, expect.stringMatching(says)]);
    expect((await world.get('web'))?.metadata.deletionTimestamp).toBeUndefined();
    return world;
  }

  it('asks before it deletes', async () => {
    const { world, plugin } = await ready('web');
    const session = plugin.terminal('kubectl vps replace web');
    await session.shows(QUESTION);
    expect(cancelled(world)).toEqual([]);
    session.type('y\r');
    expect(await session.ended).toBe(0);
    expect([sent(world).length, cancelled(world).length]).toEqual([2, 1]);
  });

  it.each<[string, (world: World) => Promise<unknown>, RegExp]>([
    [
      'is protected',
      (world) => world.patch('web', { spec: { deletionProtection: true } }),
      /web is protected, and stays/,
    ],
    ['has another spec', (world) => world.patch('web', { spec: { sshCheck: 'Proxy' } }), /the spec of web has changed/],
    ['is paused', (world) => world.annotate('web', { paused: 'true' }), /web is paused: /],
    ['is a member of a set', (world) => world.patch('web', MEMBERSHIP), /web is a member of a set/],
  ])('keeps the old server if it %s by the time of the answer', async (_what, change, says) => {
    expect(cancelled(await answered(change, says))).toEqual([]);
  });

  it('keeps the old server if the new one is no longer ready', async () => {
    const says = /web-v2 is no longer ready; web stays/;
    const world = await answered((world) => world.patch('web-v2', { spec: { sshCheck: 'Direct' } }), says);
    expect(cancelled(world)).toEqual([]);
  });

  it('keeps another object of the same name', async () => {
    const recreate = async (world: World): Promise<void> => {
      await world.delete('web');
      await world.waitGone('web');
      await readyServer(world, 'web');
    };
    // Only the deletion that the test asked for.
    expect(cancelled(await answered(recreate, /web has become another object, and stays/))).toHaveLength(1);
  });

  it('asks again if another server would be cancelled than the question said', async () => {
    const world = await createWorld();
    world.simulator.faults.inject(namedFault('rejected-order'));
    await world.create(virtualServer('web'));
    await world.waitForReason('web', 'CreateRejected', 'Stalled');
    const plugin = await createPlugin(folder(), world.namespace);
    const session = plugin.terminal('kubectl vps replace web');
    await session.shows(/Delete web\? It holds no server\..*\(y\/N\)/);
    await world.annotate('web', { 'reconcile-at': 'now' });
    await world.waitForReason('web', 'Available', 'Ready');
    session.type('y\r');
    await session.shows(/holds no server[^]*Delete web\? Its server \S+ is then cancelled\..*\(y\/N\)/);
    session.type('n\r');
    expect(await session.ended).toBe(1);
    expect([sent(world).length, cancelled(world)]).toEqual([3, []]);
  });

  it('says which servers cost money if the answer is no', async () => {
    const says = /nothing was deleted: web and web-v2 both cost money\r\n {2}kubectl delete vps web-v2 /;
    expect(cancelled(await answered(() => Promise.resolve(), says, 'n\r'))).toEqual([]);
  });
});
