/** Guards: the operator may write only connection Secrets, whatever its RBAC; other users are not restricted. */
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION, CONNECTION_SECRET_TYPE, OWNER_ANNOTATION, SERVER_KIND } from '../../../src/api/names.ts';
import { CONNECTION_KEYS } from '../../../src/virtual-server/decision/connection.ts';
import type { OwnerReference } from '../../../src/kube/kinds.ts';
import { useGuards } from '../support/guarded-objects.ts';
import { refusal, succeed, typeWarnings, type Kubectl } from '../support/guards.ts';

const POLICY = join(
  import.meta.dirname,
  '../../../deploy/manifests/components/connection-secrets/namespaced/admission.yaml',
);
const says = 'the operator may';
const SAYS = {
  type: `${says} write no Secret but those of type ${CONNECTION_SECRET_TYPE}`,
  owner: `${says} not leave out, change or remove the annotation ${OWNER_ANNOTATION}`,
  owners: `${says} add and remove no owner but the VirtualServer whose uid`,
  keys: `${says} write no keys but those of a connection`,
  lasting: `${says} not change finalizers or immutable`,
};

const { guarded, objects } = useGuards();
const operator: Kubectl = (args, input) => guarded.operator(args, input);
/** Owners must exist: the garbage collector deletes a Secret without existing owners. */
let own: OwnerReference;
let another: OwnerReference;
beforeAll(async () => {
  const reference = async (name: string): Promise<OwnerReference> => {
    await objects.create(name);
    return { apiVersion: API_VERSION, kind: SERVER_KIND, name, uid: (await objects.read(name)).metadata.uid };
  };
  own = await reference('web');
  another = await reference('db');
  await succeed(guarded.root, ['apply', '--server-side', `--filename=${POLICY}`]);
  const create = ['create', 'secret', 'generic', 'probe', '--dry-run=server'];
  await guarded.until(operator, create, ({ text }) => text.includes('denied request'));
});

interface Secret {
  apiVersion: string;
  kind: string;
  metadata: { name: string; annotations?: Record<string, string>; ownerReferences?: OwnerReference[] };
  type: string;
  stringData?: Record<string, string>;
  data?: Record<string, string>;
}

/** A connection Secret as the operator creates it. */
function connection(name: string, ownerReferences = [own]): Secret & { stringData: Record<string, string> } {
  const metadata = { name, annotations: { [OWNER_ANNOTATION]: own.uid }, ownerReferences };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: CONNECTION_SECRET_TYPE, stringData: { identifier: 'v1' } };
}

const CREATE = ['create', '--filename=-'];
const APPLY = ['apply', '--server-side', '--force-conflicts', '--filename=-'];
const patch = (name: string, body: object): string[] => [
  ...['patch', 'secret', name, '--type=merge', `--patch=${JSON.stringify(body)}`],
];
const read = async (name: string): Promise<Secret> =>
  JSON.parse(await succeed(guarded.root, ['get', 'secret', name, '--output=json'])) as Secret;
const decoded = ({ data = {} }: Secret) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));

/** Checks that each command is rejected and changes nothing. */
async function refusesAll(name: string, what: string, commands: [args: string[], input?: unknown][]): Promise<void> {
  const before = await read(name);
  for (const [args, input] of commands) expect(await refusal(operator, args, input), args.join(' ')).toContain(what);
  expect(await read(name)).toEqual(before);
}

describe('the operator', () => {
  it('may create a connection Secret, and change its data and its owner reference', async () => {
    const all = Object.fromEntries(CONNECTION_KEYS.map((key) => [key, 'x']));
    await succeed(operator, CREATE, { ...connection('own'), stringData: all });
    const people = { metadata: { ownerReferences: [another, own], labels: { team: 'a' } }, stringData: { note: 'y' } };
    await succeed(guarded.admin, patch('own', people));

    await succeed(operator, patch('own', { stringData: { ipv6: 'z' }, data: { vncPassword: null } }));
    await succeed(operator, patch('own', { metadata: { ownerReferences: [another] } }));
    const { vncPassword: _removed, ...rest } = all;
    const secret = await read('own');
    expect(decoded(secret)).toEqual({ ...rest, ipv6: 'z', note: 'y' });
    expect(secret.metadata).toMatchObject({ ownerReferences: [another], annotations: { [OWNER_ANNOTATION]: own.uid } });
    await succeed(operator, patch('own', { metadata: { ownerReferences: [another, own] } }));
    expect((await read('own')).metadata.ownerReferences).toEqual([another, own]);
  });

  it('may create a connection Secret that outlives its object', async () => {
    await succeed(operator, CREATE, connection('stays', []));
    expect((await read('stays')).metadata.ownerReferences).toBeUndefined();
  });

  it.for(['Opaque', 'kubernetes.io/tls', 'kubernetes.io/service-account-token', 'vps-operator.dev/other'])(
    'may not create a Secret of type %s',
    async (type) => {
      const secret = { ...connection('made'), type, stringData: { 'tls.crt': '', 'tls.key': '' } };
      secret.metadata.annotations = { ...secret.metadata.annotations, 'kubernetes.io/service-account.name': 'default' };
      for (const args of [CREATE, APPLY]) expect(await refusal(operator, args, secret)).toContain(SAYS.type);
      expect((await guarded.root(['get', 'secret', 'made'])).text).toContain('not found');
    },
  );

  it('may not change other Secrets, even with its annotation', async () => {
    const annotations = { [OWNER_ANNOTATION]: own.uid };
    const theirs = { ...connection('theirs'), metadata: { name: 'theirs', annotations }, type: 'Opaque' };
    await succeed(guarded.admin, CREATE, theirs);
    await refusesAll('theirs', SAYS.type, [
      [patch('theirs', { stringData: { identifier: 'v2' } })],
      [patch('theirs', { data: null })],
      [patch('theirs', { metadata: { ownerReferences: [own] } })],
      [['patch', 'secret', 'theirs', '--type=json', '--patch=[{"op":"remove","path":"/data/identifier"}]']],
      [['label', 'secret', 'theirs', 'a=b']],
      [APPLY, { ...theirs, stringData: { identifier: 'v2' } }],
      [['replace', '--filename=-'], { ...theirs, stringData: { identifier: 'v2' } }],
    ]);
    // The API server itself rejects the type change that would make the Secret the operator's.
    const retyped = patch('theirs', { type: CONNECTION_SECRET_TYPE });
    expect(await refusal(operator, retyped)).toMatch(/field is immutable|may write no Secret but/);
    expect(await refusal(guarded.root, retyped)).toContain('type: Invalid value: "vps-operator.dev/connection"');
  });

  it('must set the owner annotation at creation, and may not change it later', async () => {
    const unowned = connection('unowned', []);
    delete unowned.metadata.annotations;
    expect(await refusal(operator, CREATE, unowned)).toContain(SAYS.owner);
    await succeed(operator, CREATE, connection('owned', []));
    await refusesAll('owned', SAYS.owner, [
      [['annotate', '--overwrite', 'secret', 'owned', `${OWNER_ANNOTATION}=${another.uid}`]],
      [['annotate', 'secret', 'owned', `${OWNER_ANNOTATION}-`]],
      [patch('owned', { metadata: { annotations: null } })],
    ]);
    const plain = ['create', 'secret', 'generic', 'plain', `--type=${CONNECTION_SECRET_TYPE}`];
    await succeed(guarded.admin, plain);
    await refusesAll('plain', SAYS.owner, [
      [['annotate', 'secret', 'plain', `${OWNER_ANNOTATION}=${own.uid}`]],
      [patch('plain', { stringData: { identifier: 'v1' } })],
    ]);
  });

  it("may add and remove only the owner reference of the Secret's own object", async () => {
    const { uid } = own;
    for (const reference of [
      another,
      { ...own, kind: 'ServerCatalog' },
      { ...own, apiVersion: 'vps-operator.dev.example.org/v1' },
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid },
    ]) {
      const refused = await refusal(operator, CREATE, connection('foreign', [own, reference]));
      expect(refused, JSON.stringify(reference)).toContain(SAYS.owners);
    }
    await succeed(operator, CREATE, connection('foreign'));
    const owners = (...ownerReferences: OwnerReference[]) => patch('foreign', { metadata: { ownerReferences } });
    await refusesAll('foreign', SAYS.owners, [[owners(another)], [owners(own, another)]]);
    await succeed(guarded.admin, owners(own, another));
    await refusesAll('foreign', SAYS.owners, [[owners(own)], [owners()], [owners(own, { ...another, name: 'x' })]]);
  });

  it('may write only the keys of a connection', async () => {
    for (const key of ['keyId', 'tls.key', '.dockerconfigjson', 'identifiers']) {
      for (const more of [{ data: { [key]: 'eA==' } }, { data: { [key]: '' } }, { stringData: { [key]: 'x' } }]) {
        const said = await refusal(operator, CREATE, { ...connection('keys'), ...more });
        expect(said, JSON.stringify(more)).toContain(SAYS.keys);
      }
    }
    await succeed(operator, CREATE, connection('keys'));
    await succeed(guarded.admin, patch('keys', { stringData: { note: 'y' } }));
    await refusesAll('keys', SAYS.keys, [
      [patch('keys', { stringData: { keyId: 'x' } })],
      [patch('keys', { data: { keyId: '' } })],
      [patch('keys', { stringData: { note: 'x' } })],
      [patch('keys', { data: { note: null } })],
      [patch('keys', { data: null })],
    ]);
  });

  it('may not make a Secret harder to delete or change, and is not blocked if users do', async () => {
    const finalizers = ['example.org/never'];
    const held = connection('lasting');
    expect(await refusal(operator, CREATE, { ...held, metadata: { ...held.metadata, finalizers } })).toContain(
      SAYS.lasting,
    );
    expect(await refusal(operator, CREATE, { ...held, immutable: true })).toContain(SAYS.lasting);
    await succeed(operator, CREATE, held);
    await refusesAll('lasting', SAYS.lasting, [
      [patch('lasting', { metadata: { finalizers } })],
      [patch('lasting', { immutable: true })],
    ]);
    await succeed(guarded.admin, patch('lasting', { metadata: { finalizers } }));
    await refusesAll('lasting', SAYS.lasting, [[patch('lasting', { metadata: { finalizers: null } })]]);
    await succeed(operator, patch('lasting', { stringData: { ipv6: 'z' } }));
    await succeed(guarded.admin, patch('lasting', { metadata: { finalizers: null } }));
  });
});

describe('other users', () => {
  it.for(['admin', 'root'] as const)('can write all Secrets: %s', async (who) => {
    const name = `of-${who}`;
    const person = guarded[who];
    await succeed(person, ['create', 'secret', 'generic', name, '--from-literal=a=b']);
    await succeed(person, patch(name, { stringData: { a: 'c' } }));
    await succeed(operator, CREATE, connection(`${name}-2`));
    const metadata = { annotations: { [OWNER_ANNOTATION]: 'x' }, ownerReferences: [another] };
    await succeed(person, patch(`${name}-2`, { metadata, stringData: { a: 'c' } }));
    await succeed(person, ['delete', 'secret', name, `${name}-2`]);
  });
});

it("passes the cluster's type checker", async () => {
  expect(await typeWarnings(guarded)).toContainEqual(['vps-operator-connection-secrets', undefined]);
});
