/** Uninstalling the operator: servers and their objects survive until it is installed again. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, kubectl, run, setting, until } from './support/cluster.ts';
import { install, installFile, NAMESPACE } from './support/operator.ts';
import { createServers } from './support/servers.ts';
import { ProviderStandIn } from './support/simulator.ts';

const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

it('refuses to delete the VirtualServer CRD', async () => {
  const refused = kubectl('delete', 'crd', 'virtualservers.vps-operator.dev', '--wait=false');
  await expect(refused).rejects.toThrow('vps-operator.dev/allow-deletion');
});

it('leaves servers alone when the operator is uninstalled, and manages them again once it is back', async () => {
  const servers = await createServers(http, 'uninstall');
  await servers.apply('web');
  await servers.waitReady('web');
  const { identifier = '' } = (await servers.get('web'))?.status ?? {};
  const remove = ['delete', '-f', '-', '--ignore-not-found', '--timeout=120s'];
  const args = ['--kubeconfig', setting('E2E_KUBECONFIG'), ...remove];
  // Deletes everything but the VirtualServer CRD, even if repeated: the CRD's guard is in a separate file.
  try {
    await expect(run('kubectl', args, await installFile())).rejects.toThrow('vps-operator.dev/allow-deletion');
    await expect(run('kubectl', args, await installFile())).rejects.toThrow('vps-operator.dev/allow-deletion');
    const path = `/api/v1/namespaces/${NAMESPACE}`;
    await until('the operator to be gone', async () => (await http.call({ path, absent: NAMESPACE })) === undefined);
    expect((await servers.get('web'))?.status?.identifier).toBe(identifier);
    expect(await provider.isAlive(identifier)).toBe(true);
  } finally {
    await install(http);
  }
  await servers.delete('web');
  expect(await provider.isAlive(identifier)).toBe(false);
  expect(await provider.ordered(servers.sshKey('web'))).toEqual([identifier]);
});
