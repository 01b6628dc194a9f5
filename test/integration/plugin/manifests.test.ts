/** The plugin reads manifests as kubectl does: one file for both, and the API server's answer to each. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect, inject, it, onTestFinished } from 'vitest';
import { API_VERSION } from '../../../src/api/names.ts';
import { readObjects } from '../../../src/plugin/cluster/backups.ts';
import { ClusterView, type Applied } from '../../../src/plugin/cluster/cluster.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { readDocuments } from '../../../src/kube/yaml.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

/** Scalars, keys, merges and aliases, each under a separate key. */
const ANYTHING = [
  ...[
    'y',
    'n',
    'Yes',
    'oN',
    'on',
    'OFF',
    'True',
    '[~]',
    '[Null]',
    '024',
    '0o24',
    '08',
    '0789',
    '-024',
    '2_0',
    '0_24',
    '_1',
  ],
  ...[
    '0x1F',
    '0X_1f',
    '0b101',
    '-0b1',
    '0x',
    '1e3',
    '1.5e-3',
    '.5',
    '.5_0',
    '5.',
    '1_000.5',
    '10240.0',
    '1:30',
    '1e400',
  ],
  ...['190:20:30', '2001-12-14', '2026-11-27T03:00:00Z', '2001-12-14 21:59:43', 'inf', '"024"', "'on'", '!!str on'],
  ...['!!int "024"', '!!float 5', '!!binary aGVsbG8=', '!foo 5', '[1, 024, on]', '{a: 024, on: b}', '=', '1 2'],
  ...['{a: 1, a: 2}', '{<<: {p: 1, q: 2}, p: 3}', '{p: 3, <<: {p: 1, q: 2}}', '{<<: [{p: 1}, {p: 2}]}', '{"<<": 1}'],
  ...[
    '{024: a, 1.5: b, off: c, 2001-12-14: d}',
    '"\\u00e9"',
    "'it''s'",
    '[&x {p: on}, *x]',
    '|\n            024',
    '>-\n            on',
  ],
];

/** The API server stores any value of `example`. */
const definition = (values: readonly string[]): string => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: off
    storage: on
    schema:
      openAPIV3Schema:
        type: object
        example:
${values.map((value, index) => `          k${index}: ${value}\n`).join('')}`;

interface Definition {
  spec: { versions: { served: boolean; schema: { openAPIV3Schema: { example: object } } }[] };
}

it('any value, as kubectl apply --dry-run=server does', async () => {
  const world = await createWorld({ operator: false });
  const plugin = await createPlugin(folder(), world.namespace);
  const file = join(world.journalDir, 'definition.yaml');
  await writeFile(file, definition(ANYTHING));
  const { stdout, stderr } = await plugin.kubectl(['apply', '--dry-run=server', '-o', 'json', '-f', file]);
  expect(stdout, stderr).not.toBe('');
  const [theirs] = (JSON.parse(stdout) as Definition).spec.versions;
  const [ours] = (readDocuments(definition(ANYTHING)) as Definition[])[0]?.spec.versions ?? [];
  expect(ours?.schema.openAPIV3Schema.example).toEqual(theirs?.schema.openAPIV3Schema.example);
  expect(ours?.served).toBe(theirs?.served);
});

const HEAD = `apiVersion: ${API_VERSION}\nkind: VirtualServer\nmetadata: {name: NAME}\n`;
const SPEC = `spec:\n  product: VPSX4\n  image: img\n  sshKeys: ['SSH_KEY']\n`;
const SERVER = HEAD + SPEC;

/** What the file contains, and whether the API server accepts it. */
const FILES: [text: string, accepted: boolean][] = [
  [`${SERVER}  diskSize: 024\n`, true],
  [`${SERVER}  diskSize: 10_240\n  deletionProtection: yes\n`, true],
  [`${SERVER}  diskSize: 0x2800\n  deletionProtection: off\n`, true],
  [`${SERVER}  diskSize: 10240.0\n`, true],
  [`${SERVER}  diskSize: 1.024e4\n`, true],
  [`${SERVER}  diskSize: 10240.5\n`, false],
  [`${SERVER}  diskSize: "10240"\n`, false],
  [`${SERVER}  diskSize: 1\n  diskSize: 2\n`, true],
  [`${SERVER}  diskSize: 1\nkind: VirtualServer\n`, true],
  [`${SERVER}  diskSize: 1\n  <<: {diskSize: 2}\n`, true],
  [`${SERVER}  <<: [{diskSize: 2}, {diskSize: 3}]\n`, true],
  [`${SERVER}  diskSize: &size 5\n  ttl: 1h\n`, true],
  [`${SERVER}  diskSize: *size\n`, false],
  [`${SERVER}  diskSize: 5\n  on: 1\n`, false],
  [`${SERVER}  diskSize: 5\n  expiresAt: 2030-01-31T18:00:00Z\n`, true],
  [`${SERVER}  diskSize: 5\n  expiresAt: 2030-01-31\n`, false],
  [`${SERVER}  diskSize: 5\n`.replace('{name: NAME}', '{name: NAME, labels: {a: on}}'), false],
  [`${SERVER}  diskSize: 5\n`.replace('{name: NAME}', '{name: NAME, labels: {a: 024}}'), false],
  [`${SERVER}  diskSize: 5\n`.replace('{name: NAME}', '{name: NAME, labels: {on: a, 024: b, 1.5: "c"}}'), true],
  [`${SERVER}  diskSize: 5\n`.replace('{name: NAME}', '{name: NAME, annotations: {a: 1}}'), false],
  [`${SERVER}  diskSize: 5\n`.replace('{name: NAME}', '{name: NAME, labels: null}'), true],
  [`${SERVER}  diskSize: 5\n`.replace('VPSX4', '4'), false],
  [`${SERVER}  diskSize: 5\n`.replace('VPSX4', '!!str 4'), true],
  [`${SERVER}  diskSize: 5\n`.replace('VPSX4', '!!binary VlBTWDQ='), true],
  [`# c\n---\n${SERVER}  diskSize: 5\n---\n\n--- # c\n`, true],
  [`--- {a: 1}\n${SERVER}  diskSize: 5\n`, false],
  [`%YAML 1.1\n---\n${SERVER}  diskSize: 5\n`, false],
  [`${SERVER}  diskSize: 5\n...\nnot read\n`, true],
  [`${SERVER}  diskSize: 5\n`.replaceAll('\n', '\r\n'), true],
  [`${SERVER}  diskSize: 5\n---\ntext\n`, false],
  [`${SERVER}  diskSize: 5\n---\n- 1\n`, false],
  [`${SERVER}\tdiskSize: 5\n`, false],
  [
    '{"apiVersion": "API", "kind": "VirtualServer", "metadata": {"name": "NAME"}, "spec": {"product": "a", "product": "b", "image": "\\ud83d\\ude00", "diskSize": 1e1, "sshKeys": ["SSH_KEY"]}}',
    true,
  ],
  [
    '{apiVersion: API, kind: VirtualServer, metadata: {name: NAME}, spec: {product: a, image: b, diskSize: 024, sshKeys: ["SSH_KEY"]}}',
    true,
  ],
  [
    '{"apiVersion": "API", "kind": "VirtualServerList", "items": [{"metadata": {"name": "NAME"}, "spec": {"product": "a", "image": "b", "diskSize": 5, "sshKeys": ["SSH_KEY"]}}]}',
    true,
  ],
  [`apiVersion: v1\nkind: List\nitems:\n- ${SERVER.replaceAll('\n', '\n  ')}  diskSize: 012\n`, true],
];

it('a file of VirtualServers, as kubectl apply --dry-run=server does', async () => {
  const world = await createWorld({ operator: false });
  const plugin = await createPlugin(folder(), world.namespace);
  const cluster = new ClusterView({ kubeconfig: inject('kubeconfigPath'), namespace: world.namespace });
  onTestFinished(() => cluster.close());
  const apply = async (file: string): Promise<object | undefined> => {
    const { code, stdout } = await plugin.kubectl(['apply', '--dry-run=server', '-o', 'json', '-f', file]);
    return code === 0 ? shown(JSON.parse(stdout)) : undefined;
  };
  const plan = async (file: string): Promise<object | undefined> => {
    const objects = await readObjects(file, Readable.from([])).catch(() => []);
    const [first, ...others] = objects.map(([object]) => object as Applied);
    if (first === undefined || others.length > 0) return undefined;
    const { after } = await cluster.tryToApply(VIRTUAL_SERVERS, world.namespace, first);
    return after === undefined ? undefined : shown(after);
  };
  for (const [index, [text, accepted]] of FILES.entries()) {
    const file = join(world.journalDir, `${index}.yaml`);
    const values = { NAME: `web-${index}`, API: API_VERSION, SSH_KEY: KEY };
    await writeFile(
      file,
      text.replaceAll(/NAME|API|SSH_KEY/g, (word) => values[word as keyof typeof values]),
    );
    const [theirs, ours] = await Promise.all([apply(file), plan(file)]);
    expect(ours, text).toEqual(theirs);
    expect(ours !== undefined, text).toBe(accepted);
  }
});

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1xkAFn8f1bV7HyMVv3cqKMPjpXLzl1hNz9m8n2YVZq test';

/** Spec and labels of the object, or of the only one in a list. */
function shown(value: unknown): object {
  const { items: [item] = [value] } = value as { items?: unknown[] };
  const { metadata, spec } = item as { metadata: { labels?: object }; spec: object };
  return { labels: metadata.labels, spec };
}
