/** `kubectl vps undelete` and `cancel`: nothing is ordered, nothing is cancelled, whatever interrupts a return. */
import { describe, expect, it } from 'vitest';
import { API_VERSION, HAND_OVER_ANNOTATION, SERVER_KIND, SET_KIND } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withAnnotations, withSpec, virtualServer } from '../../fixtures/virtual-server.ts';
import { annotatedRecordOf } from '../../fixtures/records.ts';
import { naming, nextStep } from '../../../src/plugin/decisions/undeletion.ts';
import { useGuards } from '../support/guarded-objects.ts';
import { createPlugin, usePlugin, type Plugin, type Result } from '../support/plugin.ts';
import { interruptedAt, pluginBehindProxy } from '../support/plugin-proxy.ts';
import { readyServer, stalledMessage } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
const { guarded } = useGuards();
/** A process of the operator that has just started hands over nothing for that long. */
const FLAGS = ['--create-timeout=1s', '--takeover-grace=1s'];

const DELAYED = withSpec({ deletionDelay: '24h' });
const held = (object: VirtualServer | undefined): string | undefined => object && annotatedRecordOf(object)?.identifier;
const cancelled = (world: World): string[] => world.simulator.ledger.cancels().map(({ identifier }) => identifier);
const orders = (world: World): number => world.simulator.ledger.creates().length;

async function deleted(world: World, name: string): Promise<string> {
  const object = await readyServer(world, name, DELAYED);
  await world.delete(name);
  await world.waitForReason(name, 'DeletionDelayed');
  return held(object) ?? '';
}

/** An undeletion of `web` that was interrupted while the object between holds the server. */
async function interrupted(world: World): Promise<void> {
  const step = nextStep([(await world.get('web')) as VirtualServer], 'web', undefined, { where: '', now: Date.now() });
  if (step?.do !== 'name') return expect.unreachable();
  await world.patch('web', { metadata: { annotations: naming(step.manifest) } });
  await world.create({ apiVersion: API_VERSION, ...step.manifest } as never);
  await world.waitGone('web');
  await world.waitFor('web-back', (object) => held(object) !== undefined);
}

async function ready(): Promise<{ world: World; plugin: Plugin }> {
  const world = await createWorld({ flags: FLAGS });
  return { world, plugin: await createPlugin(folder(), world.namespace) };
}

describe('kubectl vps undelete', () => {
  it('returns the server to an object of the same name, with its labels and annotations', async () => {
    const { world, plugin } = await ready();
    await readyServer(world, 'web', DELAYED, withAnnotations({ 'example.org/owner': 'team' }));
    await world.patch('web', {
      metadata: { labels: { tier: 'front' }, annotations: { 'vps-operator.dev/reconcile-at': 'now' } },
    });
    const before = await world.get('web');
    await world.delete('web');
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stdout, stderr]).toEqual([0, `web holds server ${held(before) ?? ''}\n`, stderr]);
    const after = await world.get('web');
    expect(after?.metadata.uid).not.toBe(before?.metadata.uid);
    expect(after?.metadata.deletionTimestamp).toBeUndefined();
    expect(after?.spec).toEqual(before?.spec);
    expect(after?.metadata.labels).toEqual({ tier: 'front' });
    expect(Object.keys(after?.metadata.annotations ?? {}).sort()).toEqual([
      'example.org/owner',
      'vps-operator.dev/record',
    ]);
    expect(await world.get('web-back')).toBeUndefined();
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
    // Again, it changes nothing.
    expect(await plugin.kubectl(['vps', 'undelete', 'web'])).toMatchObject({ code: 0, stdout });
    // The next deletion is one of the new object.
    const cancel = await plugin.kubectl(['vps', 'cancel', 'web', '--now', '--yes']);
    expect([cancel.code, cancel.stdout]).toEqual([0, 'web is being deleted\n']);
    await world.waitGone('web');
    expect(cancelled(world)).toEqual([held(before)]);
  });

  it.each([
    ['kubectl apply', ''],
    ['a GitOps tool', ' --server-side --field-manager=kustomize-controller'],
  ])('lets %s remove a field of its own afterwards, and no other', async (_what, how) => {
    const { world, plugin } = await ready();
    const manifest = (spec: object): string => {
      const { spec: base } = virtualServer('web', DELAYED);
      return JSON.stringify({
        ...{ apiVersion: API_VERSION, kind: SERVER_KIND, metadata: { name: 'web', labels: { tier: 'front' } } },
        spec: { ...base, ...spec },
      });
    };
    const apply = (spec: object): Promise<Result> =>
      plugin.shell(`kubectl apply${how} -f - <<'END'\n${manifest(spec)}\nEND`);
    expect((await apply({ ttl: '72h' })).code).toBe(0);
    await world.waitForReason('web', 'Available', 'Ready');
    const edit = `kubectl patch vps web --type=merge -p '{"spec":{"sshCheck":"Proxy"}}'`;
    expect((await plugin.shell(edit)).code).toBe(0);
    await world.delete('web');
    expect((await plugin.kubectl(['vps', 'undelete', 'web'])).code).toBe(0);
    expect((await world.get('web'))?.spec).toMatchObject({ ttl: '72h', sshCheck: 'Proxy', deletionDelay: '24h' });
    const applied = await apply({});
    expect([applied.code, applied.stderr]).toEqual([0, '']);
    const { spec, metadata } = (await world.get('web')) ?? {};
    expect([spec?.ttl, spec?.sshCheck, metadata?.labels]).toEqual([undefined, 'Proxy', { tier: 'front' }]);
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('returns the server also if the owners of its fields cannot be restored, and warns', async () => {
    const world = await createWorld({ flags: FLAGS });
    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    const server = await deleted(world, 'web');
    let patches = 0;
    proxy.intercept = ({ method }, response) => {
      // The first one names the object that gets the server.
      if (method !== 'PATCH' || (patches += 1) === 1) return false;
      response.writeHead(422, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'Status', code: 422, reason: 'Invalid', message: 'no such owner' }));
      return true;
    };
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stdout, patches]).toEqual([0, `web holds server ${server}\n`, 2]);
    expect(stderr).toMatch(/^warning: a field of web that you remove from its manifest may stay, .*no such owner/m);
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('returns the server of a protected object under the guards, which let no protected object be deleted', async () => {
    const { kubeconfigPath, operatorKubeconfigPath } = guarded;
    const world = await createWorld({ flags: FLAGS, kubeconfigPath, operatorKubeconfigPath });
    const plugin = await createPlugin(folder(), world.namespace, kubeconfigPath);
    const server = await deleted(world, 'web');
    expect(await plugin.kubectl(['vps', 'protect', 'web'])).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stdout, stderr]).toEqual([0, `web holds server ${server}\n`, stderr]);
    expect((await world.get('web'))?.spec).toMatchObject({ deletionProtection: true, deletionDelay: '24h' });
    await world.waitGone('web-back');
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
    await world.patch('web', { spec: { deletionProtection: false } });
  });

  it('gives the server a new name', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    const { code, stdout } = await plugin.kubectl(['vps', 'undelete', 'web', '--name', 'site']);
    expect([code, stdout]).toEqual([0, `site holds server ${server}\n`]);
    expect(await world.get('web')).toBeUndefined();
    expect(held(await world.get('site'))).toBe(server);
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('also succeeds if another client creates the object as soon as its name is free', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    const ended = new AbortController();
    const tool = (async () => {
      while (!ended.signal.aborted) {
        await world.create(virtualServer('web', DELAYED)).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    ended.abort();
    await tool;
    expect([code, stdout, stderr]).toEqual([0, `web holds server ${server}\n`, stderr]);
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('does not hand the server over to an object that a tool re-creates with an expiry in the past, and reports why', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    await interrupted(world);
    const past = '2026-01-01T00:00:00Z';
    await world.create(virtualServer('web', DELAYED, withSpec({ expiresAt: past })));
    const refused = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toContain(`spec.expiresAt of web ends the server at ${past}, which is in the past`);
    expect(refused.stderr).toContain('web-back keeps the server');
    // The same without the plugin.
    await world.delete('web-back');
    const waits = await world.waitForReason('web', 'HandOverRefused', 'Stalled');
    expect(stalledMessage(waits)).toContain(`spec.expiresAt of this object ends the server at ${past}`);
    expect(held(await world.get('web-back'))).toBe(server);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await world.patch('web', { spec: { expiresAt: soon } });
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stdout]).toEqual([0, `web holds server ${server}\n`]);
    expect(stderr).toContain('warning: The operator cancels server');
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it("does not give the server to another client's object that has the new name", async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    const step = nextStep([(await world.get('web')) as VirtualServer], 'web', 'site', { where: '', now: Date.now() });
    if (step?.do !== 'name') return expect.unreachable();
    await world.patch('web', { metadata: { annotations: naming(step.manifest) } });
    await world.create(virtualServer('site', DELAYED));
    await world.waitForReason('site', 'HandOverRefused', 'Stalled');
    const { code, stderr } = await plugin.kubectl(['vps', 'undelete', 'web', '--name', 'site']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('another client has created site')]);
    const name = /kubectl annotate vps web .*/.exec(stderr)?.[0] ?? '';
    expect(await plugin.shell(name)).toMatchObject({ code: 0 });
    const again = /kubectl vps undelete web .*/.exec(stderr)?.[0] ?? '';
    const free = again.split(' ').at(-1) ?? '';
    expect(await plugin.shell(again.replace('kubectl vps', 'kubectl-vps'))).toMatchObject({
      code: 0,
      stdout: `${free} holds server ${server}\n`,
    });
    // The other object is like any other now.
    await world.waitForReason('site', 'Available', 'Ready');
    expect([orders(world), cancelled(world)]).toEqual([2, []]);
  });

  it('orders no replacement for a server that is gone before it was taken back, until you tell it to', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    await world.stopOperator();
    world.simulator.fleet.removeServer(server);
    await world.annotate('web', { 'hand-over': 'web2', 'server-gone': server });
    await world.create(virtualServer('web2', DELAYED));
    await world.startOperator();
    const gone = await world.waitForReason('web', 'HandOverRefused', 'Stalled');
    expect(stalledMessage(gone)).toContain('cannot be handed over to web2');
    await world.until(
      async () => stalledMessage((await world.get('web2')) as VirtualServer).includes('no longer exists'),
      'web2 to report that the server is gone',
    );
    expect(orders(world)).toBe(1);
    const command = /`(kubectl annotate vps web [^`]*)`/.exec(
      stalledMessage((await world.get('web2')) as VirtualServer),
    );
    expect(await plugin.shell(command?.[1] ?? '')).toMatchObject({ code: 0 });
    await world.waitGone('web');
    await world.waitForReason('web2', 'Available', 'Ready');
    expect(orders(world)).toBe(2);
  });

  it('continues after an interruption at each of its requests', async () => {
    const world = await createWorld({ flags: FLAGS });
    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    let isDone = false;
    for (let last = 1; !isDone; last += 1) {
      const name = `web${last}`;
      const server = await deleted(world, name);
      const { first } = await interruptedAt(last, { plugin, proxy }, `undelete ${name}`);
      isDone = first.code === 0;
      const second = await plugin.shell(`kubectl-vps undelete ${name}`);
      expect([second.code, second.stdout, second.stderr]).toEqual([
        0,
        `${name} holds server ${server}\n`,
        second.stderr,
      ]);
      await world.waitGone(`${name}-back`);
      expect([orders(world), cancelled(world)]).toEqual([last, []]);
      if (isDone) expect(last).toBeGreaterThan(7);
    }
  });

  it('can keep the server in the object between, wherever it was interrupted', async () => {
    const world = await createWorld({ flags: FLAGS });
    const { plugin, proxy } = await pluginBehindProxy(folder(), world);
    const ends: string[] = [];
    for (let last = 1; ; last += 1) {
      const [name, between] = [`web${last}`, `web${last}-back`];
      const server = await deleted(world, name);
      const { first } = await interruptedAt(last, { plugin, proxy }, `undelete ${name}`);
      if (first.code === 0) break;
      const kept = await plugin.shell(`kubectl-vps undelete ${name} --name ${between}`);
      // Once the object of the old name is there, that one gets the server.
      const end = kept.code === 0 ? between : name;
      if (end === name)
        expect(await plugin.shell(`kubectl-vps undelete ${name}`), kept.stderr).toMatchObject({ code: 0 });
      expect(held(await world.get(end)), kept.stderr).toBe(server);
      await world.waitGone(end === name ? between : name);
      expect([orders(world), cancelled(world)]).toEqual([last, []]);
      ends.push(end.replace(String(last), ''));
    }
    expect(new Set(ends)).toEqual(new Set(['web-back', 'web']));
  });

  it('reports that the object between is paused, and continues when it is resumed', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    await interrupted(world);
    await world.annotate('web-back', { paused: 'true' });
    await world.waitForReason('web-back', 'Paused', 'Paused');
    // A tool has created the object again, which waits for the server.
    await world.create(virtualServer('web', DELAYED));
    await world.waitForReason('web', 'HandOverPending');
    for (const deletes of [false, true]) {
      if (deletes) await world.delete('web-back');
      const { code, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
      expect([code, stderr]).toEqual([4, expect.stringContaining('web-back is stuck and needs you. Paused')]);
      expect(stderr).toContain('kubectl vps resume web-back');
    }
    expect(await plugin.kubectl(['vps', 'resume', 'web-back'])).toMatchObject({ code: 0 });
    const { code, stdout } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stdout]).toEqual([0, `web holds server ${server}\n`]);
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('keeps the server under the name of the object between', async () => {
    const { world, plugin } = await ready();
    const server = await deleted(world, 'web');
    await world.patch('web', { metadata: { labels: { tier: 'front' } }, spec: { deletionProtection: true } });
    await interrupted(world);
    const keep = ['vps', 'undelete', 'web', '--name', 'web-back'];
    const { code, stdout, stderr } = await plugin.kubectl(keep);
    expect([code, stdout, stderr]).toEqual([0, `web-back holds server ${server}\n`, stderr]);
    expect(await plugin.kubectl(keep)).toMatchObject({ code: 0, stdout });
    const { metadata, spec } = (await world.get('web-back')) as VirtualServer;
    expect(metadata.labels).toEqual({ tier: 'front' });
    expect(Object.keys(metadata.annotations ?? {})).toEqual(['vps-operator.dev/record']);
    expect(spec.deletionProtection).toBe(true);
    // The name is free: a new object with this name orders a new server.
    await readyServer(world, 'web');
    expect(held(await world.get('web-back'))).toBe(server);
    expect([orders(world), cancelled(world)]).toEqual([2, []]);
  });

  it('refuses what it cannot take back, and changes nothing', async () => {
    const { world, plugin } = await ready();
    const run = async (...words: string[]): Promise<[number, string]> => {
      const { code, stderr } = await plugin.kubectl(['vps', ...words]);
      return [code, stderr];
    };
    await readyServer(world, 'web', DELAYED);
    expect(await run('undelete', 'none')).toEqual([3, expect.stringContaining('no VirtualServer "none"')]);
    expect(await run('undelete', 'web')).toEqual([1, expect.stringContaining('web is not being deleted')]);
    expect(await run('undelete', 'web', '--name', 'web')).toEqual([2, expect.stringContaining('without --name')]);
    const ownerReferences = [{ apiVersion: API_VERSION, kind: SET_KIND, name: 'set', uid: 'uid', controller: true }];
    await world.delete('web');
    await world.waitForReason('web', 'DeletionDelayed');
    await world.patch('web', { metadata: { ownerReferences } });
    expect(await run('undelete', 'web')).toEqual([
      1,
      expect.stringContaining('kubectl vps undelete web --name web-kept'),
    ]);
    await world.annotate('web', { paused: 'true' });
    expect(await run('undelete', 'web', '--name', 'kept')).toEqual([1, expect.stringContaining('web is paused')]);
    expect((await world.get('web'))?.metadata.annotations).not.toHaveProperty([HAND_OVER_ANNOTATION]);
    await world.annotate('web', { paused: null });
    expect(await run('undelete', 'web', '--name', 'kept')).toEqual([0, expect.anything()]);
    expect((await world.get('kept'))?.metadata.ownerReferences).toBeUndefined();
    expect([orders(world), cancelled(world)]).toEqual([1, []]);
  });

  it('tells how to keep a server whose namespace is being deleted', async () => {
    const { world, plugin } = await ready();
    const server = held(await readyServer(world, 'web', DELAYED));
    await plugin.shell(`kubectl delete namespace ${world.namespace} --wait=false`);
    // Here, no controller deletes the objects of the namespace.
    await world.delete('web');
    await world.waitForReason('web', 'DeletionDelayed');
    const { code, stderr } = await plugin.kubectl(['vps', 'undelete', 'web']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`namespace ${world.namespace} is being deleted`)]);
    expect((await world.get('web'))?.metadata.annotations).not.toHaveProperty([HAND_OVER_ANNOTATION]);
    const keep = /kubectl patch .*/.exec(stderr)?.[0] ?? '';
    expect(await plugin.shell(keep)).toMatchObject({ code: 0 });
    await world.waitGone('web');
    expect([cancelled(world), world.simulator.aliveServers().map(({ identifier }) => identifier)]).toEqual([
      [],
      [server],
    ]);
  });
});

describe('kubectl vps cancel', () => {
  it('leaves the server its delay, and ends the delay with --now', async () => {
    const { world, plugin } = await ready();
    const server = held(await readyServer(world, 'web', DELAYED)) ?? '';
    const run = async (...flags: string[]): Promise<Result> => plugin.kubectl(['vps', 'cancel', 'web', ...flags]);
    expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') as string });
    expect(await run('--yes')).toMatchObject({
      code: 0,
      stdout: 'web is deleted; its server is cancelled after 24h\n',
    });
    await world.waitForReason('web', 'DeletionDelayed');
    const again = await run('--yes');
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(/^web is already being deleted; its server is cancelled at 20/),
    ]);
    expect(cancelled(world)).toEqual([]);
    expect(await run('--yes', '--now')).toMatchObject({ code: 0 });
    await world.waitGone('web');
    expect(cancelled(world)).toEqual([server]);
  });

  it('does not end the delay of a server whose identifier the provider does not show yet, and reports why', async () => {
    const { world, plugin } = await ready();
    world.simulator.fleet.setIdentifierFrom('end');
    world.simulator.fleet.setTaskDuration(Infinity);
    await world.create(virtualServer('web', DELAYED));
    await world.waitForReason('web', 'Creating', 'Ready');
    const { task = 0 } = annotatedRecordOf((await world.get('web')) as VirtualServer) ?? {};
    const refused = { code: 1, stdout: '', stderr: expect.stringContaining('not yet') as string };
    expect(await plugin.kubectl(['vps', 'cancel', 'web', '--now', '--yes'])).toMatchObject(refused);
    expect((await world.get('web'))?.metadata.deletionTimestamp).toBeUndefined();
    expect(await plugin.kubectl(['vps', 'cancel', 'web', '--yes'])).toMatchObject({ code: 0 });
    expect(await plugin.kubectl(['vps', 'cancel', 'web', '--now', '--yes'])).toMatchObject(refused);
    world.simulator.fleet.completeTask(Number(task));
    await world.waitForReason('web', 'DeletionDelayed');
    expect(await plugin.kubectl(['vps', 'cancel', 'web', '--now', '--yes'])).toMatchObject({ code: 0 });
    await world.waitGone('web');
    expect([orders(world), cancelled(world).length]).toEqual([1, 1]);
  });

  it('refuses what would not cancel the server', async () => {
    const { world, plugin } = await ready();
    await readyServer(world, 'web');
    for (const [spec, says] of [
      [{ deletionPolicy: 'Retain' }, 'its server keeps running'],
      [{ deletionPolicy: 'Delete', deletionProtection: true }, 'kubectl vps unprotect web'],
    ] as const) {
      await world.patch('web', { spec });
      expect(await plugin.kubectl(['vps', 'cancel', 'web', '--yes'])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(says) as string,
      });
    }
    expect((await world.get('web'))?.metadata.deletionTimestamp).toBeUndefined();
  });
});
