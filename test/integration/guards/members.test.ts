/** Guards: what the operator may do to VirtualServers because of sets, with its own token, and what users may do to sets. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { INPUT_ANNOTATIONS } from '../../../src/api/annotations.ts';
import {
  API_VERSION,
  MEMBER_TEMPLATE_ANNOTATION,
  RECORD_ANNOTATION,
  REVISION_LABEL,
  SET_KIND,
  SET_LABEL,
  SET_PLURAL,
} from '../../../src/api/names.ts';
import { specSchema } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { manifestOf, type MemberManifest } from '../../../src/virtual-server-set/decision/template.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { adminHttp } from '../kube/support.ts';
import { OTHER_FINALIZER, patch, RECORD, useGuards } from '../support/guarded-objects.ts';
import { ADMISSION, refusal, succeed } from '../support/guards.ts';
import { createSet } from '../support/sets.ts';
import { createWorld } from '../support/world.ts';

const { guarded, objects } = useGuards();

const MERGE_PATCH = 'application/merge-patch+json';
const SAYS = {
  create: 'the operator may create no VirtualServer but members of a VirtualServerSet',
  resolved: 'the operator may create no VirtualServer with a finalizer, a record, or an annotation that resolves',
  delete: 'the operator may delete no VirtualServer but members of a VirtualServerSet',
  kept: 'the operator may delete no VirtualServer with deletionProtection or with deletionPolicy Retain',
  spec: 'the operator may not change spec, except apiKeySecretRef',
  labels: 'the operator may not change labels, except vps-operator.dev/revision of the members',
  annotations: 'the operator may not change any annotation but vps-operator.dev/record, and on the members',
  owners: 'the operator may not change owners, except that it adds a VirtualServerSet',
};

let admin: KubeHttp;
/** Uses the operator's token. */
let operator: KubeHttp;
/** It has no operator, so its members stay as the tests make them. */
let web: VirtualServerSet;

beforeAll(async () => {
  admin = adminHttp(guarded.kubeconfigPath);
  operator = createKubeHttp({ cluster: loadCluster(guarded.operatorKubeconfigPath) });
  web = await setCalled('web');
});
afterAll(() => Promise.all([operator.close(), admin.close()]));

async function setCalled(name: string, spec: object = {}): Promise<VirtualServerSet> {
  const path = `/apis/${API_VERSION}/namespaces/${guarded.namespace}/${SET_PLURAL}`;
  const template = { spec: { ...virtualServer(name).spec, ...spec } };
  const body = { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name }, spec: { template } };
  return (await admin.call({ method: 'POST', path, body })) as VirtualServerSet;
}

let ordinal = 0;
/** A member of `web` as the operator creates it, with changes. */
function memberOf(metadata: object = {}, spec: object = {}): MemberManifest {
  const manifest = manifestOf(web, (ordinal += 1));
  return { ...manifest, metadata: { ...manifest.metadata, ...metadata }, spec: { ...manifest.spec, ...spec } };
}

const labelsOf = (change: object = {}) => ({ labels: { ...memberOf().metadata.labels, ...change } });
const annotationsOf = (change: object) => ({ annotations: { ...memberOf().metadata.annotations, ...change } });
const ownerOf = (change: object = {}) => ({ ...memberOf().metadata.ownerReferences[0], ...change });

const create = (http: KubeHttp, body: object): Promise<unknown> =>
  http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVERS, guarded.namespace), body });

/** Creates the object as an administrator; the functions try something as the operator. */
async function existing(manifest: object & { metadata: { name: string } }) {
  await create(admin, manifest);
  const path = pathOf(VIRTUAL_SERVERS, guarded.namespace, manifest.metadata.name);
  return {
    name: manifest.metadata.name,
    patch: (body: object) => operator.call({ method: 'PATCH', path, body, contentType: MERGE_PATCH }),
    delete: () => operator.call({ method: 'DELETE', path }),
    edit: (body: object) => admin.call({ method: 'PATCH', path, body, contentType: MERGE_PATCH }),
    show: (status: object) =>
      succeed(guarded.breakGlass, [
        ...['patch', 'vps', manifest.metadata.name, `--namespace=${guarded.namespace}`, '--subresource=status'],
        ...['--type=merge', `--patch=${JSON.stringify({ status })}`],
      ]),
  };
}

const refused = (what: keyof typeof SAYS) => ({ status: 403, message: expect.stringContaining(SAYS[what]) as string });

describe('the life of a set under the guards', () => {
  const templateOf = (spec: object, metadata = {}) => ({ metadata, spec: { ...virtualServer('x').spec, ...spec } });

  it('covers orders, changes written through, a rollout, release, adoption and scaling down', async () => {
    const { kubeconfigPath, operatorKubeconfigPath, editor } = guarded;
    const world = await createWorld({ kubeconfigPath, operatorKubeconfigPath, simulator: { taskDurationMs: 100 } });
    const { simulator } = world;
    const within = ['--namespace', world.namespace];
    const namesOf = async (): Promise<string[]> => {
      const path = collectionOf(VIRTUAL_SERVERS, world.namespace);
      const { items } = (await admin.call({ path })) as { items: MemberManifest[] };
      return items.map(({ metadata }) => metadata.name);
    };
    const first = await createSet(world, { replicas: 2, template: templateOf({}) });
    await first.waitForReason('Available');

    const metadata = { labels: { tier: 'web' }, annotations: { 'example.org/note': 'x' } };
    await first.patch({ spec: { template: templateOf({ deletionPolicy: 'Retain' }, metadata) } });
    for (const name of await namesOf()) {
      const { spec, metadata: written } = await world.waitFor(name, (one) => one.spec.deletionPolicy === 'Retain');
      expect(spec.deletionProtection).toBe(false);
      expect(written).toMatchObject(metadata);
    }
    const second = templateOf({ image: 'debian-13.qcow2/docker', deletionPolicy: 'Delete' });
    await first.patch({ spec: { template: { ...second, metadata: null } } });
    await first.waitForReason('Available');
    expect(simulator.ledger.creates()).toHaveLength(4);

    const [released = ''] = await namesOf();
    await succeed(editor, ['label', 'vps', released, `${SET_LABEL}-`, ...within]);
    await world.waitFor(released, (object) => object.metadata.ownerReferences === undefined);
    await world.until(() => simulator.aliveServers().length === 3, 'a member in its place');
    await first.waitForReason('Available');

    await succeed(editor, ['delete', 'vpsset', 'web', '--cascade=orphan', ...within]);
    for (const name of await namesOf())
      await world.waitFor(name, (object) => object.metadata.ownerReferences === undefined);
    const again = await createSet(world, { replicas: 2, template: second });
    await again.waitForReason('Available');
    expect(simulator.ledger.creates()).toHaveLength(5);

    await again.patch({ spec: { replicas: 0 } }, '/scale');
    await world.until(() => simulator.aliveServers().length === 1, 'the members to be cancelled');
    expect(await namesOf()).toContain(released);
  });
});

describe('a new object of the operator', () => {
  it('may be a member, with the labels and annotations of the template', async () => {
    const metadata = { ...labelsOf({ tier: 'web' }), ...annotationsOf({ 'example.org/note': 'x' }) };
    await expect(create(operator, memberOf(metadata))).resolves.toMatchObject({ metadata });
  });

  it.each<[string, () => object]>([
    ['has no owner', () => ({ ownerReferences: [] })],
    ['has another owner too', () => ({ ownerReferences: [ownerOf(), ownerOf({ uid: 'x', controller: false })] })],
    ['has an owner of another kind', () => ({ ownerReferences: [ownerOf({ kind: 'ConfigMap', apiVersion: 'v1' })] })],
    ['has an owner of another group', () => ({ ownerReferences: [ownerOf({ apiVersion: 'example.org/v1' })] })],
    ['has an owner that does not control it', () => ({ ownerReferences: [ownerOf({ controller: false })] })],
    ['has no label', () => ({ labels: {} })],
    ['has the label of another set', () => labelsOf({ [SET_LABEL]: 'db' })],
    ['has the owner of another set', () => ({ ownerReferences: [ownerOf({ name: 'db' })] })],
    ...['web', 'web-x', 'web-01', 'web-123456', 'web-1-1', 'webs-1', 'db-1'].map((name): [string, () => object] => [
      `is called ${name}`,
      () => ({ name }),
    ]),
  ])('is refused if it %s', async (_what, change) => {
    await expect(create(operator, memberOf(change()))).rejects.toMatchObject(refused('create'));
  });

  it.each([...INPUT_ANNOTATIONS, RECORD_ANNOTATION])('is refused with the annotation %s', async (annotation) => {
    const manifest = memberOf(annotationsOf({ [annotation]: RECORD }));
    await expect(create(operator, manifest)).rejects.toMatchObject(refused('resolved'));
    await expect(create(admin, manifest)).resolves.toBeDefined();
  });

  it('is refused with a finalizer', async () => {
    await expect(create(operator, memberOf({ finalizers: [OTHER_FINALIZER] }))).rejects.toMatchObject(
      refused('resolved'),
    );
  });
});

describe('a deletion by the operator', () => {
  it('may be of a member', async () => {
    const member = await existing(memberOf());
    await member.delete();
    expect((await guarded.root(['get', 'vps', member.name])).text).toContain('NotFound');
  });

  it.each<[keyof typeof SAYS, string, () => object & { metadata: { name: string } }]>([
    ['delete', 'has no set', () => virtualServer('single')],
    ['delete', 'has lost its label', () => memberOf({ labels: {} })],
    [
      'delete',
      'is controlled by another object',
      () => memberOf({ ownerReferences: [ownerOf({ kind: 'ConfigMap' })] }),
    ],
    ['delete', 'is not controlled by its set', () => memberOf({ ownerReferences: [ownerOf({ controller: false })] })],
    ['kept', 'is retained', () => memberOf({}, { deletionPolicy: 'Retain' })],
  ])('is refused (%s) if the object %s', async (what, _why, manifest) => {
    const object = await existing(manifest());
    await expect(object.delete()).rejects.toMatchObject(refused(what));
  });

  it('is refused if the object is protected', async () => {
    const object = await existing(memberOf({}, { deletionProtection: true }));
    await expect(object.delete()).rejects.toMatchObject({ status: 403 });
  });
});

describe('a change of a member by the operator', () => {
  const THROUGH = {
    apiKeySecretRef: { name: 'another' },
    changePolicy: 'Online',
    connectionSecretName: 'connection',
    deletionPolicy: 'Retain',
    deletionProtection: true,
    deletionDelay: '24h',
    power: 'Off',
    sshCheck: 'Proxy',
  };

  it('may be of what the set writes through', async () => {
    const member = await existing(memberOf());
    const metadata = {
      labels: { tier: 'web' },
      annotations: { 'example.org/note': 'x', [MEMBER_TEMPLATE_ANNOTATION]: '{}', [RECORD_ANNOTATION]: RECORD },
    };
    await expect(member.patch({ spec: THROUGH, metadata })).resolves.toMatchObject({ spec: THROUGH, metadata });
    const without = { labels: { tier: null }, annotations: { 'example.org/note': null } };
    const after = (await member.patch({ metadata: without })) as MemberManifest;
    expect(Object.keys(after.metadata.labels).sort()).toEqual([REVISION_LABEL, SET_LABEL].sort());
    expect(after.metadata.annotations).not.toHaveProperty(['example.org/note']);
  });

  it.each<[keyof typeof SAYS, object]>([
    ['spec', { spec: { product: 'VPSX256' } }],
    ['spec', { spec: { image: 'other/image' } }],
    ['spec', { spec: { diskSize: 20480 } }],
    ['spec', { spec: { sshKeys: null, sshKeysFrom: [{ name: 'a', key: 'b' }] } }],
    ['spec', { spec: { sshKeysFrom: [{ name: 'a', key: 'b' }] } }],
    ['spec', { spec: { ttl: '1h' } }],
    ['spec', { spec: { expiresAt: '2027-01-31T18:00:00Z' } }],
    ['labels', { metadata: { labels: { [SET_LABEL]: 'db' } } }],
    ['labels', { metadata: { labels: { [SET_LABEL]: null } } }],
    ['labels', { metadata: { labels: { [REVISION_LABEL]: null } } }],
    ['spec', { spec: { advanced: { tablet: true } } }],
    ['spec', { spec: { changePolicy: 'Online', image: 'other/image' } }],
    ['labels', { metadata: { labels: { 'vps-operator.dev/more': 'x' } } }],
    ...INPUT_ANNOTATIONS.map((name): [keyof typeof SAYS, object] => [
      'annotations',
      { metadata: { annotations: { [name]: 'x' } } },
    ]),
    ['owners', { metadata: { ownerReferences: null } }],
  ])('may not be of %s: %j', async (what, body) => {
    const member = await existing(memberOf());
    await expect(member.patch(body)).rejects.toMatchObject(refused(what));
    await expect(member.edit(body)).resolves.toBeDefined();
  });

  it('may be of what changes in place, if its changePolicy is not Never', async () => {
    const metadata = { labels: { [REVISION_LABEL]: 'x' } };
    const spec = { product: 'VPSX256', diskSize: 20480, advanced: { tablet: true } };
    for (const changePolicy of ['Online', 'AllowStop']) {
      const member = await existing(memberOf({}, { changePolicy }));
      await expect(member.patch({ spec, metadata })).resolves.toMatchObject({ spec, metadata });
    }
    const never = await existing(memberOf({}, { changePolicy: 'Never' }));
    await expect(never.patch({ spec })).rejects.toMatchObject(refused('spec'));
  });

  it('may return to what the server has, whatever its changePolicy', async () => {
    const server = { product: 'VPSX256', specs: { diskSize: 20480 }, advanced: { tablet: true } };
    const spec = { product: server.product, diskSize: server.specs.diskSize, advanced: server.advanced };
    const member = await existing(memberOf());
    await member.show({ serverStatus: 'running', ...server });
    await expect(member.patch({ spec: { ...spec, product: 'VPSX8' } })).rejects.toMatchObject(refused('spec'));
    await expect(member.patch({ spec: { ...spec, diskSize: 40960 } })).rejects.toMatchObject(refused('spec'));
    await expect(member.patch({ spec })).resolves.toMatchObject({ spec });
  });

  it('may not remove an annotation that resolves an order', async () => {
    const member = await existing(memberOf(annotationsOf({ 'vps-operator.dev/adopt': 'srv1' })));
    const body = { metadata: { annotations: { 'vps-operator.dev/adopt': null } } };
    await expect(member.patch(body)).rejects.toMatchObject(refused('annotations'));
  });

  it('may not be of its owners', async () => {
    const member = await existing(memberOf());
    for (const ownerReferences of [
      [ownerOf({ uid: 'another' })],
      [ownerOf({ blockOwnerDeletion: false })],
      [ownerOf(), { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }],
    ])
      await expect(member.patch({ metadata: { ownerReferences } })).rejects.toMatchObject(refused('owners'));
  });

  it('may not be of finalizers of others', async () => {
    const member = await existing(memberOf());
    const body = { metadata: { finalizers: [OTHER_FINALIZER] } };
    await expect(member.patch(body)).rejects.toThrow('any finalizer but');
  });

  it('is checked for every field of the schema that a set does not write through', async () => {
    const policies = parseAllDocuments(await readFile(ADMISSION, 'utf8')).map(
      (document) => document.toJS() as { metadata: { name: string }; spec: { validations?: { expression: string }[] } },
    );
    const { spec } = policies.find(({ metadata }) => metadata.name === 'vps-operator-members') ?? {};
    const compared = JSON.stringify(spec?.validations).matchAll(/object\.spec\.\??(\w+) == oldObject\.spec\.\??\1\b/g);
    const fields = [...compared].map(([, field]) => field);
    expect([...fields, ...Object.keys(THROUGH)].sort()).toEqual(Object.keys(specSchema.shape).sort());
  });
});

describe('adoption by the operator', () => {
  const orphan = (metadata: object = {}): MemberManifest => memberOf({ ownerReferences: [], ...metadata });
  const adopt = (change: object = {}, metadata: object = {}): object => ({
    metadata: { ownerReferences: [ownerOf(change)], ...metadata },
  });

  it('may be of an object with the label and the name of a member, and no owner', async () => {
    const object = await existing(orphan());
    await expect(object.patch(adopt())).resolves.toMatchObject(adopt());
  });

  it.each<[keyof typeof SAYS, string, () => MemberManifest, () => object]>([
    ['owners', 'has no label', () => orphan({ labels: {} }), () => adopt()],
    ['owners', 'has the label of another set', () => orphan(labelsOf({ [SET_LABEL]: 'db' })), () => adopt()],
    ['owners', 'has another name', () => orphan({ name: 'unlike' }), () => adopt()],
    ['owners', 'would not be controlled', () => orphan(), () => adopt({ controller: false })],
    ['owners', 'would have a set of another group', () => orphan(), () => adopt({ apiVersion: 'example.org/v1' })],
    [
      'labels',
      'gets its label only now',
      () => orphan({ labels: {} }),
      () => adopt({}, { labels: { [SET_LABEL]: 'web' } }),
    ],
    ['annotations', 'is changed too', () => orphan(), () => adopt({}, { annotations: { 'example.org/note': 'x' } })],
    ['spec', 'gets another spec too', () => orphan(), () => ({ ...adopt(), spec: { deletionPolicy: 'Retain' } })],
  ])('is refused (%s) if the object %s', async (what, _why, manifest, body) => {
    const object = await existing(manifest());
    await expect(object.patch(body())).rejects.toMatchObject(refused(what));
  });

  it('is refused if the object has an owner', async () => {
    const owner = await configMap('owner');
    const object = await existing(orphan({ ownerReferences: [owner] }));
    const body = { metadata: { ownerReferences: [owner, ownerOf()] } };
    await expect(object.patch(body)).rejects.toMatchObject(refused('owners'));
  });
});

describe('release by the operator', () => {
  it.each([{}, { [SET_LABEL]: 'db' }])(
    'may be of an object with the labels %o, and keeps other owners',
    async (labels) => {
      const owner = await configMap(`of-${ordinal}`);
      const object = await existing(memberOf({ labels, ownerReferences: [owner, ownerOf()] }));
      await expect(object.patch({ metadata: { ownerReferences: [] } })).rejects.toMatchObject(refused('owners'));
      const changed = { metadata: { ownerReferences: [owner] }, spec: { sshCheck: 'Proxy' } };
      await expect(object.patch(changed)).rejects.toMatchObject(refused('spec'));
      await object.patch({ metadata: { ownerReferences: [owner] } });
      expect((await objects.read(object.name)).metadata.ownerReferences).toEqual([owner]);
    },
  );
});

/** Owners must exist: the garbage collector deletes an object whose owners are all gone. */
async function configMap(name: string) {
  const path = `/api/v1/namespaces/${guarded.namespace}/configmaps`;
  const { metadata } = (await admin.call({ method: 'POST', path, body: { metadata: { name } } })) as MemberManifest & {
    metadata: { uid: string };
  };
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid };
}

describe('an object with huge lists', () => {
  const record = { metadata: { annotations: { [RECORD_ANNOTATION]: RECORD } } };

  // The time that an expression takes grows with the square of the list; the client gives up after 15 seconds.
  it('does not slow the API server down', async () => {
    const entries = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`a${index}`, '']));
    const member = await existing(memberOf({ ...annotationsOf(entries), ...labelsOf(entries) }));
    await member.patch(record);
    await expect(member.patch({ metadata: { labels: { tier: 'x' } } })).rejects.toMatchObject(refused('labels'));
  });

  it('counts as no member if it has more than 500 owners', async () => {
    const others = await Promise.all(Array.from({ length: 500 }, (_, index) => configMap(`owner-${index}`)));
    const owned = await existing(memberOf({ ownerReferences: [ownerOf(), ...others] }));
    await owned.patch(record);
    await expect(owned.delete()).rejects.toMatchObject(refused('delete'));
    await expect(owned.patch({ spec: { sshCheck: 'Proxy' } })).rejects.toThrow('the operator may not change spec');
    await owned.edit({ metadata: { ownerReferences: [ownerOf(), ...others.slice(1)] } });
    await owned.patch({ spec: { sshCheck: 'Proxy' } });
    await owned.delete();
  });
});

describe('deletionProtection in the template of a set', () => {
  const says =
    'spec.template.spec.deletionProtection is true, and deleting this VirtualServerSet would cancel the servers';

  it.for(['editor', 'admin', 'root'] as const)(
    'refuses every deletion that reaches the members, by %s',
    async (who) => {
      const name = `kept-${who}`;
      await setCalled(name, { deletionProtection: true });
      for (const args of [
        ['delete', 'vpsset', name],
        ['delete', 'vpsset', '--all'],
        ['delete', 'vpsset', name, '--cascade=foreground'],
        ['delete', `--raw=/apis/vps-operator.dev/v1alpha1/namespaces/${guarded.namespace}/virtualserversets`],
      ])
        expect(await refusal(guarded[who], args), args.join(' ')).toContain(says);
      await succeed(guarded[who], ['delete', 'vpsset', name, '--cascade=orphan']);
    },
  );

  it('names the commands that lift it and that keep the servers', async () => {
    await setCalled('lifted', { deletionProtection: true });
    const said = await refusal(guarded.editor, ['delete', 'vpsset', 'lifted']);
    const lift = { spec: { template: { spec: { deletionProtection: false } } } };
    const place = `vpsset lifted --namespace ${guarded.namespace}`;
    expect(said).toContain(`run \`kubectl patch ${place} --type=merge --patch='${JSON.stringify(lift)}'\``);
    expect(said).toContain(`To keep the members and their servers, run \`kubectl delete ${place} --cascade=orphan\``);
    await succeed(guarded.editor, patch('lifted', lift).with(1, 'vpsset'));
    await succeed(guarded.editor, ['delete', 'vpsset', 'lifted']);
  });

  it('does not threaten to cancel servers that deletionPolicy Retain keeps', async () => {
    await setCalled('retained', { deletionProtection: true, deletionPolicy: 'Retain' });
    const said = await refusal(guarded.editor, ['delete', 'vpsset', 'retained']);
    expect(said).toContain(
      'would leave the servers of its members running without an object that manages them. To allow',
    );
    expect(said).not.toContain('cancel');
    await succeed(guarded.root, ['delete', 'vpsset', 'retained', '--cascade=orphan']);
  });
});
