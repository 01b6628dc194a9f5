/** `kubectl vps rollout` against a real API server. The test runs the reconciler of sets step by step. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { RESTARTED_AT } from '../../../src/api/virtual-server-set.ts';
import { ClusterView } from '../../../src/plugin/cluster/cluster.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { createSetWorld, useSets, type SetWorld } from '../support/set-world.ts';

const folder = usePlugin();
const cluster = useSets();

const OLD = 'debian-12/minimal';
const NEW = 'debian-13/minimal';

async function worldOf(spec: object): Promise<{ world: SetWorld; plugin: Plugin }> {
  const world = await createSetWorld(cluster(), spec);
  const plugin = await createPlugin(folder(), world.namespace, cluster().kubeconfigPath);
  return { world, plugin };
}

/** A set with available members of the image OLD; the template then gets the image NEW. */
async function changed(replicas: number, spec: object = {}): Promise<{ world: SetWorld; plugin: Plugin }> {
  const made = await worldOf({ replicas, ...spec });
  const { world } = made;
  await world.reconcile();
  await world.makeReady(...(await world.names()));
  await world.reconcile();
  await world.patch('web', { spec: { template: { spec: { image: NEW } } } });
  return made;
}

const imageOf = async (world: SetWorld): Promise<string> => (await world.get()).spec.template.spec.image;

describe('kubectl vps rollout status', () => {
  it('shows what the rollout waits for, until it is finished', async () => {
    const { world, plugin } = await changed(1);
    const said = async (): Promise<string> => (await plugin.shell('cat said')).stdout;
    const once = async (): Promise<string> => {
      const { code, stdout } = await plugin.kubectl(['vps', 'rollout', 'status', 'web', '--watch=false']);
      expect(code).toBe(0);
      return stdout;
    };
    expect(await once()).toBe('Waiting for the operator to observe the change of the set...\n');
    const waiting = plugin.shell('kubectl vps rollout status set/web 2> said');
    await expect.poll(said).toMatch(/Waiting for the operator to observe/);
    await world.reconcile();
    await world.reconcile();
    await expect
      .poll(said)
      .toMatch(/^web {2}Waiting for rollout to finish: 1 old member is pending termination\.\.\.$/m);
    await world.makeReady('web-1');
    await world.reconcile();
    expect(await world.names()).toEqual(['web-1']);
    await world.reconcile();
    expect(await waiting).toMatchObject({ code: 0, stdout: 'virtualserverset "web" successfully rolled out\n' });
    expect(await once()).toBe('virtualserverset "web" successfully rolled out\n');
  });

  it('fails if the rollout makes no progress, and names the way back', async () => {
    const { world, plugin } = await changed(1, { progressDeadlineSeconds: 1 });
    await world.reconcile();
    await world.report('web-1', 'ServerNotRunning');
    await expect
      .poll(async () => (await world.reconcile()).status?.conditions?.[0]?.reason)
      .toBe('ProgressDeadlineExceeded');
    for (const flags of [[], ['--watch=false']]) {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', 'rollout', 'status', 'web', ...flags]);
      expect([code, stdout]).toEqual([4, '']);
      expect(stderr).toMatch(
        /^kubectl vps: set\/web is stuck and needs you. ProgressDeadlineExceeded: No progress for /m,
      );
      expect(stderr).toMatch(/^ {2}kubectl vps status set\/web$/m);
    }
    const { stdout } = await plugin.kubectl(['vps', 'status', 'set/web']);
    const [undo = ''] = /^ {2}kubectl vps rollout undo web .*$/m.exec(stdout) ?? [];
    expect(await plugin.shell(undo)).toMatchObject({ code: 0 });
    expect(await imageOf(world)).toBe(OLD);
    await world.reconcile();
    await world.reconcile();
    expect(await world.names()).toEqual(['web-0']);
    expect((await plugin.kubectl(['vps', 'rollout', 'status', 'web'])).code).toBe(0);
  });

  it('has an exit code for each other end', async () => {
    const { world, plugin } = await changed(1);
    const run = async (...words: string[]): Promise<[number, string]> => {
      const { code, stderr } = await plugin.kubectl(['vps', 'rollout', 'status', ...words]);
      return [code, stderr];
    };
    await world.reconcile();
    expect(await run('web', '--timeout', '1s')).toEqual([5, expect.stringContaining('web: timed out after 1s')]);
    expect(await run('db')).toEqual([3, expect.stringContaining('no VirtualServerSet "db"')]);
    expect((await run('vps/web'))[0]).toBe(2);
    expect((await run('web', '--watch=maybe'))[0]).toBe(2);
    expect((await run('web', '--timeout', 'soon'))[0]).toBe(2);
    await world.patch('web', { spec: { strategy: { type: 'OnDelete' } } });
    expect(await run('web')).toEqual([1, expect.stringContaining('requires the strategy RollingUpdate')]);
    await world.patch('web', { metadata: { finalizers: ['example.org/hold'] } });
    await world.remove('web');
    expect(await run('web')).toEqual([1, expect.stringContaining('web is being deleted')]);
  });
});

describe('kubectl vps rollout pause and resume', () => {
  it('stop and continue the set', async () => {
    const { world, plugin } = await changed(1);
    const run = (word: string) => plugin.kubectl(['vps', 'rollout', word, 'web']);
    const paused = await run('pause');
    expect([paused.code, paused.stdout]).toEqual([0, 'set/web is paused: it creates, changes and deletes no member\n']);
    await world.reconcile();
    expect(await world.names()).toEqual(['web-0']);
    expect((await run('pause')).stdout).toBe('set/web is already paused\n');
    const stuck = await run('status');
    expect([stuck.code, stuck.stderr]).toEqual([4, expect.stringContaining('Paused: ')]);
    const [resume = ''] = /^ {2}kubectl vps rollout resume .*$/m.exec(stuck.stderr) ?? [];
    expect(await plugin.shell(resume)).toMatchObject({ code: 0 });
    await world.reconcile();
    expect(await world.names()).toEqual(['web-0', 'web-1']);
    expect((await run('resume')).stdout).toBe('set/web is not paused\n');
    const { metadata } = (await cluster().http.call({
      path: `/apis/vps-operator.dev/v1alpha1/namespaces/${world.namespace}/virtualserversets/web`,
    })) as { metadata: { managedFields: { manager: string }[] } };
    expect(metadata.managedFields.map(({ manager }) => manager)).toContain('kubectl-vps');
  });
});

describe('kubectl vps rollout restart', () => {
  it('replaces each member once, with an unchanged template', async () => {
    const { world, plugin } = await worldOf({ replicas: 2 });
    const available = async (): Promise<string[]> => {
      await world.makeReady(...(await world.names()));
      await world.reconcile();
      return world.names();
    };
    await world.reconcile();
    expect(await available()).toEqual(['web-0', 'web-1']);
    const uids = async (): Promise<string[]> =>
      Promise.all((await world.names()).map(async (name) => (await world.member(name)).metadata.uid));
    const before = await uids();
    const { code, stdout } = await plugin.kubectl(['vps', 'rollout', 'restart', 'set/web']);
    expect([code, stdout]).toEqual([
      0,
      'set/web is restarted: it replaces all its members\nfollow the progress: kubectl vps rollout status web\n',
    ]);
    const { template } = (await world.get()).spec;
    expect(template.metadata?.annotations?.[RESTARTED_AT]).toMatch(/^2.*Z$/);
    await expect
      .poll(async () => {
        await available();
        const { conditions = [], updatedReplicas } = (await world.get()).status ?? {};
        return [conditions[0]?.reason, updatedReplicas];
      })
      .toEqual(['Available', 2]);
    const after = await uids();
    expect(after).toHaveLength(2);
    expect(after.filter((uid) => before.includes(uid))).toEqual([]);
    // It changes nothing more.
    await available();
    expect(await uids()).toEqual(after);
    expect((await plugin.kubectl(['vps', 'rollout', 'status', 'web', '--watch=false'])).stdout).toContain(
      'successfully',
    );
  });

  it('refuses a set that would order servers and delete none', async () => {
    const { world, plugin } = await worldOf({ replicas: 0 });
    const before = (await world.get()).spec.template;
    for (const [spec, says] of [
      [{ paused: true }, 'web is paused\n  kubectl vps rollout resume web\n'],
      [{ template: { spec: { deletionProtection: true } } }, 'kubectl vps unprotect set/web\n'],
      [{ template: { spec: { deletionPolicy: 'Retain' } } }, 'web keeps the servers of its members (Retain)'],
    ] as const) {
      const normal = { paused: false, template: { spec: { deletionProtection: false, deletionPolicy: 'Delete' } } };
      await world.patch('web', { spec: normal });
      await world.patch('web', { spec });
      const result = await plugin.kubectl(['vps', 'rollout', 'restart', 'web']);
      expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining(says) as string });
    }
    expect((await world.get()).spec.template.metadata).toEqual(before.metadata);
  });

  it('leaves the deletion of members to you with OnDelete', async () => {
    const { plugin } = await worldOf({ replicas: 0, strategy: { type: 'OnDelete' } });
    const { code, stdout } = await plugin.kubectl(['vps', 'rollout', 'restart', 'web']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^set\/web is restarted\nits strategy is OnDelete: delete a member to replace it\. .*\n$/),
    ]);
  });
});

describe('kubectl vps rollout undo', () => {
  it('returns to the previous revision, and shows what it changes', async () => {
    const { world, plugin } = await changed(1);
    await world.patch('web', { spec: { template: { spec: { sshCheck: 'Proxy', diskSize: 20 } } } });
    const run = (...flags: string[]) => plugin.kubectl(['vps', 'rollout', 'undo', 'web', ...flags]);
    const before = await world.get();
    const dry = await run('--dry-run');
    expect([dry.code, dry.stdout]).toEqual([
      0,
      expect.stringMatching(/^web would return to revision [0-9a-f]{8} \(dry run\)$/m),
    ]);
    expect((await world.get()).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(stdout).toMatch(/^FIELD +BEFORE +AFTER\n/);
    expect(stdout).toMatch(/^image +debian-13\/minimal +debian-12\/minimal$/m);
    expect(stdout).toMatch(/^diskSize +20 +10$/m);
    expect(stdout).toMatch(/^follow the progress: kubectl vps rollout status web$/m);
    const { template } = (await world.get()).spec;
    // Fields that no order sends stay as they are.
    expect(template.spec).toMatchObject({ image: OLD, diskSize: 10, sshCheck: 'Proxy' });
    await world.reconcile();
    // The operator has never seen the other template, so there is none to return to.
    expect(await run()).toMatchObject({ code: 1, stderr: 'kubectl vps: web has no earlier revision\n' });
  });

  it('ends a restart, which would replace the members that still have the earlier revision', async () => {
    const { world, plugin } = await changed(1);
    await world.patch('web', { spec: { template: { metadata: { annotations: { 'example.org/team': 'web' } } } } });
    expect(await plugin.kubectl(['vps', 'rollout', 'restart', 'web'])).toMatchObject({ code: 0 });
    await world.reconcile();
    expect(await world.names()).toEqual(['web-0', 'web-1']);
    const { code, stdout } = await plugin.kubectl(['vps', 'rollout', 'undo', 'web']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^restartedAt +2\S+Z +-$/m);
    expect((await world.get()).spec.template.metadata?.annotations).toEqual({ 'example.org/team': 'web' });
    const { uid } = (await world.member('web-0')).metadata;
    await world.reconcile();
    await world.reconcile();
    expect(await world.names()).toEqual(['web-0']);
    expect((await world.member('web-0')).metadata.uid).toBe(uid);
    expect((await world.get()).status?.conditions?.[0]?.reason).toBe('Available');
  });

  it('returns to a revision of the history', async () => {
    const { world, plugin } = await changed(0);
    await world.reconcile();
    await world.patch('web', {
      spec: { template: { spec: { image: 'debian-14/minimal', sshKeysFrom: [{ name: 'keys', key: 'a' }] } } },
    });
    await world.reconcile();
    const history = await plugin.kubectl(['vps', 'rollout', 'history', 'web']);
    expect(history.stdout).toMatch(/^REVISION +PRODUCT +IMAGE +DISK +SSH KEYS +SSH SECRETS +NOTE\n/);
    const rows = history.stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ {2,}/));
    expect(rows.map(([, ...cells]) => cells)).toEqual([
      ['small', 'debian-14/minimal', '10', '1', 'keys', 'template'],
      ['small', NEW, '10', '1', '-', '-'],
      ['small', OLD, '10', '1', '-', '-'],
    ]);
    const [, , oldest = []] = rows;
    const run = (revision: string) => plugin.kubectl(['vps', 'rollout', 'undo', 'web', '--to-revision', revision]);
    expect((await run(oldest[0] ?? '')).code).toBe(0);
    const { image, sshKeysFrom } = (await world.get()).spec.template.spec;
    expect([image, sshKeysFrom]).toEqual([OLD, undefined]);
    expect((await run(oldest[0] ?? '')).stdout).toBe(`web already has revision ${oldest[0]}\n`);
    const names = rows.map(([name]) => name).join(', ');
    // Only a name that no revision can have is a mistake in the call.
    for (const [revision, code] of [
      ['deadbeef', 1],
      ['1', 2],
      ['DEADBEEF', 2],
    ] as const)
      expect(await run(revision)).toMatchObject({
        code,
        stderr: `kubectl vps: web has no revision "${revision}"; it has ${names}\n`,
      });
    const data = await plugin.kubectl(['vps', 'rollout', 'history', 'web', '-o', 'yaml']);
    expect((parse(data.stdout) as { revision: string }[]).map(({ revision }) => revision).join(', ')).toBe(names);
  });

  it('reports that there is no history yet, and how a paused set or OnDelete affects it', async () => {
    const { world, plugin } = await worldOf({ replicas: 0 });
    const run = async (...words: string[]): Promise<[number, string]> => {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', 'rollout', ...words]);
      return [code, stdout + stderr];
    };
    const why = 'The operator has not reported on this object yet';
    expect(await run('undo', 'web')).toEqual([1, `kubectl vps: web has no earlier revision: ${why}\n`]);
    expect(await run('history', 'web')).toEqual([0, `web has no history: ${why}\n`]);
    await world.reconcile();
    await world.patch('web', { spec: { paused: true, template: { spec: { image: NEW } } } });
    expect(await run('undo', 'web')).toEqual([0, expect.stringContaining('kubectl vps rollout resume web')]);
    const spec = { paused: false, strategy: { type: 'OnDelete' }, template: { spec: { image: NEW } } };
    await world.patch('web', { spec });
    expect(await run('undo', 'web')).toEqual([0, expect.stringContaining('its strategy is OnDelete')]);
    expect(await run('restart', 'web')).toEqual([
      0,
      expect.stringMatching(/^set\/web is restarted\nits strategy is OnD/),
    ]);
    await world.patch('web', { metadata: { finalizers: ['example.org/hold'] } });
    await world.remove('web');
    for (const word of ['undo', 'pause', 'resume'])
      expect(await run(word, 'web')).toEqual([1, expect.stringContaining('is being deleted')]);
  });
});

describe('a change of a spec', () => {
  it('is written although the status changed, but not if the spec changed or the set is another one', async () => {
    const { world } = await worldOf({ replicas: 0 });
    const { kubeconfigPath: kubeconfig } = cluster();
    const view = new ClusterView({ kubeconfig, namespace: world.namespace });
    onTestFinished(() => view.close());
    const first = await view.getSet('web');
    await world.patch('web', { status: { replicas: 7 } }, '/status');
    await view.changeSpec(first, { paused: true });
    expect((await world.get()).spec.paused).toBe(true);
    const second = await view.getSet('web');
    await world.patch('web', { spec: { replicas: 1 } });
    await expect(view.changeSpec(second, { paused: false })).rejects.toThrow('changed after it was shown');
    expect((await world.get()).spec.paused).toBe(true);
    const third = await view.getSet('web');
    await world.remove('web');
    await expect(view.changeSpec(third, { paused: false })).rejects.toThrow('not found');
  });
});
