/** User data reaches the provider unchanged, and nothing else: no status, record, Event or log line. */
import { expect, it, vi } from 'vitest';
import { USER_DATA_SECRET_TYPE } from '../../../src/api/names.ts';
import { MERGE_PATCH } from '../../../src/kube/client.ts';
import { userDataDigest } from '../../../src/virtual-server/operations/user-data.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { stalled } from '../support/creates.ts';
import { permitConfigMaps } from '../../../tools/control-plane/operator-identity.ts';
import { condition, type World } from '../support/world.ts';
import { orderIn, publicWorld, totals, WAYS } from '../support/public-service.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const SECRET = 'correct-horse-battery';
const USER_DATA = `#cloud-config\r\nwrite_files:\n  - path: /etc/motd\n    content: "ü — \\"${SECRET}\\" \u{1F512}"\n\n`;

it.concurrent.for(WAYS)(
  '%s: the provider gets it byte by byte, and it cannot be changed afterwards',
  async (orders, context) => {
    const world = await publicWorld(context, { orders });
    await world.create(virtualServer('web', withSpec({ userData: USER_DATA })));
    const ready = await world.waitForReason('web', 'Available', 'Ready');
    const sent = world.simulator.ledger.creates()[0]?.body['user_data_string'];
    expect(Buffer.from(String(sent))).toEqual(Buffer.from(USER_DATA));
    const edit = world.patch('web', { spec: { userData: '#!/bin/sh\n' } });
    await expect(edit).rejects.toThrow('spec.userData, which the order sent');
    await expect(edit).rejects.not.toThrow(SECRET);
    const { status, metadata } = ready;
    const events = await world.events('web');
    expect(JSON.stringify([status, metadata.annotations, events, world.log])).not.toContain(SECRET);
  },
);

it.concurrent.for(WAYS)('%s: a provider that repeats it in a refusal is quoted without it', async (orders, context) => {
  const world = await publicWorld(context, { orders });
  const text = `Invalid user data: ${USER_DATA}, which is no cloud-config`;
  world.simulator.faults.inject({ match: orderIn(orders), action: { kind: 'error', status: 400, text } });
  await world.create(virtualServer('web', withSpec({ userData: USER_DATA })));
  const parked = await world.waitForReason('web', 'CreateRejected', 'Stalled');
  expect(stalled(parked).message).toMatch(/^Invalid user data: \*\*\*/);
  const events = await world.events('web');
  expect(JSON.stringify([parked.status, parked.metadata.annotations, events, world.log])).not.toContain(SECRET);
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
});

/** User data in a Secret of this type. */
async function putUserData(world: World, type: string, text = USER_DATA): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'setup' },
    type,
    data: { 'user-data': Buffer.from(text).toString('base64') },
  };
  await world.http.call({ method: 'POST', path: `/api/v1/namespaces/${world.namespace}/secrets`, body });
}

const FROM = { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' } } };

it.concurrent.for(WAYS)(
  '%s: the provider gets the text of a Secret byte by byte, and nothing else has it',
  async (orders, context) => {
    const world = await publicWorld(context, { orders });
    await putUserData(world, USER_DATA_SECRET_TYPE);
    await world.create(virtualServer('web', withSpec(FROM)));
    const { status, metadata } = await world.waitForReason('web', 'Available', 'Ready');
    const sent = world.simulator.ledger.creates()[0]?.body['user_data_string'];
    expect(Buffer.from(String(sent))).toEqual(Buffer.from(USER_DATA));
    const other = { userDataFrom: { secretKeyRef: { name: 'other', key: 'user-data' } } };
    await expect(world.patch('web', { spec: other })).rejects.toThrow('spec.userDataFrom, which the order sent');
    const events = await world.events('web');
    expect(JSON.stringify([status, metadata.annotations, events, world.log])).not.toContain(SECRET);
  },
);

it.concurrent.for(WAYS)(
  '%s: a provider that repeats the text of a Secret is quoted without it',
  async (orders, context) => {
    const world = await publicWorld(context, { orders });
    await putUserData(world, USER_DATA_SECRET_TYPE);
    const text = `Invalid user data: ${USER_DATA}, which is no cloud-config`;
    world.simulator.faults.inject({ match: orderIn(orders), action: { kind: 'error', status: 400, text } });
    await world.create(virtualServer('web', withSpec(FROM)));
    const parked = await world.waitForReason('web', 'CreateRejected', 'Stalled');
    expect(stalled(parked).message).toMatch(/^Invalid user data: \*\*\*/);
    const events = await world.events('web');
    expect(JSON.stringify([parked.status, parked.metadata.annotations, events, world.log])).not.toContain(SECRET);
  },
);

it.concurrent.for(WAYS)('%s: the one of a ConfigMap is sent once the ConfigMap is there', async (orders, context) => {
  const world = await publicWorld(context, { orders });
  await permitConfigMaps(world.http, world.namespace);
  const userDataFrom = { configMapKeyRef: { name: 'setup', key: 'user-data' } };
  await world.create(virtualServer('web', withSpec({ userDataFrom })));
  const parked = await world.waitForReason('web', 'UserDataNotFound', 'Stalled');
  expect(stalled(parked).message).toContain(
    `ConfigMap ${world.namespace}/setup, named in spec.userDataFrom, does not exist`,
  );
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'setup' }, data: { 'user-data': USER_DATA } };
  await world.http.call({ method: 'POST', path: `/api/v1/namespaces/${world.namespace}/configmaps`, body });
  const { status, metadata } = await world.waitForReason('web', 'Available', 'Ready');
  const sent = world.simulator.ledger.creates().map((created) => created.body['user_data_string']);
  expect(sent).toEqual([USER_DATA]);
  const events = await world.events('web');
  expect(JSON.stringify([status, metadata.annotations, events, world.log])).not.toContain(SECRET);
  // The lock of the order compares both kinds.
  const other = { userDataFrom: { secretKeyRef: { name: 'setup', key: 'user-data' }, configMapKeyRef: null } };
  await expect(world.patch('web', { spec: other })).rejects.toThrow('spec.userDataFrom, which the order sent');
});

/** The digest of one of them may be that of the first text: one in 65,536 is. */
const CHANGED = ['later', 'later still'].map((text) => `${USER_DATA}# ${text}\n`);

it.concurrent.for(WAYS.flatMap((orders) => [['Secret', orders] as const, ['ConfigMap', orders] as const]))(
  'a change of the %s since the order is told, and nothing else follows (%s)',
  async ([kind, orders], context) => {
    const world = await publicWorld(context, { orders });
    await permitConfigMaps(world.http, world.namespace);
    const folder = `/api/v1/namespaces/${world.namespace}/${kind === 'Secret' ? 'secrets' : 'configmaps'}`;
    const dataOf = (text: string): object =>
      kind === 'Secret'
        ? { data: { 'user-data': Buffer.from(text).toString('base64') } }
        : { data: { 'user-data': text } };
    const body = {
      apiVersion: 'v1',
      kind,
      metadata: { name: 'setup' },
      ...(kind === 'Secret' && { type: USER_DATA_SECRET_TYPE }),
      ...dataOf(USER_DATA),
    };
    await world.http.call({ method: 'POST', path: folder, body });
    const change = (text: string): Promise<unknown> =>
      world.http.call({
        method: 'PATCH',
        path: `${folder}/setup`,
        body: dataOf(text),
        contentType: MERGE_PATCH,
      });
    const drift = async (): Promise<unknown> =>
      (await world.get('web'))?.status?.conditions?.find(({ type }) => type === 'Drifted');
    const ref = { name: 'setup', key: 'user-data' };
    const userDataFrom = kind === 'Secret' ? { secretKeyRef: ref } : { configMapKeyRef: ref };
    await world.create(virtualServer('web', withSpec({ userDataFrom })));
    const ordered = await world.waitForReason('web', 'Available', 'Ready');
    await world.visited('web');
    expect(await drift()).toBeUndefined();

    const digest = (text: string): unknown => userDataDigest(ordered, text);
    await change(CHANGED.find((text) => digest(text) !== digest(USER_DATA)) ?? '');
    await world.visited('web');
    const drifted = await world.waitForReason('web', 'Drifted', 'Drifted');
    const { message } = condition(drifted, 'Drifted') ?? {};
    expect(message).toContain(`since the order: ${kind} ${world.namespace}/setup, key "user-data"`);
    expect(message).toContain(`kubectl vps replace web -n ${world.namespace}`);

    // What is not there tells nothing.
    await world.http.call({ method: 'DELETE', path: `${folder}/setup` });
    await world.visited('web');
    expect(await drift()).toEqual(condition(drifted, 'Drifted'));

    await world.http.call({ method: 'POST', path: folder, body });
    await world.visited('web');
    await world.waitFor('web', (object) => condition(object, 'Drifted') === undefined);

    const { status, metadata } = await world.waitForReason('web', 'Available', 'Ready');
    const events = await world.events('web');
    expect(JSON.stringify([status, drifted.status, metadata.annotations, events, world.log])).not.toContain(SECRET);
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });

    await world.http.call({ method: 'DELETE', path: `${folder}/setup` });
    await world.delete('web');
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
  },
);

it.concurrent('an object names a Secret or a ConfigMap, not both', async (context) => {
  const world = await publicWorld(context);
  const both = { secretKeyRef: { name: 'setup', key: 'a' }, configMapKeyRef: { name: 'setup', key: 'a' } };
  for (const userDataFrom of [both, {}])
    await expect(world.create(virtualServer('web', withSpec({ userDataFrom })))).rejects.toThrow(
      'set secretKeyRef or configMapKeyRef, not both',
    );
});

it.concurrent('a Secret of another type is not sent, and one that comes later is', async (context) => {
  const world = await publicWorld(context);
  await world.putSecret('setup', { 'user-data': USER_DATA });
  await world.create(virtualServer('web', withSpec(FROM)));
  const parked = await world.waitForReason('web', 'InvalidSpec', 'Stalled');
  expect(stalled(parked).message).toContain('is of the type "Opaque"');
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
  await world.http.call({ method: 'DELETE', path: `/api/v1/namespaces/${world.namespace}/secrets/setup` });
  await putUserData(world, USER_DATA_SECRET_TYPE);
  await world.patch('web', { metadata: { annotations: { 'vps-operator.dev/reconcile-at': 'now' } } });
  await world.waitForReason('web', 'Available', 'Ready');
  expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
});
