/** spec.connectionSecretName: the Secret that the operator creates and updates, and never takes from another owner. */
import { describe, expect, inject, it } from 'vitest';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { createClient } from '../../../src/kube/client.ts';
import { SECRETS, type Secret } from '../../../src/kube/kinds.ts';
import { permitConnectionSecrets } from '../../../tools/control-plane/operator-identity.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { ask } from '../support/broker.ts';
import type { GuardedPaths } from '../support/guards.ts';
import { readyServer } from '../support/records.ts';
import { condition, createWorld, type World, type WorldOptions } from '../support/world.ts';

const NAME = 'web-connection';
const asking = withSpec({ connectionSecretName: NAME });

/** Reads servers every second, so changes at the provider show soon. */
const connected = (options: WorldOptions = {}): Promise<World> =>
  createWorld({ ...options, flags: ['--connection-secrets', '--resync-interval=1s', ...(options.flags ?? [])] });

const secretOf = (world: World, name = NAME): Promise<Secret | undefined> =>
  createClient(world.http, SECRETS).get(world.namespace, name);

const owners = ({ metadata }: Secret): string[] => (metadata.ownerReferences ?? []).map(({ uid }) => uid);
const identifierOf = ({ status }: VirtualServer): string => status?.identifier ?? '';

async function makeSecret(world: World, body: object): Promise<void> {
  const path = `/api/v1/namespaces/${world.namespace}/secrets`;
  await world.http.call({ method: 'POST', path, body: { metadata: { name: NAME }, ...body } });
}

describe('a connection Secret', () => {
  it('exists when the server is Ready, holds all login data, and is the only place with the password', async () => {
    const world = await connected();
    const ready = await readyServer(world, 'web', asking);
    const secret = await secretOf(world);
    const { ipv6, sshProxy, adminConsole } = ready.status ?? {};
    expect(secret?.data).toEqual({
      identifier: identifierOf(ready),
      ipv6: ipv6?.join(','),
      sshHost: sshProxy?.hostname,
      sshPort: String(sshProxy?.port),
      sshUser: 'root',
      adminConsoleHost: adminConsole?.hostname,
      adminConsoleUser: adminConsole?.username,
      vncMode: 'disabled',
      vncPassword: expect.stringMatching(/^vnc-password-\d+$/) as string,
      vncDisplay: expect.stringMatching(/^\d+$/) as string,
      vncPort: expect.stringMatching(/^\d+$/) as string,
      vncIPv4: expect.any(String) as string,
      vncIPv6: expect.any(String) as string,
    });
    expect(secret?.type).toBe(CONNECTION_SECRET_TYPE);
    expect(secret?.metadata.annotations).toEqual({ [OWNER_ANNOTATION]: ready.metadata.uid });
    expect(owners(secret as Secret)).toEqual([ready.metadata.uid]);
    expect(condition(ready, 'ConnectionSecret')).toMatchObject({ status: 'True', reason: 'ConnectionSecretWritten' });
    const told = async (): Promise<string[]> => (await world.events('web')).map(({ reason }) => reason);
    await expect.poll(told).toContain('ConnectionSecretWritten');
  });
});

describe('a Secret of another owner', () => {
  it.each<[string, (world: World) => object]>([
    ['an ordinary one', () => ({ stringData: { password: 'theirs' } })],
    [
      'one of the same type, made for another object',
      () => ({
        type: CONNECTION_SECRET_TYPE,
        metadata: { name: NAME, annotations: { [OWNER_ANNOTATION]: 'uid-of-another' } },
        stringData: { identifier: 'theirs' },
      }),
    ],
  ])('is never touched: %s', async (_what, body) => {
    const world = await connected();
    await makeSecret(world, body(world));
    const before = await secretOf(world);
    const ready = await readyServer(world, 'web', asking);
    expect(condition(ready, 'ConnectionSecret')).toMatchObject({ status: 'False', reason: 'ConnectionSecretTaken' });
    await world.patch('web', { spec: { deletionPolicy: 'Retain' } });
    await world.waitForReason('web', 'ConnectionSecretTaken');
    await world.patch('web', { spec: { deletionPolicy: 'Delete' } });
    await world.delete('web');
    await world.waitGone('web');
    expect(await secretOf(world)).toEqual(before);
    expect(world.simulator.aliveServers()).toEqual([]);
  });
});

describe('without --connection-secrets', () => {
  it('reports it in a condition, makes the server Ready, and creates no Secret', async () => {
    const world = await createWorld();
    const ready = await readyServer(world, 'web', asking);
    const found = condition(ready, 'ConnectionSecret');
    expect(found).toMatchObject({ status: 'False', reason: 'ConnectionSecretsDisabled' });
    expect(found?.message).toContain('--connection-secrets');
    expect(await secretOf(world)).toBeUndefined();
    await world.delete('web');
    await world.waitGone('web');
  });
});

describe('the field', () => {
  it.each<[Partial<VirtualServer['spec']>, string]>([
    [{ connectionSecretName: '' }, 'spec.connectionSecretName'],
    [{ connectionSecretName: 'Web' }, 'spec.connectionSecretName'],
    [{ connectionSecretName: 'vps-api-key' }, 'must differ from the Secrets'],
    [{ connectionSecretName: 'keys', sshKeysFrom: [{ name: 'keys', key: 'me' }] }, 'must differ from the Secrets'],
  ])('rejects %j with an explanation', async (spec, words) => {
    const world = await createWorld({ operator: false });
    const manifest = virtualServer('web', withSpec(spec));
    await expect(world.create(manifest)).rejects.toThrow(words);
  });
});

describe('when the object is deleted', () => {
  /** Uses the cluster whose garbage collector runs. */
  const world = async (): Promise<World> => {
    const { kubeconfigPath, operatorKubeconfigPath } = await ask<GuardedPaths>(inject('broker'), 'guarded');
    const here = await connected({ kubeconfigPath, operatorKubeconfigPath, operator: false });
    await permitConnectionSecrets(here.http, here.namespace);
    await here.startOperator();
    return here;
  };

  it('deletes the Secret with Delete', async () => {
    const here = await world();
    await readyServer(here, 'web', asking);
    await here.delete('web');
    await here.waitGone('web');
    await here.until(async () => (await secretOf(here)) === undefined, 'the Secret to be deleted');
  });

  it('keeps the Secret unchanged with Retain, even if the policy changed at the last moment', async () => {
    const here = await world();
    await readyServer(here, 'web', asking);
    const { data, metadata } = (await secretOf(here)) as Secret;
    await here.stopOperator();
    await here.patch('web', { spec: { deletionPolicy: 'Retain' } });
    await here.delete('web');
    await here.startOperator();
    await here.waitGone('web');
    // Once the collector has deleted another Secret of the same owner, it has checked this one too.
    const { ownerReferences = [] } = metadata;
    const witness = {
      metadata: { namespace: here.namespace, name: 'witness', ownerReferences },
      type: 'Opaque',
      data: {},
    };
    await createClient(here.http, SECRETS).create(witness);
    await here.until(async () => (await secretOf(here, 'witness')) === undefined, 'the collector');
    const after = (await secretOf(here)) as Secret;
    expect(after.data).toEqual(data);
    expect(owners(after)).toEqual([]);
    expect(here.simulator.aliveServers()).toHaveLength(1);
  });

  it('deletes the Secret with Delete, even if the policy was Retain until the last moment', async () => {
    const here = await world();
    await readyServer(here, 'web', asking, withSpec({ deletionPolicy: 'Retain' }));
    expect(owners((await secretOf(here)) as Secret)).toEqual([]);
    await here.stopOperator();
    await here.patch('web', { spec: { deletionPolicy: 'Delete' } });
    await here.delete('web');
    await here.startOperator();
    await here.waitGone('web');
    await here.until(async () => (await secretOf(here)) === undefined, 'the Secret to be deleted');
    expect(here.simulator.aliveServers()).toEqual([]);
  });
});
