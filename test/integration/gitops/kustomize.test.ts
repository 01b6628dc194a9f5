/** What docs/how-to/kustomize.md says: the components of deploy/kustomize, and what kustomize does to our objects. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { API_VERSION } from '../../../src/api/names.ts';
import { kustomize } from '../../../tools/manifests.ts';

const ROOT = join(import.meta.dirname, '../../..');
const REFERENCES = 'deploy/kustomize/references';
const CONNECTION_SECRETS = 'deploy/kustomize/connection-secret-names';

interface Built {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string>; labels?: Record<string, string> };
  spec: Record<string, unknown>;
}

const server = (name: string, spec: object = {}, annotations: Record<string, string> = {}): object => ({
  apiVersion: API_VERSION,
  kind: 'VirtualServer',
  metadata: { name, annotations },
  spec: { product: 'VPSX4', image: 'cloudinit-debian-trixie.raw.gz', diskSize: 10240, sshKeys: ['a', 'b'], ...spec },
});
const KEYS = {
  apiKeySecretRef: { name: 'vps-api-key' },
  sshKeysFrom: [
    { name: 'ssh-keys', key: 'keys' },
    { name: 'elsewhere', key: 'keys' },
  ],
};
const SET = {
  apiVersion: API_VERSION,
  kind: 'VirtualServerSet',
  metadata: { name: 'pool' },
  spec: { replicas: 2, template: { spec: { image: 'nginx', ...KEYS, connectionSecretName: 'pool-connection' } } },
};
const CATALOG = {
  apiVersion: API_VERSION,
  kind: 'ServerCatalog',
  metadata: { name: 'catalog' },
  spec: { apiKeySecretRef: { name: 'vps-api-key' } },
};
const scaler = (apiVersion: string, kind: string): object => ({
  apiVersion,
  kind,
  metadata: { name: 'pool' },
  spec: { scaleTargetRef: { apiVersion: API_VERSION, kind: 'VirtualServerSet', name: 'pool' } },
});
const OBJECTS = [
  server('web', { ...KEYS, connectionSecretName: 'web-connection' }, { 'vps-operator.dev/hand-over': 'web-back' }),
  server('web-back'),
  SET,
  CATALOG,
  scaler('autoscaling/v2', 'HorizontalPodAutoscaler'),
  scaler('keda.sh/v1alpha1', 'ScaledObject'),
];
const GENERATED = [
  { name: 'vps-api-key', literals: ['keyId=id', 'secret=s'] },
  { name: 'ssh-keys', literals: ['keys=k'], options: { disableNameSuffixHash: true } },
];

/** What `kubectl kustomize` builds for a user with a base and an overlay, by kind and name. */
async function build(
  overlay: object,
  { components = [REFERENCES], objects = OBJECTS }: { components?: string[]; objects?: object[] } = {},
): Promise<Map<string, Built>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'vps-operator-kustomize-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (name: string, content: object): Promise<void> => {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, 'kustomization.yaml'), JSON.stringify(content));
  };
  const used = components.map((name) => relative(join(folder, 'base'), join(ROOT, name)));
  await write('base', { resources: ['objects.yaml'], secretGenerator: GENERATED, components: used });
  await writeFile(join(folder, 'base/objects.yaml'), objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  await write('overlay', { resources: ['../base'], components: used, ...overlay });
  const { stdout } = await promisify(execFile)(inject('kubectl'), ['kustomize', join(folder, 'overlay')]);
  const built = parseAllDocuments(stdout).map((document) => document.toJS() as Built);
  return new Map(built.map((object) => [`${object.kind} ${object.metadata.name}`, object]));
}

const nameOfSecret = (built: Map<string, Built>, part: string): string =>
  [...built.values()].find(({ kind, metadata }) => kind === 'Secret' && metadata.name.includes(part))?.metadata.name ??
  '';

describe('the component references', () => {
  it('writes the names of generated Secrets into every reference, with prefix, suffix and hash', async () => {
    const built = await build({ namePrefix: 'prod-', nameSuffix: '-eu' });
    const key = nameOfSecret(built, 'api-key');
    expect(key).toMatch(/^prod-vps-api-key-eu-[a-z0-9]+$/);
    const keys = {
      apiKeySecretRef: { name: key },
      // A Secret that no kustomization has keeps its name.
      sshKeysFrom: [
        { name: 'prod-ssh-keys-eu', key: 'keys' },
        { name: 'elsewhere', key: 'keys' },
      ],
    };
    expect(built.get('VirtualServer prod-web-eu')?.spec).toMatchObject(keys);
    expect(built.get('VirtualServerSet prod-pool-eu')?.spec).toMatchObject({ template: { spec: keys } });
    expect(built.get('ServerCatalog prod-catalog-eu')?.spec).toEqual({ apiKeySecretRef: { name: key } });
  });

  it('writes the names of our objects into what refers to them', async () => {
    const built = await build({ namePrefix: 'prod-' });
    expect(built.get('VirtualServer prod-web')?.metadata.annotations).toEqual({
      'vps-operator.dev/hand-over': 'prod-web-back',
    });
    for (const kind of ['HorizontalPodAutoscaler', 'ScaledObject'])
      expect(built.get(`${kind} prod-pool`)?.spec).toMatchObject({ scaleTargetRef: { name: 'prod-pool' } });
  });

  it('is needed: without it, kustomize renames the Secret alone', async () => {
    const built = await build({ namePrefix: 'prod-' }, { components: [] });
    expect(built.get('VirtualServer prod-web')?.spec).toMatchObject(KEYS);
  });

  it('names each field of our kinds that holds the name of a Secret or a ConfigMap', async () => {
    const listed = parse(await readFile(join(ROOT, REFERENCES, 'name-references.yaml'), 'utf8')) as {
      nameReference: { kind: string; fieldSpecs: { kind: string; path: string }[] }[];
    };
    const fieldsOf = (wanted: string): string[] =>
      listed.nameReference
        .filter(({ kind, fieldSpecs }) => kind === wanted && fieldSpecs.some(({ path }) => path.startsWith('spec/')))
        .flatMap(({ fieldSpecs }) => fieldSpecs.map(({ kind, path }) => `${kind} ${path}`))
        .sort();
    const found = await Promise.all(['VirtualServer', 'VirtualServerSet', 'ServerCatalog'].map(namedFields));
    const isConfigMap = (field: string): boolean => field.endsWith('/configMapKeyRef/name');
    const all = found.flat().sort();
    expect(fieldsOf('Secret')).toEqual(all.filter((field) => !isConfigMap(field)));
    expect(fieldsOf('ConfigMap')).toEqual(all.filter(isConfigMap));
  });
});

/** The paths in the definition of the kind that hold the name of a Secret or ConfigMap that users make: those with `name` in an object. */
async function namedFields(kind: string): Promise<string[]> {
  const folder = join(ROOT, 'deploy/crds');
  const name = {
    VirtualServer: 'virtualservers',
    VirtualServerSet: 'virtualserversets',
    ServerCatalog: 'servercatalogs',
  }[kind];
  const definition = parse(await readFile(join(folder, `vps-operator.dev_${name}.yaml`), 'utf8')) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: object } } } }[] };
  };
  const paths = (schema: object, path: string): string[] => {
    const { properties = {}, items } = schema as { properties?: Record<string, object>; items?: object };
    const isReference = 'name' in properties;
    return [
      ...(isReference
        ? [`${path}/name`]
        : Object.entries(properties).flatMap(([key, value]) => paths(value, `${path}/${key}`))),
      ...(items === undefined ? [] : paths(items, path)),
    ];
  };
  const [version] = definition.spec.versions;
  return paths(version?.schema.openAPIV3Schema.properties.spec ?? {}, 'spec').map((path) => `${kind} ${path}`);
}

describe('the page on kustomize', () => {
  it('shows kustomizations that work', async () => {
    const page = await readFile(join(ROOT, 'docs/how-to/kustomize.md'), 'utf8');
    const [base = '', overlay = ''] = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), ([, text]) => text ?? '');
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'vps-operator-kustomize-')));
    onTestFinished(() => rm(folder, { recursive: true }));
    const write = async (name: string, text: string): Promise<void> => {
      await mkdir(join(folder, dirname(name)), { recursive: true });
      const local = relative(join(folder, dirname(name)), ROOT);
      await writeFile(join(folder, name), text.replaceAll(/https:\/\/\S+?\/\/(\S+)\?ref=\S+/g, `${local}/$1`));
    };
    await write('base/kustomization.yaml', base);
    const app = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'app' }, spec: APP };
    const objects = [server('web', { ...KEYS, connectionSecretName: 'web-connection' }), app];
    await write('base/servers.yaml', objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    await write('base/api-key.env', 'keyId=id\nsecret=s\n');
    await write('base/keys', 'k\n');
    await write('overlays/prod/kustomization.yaml', overlay);
    const { stdout } = await promisify(execFile)(inject('kubectl'), ['kustomize', join(folder, 'overlays/prod')]);
    expect(stdout).toMatch(/apiKeySecretRef:\n +name: prod-vps-api-key-[a-z0-9]+\n/);
    expect(stdout).toContain('name: prod-ssh-keys\n');
    expect(stdout.match(/prod-web-connection/g)).toHaveLength(2);
    await write(
      'copied/kustomization.yaml',
      JSON.stringify({ resources: ['../base'], namePrefix: 'b-', configurations: ['n.yaml'] }),
    );
    await write('copied/n.yaml', await readFile(join(ROOT, REFERENCES, 'name-references.yaml'), 'utf8'));
    await write('base/kustomization.yaml', base.replace(/^components:\n.*\n/m, ''));
    const copied = await promisify(execFile)(inject('kubectl'), ['kustomize', join(folder, 'copied')]);
    expect(copied.stdout).toMatch(/apiKeySecretRef:\n +name: b-vps-api-key-[a-z0-9]+\n/);
  });
});

const APP = {
  template: { spec: { containers: [{ name: 'app', envFrom: [{ secretRef: { name: 'web-connection' } }] }] } },
};

describe('the component connection-secret-names', () => {
  const both = [REFERENCES, CONNECTION_SECRETS];

  it('gives a connection Secret the prefix and the suffix of its object, once', async () => {
    const built = await build({ namePrefix: 'prod-', nameSuffix: '-eu' }, { components: both });
    expect(built.get('VirtualServer prod-web-eu')?.spec).toMatchObject({
      connectionSecretName: 'prod-web-connection-eu',
    });
    expect(built.get('VirtualServerSet prod-pool-eu')?.spec).toMatchObject({
      template: { spec: { connectionSecretName: 'prod-pool-connection-eu' } },
    });
  });

  it('adds the field to no object that has none', async () => {
    const built = await build({ namePrefix: 'prod-' }, { components: both });
    expect(built.get('VirtualServer prod-web-back')?.spec).not.toHaveProperty('connectionSecretName');
  });

  it('leaves a replacement with the new name to the workload that reads the Secret', async () => {
    const app = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'app' },
      spec: APP,
    };
    const replacements = [
      {
        source: { kind: 'VirtualServer', name: 'web', fieldPath: 'spec.connectionSecretName' },
        targets: [
          {
            select: { kind: 'Deployment', name: 'app' },
            fieldPaths: ['spec.template.spec.containers.*.envFrom.0.secretRef.name'],
          },
        ],
      },
    ];
    const built = await build({ namePrefix: 'prod-', replacements }, { components: both, objects: [...OBJECTS, app] });
    expect(JSON.stringify(built.get('Deployment prod-app')?.spec)).toContain('"prod-web-connection"');
  });
});

describe('kustomize', () => {
  it('changes no image of a server, and no number of servers', async () => {
    const images = [
      { name: 'nginx', newTag: '2' },
      { name: 'cloudinit-debian-trixie.raw.gz', newName: 'other' },
    ];
    const built = await build({ images });
    expect(built.get('VirtualServer web')?.spec).toMatchObject({ image: 'cloudinit-debian-trixie.raw.gz' });
    expect(built.get('VirtualServerSet pool')?.spec).toMatchObject({
      replicas: 2,
      template: { spec: { image: 'nginx' } },
    });
    await expect(build({ replicas: [{ name: 'pool', count: 9 }] })).rejects.toThrow(/pool/);
  });

  it('replaces a list with a strategic merge patch, and appends to it with a JSON patch', async () => {
    const target = { kind: 'VirtualServer', name: 'web' };
    const merge = JSON.stringify({ ...server('web'), spec: { sshKeys: ['c'] } });
    const replaced = await build({ patches: [{ target, patch: merge }] });
    expect(replaced.get('VirtualServer web')?.spec['sshKeys']).toEqual(['c']);
    const append = JSON.stringify([{ op: 'add', path: '/spec/sshKeys/-', value: 'c' }]);
    const appended = await build({ patches: [{ target, patch: append }] });
    expect(appended.get('VirtualServer web')?.spec['sshKeys']).toEqual(['a', 'b', 'c']);
  });

  it('puts labels on our objects, and none into the template of a set', async () => {
    const built = await build({ labels: [{ pairs: { team: 'a' }, includeTemplates: true }] });
    expect(built.get('VirtualServerSet pool')?.metadata.labels).toEqual({ team: 'a' });
    expect(JSON.stringify(built.get('VirtualServerSet pool')?.spec)).not.toContain('team');
  });
});

describe('the substitution of Flux', () => {
  it.each(['base', 'overlays/monitoring', 'overlays/namespaced'])('finds no variable in %s', async (folder) => {
    const objects = parseAllDocuments(await kustomize(inject('kubectl'), `deploy/manifests/${folder}`));
    const open = objects
      .map((document) => document.toJS() as Built)
      .filter(({ metadata }) => metadata.annotations?.['kustomize.toolkit.fluxcd.io/substitute'] !== 'disabled')
      .filter((object) => JSON.stringify(object).includes('${'));
    expect(open.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([]);
  });
});
