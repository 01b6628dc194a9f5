/** The manifests on a real API server that enforces Pod Security: built, sent, accepted without a warning. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kustomize } from '../../../tools/manifests.ts';
import { startEmptyCluster, type Cluster } from './cluster.ts';

let cluster: Cluster;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-manifests-'));
  cluster = await startEmptyCluster();
  for (const namespace of ['vps-operator-system', 'vps-simulator', 'team-a'])
    await cluster.kubectl('create', 'namespace', namespace);
});
afterAll(async () => {
  await cluster.stop();
  await rm(folder, { recursive: true });
});

/** Path of a file with what kustomize builds from a folder of deploy/manifests and components, in this order. */
async function built(names: string[]): Promise<string> {
  const [name = '', ...components] = names.map((path) => `deploy/manifests/${path}`);
  const file = join(folder, 'built.yaml');
  await writeFile(file, await kustomize(cluster.controlPlane.kubectl, name, ...components));
  return file;
}

interface PodSpec {
  containers: { securityContext: object }[];
  [field: string]: unknown;
}

/** Creates a pod of an installed Deployment; `change` breaks it first. */
async function createPod(namespace: string, name: string, change: (spec: PodSpec) => void = () => undefined) {
  const { metadata, spec } = await templateOf(namespace, name);
  change(spec);
  const file = join(folder, `${name}.json`);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, generateName: `${name}-`, namespace }, spec };
  await writeFile(file, JSON.stringify(pod));
  return cluster.kubectlWithWarnings('create', '-f', file);
}

async function templateOf(namespace: string, name: string): Promise<{ metadata: object; spec: PodSpec }> {
  const deployment = JSON.parse(await cluster.kubectl('get', 'deployment', name, '-n', namespace, '-o', 'json')) as {
    spec: { template: { metadata: object; spec: PodSpec } };
  };
  return deployment.spec.template;
}

describe('the API server', () => {
  it.each([
    'base',
    'overlays/namespaced',
    'overlays/demo',
    'base components/connection-secrets',
    'base components/user-data-config-maps',
    'base components/metrics-secure',
    'base components/observe-only',
    'overlays/namespaced components/connection-secrets/namespaced',
  ])('accepts %s in a dry run without a warning', async (names) => {
    const apply = ['apply', '--server-side', '--dry-run=server', '-f', await built(names.split(' '))];
    const { stdout, stderr } = await cluster.kubectlWithWarnings(...apply);
    expect(stdout).toContain('deployment.apps/vps-operator serverside-applied (server dry run)');
    expect(stderr).toBe('');
  });

  it.each([
    'overlays/namespaced/watched',
    'components/connection-secrets/watched',
    'components/user-data-config-maps/watched',
  ])('accepts the RBAC of %s in a watched namespace', async (name) => {
    const args = ['apply', '--server-side', '-n', 'team-a', '-k', `deploy/manifests/${name}`];
    expect(await cluster.kubectl(...args)).toContain('rolebinding.rbac.authorization.k8s.io/vps-operator');
  });

  it('accepts the policy for connection Secrets, and the same again from another field manager', async () => {
    const policy = 'deploy/manifests/components/connection-secrets/namespaced/admission.yaml';
    const apply = ['apply', '--server-side', '-f', policy];
    expect((await cluster.kubectlWithWarnings(...apply)).stderr).toBe('');
    expect((await cluster.kubectlWithWarnings(...apply, '--field-manager=argocd-controller')).stderr).toBe('');
    await cluster.kubectl('delete', '-f', policy);
  });

  it('accepts install.yaml, the same again from another field manager, and the demo in its place', async () => {
    const install = ['apply', '--server-side', '-f', 'deploy/install.yaml'];
    expect((await cluster.kubectlWithWarnings(...install)).stderr).toBe('');
    const generations = [
      'get',
      'deployment,crd,networkpolicy,pdb',
      '-A',
      '-o',
      'jsonpath={.items[*].metadata.generation}',
    ];
    const before = await cluster.kubectl(...generations);
    expect((await cluster.kubectlWithWarnings(...install, '--field-manager=argocd-controller')).stderr).toBe('');
    expect(await cluster.kubectl(...generations)).toBe(before);
    await cluster.kubectl('diff', '--server-side', '-f', 'deploy/install.yaml');

    expect(
      (
        await cluster.kubectlWithWarnings(
          'apply',
          '--server-side',
          '--force-conflicts',
          '-k',
          'deploy/manifests/overlays/demo',
        )
      ).stderr,
    ).toBe('');
    const demo = await cluster.kubectl(
      'apply',
      '--server-side',
      '-n',
      'team-a',
      '-f',
      'deploy/manifests/overlays/demo/server.yaml',
    );
    expect(demo).toContain('virtualserver.vps-operator.dev/web serverside-applied');
  });

  it.each([
    ['vps-operator-system', 'vps-operator'],
    ['vps-simulator', 'vps-simulator'],
  ])('admits the pods into %s, which accepts only restricted ones', async (namespace, name) => {
    const { stdout, stderr } = await createPod(namespace, name);
    expect(stdout).toContain('created');
    expect(stderr).toBe('');
    const asRoot = createPod(namespace, name, (spec) => {
      spec.securityContext = { runAsUser: 0 };
    });
    await expect(asRoot).rejects.toThrow('violates PodSecurity "restricted:v1.30"');
    const capable = createPod(namespace, name, ({ containers }) => {
      for (const container of containers) container.securityContext = { allowPrivilegeEscalation: false };
    });
    await expect(capable).rejects.toThrow('unrestricted capabilities');
  });
});
