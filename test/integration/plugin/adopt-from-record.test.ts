/** `kubectl vps adopt --from-record` after the loss of a cluster: restored objects regain their servers. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { virtualServer, withAnnotations, withSpec, type Manifest } from '../../fixtures/virtual-server.ts';
import { answerStatus } from '../kube/proxy.ts';
import { lostOrder, sent } from '../support/creates.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { pluginBehindProxy } from '../support/plugin-proxy.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { TestNamespace } from '../support/test-namespace.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();

/** What Velero and `kubectl create` restore: everything but the status, with a new uid. */
function restorable({ apiVersion, kind, metadata, spec }: VirtualServer, more: object = {}): Manifest {
  const { name, annotations = {}, finalizers = [] } = metadata;
  return { apiVersion, kind, metadata: { name, annotations, finalizers, ...more }, spec };
}

/** Loses the cluster with the operator and its journal: the objects are gone, their servers keep running. */
async function loseCluster(world: World, names: readonly string[]): Promise<VirtualServer[]> {
  await world.stopOperator();
  const lost: VirtualServer[] = [];
  for (const name of names) {
    lost.push((await world.get(name)) as VirtualServer);
    await world.patch(name, { metadata: { finalizers: [] } });
    await world.delete(name);
    await world.waitGone(name);
  }
  return lost;
}

async function adoptOf(world: TestNamespace, name: string): Promise<string | undefined> {
  return (await world.get(name))?.metadata.annotations?.[ADOPT_ANNOTATION];
}

const FROM_RECORD = ['vps', 'adopt', '--from-record'];

describe('kubectl vps adopt --from-record', () => {
  it('returns their servers to thirty restored objects, despite an interruption and a failure', async () => {
    const world = await createWorld();
    const names = Array.from({ length: 30 }, (_, index) => `web-${index + 10}`);
    for (const name of names) await world.create(virtualServer(name));
    for (const name of names) await world.waitForReason(name, 'Available', 'Ready');
    const lost = await loseCluster(world, names);
    const identifiers = new Map(lost.map((object) => [object.metadata.name, recordOf(object).identifier]));

    for (const object of lost) await world.create(restorable(object));
    await world.startOperator({ journal: false });
    for (const name of names) await world.waitForReason(name, 'RecordMismatch', 'Stalled');
    expect(sent(world)).toHaveLength(30);

    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    const shown = await plugin.kubectl([...FROM_RECORD, '--all', '--dry-run']);
    expect(shown.code).toBe(0);
    for (const [name, identifier] of identifiers) {
      expect(shown.stdout).toMatch(new RegExp(`^${name} +RecordMismatch +${identifier} +adopt +-$`, 'm'));
    }
    const refused = await plugin.kubectl([...FROM_RECORD, '--all']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(proxy.requests.filter((line) => line.startsWith('PATCH'))).toEqual([]);

    // The process dies at the eleventh annotation, which gets no answer.
    const pidFile = join(world.journalDir, 'pid');
    let patches = 0;
    proxy.intercept = ({ method }) => {
      if (method !== 'PATCH' || ++patches <= 10) return false;
      void readFile(pidFile, 'utf8').then((pid) => process.kill(Number(pid), 'SIGKILL'));
      return true;
    };
    const line = `kubectl vps adopt --from-record --all --yes & echo $! > ${pidFile}; wait $!`;
    expect((await plugin.shell(line)).code).toBe(137);
    for (const name of names.slice(0, 10)) await world.waitForReason(name, 'Available', 'Ready');
    for (const name of names.slice(10)) expect(await adoptOf(world, name)).toBeUndefined();

    proxy.intercept = ({ method, url }, response) =>
      method === 'PATCH' && url?.includes('/web-25') === true && answerStatus(response, 403);
    const second = await plugin.kubectl([...FROM_RECORD, '--all', '--yes']);
    expect([second.code, second.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^web-25 is not annotated: .*19 annotated, 10 already done, 0 skipped, 1 failed, 0 need you/ms,
      ),
    ]);
    expect(await adoptOf(world, 'web-25')).toBeUndefined();

    proxy.intercept = undefined;
    const third = await plugin.kubectl([...FROM_RECORD, '--all', '--yes']);
    expect([third.code, third.stdout]).toEqual([0, expect.stringContaining('1 annotated, 29 already done')]);
    for (const name of names) {
      const { metadata, status } = await world.waitForReason(name, 'Available', 'Ready');
      expect([name, status?.identifier]).toEqual([name, identifiers.get(name)]);
      expect(status?.record?.owner).toBe(metadata.uid);
    }
    expect((await plugin.kubectl([...FROM_RECORD, '--all'])).code).toBe(0);
    expect(sent(world)).toHaveLength(30);
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(world.simulator.aliveServers()).toHaveLength(30);
  });

  it('uses the records of a backup if the restored objects have none', async () => {
    const world = await createWorld();
    const { status } = await readyServer(world, 'web');
    await readyServer(world, 'db');
    const plugin = await createPlugin(folder(), world.namespace);
    await plugin.shell('kubectl get vps -o yaml > backup.yaml');
    const [web] = await loseCluster(world, ['web', 'db']);
    await world.create(restorable(web as VirtualServer, { annotations: {} }));
    await world.startOperator({ journal: false });
    await world.waitForReason('web', 'RecordMissing', 'Stalled');

    const all = await plugin.kubectl([...FROM_RECORD, '--all', '--yes']);
    expect([all.code, all.stderr]).toEqual([1, expect.stringContaining('its record is lost')]);
    const first = await plugin.kubectl([...FROM_RECORD, '-f', 'backup.yaml', '--yes']);
    expect([first.code, first.stderr]).toEqual([
      1,
      expect.stringMatching(/^db .*not in the cluster: apply backup.yaml/m),
    ]);
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(status?.identifier);
    const piped = await plugin.shell(`kubectl vps adopt --from-record -f - --yes < backup.yaml`);
    expect([piped.code, piped.stderr]).toEqual([1, expect.stringContaining('0 annotated, 1 already done')]);
    expect(sent(world)).toHaveLength(2);
  });

  it('skips objects that only the user can decide on, and objects that no label selects', async () => {
    const world = await createWorld();
    await readyServer(world, 'web', withSpec({ deletionPolicy: 'Retain' }));
    const copied = recordOf((await world.get('web')) as VirtualServer);
    await readyServer(world, 'db');
    await readyServer(world, 'other');
    await lostOrder(world, 'lost', true);
    const lost = await loseCluster(world, ['db', 'lost', 'other']);
    for (const object of lost) {
      const labels = { restored: object.metadata.name === 'other' ? 'no' : 'yes' };
      await world.create(restorable(object, { labels }));
    }
    const copy = virtualServer('copy', withAnnotations({ [RECORD_ANNOTATION]: JSON.stringify(copied) }));
    await world.create({
      ...copy,
      metadata: { ...copy.metadata, labels: { restored: 'yes' } },
    });
    await world.startOperator({ journal: false });
    for (const name of ['copy', 'db', 'lost']) await world.waitForReason(name, 'RecordMismatch', 'Stalled');

    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.kubectl([...FROM_RECORD, '-l', 'restored=yes', '--yes']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('1 annotated, 0 already done, 0 skipped, 0 failed, 2 need you'),
    ]);
    expect(stderr).toMatch(new RegExp(`^copy .*needs you +server ${copied.identifier} is also named by web`, 'm'));
    expect(stderr).toMatch(/^lost .*needs you +its record names no server of its order \(.*\) yet/m);
    await world.waitForReason('db', 'Available', 'Ready');
    for (const name of ['copy', 'lost', 'other', 'web']) expect(await adoptOf(world, name)).toBeUndefined();
    expect(sent(world)).toHaveLength(4);
    expect(world.simulator.ledger.cancels()).toEqual([]);
  });

  it('does not take a server from an original in another namespace', async () => {
    const world = await createWorld({ operator: false });
    const beside = new TestNamespace(world.http, `${world.namespace}-restored`);
    await world.http.call({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: beside.namespace } },
    });
    await beside.putSecret('vps-api-key', DEFAULT_KEY);
    await world.startOperator({ flags: [`--watch-namespace=${world.namespace},${beside.namespace}`] });
    const original = await readyServer(world, 'web');
    await beside.create(restorable(original));
    await beside.waitForReason('web', 'RecordMismatch', 'Stalled');

    const plugin = await createPlugin(folder(), beside.namespace);
    await plugin.kubectl([...FROM_RECORD, '--all', '--yes']);
    await beside.waitForReason('web', 'IdentifierInUse', 'Stalled');
    await beside.delete('web');
    await beside.waitGone('web');
    await world.visited('web');
    expect((await world.waitForReason('web', 'Available', 'Ready')).status?.identifier).toBe(
      original.status?.identifier,
    );
    expect(world.simulator.ledger.cancels()).toEqual([]);
    expect(sent(world)).toHaveLength(1);
  });

  it('refuses conflicting flags', async () => {
    const world = await createWorld({ operator: false });
    await world.create(virtualServer('web'));
    const plugin = await createPlugin(folder(), world.namespace);
    const result = (...words: string[]) => plugin.kubectl(['vps', 'adopt', ...words, '--yes']);
    for (const [words, why] of [
      [['--from-record'], 'one of --filename FILE, --selector SELECTOR and --all'],
      [['--from-record', '--all', '-l', 'a=b'], 'one of --filename FILE, --selector SELECTOR and --all'],
      [['--from-record', '-l', ''], 'one of --filename FILE, --selector SELECTOR and --all'],
      [['--from-record', 'web', '--all'], 'either --from-record or NAME and IDENTIFIER'],
      [['web', 'vs1', '--all'], 'require --from-record'],
      [['web', 'vs1', '--dry-run'], 'requires --from-record or --filename'],
      [['web'], 'pass NAME and IDENTIFIER'],
      [['--from-record', '-f', 'none.yaml'], 'cannot read --filename none.yaml'],
    ] as const) {
      const { code, stderr } = await result(...words);
      expect([words, code, stderr]).toEqual([words, 2, expect.stringContaining(why)]);
    }
    expect((await result('--from-record', '-l', 'a=b')).code).toBe(3);
    expect(await adoptOf(world, 'web')).toBeUndefined();
  });
});

describe.skipIf(noTerminal !== undefined)('kubectl vps adopt --from-record on a terminal', () => {
  it('shows the plan and asks; answering no changes nothing', async () => {
    const world = await createWorld({ operator: false });
    const record = { owner: 'before', mode: 'create', identifier: 'vs1' };
    await world.create(virtualServer('web', withAnnotations({ [RECORD_ANNOTATION]: JSON.stringify(record) })));
    const plugin = await createPlugin(folder(), world.namespace);
    for (const [key, code, adopted] of [
      ['\r', 1, undefined],
      ['y\r', 0, 'vs1'],
    ] as const) {
      const session = plugin.terminal('kubectl vps adopt --from-record --all');
      await session.shows(/web .*vs1 .*adopt.*\(y\/N\)/s);
      session.type(key);
      expect(await session.ended).toBe(code);
      expect(await adoptOf(world, 'web')).toBe(adopted);
    }
  });
});
