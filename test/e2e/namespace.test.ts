/** Deletion of a whole namespace: the Secret is deleted first, and the servers must still be cancelled. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, kubectl } from './support/cluster.ts';
import { deletePod, install, NAMESPACE, pods, ready } from './support/operator.ts';
import { createServers, putApiKey } from './support/servers.ts';
import { ProviderStandIn } from './support/simulator.ts';

const http = connect();
const provider = new ProviderStandIn(http);
beforeAll(() => install(http));
afterAll(() => http.close());

it('cancels the servers of a deleted namespace although its Secret is gone', async () => {
  const servers = await createServers(http, 'namespace');
  const names = ['web-0', 'web-1', 'web-2'];
  await servers.apply(...names);
  await servers.waitReady(...names);
  await servers.deleteNamespace();
  for (const name of names) {
    const [identifier = '', ...others] = await provider.ordered(servers.sshKey(name));
    expect(others).toEqual([]);
    expect(await provider.isAlive(identifier)).toBe(false);
  }
});

it('cancels them with the fallback Secret when no replica remembers the key', async () => {
  const servers = await createServers(http, 'fallback');
  const fallback = `${servers.namespace}.vps-api-key`;
  await servers.apply('web');
  await servers.waitReady('web');
  await kubectl('-n', servers.namespace, 'delete', 'secret', 'vps-api-key');
  const old = await ready(http);
  for (const pod of old) await deletePod(pod);
  await kubectl('delete', 'namespace', servers.namespace, '--wait=false');
  await servers.waitForReason('web', 'SecretNotFound');
  await putApiKey(NAMESPACE, fallback);
  try {
    await servers.deleteNamespace();
  } finally {
    await kubectl('-n', NAMESPACE, 'delete', 'secret', fallback);
  }
  const [identifier = '', ...others] = await provider.ordered(servers.sshKey('web'));
  expect(others).toEqual([]);
  expect(await provider.isAlive(identifier)).toBe(false);
  const uids = (await pods(http)).map(({ metadata }) => metadata.uid);
  expect(old.filter(({ metadata }) => uids.includes(metadata.uid))).toEqual([]);
});
