/** Users of a test's namespace: a service account without rights, or with those that a test grants. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import type { World } from './world.ts';

/** One verb on one resource: the plural, perhaps with a subresource. */
export interface Right {
  verb: string;
  resource: string;
  /** '' is the core group. */
  group: string;
  /** Objects of the kind are in no namespace. */
  isClusterWide?: true;
}

/** A kubeconfig of a service account without rights. */
export function strangerIn(world: World, admin = inject('kubeconfigPath')): Promise<string> {
  return accountIn(world, 'stranger', admin);
}

export async function accountIn(world: World, name: string, admin = inject('kubeconfigPath')): Promise<string> {
  const accounts = `/api/v1/namespaces/${world.namespace}/serviceaccounts`;
  await world.http.call({ method: 'POST', path: accounts, body: { metadata: { name } } });
  const { status } = (await world.http.call({
    method: 'POST',
    path: `${accounts}/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })) as { status: { token: string } };
  const config = parse(await readFile(admin, 'utf8')) as { users: { user: object }[] };
  for (const entry of config.users) entry.user = { token: status.token };
  const file = join(world.journalDir, name);
  await writeFile(file, stringify(config), { mode: 0o600 });
  return file;
}

export const userOf = (world: World, account: string): string => `system:serviceaccount:${world.namespace}:${account}`;

/** Gives these rights to the account, those to kinds with namespaces only in the world's; resolves once they take effect. */
export async function grant(world: World, account: string, rights: readonly Right[]): Promise<void> {
  const { namespace, http } = world;
  const create = async (scope: string, kind: 'role' | 'clusterrole', granted: readonly Right[]): Promise<void> => {
    if (granted.length === 0) return;
    const metadata = { name: `${namespace}-${account}` };
    const path = `/apis/rbac.authorization.k8s.io/v1${scope}`;
    const rules = granted.map(({ verb, resource, group }) => ({
      ...{ apiGroups: [group], resources: [resource], verbs: [verb] },
    }));
    const apiGroup = 'rbac.authorization.k8s.io';
    const roleRef = { apiGroup, kind: kind === 'role' ? 'Role' : 'ClusterRole', name: metadata.name };
    const subjects = [{ kind: 'ServiceAccount', name: account, namespace }];
    for (const [plural, body] of [
      [`${kind}s`, { metadata, rules }],
      [`${kind}bindings`, { metadata, roleRef, subjects }],
    ] as const) {
      await http.call({ method: 'POST', path: `${path}/${plural}`, body });
      onTestFinished(async () => {
        await http.call({ method: 'DELETE', path: `${path}/${plural}/${metadata.name}` });
      });
    }
  };
  await create(
    `/namespaces/${namespace}`,
    'role',
    rights.filter(({ isClusterWide }) => isClusterWide !== true),
  );
  await create(
    '',
    'clusterrole',
    rights.filter(({ isClusterWide }) => isClusterWide === true),
  );
  for (const right of rights) await expect.poll(() => isAllowed(world, account, right)).toBe(true);
}

async function isAllowed(world: World, account: string, { isClusterWide, ...right }: Right): Promise<boolean> {
  const [resource, subresource] = right.resource.split('/');
  const namespace = isClusterWide === true ? undefined : world.namespace;
  const resourceAttributes = { ...right, resource, subresource, namespace };
  const spec = { user: userOf(world, account), resourceAttributes };
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const { status } = (await world.http.call({ method: 'POST', path, body })) as { status: { allowed: boolean } };
  return status.allowed;
}
