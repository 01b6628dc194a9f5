/** What commands say if operator or CRDs are of another version than the plugin. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { SERVER_DEFINITION, VERSION_ANNOTATION } from '../../../src/api/names.ts';
import { startControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { SSH_KEY, virtualServer } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { strangerIn } from '../support/service-account.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

interface Definition {
  spec: {
    versions: {
      schema: {
        openAPIV3Schema: {
          properties: {
            spec: { properties: Record<string, unknown>; 'x-kubernetes-validations'?: { rule: string }[] };
          };
        };
      };
    }[];
  };
}

it('names an operator of another version when a command waited for it in vain', async () => {
  // On a separate control plane, because the command looks in vps-operator-system, which other tests use.
  const controlPlane = await startControlPlane();
  onTestFinished(() => controlPlane.stop());
  const { kubeconfigPath } = controlPlane;
  const world = await createWorld({ kubeconfigPath, operator: false });
  await world.create(virtualServer('web'));
  const plugin = await createPlugin(folder(), world.namespace, kubeconfigPath);
  const wait = () => plugin.kubectl(['vps', 'wait', 'web', '--timeout', '1s']);
  expect((await wait()).stderr).not.toContain('version');
  const metadata = { name: 'vps-operator', annotations: { [VERSION_ANNOTATION]: '0.0.0' } };
  const path = '/apis/coordination.k8s.io/v1/namespaces/vps-operator-system/leases';
  await world.http.call({ method: 'POST', path, body: { metadata, spec: {} } });
  // The program of the tests has the version 0.0.0.
  expect((await wait()).stderr).not.toContain('version');
  metadata.annotations[VERSION_ANNOTATION] = '0.1.0';
  await world.http.call({
    ...{ method: 'PATCH', path: `${path}/vps-operator`, contentType: 'application/merge-patch+json' },
    body: { metadata },
  });
  // A command waits a second at most for the version, which a busy machine may take.
  const { code, stderr } = await vi.waitUntil(async () => {
    const result = await wait();
    return result.stderr.includes('version') ? result : undefined;
  }, 30_000);
  expect(code).toBe(5);
  expect(stderr).toMatch(/\n {2}the operator is version 0\.1\.0, newer than this plugin \(0\.0\.0\): /);

  const stranger = await createPlugin(folder(), world.namespace, await strangerIn(world, kubeconfigPath));
  const grant = `kubectl --kubeconfig=${kubeconfigPath} create rolebinding own --clusterrole=vps-operator-view`;
  await plugin.shell(`${grant} --serviceaccount=${world.namespace}:stranger --namespace=${world.namespace}`);
  await world.until(async () => {
    const refused = await stranger.kubectl(['vps', 'wait', 'web', '--timeout', '1s']);
    return refused.code === 5 && !refused.stderr.includes('version');
  }, 'a wait of a user who may not read the Lease');
});

it('refuses a change of a field that the installed CRD does not have', async () => {
  const controlPlane = await startControlPlane();
  onTestFinished(() => controlPlane.stop());
  const { kubeconfigPath } = controlPlane;
  const world = await createWorld({ kubeconfigPath, operator: false });
  const plugin = await createPlugin(folder(), world.namespace, kubeconfigPath);
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${SERVER_DEFINITION}`;
  const definition = (await world.http.call({ path })) as Definition;
  for (const { schema } of definition.spec.versions) {
    const { spec } = schema.openAPIV3Schema.properties;
    delete spec.properties['ttl'];
    const rules = spec['x-kubernetes-validations'] ?? [];
    spec['x-kubernetes-validations'] = rules.filter(({ rule }) => !rule.includes('ttl'));
  }
  await world.http.call({ method: 'PUT', path, body: definition });
  await world.create(virtualServer('web'));
  const refused = await vi.waitUntil(async () => {
    const result = await plugin.kubectl(['vps', 'extend', 'web', '--ttl', '24h']);
    return result.code === 1 ? result : undefined;
  }, 30_000);
  expect(refused.stdout).toBe('');
  expect(refused.stderr).toBe(
    'kubectl vps: the API server does not know spec.ttl\n' +
      '  the CustomResourceDefinition is older than this plugin: upgrade the operator and its CRDs to use it\n',
  );
  expect((await world.get('web'))?.spec).not.toHaveProperty('ttl');
  expect((await plugin.kubectl(['vps', 'protect', 'web'])).code).toBe(0);
  const { product, image, diskSize } = virtualServer('lab').spec;
  const order = ['--product', `${product}`, '--image', `${image}`, '--disk-size', `${diskSize}`, '--ssh-key', SSH_KEY];
  const created = await plugin.kubectl(['vps', 'new', 'lab', ...order, '--ttl', '24h', '--apply']);
  expect(created.stderr).toContain('unknown field "spec.ttl"');
  expect(created.stderr).toContain('the CustomResourceDefinition is older than this plugin');
  expect(created.code).toBe(1);
  expect(await world.get('lab')).toBeUndefined();
});
