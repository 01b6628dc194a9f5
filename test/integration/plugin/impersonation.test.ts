/** The plugin works with the same cluster and the same user as kubectl. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { lostOrder } from '../support/creates.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
let world: World;
let plugin: Plugin;

beforeEach(async () => {
  world = await createWorld();
  plugin = await createPlugin(folder(), world.namespace);
});

/** Lets the group `readers` read everything in the namespace, and change nothing. */
async function allowReaders(): Promise<void> {
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${world.namespace}`;
  const metadata = { name: 'readers' };
  const rules = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }];
  await world.http.call({ method: 'POST', path: `${rbac}/roles`, body: { metadata, rules } });
  const apiGroup = 'rbac.authorization.k8s.io';
  const roleRef = { apiGroup, kind: 'Role', name: 'readers' };
  const subjects = [{ apiGroup, kind: 'Group', name: 'readers' }];
  await world.http.call({ method: 'POST', path: `${rbac}/rolebindings`, body: { metadata, roleRef, subjects } });
}

/** The administrator's kubeconfig with these fields in its user. */
async function kubeconfigWith(fields: object): Promise<string> {
  const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as { users: { user: object }[] };
  for (const { user } of config.users) Object.assign(user, fields);
  const file = join(world.journalDir, 'as-another');
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}

describe('impersonation', () => {
  it('sends user, UID, groups and extra fields to the API server as kubectl does', async () => {
    const file = await kubeconfigWith({
      as: 'Zo\u00eb',
      'as-uid': 'uid-7',
      'as-groups': ['readers', 'writers'],
      'as-user-extra': { 'example.com/Reason (x)': ['a b', 'c'] },
    });
    const http = createKubeHttp({ cluster: loadCluster(file) });
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { status } = (await http.call({ method: 'POST', path, body: review })) as { status: { userInfo: object } };
    await http.close();
    expect(status.userInfo).toMatchObject({ username: 'Zo\u00eb', uid: 'uid-7' });
    const { stdout } = await plugin.kubectl(['auth', 'whoami', '-o', 'json', `--kubeconfig=${file}`]);
    expect(status.userInfo).toEqual((JSON.parse(stdout) as typeof review & { status: typeof status }).status.userInfo);
  });

  it('follows the flags, which the printed commands repeat', async () => {
    await allowReaders();
    await lostOrder(world, 'web', false);
    const refused = await plugin.kubectl(['vps', 'status', '--as', 'jane']);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('User "jane" cannot list')]);

    const flags = ['--as=jane', '--as-group=others', '--as-group=readers', '--as-uid=uid-7'];
    const isAllowed = async (): Promise<boolean> => (await plugin.kubectl(['vps', 'status', ...flags])).code === 0;
    await world.until(isAllowed, 'the role to take effect');
    const { code, stdout } = await plugin.kubectl(['vps', 'status', 'web', ...flags]);
    expect(code).toBe(0);
    const command = stdout.split('\n').find((line) => line.includes('--not-created')) ?? '';
    expect(command).toContain(' --as=jane --as-uid=uid-7 --as-group=others --as-group=readers');
    // The administrator could do it, so the refusal shows that the printed flags work.
    const pasted = await plugin.shell(command.replace('--not-created', '--not-created --yes'));
    expect([pasted.code, pasted.stderr]).toEqual([1, expect.stringContaining('User "jane" cannot patch')]);

    const completed = await plugin.kubectl(['__complete', 'vps', 'status', ...flags, '']);
    expect(completed.stdout).toMatch(/^web\t/);
    const withoutRights = await plugin.kubectl(['__complete', 'vps', 'status', '--as=jane', '']);
    expect(withoutRights.stdout).toMatch(/^:4\n/);
  });

  it('is refused for a group or a UID without a user', async () => {
    const { code, stderr } = await plugin.kubectl(['vps', 'status', '--as-group', 'readers']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('give --as USER')]);
  });
});

describe('several files in $KUBECONFIG', () => {
  it('select the same cluster as in kubectl', async () => {
    const [empty, other, missing] = ['empty', 'other', 'missing'].map((name) => join(world.journalDir, name));
    await writeFile(String(empty), '');
    const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as { clusters: { cluster: object }[] };
    for (const { cluster } of config.clusters) Object.assign(cluster, { server: 'https://127.0.0.1:1' });
    await writeFile(String(other), stringify({ ...config, 'current-context': 'elsewhere' }));
    const own = (await plugin.shell('echo $KUBECONFIG')).stdout.trim();
    const KUBECONFIG = [missing, empty, own, other, own].join(':');
    const { code, stderr } = await plugin.kubectl(['vps', 'status'], { KUBECONFIG });
    expect([code, stderr]).toEqual([0, `no servers or sets in namespace "${world.namespace}"\n`]);
  });
});
