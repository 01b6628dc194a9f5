/** The CustomResourceDefinition of VirtualServer. test/exhaustive/generated-specs.test.ts breaks each rule of a spec. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { structuralSchema } from '../../../src/api/crd.ts';
import { RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { ORDERED_FIELDS } from '../../../src/api/ordered-fields.ts';
import { formatRecord, type StoredRecord } from '../../../src/api/record.ts';
import { sshKeysSchema } from '../../../src/api/ssh-keys.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { OTHER } from '../../fixtures/ordered-values.ts';
import { P521, PRIVATE_KEYS, RSA, SECRET, SK_ED25519, SK_P256 } from '../../fixtures/public-keys.ts';
import { RETURNS, RETURNS_MARK } from '../../fixtures/returns.ts';
import { adminHttp, create, createNamespace, edit, kubectl, manifest, SSH_KEY } from '../kube/support.ts';

let http: KubeHttp;
let namespace: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
});
afterAll(() => http.close());

let count = 0;
const freshName = () => `server-${(count += 1)}`;
const createWith = (spec: Record<string, unknown>) => create(http, namespace, manifest(freshName(), spec));

const withStatus = (object: VirtualServer, status: object) => edit(http, object, { status }, '/status');
const ATTEMPTED = { record: { owner: 'uid', mode: 'create', attempt: 'a1' } };

describe('spec', () => {
  it('gets its defaults from the API server', async () => {
    const { spec, status } = await createWith({});
    expect(spec).toMatchObject({
      apiKeySecretRef: { name: 'vps-api-key' },
      deletionPolicy: 'Delete',
      deletionProtection: false,
    });
    expect(status).toEqual({ observedGeneration: -1 });
    const named = await createWith({ apiKeySecretRef: {} });
    expect(named.spec.apiKeySecretRef).toEqual({ name: 'vps-api-key' });
  });

  it('accepts an SSH key inline, from a Secret, or both', async () => {
    const sshKeysFrom = [{ name: 'keys', key: 'id_ed25519.pub' }];
    expect((await createWith({})).spec.sshKeys).toEqual([SSH_KEY]);
    expect((await createWith({ sshKeys: undefined, sshKeysFrom })).spec.sshKeysFrom).toEqual(sshKeysFrom);
    expect((await createWith({ sshKeys: [], sshKeysFrom })).spec.sshKeys).toEqual([]);
    expect((await createWith({ sshKeysFrom })).spec).toMatchObject({ sshKeys: [SSH_KEY], sshKeysFrom });
  });

  it.each([{ sshKeys: undefined }, { sshKeys: [] }, { sshKeys: undefined, sshKeysFrom: [] }])(
    'is rejected without any SSH key: %o',
    async (spec) => {
      await expect(createWith(spec)).rejects.toThrow('set at least one SSH key, in sshKeys or sshKeysFrom');
    },
  );

  it.each(['debian-13.qcow2/docker', 'cloudinit-debian-trixie.raw.gz', 'x'])(
    'leaves to the provider what an image is called: %s',
    async (image) => {
      expect((await createWith({ image })).spec.image).toBe(image);
    },
  );

  it.each([
    ['sshKeys', [SSH_KEY, 'ssh-rsa'], 'sshKeys[1] must be one SSH public key in one line'],
    ['sshKeys', [`${SSH_KEY}\n${SSH_KEY}`], 'sshKeys[0] must be one SSH public key in one line'],
    ['sshKeysFrom', [{ name: 'Keys', key: 'key' }], 'spec.sshKeysFrom[0].name'],
    ['sshKeysFrom', [{ name: 'keys', key: 'a b' }], 'spec.sshKeysFrom[0].key'],
    ['image', '', 'spec.image'],
    ['image', 'x'.repeat(257), 'spec.image'],
    ['diskSize', undefined, 'spec.diskSize'],
    ['product', 'x'.repeat(129), 'spec.product'],
    ['hostname', 'web_1.example.org', 'must be a DNS name, such as web.example.org'],
    ['hostname', `${'h'.repeat(64)}.example.org`, 'must be a DNS name'],
    ['zone', '', 'spec.zone'],
    ['serverName', 'x'.repeat(257), 'spec.serverName'],
    ['advanced', { cpuMode: 'performance' }, 'spec.advanced.cpuMode: Unsupported value'],
    ['advanced', { extraCores: 0 }, 'spec.advanced.extraCores'],
    ['advanced', { tablet: 'no' }, 'spec.advanced.tablet'],
    ['storedUserData', 12, 'spec.storedUserData'],
    ['userData', '', 'spec.userData'],
    ['userData', 'x'.repeat(32_769), 'spec.userData: Too long'],
    ['ipv4', 'yes', 'spec.ipv4'],
    ['deletionPolicy', 'Orphan', 'spec.deletionPolicy'],
  ])('is rejected with %s %o', async (field, value, message) => {
    await expect(createWith({ [field]: value })).rejects.toThrow(message);
  });
});

describe('an SSH key', () => {
  it.each([
    ['a line end', `${SSH_KEY}\n`],
    ['a line end of Windows', `${SSH_KEY}\r\n`],
    ['several line ends', `${SSH_KEY}\n\r\n\n`],
    ['spaces around it', ` ${SSH_KEY} \t`],
    ['a comment in another script', `${SSH_KEY} Zoë’s laptop, 東京\n`],
    ['nothing after it', SSH_KEY.split(' ').slice(0, 2).join(' ')],
  ])('may have %s', async (_what, key) => {
    expect((await createWith({ sshKeys: [key] })).spec.sshKeys).toEqual([key]);
  });

  it.each(Object.entries({ RSA, P521, SK_ED25519, SK_P256 }))('may be of each type: %s', async (_type, key) => {
    expect((await createWith({ sshKeys: [key] })).spec.sshKeys).toEqual([key]);
  });

  const refusalOf = (spec: Record<string, unknown>): Promise<string> =>
    createWith(spec).then(
      () => 'accepted',
      (error: unknown) => String(error),
    );

  it.each(Object.entries(PRIVATE_KEYS))(
    'that is private is refused without being quoted: %s',
    async (_format, text) => {
      for (const key of [text, text.replaceAll('\n', ' '), `${SSH_KEY} ${text.replaceAll('\n', ' ')}`]) {
        const said = await refusalOf({ sshKeys: [SSH_KEY, key] });
        expect(said).toContain('sshKeys[1] must not contain a private key. Paste the public key');
        expect(said).not.toContain(SECRET);
      }
    },
  );

  it.each([
    ['a key of a Secret', { sshKeysFrom: [{ name: 'keys', key: PRIVATE_KEYS.OpenSSH }] }],
    ['a Secret', { sshKeysFrom: [{ name: PRIVATE_KEYS.OpenSSH, key: 'key' }] }],
    ['an object', { sshKeys: [{ key: PRIVATE_KEYS.OpenSSH }] }],
    ['no list', { sshKeys: PRIVATE_KEYS.OpenSSH }],
    ['a text that is too long', { sshKeys: [`${PRIVATE_KEYS.OpenSSH ?? ''}${'A'.repeat(9000)}`] }],
  ])('that is private is not quoted either as %s', async (_what, spec) => {
    const said = await refusalOf(spec);
    expect(said).toContain('is invalid');
    expect(said).not.toContain(SECRET);
  });

  it('that an earlier version accepted does not keep the operator from writing metadata and status', async () => {
    const definition = (sshKeys: object): object => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'olds.example.org' },
      spec: {
        group: 'example.org',
        scope: 'Namespaced',
        names: { kind: 'Old', plural: 'olds' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { sshKeys } }, status: FREE },
              },
            },
          },
        ],
      },
    });
    const FREE = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const olds = `/apis/example.org/v1/namespaces/${namespace}/olds`;
    const post = (path: string, body: object) => http.call({ method: 'POST', path, body });
    const patch = (path: string, body: object) =>
      http.call({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
    const old = (name: string, comment: string) => ({
      ...{ apiVersion: 'example.org/v1', kind: 'Old', metadata: { name } },
      spec: { sshKeys: [`${SSH_KEY} ${comment}`] },
    });
    await post(definitions, definition({ type: 'array', items: { type: 'string' } }));
    onTestFinished(() =>
      http.call({ method: 'DELETE', path: `${definitions}/olds.example.org` }).then(() => undefined),
    );
    await vi.waitFor(() => post(olds, old('held', 'PRIVATE KEY')), 10_000);
    await patch(`${definitions}/olds.example.org`, definition(structuralSchema(sshKeysSchema)));
    await vi.waitFor(
      () =>
        expect(post(`${olds}?dryRun=All`, old('new', 'PRIVATE KEY'))).rejects.toThrow('must not contain a private key'),
      {
        timeout: 10_000,
      },
    );
    await patch(`${olds}/held`, { metadata: { annotations: { a: 'b' } } });
    await patch(`${olds}/held/status`, { status: { ssh: 'x' } });
    await expect(patch(`${olds}/held`, old('held', 'new PRIVATE KEY'))).rejects.toThrow(
      'must not contain a private key',
    );
  });
});

describe('the lock on the fields of an order', () => {
  // Three of the fields exclude each other.
  const { storedUserData: _one, userDataFrom: _other, ...others } = OTHER;
  // The objects set no `ipv4`, which is the same as false.
  const all = { ...others, ipv4: true };
  const changes = ORDERED_FIELDS.map((field): [string, unknown] => [field, { ...OTHER, ...all }[field]]);

  it.each(changes)('rejects another %s once there is an attempt, and says what to do', async (field, value) => {
    const object = await withStatus(await createWith({}), ATTEMPTED);
    await expect(edit(http, object, { spec: { [field]: value } })).rejects.toThrow(
      `: spec.${field}, which the order sent, cannot be changed after the server was ordered: make a new VirtualServer with the ` +
        'new values, then delete this one',
    );
  });

  it.each<[string, (uid: string) => object, boolean]>([
    ['claims an order', (owner) => ({ ...ATTEMPTED.record, format: 2, owner, account: 'a b' }), true],
    ['claims an order, of the first format', (owner) => ({ ...ATTEMPTED.record, owner }), true],
    ['claims an order of another object', () => ATTEMPTED.record, false],
    [
      'has a failed order alone',
      (owner) => ({ owner, mode: 'create', failed: [{ attempt: 'a0', identifier: 's' }] }),
      false,
    ],
    ['has an adopted server', (owner) => ({ owner, mode: 'adopt', identifier: 's' }), false],
  ])('goes by the annotation before there is a status: one that %s', async (_what, recordOf, isLocked) => {
    const created = await createWith({});
    const text = formatRecord(recordOf(created.metadata.uid) as StoredRecord);
    const object = await edit(http, created, { metadata: { annotations: { [RECORD_ANNOTATION]: text } } });
    const edited = edit(http, object, { spec: { product: 'VPSX8' } });
    if (isLocked)
      await expect(edited).rejects.toThrow(
        /: spec\.product, which the order sent, cannot be changed .*\. The order may have no answer yet: if the provider refuses it, /,
      );
    else expect((await edited).spec.product).toBe('VPSX8');
  });

  it.each(['\n', '\r\n\n'])('does not mind a line end after a key, which the order did not send: %j', async (end) => {
    const object = await withStatus(await createWith({}), ATTEMPTED);
    const sshKeys = [`${SSH_KEY}${end}`];
    expect((await edit(http, object, { spec: { sshKeys } })).spec.sshKeys).toEqual(sshKeys);
    expect((await edit(http, object, { spec: { sshKeys: [SSH_KEY] } })).spec.sshKeys).toEqual([SSH_KEY]);
  });

  it.each<[string, object]>([
    ['product', { product: 'VPSX8' }],
    ['a larger disk', { diskSize: 40 }],
    ['a name', { serverName: 'shop' }],
  ])('opens for %s with changePolicy Online, but not before the server was read', async (_what, change) => {
    const object = await withStatus(await createWith({ changePolicy: 'Online', diskSize: 20 }), ATTEMPTED);
    await expect(edit(http, object, { spec: change })).rejects.toThrow('which the order sent, cannot be changed');
    const read = await withStatus(object, { serverStatus: 'running' });
    expect((await edit(http, read, { spec: change })).spec).toMatchObject(change);
  });

  it.each<[string, object, string]>([
    ['a smaller disk', { diskSize: 10 }, '. A disk can only get larger'],
    ['a name that is removed', { serverName: null }, '. spec.serverName can be changed, but not removed'],
    ['another host', { advanced: { hostServer: 'host2' } }, '. spec.advanced.hostServer cannot change'],
    [
      'a device that is removed',
      { advanced: { tablet: null, extraCores: 1 } },
      'no field of spec.advanced can be removed',
    ],
    ['another zone', { zone: 'cam' }, ': spec.zone, which the order sent'],
  ])('stays closed with changePolicy AllowStop for %s, and says why', async (_what, change, says) => {
    const spec = {
      changePolicy: 'AllowStop',
      diskSize: 20,
      serverName: 'shop',
      zone: 'lon',
      advanced: { hostServer: 'host1', tablet: true },
    };
    const status = { serverStatus: 'running', specs: { diskSize: 20 }, name: 'shop', advanced: { tablet: true } };
    const object = await withStatus(await createWith(spec), { ...ATTEMPTED, ...status });
    await expect(edit(http, object, { spec: change })).rejects.toThrow(says);
    const devices = { advanced: { tablet: false, netDevice: 'e1000' } };
    expect((await edit(http, object, { spec: devices })).spec).toMatchObject(devices);
    const policy = { changePolicy: 'Online', advanced: { netDevice: 'rtl8139' } };
    await expect(edit(http, object, { spec: policy })).rejects.toThrow(
      '. spec.changePolicy: AllowStop lets spec.advanced change in place',
    );
  });

  it.each(RETURNS)('knows whether to accept $name', async ({ spec, status, edit: change, locked }) => {
    const object = await createWith(spec);
    const { uid, namespace: own } = object.metadata;
    const name = (status.name as string | undefined)
      ?.replace(RETURNS_MARK, `(${uid.slice(0, 8)})`)
      .replace('default/', `${own}/`);
    const record = { ...ATTEMPTED.record, ...(status.record as object) };
    const read = await withStatus(object, { ...status, ...(name !== undefined && { name }), record });
    const edited = edit(http, read, { spec: change });
    if (locked.length === 0) await edited;
    else await expect(edited).rejects.toThrow(`: spec.${locked.join(', spec.')}, which the order sent`);
  });

  it.each(['annotation', 'mirror'] as const)('waits for a request that the %s knows, and tells it', async (where) => {
    const changeRequests = { identifier: 'srv1', at: '2026-01-01T00:00:00Z' };
    const created = await createWith({ changePolicy: 'Online', diskSize: 20480 });
    const record = { ...ATTEMPTED.record, ...(where === 'mirror' && { changeRequests }) };
    const status = { serverStatus: 'running', specs: { diskSize: 10240 }, record };
    const object = await withStatus(created, status);
    const text = JSON.stringify({ ...ATTEMPTED.record, changeRequests });
    const annotations = where === 'mirror' ? {} : { [RECORD_ANNOTATION]: text };
    const asked = await edit(http, object, { metadata: { annotations } });
    await expect(edit(http, asked, { spec: { diskSize: 10240 } })).rejects.toThrow(
      'delete this one. A request to change the server may be under way: wait until the condition ChangePending is gone',
    );
    expect((await edit(http, asked, { spec: { diskSize: 40960 } })).spec.diskSize).toBe(40960);
  });

  it('names every field that differs', async () => {
    const object = await withStatus(await createWith({}), ATTEMPTED);
    const spec = { image: 'debian-12/full', diskSize: 20, deletionProtection: true };
    await expect(edit(http, object, { spec })).rejects.toThrow(
      ': spec.image, spec.diskSize, which the order sent, cannot be changed after',
    );
    await expect(edit(http, object, { spec: all })).rejects.toThrow(
      `: ${ORDERED_FIELDS.filter((field) => field in all)
        .map((field) => `spec.${field}`)
        .join(', ')}, which the order sent, cannot be changed after`,
    );
  });

  it('also rejects adding or removing a list of keys', async () => {
    const sshKeysFrom = [{ name: 'keys', key: 'key' }];
    const object = await withStatus(await createWith({ sshKeysFrom }), ATTEMPTED);
    await expect(edit(http, object, { spec: { sshKeysFrom: null } })).rejects.toThrow(
      'spec.sshKeysFrom, which the order sent, cannot',
    );
    await expect(edit(http, object, { spec: { sshKeys: null } })).rejects.toThrow(
      'spec.sshKeys, which the order sent, cannot',
    );
  });

  it.each([
    ['a status without a record', { ssh: 'x' }],
    ['the record of a refused create', { record: { owner: 'uid', mode: 'create' } }],
    ['the record of an adopted server', { record: { owner: 'uid', mode: 'adopt', identifier: 'v1' } }],
  ])('leaves the fields editable with %s', async (_, status) => {
    let object = await withStatus(await createWith({}), status);
    for (const [field, value] of Object.entries(all)) {
      object = await edit(http, object, { spec: { [field]: value } });
      expect(object.spec).toMatchObject({ [field]: value });
    }
  });

  it('leaves the fields editable before the first reconcile', async () => {
    const object = await createWith({});
    expect((await edit(http, object, { spec: { product: 'large' } })).spec.product).toBe('large');
  });

  it('leaves other fields, metadata and status editable', async () => {
    const object = await withStatus(await createWith({}), ATTEMPTED);
    const spec = { deletionPolicy: 'Retain', deletionProtection: true, apiKeySecretRef: { name: 'other' } };
    expect((await edit(http, object, { spec })).spec).toMatchObject(spec);
    const labelled = await edit(http, object, { metadata: { labels: { a: 'b' } } });
    expect(labelled.metadata).toMatchObject({ labels: { a: 'b' } });
    expect((await withStatus(object, { record: { task: 7 } })).status?.record?.task).toBe(7);
  });

  it('makes the fields editable again when the attempt is removed', async () => {
    const object = await withStatus(await createWith({}), ATTEMPTED);
    await withStatus(object, { record: { attempt: null } });
    expect((await edit(http, object, { spec: { diskSize: 20 } })).spec.diskSize).toBe(20);
  });
});

describe('status', () => {
  const condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Available',
    message: 'The server runs.',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };

  it.each([
    ['identifier', 'x'.repeat(254)],
    ['serverStatus', 'x'.repeat(257)],
    ['ipv6', Array.from({ length: 17 }, () => '::1')],
    ['ipv6', ['x'.repeat(65)]],
    ['sshProxy', { hostname: 'h', port: 65536 }],
    ['sshProxy', { hostname: 'h', port: 0 }],
    ['sshProxy', { hostname: 'h', port: -1 }],
    ['sshProxy', { hostname: 'h', port: 22.5 }],
    ['task', { id: 1, percent: 101 }],
    ['record', 'a text'],
    ['record', { attempt: 1 }],
    ['conditions', [{ ...condition, message: 'x'.repeat(1025) }]],
    ['conditions', [{ ...condition, reason: 'Not one word' }]],
    ['conditions', [condition, condition]],
  ])('is rejected as a whole with a wrong %s %#', async (field, value) => {
    const object = await createWith({});
    await expect(withStatus(object, { [field]: value, name: 'kept?' })).rejects.toThrow(`status.${field}`);
  });

  it('accepts 53-bit numbers, and texts of the maximum length', async () => {
    const status = {
      identifier: 'x'.repeat(253),
      task: { id: '18446744073709551615', secondsRemaining: Number.MAX_SAFE_INTEGER },
      price: 4.99,
      record: { owner: 'uid', mode: 'create', attemptedAt: '2026-01-01T00:00:00.123Z' },
      conditions: [{ ...condition, message: 'ä'.repeat(1024) }],
    };
    expect((await withStatus(await createWith({}), status)).status).toMatchObject(status);
  });

  it('gets its default again when it is wiped', async () => {
    const object = await withStatus(await createWith({}), { ssh: 'x' });
    expect((await edit(http, object, { status: null }, '/status')).status).toEqual({ observedGeneration: -1 });
  });

  it('has one owner: a server-side apply of another one conflicts, and replaces the whole status if it is forced', async () => {
    const object = await withStatus(await createWith({}), { ssh: 'x', conditions: [condition] });
    const { apiVersion, kind, metadata } = object;
    const status = { conditions: [{ ...condition, type: 'Paused' }] };
    const apply = (force: boolean) =>
      http.call({
        method: 'PATCH',
        path: `/apis/${apiVersion}/namespaces/${namespace}/virtualservers/${metadata.name}/status`,
        query: { fieldManager: 'another', force },
        contentType: 'application/apply-patch+yaml',
        body: { apiVersion, kind, metadata: { name: metadata.name }, status },
      });
    await expect(apply(false)).rejects.toThrow('conflict');
    expect((await apply(true)) as VirtualServer).toMatchObject({ status });
    expect(((await apply(true)) as VirtualServer).status).not.toHaveProperty('ssh');
  });
});

describe('kubectl', () => {
  it('shows the printer columns', async () => {
    const object = await createWith({ product: 'columns' });
    await withStatus(object, {
      ipv6: ['2001:db8::1', '2001:db8::2'],
      ssh: 'root@proxy.example -p 2222',
      identifier: 'v1234',
      zone: { code: 'ams' },
      price: 4.99,
      task: { id: 1, percent: 42 },
      cancelsAt: '2026-01-02T00:00:00Z',
      conditions: [
        { type: 'Paused', status: 'True', reason: 'Paused', message: 'no', lastTransitionTime: '2026-01-01T00:00:00Z' },
        {
          type: 'Ready',
          status: 'False',
          reason: 'Creating',
          message: 'Wait.',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    });
    const table = async (...args: string[]) => {
      const lines = (await kubectl('get', 'vps', object.metadata.name, '--namespace', namespace, ...args))
        .trim()
        .split('\n');
      return lines.map((line) => line.split(/ {2,}/).map((cell) => cell.trim()));
    };
    const name = object.metadata.name;
    const age = expect.stringMatching(/^\d+s$/) as string;
    const narrow = ['NAME', 'READY', 'REASON', 'ENDS', 'AGE'];
    const cells = [name, 'False', 'Paused', '2026-01-02T00:00:00Z', age];
    expect(await table()).toEqual([narrow, cells]);
    expect(await table('--output=wide')).toEqual([
      [...narrow, 'PRODUCT', 'IDENTIFIER', 'IPV6', 'SSH', 'IMAGE', 'ZONE', 'PRICE', 'PROGRESS', 'MESSAGE'],
      [
        ...[...cells, 'columns', 'v1234', '2001:db8::1', 'root@proxy.example -p 2222', 'debian-12/minimal'],
        ...['ams', '4.99', '42', 'Wait.'],
      ],
    ]);
  });

  it('lists the objects by short name, singular and category', async () => {
    const { name } = (await createWith({})).metadata;
    for (const word of ['vps', 'virtualserver', 'virtualservers', 'vps-operator']) {
      expect(await kubectl('get', word, '--namespace', namespace, '--output=name')).toContain(`/${name}\n`);
    }
  });

  it('documents every field for kubectl explain', async () => {
    const tree = await kubectl('explain', 'vps', '--recursive');
    for (const field of ['sshKeysFrom', 'deletionProtection', 'secondsRemaining', 'expectedAt', 'lastTransitionTime']) {
      expect(tree).toContain(`${field}\t<`);
    }
    const explain = (path: string) => kubectl('explain', `virtualservers.${path}`);
    for (const path of [
      'spec',
      'spec.apiKeySecretRef',
      'status',
      'status.task',
      'status.record',
      'status.conditions',
    ]) {
      expect(await explain(path)).not.toContain('<no description>');
    }
    expect(await explain('spec.deletionPolicy')).toContain('Retain keeps it running');
  });

  it('documents every field of a set for kubectl explain', async () => {
    const tree = await kubectl('explain', 'vpsset', '--recursive');
    const fields = ['scaleDown', 'maxSurge', 'minReadySeconds', 'progressDeadlineSeconds', 'unresolvedReplicas'];
    for (const field of fields) expect(tree).toContain(`${field}\t<`);
    const explain = (path: string) => kubectl('explain', `virtualserversets.${path}`);
    const paths = ['spec', 'spec.template.spec', 'spec.strategy.rollingUpdate', 'spec.scaleDown', 'status'];
    for (const path of [...paths, 'status.revisions', 'status.conditions'])
      expect(await explain(path)).not.toContain('<no description>');
    expect(await explain('spec.paused')).toContain('creates, changes and deletes no member');
  });
});
