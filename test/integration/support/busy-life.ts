/** Scenarios in which the operator makes every kind of request to the API server. */
import { OPERATOR_NAMESPACE } from '../../../tools/control-plane/operator-identity.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL } from '../../../src/api/names.ts';
import type { ServerCatalog } from '../../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { createClient } from '../../../src/kube/client.ts';
import { SECRETS, type Secret } from '../../../src/kube/kinds.ts';
import { sshKeyOf, virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createSet } from './sets.ts';
import type { World } from './world.ts';

const FLAGS = ['--leader-elect', `--operator-namespace=${OPERATOR_NAMESPACE}`];

/**
 * Leader election with a takeover, a server ordered with inline keys and one with keys from a Secret, a pause, a create
 * whose answer is lost and resolved, deletions, a catalog, a set, the fallback Secret. The world has no operator at first; at
 * the end one runs, and one server is Ready.
 */
export async function live(world: World): Promise<void> {
  await world.startOperator({ flags: FLAGS });
  await order(world);
  await readCatalog(world);
  await loseAnAnswer(world);
  await scale(world);
  await takeOver(world);
  await useFallbackSecret(world);
}

async function order(world: World): Promise<void> {
  await world.putSecret('ssh', { key: sshKeyOf('other@example.org') });
  await world.create(virtualServer('one'));
  await world.create(virtualServer('two', withSpec({ sshKeysFrom: [{ name: 'ssh', key: 'key' }] })));
  for (const name of ['one', 'two']) await world.waitForReason(name, 'Available', 'Ready');
  await world.annotate('one', { paused: 'true' });
  await world.waitForReason('one', 'Paused', 'Paused');
  await world.annotate('one', { paused: null });
  await world.visited('one');
  await world.delete('one');
  await world.waitGone('one');
}

async function readCatalog(world: World): Promise<void> {
  const { http, namespace } = world;
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/${CATALOG_PLURAL}`;
  const body = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name: 'catalog' }, spec: {} };
  await http.call({ method: 'POST', path, body });
  const isRead = async (): Promise<boolean> =>
    ((await http.call({ path: `${path}/catalog` })) as ServerCatalog).status?.counts !== undefined;
  await world.until(isRead, 'the catalog');
}

async function loseAnAnswer(world: World): Promise<void> {
  world.simulator.faults.inject({
    match: { method: 'POST', route: '/beta/vps/servers' },
    action: { kind: 'reset', after: true },
  });
  await world.create(virtualServer('lost'));
  await world.waitForReason('lost', 'CreateOutcomeUnknown', 'Stalled');
  await world.annotate('lost', { adopt: world.simulator.ledger.creates().at(-1)?.identifier ?? '' });
  await world.waitForReason('lost', 'Available', 'Ready');
  await world.delete('lost');
  await world.waitGone('lost');
}

async function scale(world: World): Promise<void> {
  const set = await createSet(world, { replicas: 1 });
  await set.waitForReason('Available');
  await set.patch({ spec: { replicas: 0 } }, '/scale');
  await set.waitForReason('Available');
}

async function takeOver(world: World): Promise<void> {
  const second = await world.joinOperator({ flags: FLAGS });
  await world.stopOperator();
  await world.until(second.started, 'the second operator');
  await world.create(virtualServer('three'));
  await world.waitForReason('three', 'Available', 'Ready');
  await world.stopJoined();
}

/** Deletes the Secret while no operator runs. */
async function useFallbackSecret(world: World): Promise<void> {
  await world.deleteSecret('vps-api-key');
  await world.delete('three');
  await world.startOperator({ flags: FLAGS });
  await world.waitForReason('three', 'SecretNotFound', 'Stalled');
  await world.putSecret(`${world.namespace}.vps-api-key`, DEFAULT_KEY, OPERATOR_NAMESPACE);
  await world.waitGone('three');
  await world.putSecret('vps-api-key', DEFAULT_KEY);
  await world.visited('two');
}

/**
 * With the right to write connection Secrets: creates one, changes it, and keeps it with Retain; empties another one,
 * and has it collected.
 */
export async function connect(world: World): Promise<void> {
  const ready = await ask(world, 'kept', 'ConnectionSecretWritten');
  world.simulator.fleet.updateServer(ready.status?.identifier ?? '', { ipv6: ['2001:db8::77'] });
  await world.visited('kept');
  await world.until(async () => (await secretOf(world, 'kept'))?.data.ipv6 === '2001:db8::77', 'the new address');
  await world.patch('kept', { spec: { deletionPolicy: 'Retain' } });
  await world.delete('kept');
  await world.waitGone('kept');
  await ask(world, 'brief', 'ConnectionSecretWritten');
  await world.patch('brief', { spec: { expiresAt: new Date(Date.now() - 1000).toISOString() } });
  await world.waitForReason('brief', 'Expired', 'Stalled');
  await world.until(async () => {
    const emptied = await secretOf(world, 'brief');
    return emptied !== undefined && Object.keys(emptied.data).length === 0;
  }, 'the Secret to be emptied');
  await world.delete('brief');
  await world.until(async () => (await secretOf(world, 'brief')) === undefined, 'the collector');
  const kept = await secretOf(world, 'kept');
  if (kept?.data.identifier !== ready.status?.identifier) throw new Error(`kept is ${JSON.stringify(kept)}`);
}

/** Orders a server with a Secret of the same name; resolves when the condition on the Secret has this reason. */
export async function ask(world: World, name: string, reason: string): Promise<VirtualServer> {
  await world.create(virtualServer(name, withSpec({ connectionSecretName: name })));
  await world.waitForReason(name, reason, 'ConnectionSecret');
  return world.waitForReason(name, 'Available', 'Ready');
}

function secretOf({ http, namespace }: World, name: string): Promise<Secret | undefined> {
  return createClient(http, SECRETS).get(namespace, name);
}

/** Deletes the namespace with the server in it; it is gone once the server is cancelled. */
export async function deleteNamespace(world: World): Promise<void> {
  const { namespace } = world;
  const path = `/api/v1/namespaces/${namespace}`;
  await world.http.call({ method: 'DELETE', path });
  const isGone = async () => (await world.http.call({ path, absent: namespace })) === undefined;
  await world.until(isGone, `namespace ${namespace} to be gone`);
}
