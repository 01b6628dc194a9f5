/** The connection-secrets component, added as docs/how-to/install.md describes, and the deletion of a connection Secret. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { kustomize } from '../../tools/manifests.ts';
import { apply, connect, kubectl, setting, until } from './support/cluster.ts';
import { install, installFile, NAMESPACE, ready } from './support/operator.ts';
import { createServers } from './support/servers.ts';

const MANIFESTS = 'deploy/manifests';
const POLICY = 'vps-operator-connection-secrets';

const http = connect();
beforeAll(async () => {
  await install(http);
  await apply(await withComponent());
  await rolledOut();
});
afterAll(async () => {
  // Removes the component, because the other test files expect the operator as shipped.
  const rest = ['clusterrole', 'clusterrolebinding', 'validatingadmissionpolicy', 'validatingadmissionpolicybinding'];
  for (const kind of rest) await kubectl('delete', kind, POLICY);
  await apply(await installFile());
  await rolledOut();
  await http.close();
});

/** The manifests, with the component and with the image under test. */
async function withComponent(): Promise<string> {
  const text = await kustomize('kubectl', `${MANIFESTS}/base`, `${MANIFESTS}/components/connection-secrets`);
  return text.replace(/^(\s*image: ).*$/m, `$1${setting('E2E_IMAGE')}`);
}

async function rolledOut(): Promise<void> {
  await kubectl('-n', NAMESPACE, 'rollout', 'status', 'deployment/vps-operator', '--timeout=180s');
  await ready(http);
}

it('creates the Secret before the server is Ready, and deletes it with the object', async () => {
  const servers = await createServers(http, 'connection');
  await servers.apply('web');
  const asks = { spec: { connectionSecretName: 'web-connection' } };
  await kubectl('-n', servers.namespace, 'patch', 'vps/web', '--type=merge', '-p', JSON.stringify(asks));
  await servers.waitForReason('web', 'ConnectionSecretWritten');
  const secret = ['-n', servers.namespace, 'get', 'secret', 'web-connection', '--ignore-not-found'];
  const password = await kubectl(...secret, '-o', 'jsonpath={.data.vncPassword}');
  expect(Buffer.from(password, 'base64').toString()).toMatch(/^vnc-password-/);
  const { identifier } = (await servers.get('web'))?.status ?? {};
  const found = await kubectl(...secret, '-o', 'jsonpath={.data.identifier}');
  expect(Buffer.from(found, 'base64').toString()).toBe(identifier);
  await servers.delete('web');
  await until('the Secret to be deleted with its object', async () => (await kubectl(...secret)) === '');
});

it('lets the operator write no other Secret', async () => {
  const account = `system:serviceaccount:${NAMESPACE}:vps-operator`;
  const create = kubectl('--as', account, '-n', 'default', 'create', 'secret', 'generic', 'mine', '--from-literal=a=b');
  await expect(create).rejects.toThrow('no Secret but those of type vps-operator.dev/connection');
});
