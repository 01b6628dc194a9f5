/** The operator in a namespace of the user's choice, on a real API server: RBAC and guards know its identity there. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { kustomization } from '../../../tools/manifests.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { established, startEmptyCluster } from './cluster.ts';

const CRD = 'crd/virtualservers.vps-operator.dev';
const identityIn = (namespace: string): string => `--as=system:serviceaccount:${namespace}:vps-operator`;

it('lets the operator of that namespace write a status, and the one of the default namespace no longer', async () => {
  const cluster = await startEmptyCluster();
  onTestFinished(() => cluster.stop());
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-elsewhere-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'objects.yaml');
  const apply = async (yaml: string): Promise<void> => {
    await writeFile(file, yaml);
    await cluster.kubectl('apply', '--server-side', '-f', file);
  };
  await apply(
    await kustomization(cluster.controlPlane.kubectl, {
      namespace: 'elsewhere',
      resources: ['deploy/manifests/base'],
      transformers: ['deploy/manifests/transformers/operator-identity'],
    }),
  );
  await established((...args) => cluster.kubectl(...args), CRD);
  await apply(stringify(virtualServer('web')));

  const patch = ['patch', 'vps', 'web', '--subresource=status', '--type=merge', '--patch={"status":{"name":"web"}}'];
  // kubectl reads a status before it patches it, which the operator may not; with all rights, only the guards can refuse.
  const write = (namespace: string): Promise<string> =>
    cluster.kubectl(...patch, '--dry-run=server', identityIn(namespace), '--as-group=system:masters');
  await expect.poll(() => write('vps-operator-system').catch(String)).toContain('only the operator may write status');
  expect(await write('elsewhere')).toContain('patched');
  const may = ['auth', 'can-i', 'update', 'virtualservers', '--subresource=status'];
  expect(await cluster.kubectl(...may, identityIn('elsewhere'))).toBe('yes\n');
  await expect(cluster.kubectl(...may, identityIn('vps-operator-system'))).rejects.toThrow();
  expect(await cluster.kubectl('get', 'deployment', '-A')).toMatch(/elsewhere +vps-operator /);
});
