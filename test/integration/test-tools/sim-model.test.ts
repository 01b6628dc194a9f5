/** Compares the simulation's model of the API server with a real one: the same random sequences on both. */
import { expect, inject, it, onTestFinished } from 'vitest';
import {
  API_VERSION,
  FINALIZER,
  SERVER_PLURAL,
  RECORD_ANNOTATION,
  SET_KIND,
  SET_LABEL,
} from '../../../src/api/names.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { createClient } from '../../../src/kube/client.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { createMembers } from '../../../src/virtual-server-set/members.ts';
import type { SetAction } from '../../../src/virtual-server-set/decision/set-plan.ts';
import { manifestOf } from '../../../src/virtual-server-set/decision/template.ts';
import { VIRTUAL_SERVER_SETS } from '../../../src/virtual-server-set/resource.ts';
import { createKube } from '../../../src/virtual-server/kube.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { listAll } from '../../../src/kube/list.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import type { MetadataPatch } from '../../../src/kube/client.ts';
import type { ObjectVersion } from '../../../src/kube/resource.ts';
import { virtualServer, type Manifest } from '../../fixtures/virtual-server.ts';
import { ApiServer } from '../../lives/api-server.ts';
import { Random } from '../../lives/random.ts';
import { withoutNetwork } from '../../lives/routes.ts';

/** Operations on both servers, through the operator's own client; each returns an object or throws KubeError. */
interface Server {
  create(manifest: Manifest): Promise<VirtualServer>;
  get(name: string): Promise<VirtualServer | undefined>;
  editSpec(name: string, patch: Partial<VirtualServer['spec']>): Promise<VirtualServer>;
  delete(name: string): Promise<void>;
  patchMetadata(version: ObjectVersion, patch: MetadataPatch): Promise<VirtualServer>;
  writeStatus(version: ObjectVersion, status: VirtualServerStatus): Promise<VirtualServer>;
  /** Lists with this page size; a page with more bytes than this is read in smaller ones. */
  list(pageSize: number, pageBytes: number): Promise<string[]>;
}

async function real(namespace: string): Promise<KubeHttp> {
  const http = createKubeHttp({ cluster: loadCluster(inject('kubeconfigPath')) });
  onTestFinished(() => http.close());
  await http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  return http;
}

function serverAt(http: KubeHttp, namespace: string): Server {
  const kube = createKube(http);
  const path = (name = ''): string =>
    `/apis/${API_VERSION}/namespaces/${namespace}/${SERVER_PLURAL}${name && `/${name}`}`;
  const contentType = 'application/merge-patch+json';
  return {
    create: async (body) => (await http.call({ method: 'POST', path: path(), body })) as VirtualServer,
    get: (name) => kube.getVirtualServer(namespace, name),
    editSpec: async (name, spec) =>
      (await http.call({ method: 'PATCH', path: path(name), body: { spec }, contentType })) as VirtualServer,
    delete: async (name) => {
      await http.call({ method: 'DELETE', path: path(name) });
    },
    patchMetadata: (version, patch) => kube.patchMetadata(version, patch),
    writeStatus: (version, status) => kube.writeStatus(version, status),
    async list(pageSize, pageBytes) {
      const { signal } = new AbortController();
      const { objects } = await listAll(http, VIRTUAL_SERVERS, { namespace, pageSize, pageBytes, signal });
      return objects.map(({ metadata }) => metadata.name);
    },
  };
}

/** By name: the versions with different contents, oldest first. */
type Versions = Map<string, { content: string | undefined; version: ObjectVersion }[]>;

/** One random step, chosen by `random` and the present objects; the same random numbers give the same step on both. */
async function step(server: Server, random: Random, versions: Versions): Promise<unknown> {
  const name = `s${random.int(1, 3)}`;
  const kind = random.int(0, 10);
  const value = random.int(0, 3);
  const isStale = random.chance(0.2);
  const isWrong = random.chance(0.1);
  const object = await server.get(name);
  const known = versions.get(name) ?? [];
  // A write without changes may still get a new version from a real API server, if it changes managedFields.
  const content = object && JSON.stringify(comparable(object)) + object.metadata.uid;
  if (object !== undefined && known.at(-1)?.content !== content) known.push({ content, version: versionOf(object) });
  versions.set(name, known);
  const newest = object === undefined ? known.at(-1)?.version : versionOf(object);
  const chosen = isStale ? known.at(-2)?.version : newest;
  const version = chosen && { ...chosen, ...(isWrong && { uid: 'another-uid' }) };
  if (kind <= 1 || version === undefined) return server.create(virtualServer(name));
  if (kind === 2) return server.delete(name);
  if (kind === 3) return server.editSpec(name, { product: `p${value}` });
  if (kind === 4) return server.editSpec(name, { deletionProtection: value > 1 });
  if (kind === 5)
    return server.patchMetadata(version, { annotations: { [RECORD_ANNOTATION]: value === 0 ? null : `r${value}` } });
  if (kind === 10) return server.list(value + 1, isStale ? 1 : 64 * 1024);
  if (kind === 6) return server.patchMetadata(version, { finalizers: value === 0 ? [] : [FINALIZER] });
  const attempt = value === 0 ? {} : { attempt: `a${value}` };
  return server.writeStatus(version, { record: { owner: 'o', mode: 'create', ...attempt } });
}

function versionOf({ metadata }: VirtualServer): ObjectVersion {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { namespace, name, uid, resourceVersion };
}

/** The answer without what differs between any two API servers. */
async function answer(run: () => Promise<unknown>): Promise<unknown> {
  try {
    const result = await run();
    if (isObject(result)) return comparable(result);
    return result ?? 'done';
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return error.code;
  }
}

const isObject = (value: unknown): value is VirtualServer =>
  typeof value === 'object' && value !== null && 'spec' in value;

function comparable({ metadata, spec, status }: VirtualServer | VirtualServerSet): unknown {
  const { name, generation, deletionTimestamp, finalizers, annotations, labels, ownerReferences } = metadata;
  const owners = ownerReferences?.map(({ uid: _uid, ...owner }) => owner);
  const deleting = deletionTimestamp !== undefined;
  return { name, generation, deleting, finalizers, annotations, labels, owners, spec, status };
}

it.each([1, 2, 3, 4, 5, 6])(
  'the model answers the same random steps like a real API server (seed %i)',
  async (seed) => {
    const namespace = `model-${process.pid}-${seed}`;
    const sides = [
      {
        server: serverAt(withoutNetwork(new ApiServer(() => 0)), namespace),
        random: new Random(seed),
        versions: new Map() as Versions,
      },
      { server: serverAt(await real(namespace), namespace), random: new Random(seed), versions: new Map() as Versions },
    ];
    const seen = new Set<string>();
    for (let i = 0; i < 120; i++) {
      const answers = [];
      for (const { server, random, versions } of sides)
        answers.push(await answer(() => step(server, random, versions)));
      expect({ step: i, answer: answers[0] }).toEqual({ step: i, answer: answers[1] });
      seen.add(typeof answers[1] === 'string' ? answers[1] : 'object');
    }
    // A sequence in which nothing was refused would prove little.
    expect([...seen]).toEqual(expect.arrayContaining(['object', 'done', 'Conflict', 'NotFound']));
  },
);

/** One random step of the operator or of a user with the set `web` and its members; then what everything looks like. */
async function setStep(http: KubeHttp, namespace: string, random: Random): Promise<unknown> {
  const members = createMembers(http, VIRTUAL_SERVERS);
  const sets = createClient(http, VIRTUAL_SERVER_SETS);
  const kind = random.int(0, 11);
  const ordinal = random.int(0, 2);
  const value = random.int(0, 3);
  const isStale = random.chance(0.15);
  const isWrong = random.chance(0.1);
  const contentType = 'application/merge-patch+json';
  const patch = (path: string, body: object): Promise<unknown> =>
    http.call({ method: 'PATCH', path, body, contentType });
  const name = `web-${ordinal}`;
  const [setPath, path] = [pathOf(VIRTUAL_SERVER_SETS, namespace, 'web'), pathOf(VIRTUAL_SERVERS, namespace, name)];
  const set = await sets.get(namespace, 'web');
  const object = await createKube(http).getVirtualServer(namespace, name);
  const { uid = 'uid', resourceVersion = '1' } = object?.metadata ?? {};
  const version = {
    name,
    uid: isWrong ? 'another-uid' : uid,
    resourceVersion: isStale ? String(Number(resourceVersion) - 1) : resourceVersion,
  };
  const perform = (action: SetAction): Promise<void> =>
    set === undefined ? Promise.resolve() : members.perform(set, action);
  const act = (): Promise<unknown> => {
    if (set === undefined) {
      const spec = { replicas: value, template: { spec: virtualServer('template').spec } };
      const body = { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name: 'web' }, spec };
      return http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVER_SETS, namespace), body });
    }
    if (kind <= 2) return perform({ type: 'create', manifest: manifestOf(set, ordinal) });
    if (kind === 3) return perform({ type: 'delete', ...version });
    if (kind === 4) return perform({ type: 'adopt', ...version });
    if (kind === 5) return perform({ type: 'release', ...version });
    if (kind === 6) {
      const labels = { tier: value === 0 ? null : `t${value}` };
      const spec = { sshCheck: value > 1 ? 'Proxy' : 'None', connectionSecretName: value === 1 ? null : `c${value}` };
      return perform({ type: 'update', patch: { metadata: { labels, annotations: {} }, spec }, ...version });
    }
    if (kind === 7) return patch(path, { metadata: { labels: { [SET_LABEL]: value > 1 ? 'web' : null } } });
    if (kind === 8) return patch(path, { metadata: { ownerReferences: null } });
    if (kind === 9) return patch(setPath, { spec: { replicas: value } });
    if (kind === 10) return patch(path, { metadata: { finalizers: value > 1 ? ['example.org/keep'] : null } });
    const status = { ...set.status, replicas: value, observedGeneration: set.metadata.generation };
    const at = {
      ...set.metadata,
      ...(isStale && { resourceVersion: String(Number(set.metadata.resourceVersion) - 1) }),
    };
    return sets.writeStatus(at, status);
  };
  const { signal } = new AbortController();
  return [
    await answer(act),
    (await members.list(namespace, signal)).map(comparable),
    await answer(() => sets.get(namespace, 'web')),
  ];
}

it.each([1, 2])('the model answers the steps of a set like a real API server (seed %i)', async (seed) => {
  const namespace = `sets-${process.pid}-${seed}`;
  const sides = [
    { http: withoutNetwork(new ApiServer(() => 0)), random: new Random(seed) },
    { http: await real(namespace), random: new Random(seed) },
  ];
  const seen = new Set<string>();
  for (let i = 0; i < 120; i++) {
    const answers = [];
    for (const { http, random } of sides) answers.push(await setStep(http, namespace, random));
    expect({ step: i, answer: answers[0] }).toEqual({ step: i, answer: answers[1] });
    const [first] = answers[1] as unknown[];
    seen.add(typeof first === 'string' ? first : 'object');
  }
  expect([...seen]).toEqual(expect.arrayContaining(['object', 'done', 'Conflict', 'NotFound']));
});
