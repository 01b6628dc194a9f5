/** Compares the simulation's model of Secrets with a real API server: the same random sequences on both. */
import { expect, inject, it, onTestFinished } from 'vitest';
import { API_VERSION, SERVER_KIND, OWNER_ANNOTATION } from '../../../src/api/names.ts';
import { loadCluster } from '../../../src/kube/config.ts';
import { KubeError } from '../../../src/kube/error.ts';
import { createKubeHttp } from '../../../src/kube/http.ts';
import { createClient } from '../../../src/kube/client.ts';
import { SECRETS, type NewSecret, type SecretChanges, type Secret } from '../../../src/kube/kinds.ts';
import type { ObjectVersion } from '../../../src/kube/resource.ts';
import { ApiServer } from '../../lives/api-server.ts';
import { Random } from '../../lives/random.ts';
import { withoutNetwork } from '../../lives/routes.ts';
import type { SecretEdit } from '../../lives/secret-store.ts';

/** Operations on both servers; calls throw KubeError. */
interface Server {
  get(name: string): Promise<Secret | undefined>;
  create(secret: NewSecret): Promise<unknown>;
  patch(version: ObjectVersion, changes: SecretChanges): Promise<unknown>;
  edit(name: string, edit: SecretEdit): Promise<unknown>;
  delete(name: string): Promise<unknown>;
}

function modelled(namespace: string): Server {
  const api = new ApiServer(() => 0);
  const secrets = createClient(withoutNetwork(api), SECRETS);
  const store = api.secrets;
  return {
    get: (name) => secrets.get(namespace, name),
    create: (secret) => secrets.create(secret),
    patch: (at, changes) => secrets.patch(at, changes),
    edit: async (name, edit) => Promise.resolve(store.edit({ namespace, name }, edit)),
    delete: async (name) => Promise.resolve(store.delete(namespace, name)),
  };
}

async function real(namespace: string): Promise<Server> {
  const http = createKubeHttp({ cluster: loadCluster(inject('kubeconfigPath')) });
  onTestFinished(() => http.close());
  await http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } });
  const secrets = createClient(http, SECRETS);
  const path = (name: string): string => `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const contentType = 'application/merge-patch+json';
  return {
    get: (name) => secrets.get(namespace, name),
    create: (secret) => secrets.create(secret),
    patch: (version, changes) => secrets.patch(version, changes),
    async edit(name, { data = {}, ...metadata }) {
      const encoded = Object.entries(data).map(([key, value]) => [key, value && Buffer.from(value).toString('base64')]);
      const body = { metadata, data: Object.fromEntries(encoded) as object };
      await http.call({ method: 'PATCH', path: path(name), body, contentType });
    },
    delete: async (name) => (await secrets.get(namespace, name)) && http.call({ method: 'DELETE', path: path(name) }),
  };
}

/** By name: the versions with different contents, oldest first. */
type Versions = Map<string, { content: string; version: ObjectVersion }[]>;

const owner = (uid: string) => ({ apiVersion: API_VERSION, kind: SERVER_KIND, name: uid, uid });

/** One random step, chosen by `random` and the present objects; the same random numbers give the same step on both. */
async function step(server: Server, random: Random, versions: Versions, namespace: string): Promise<unknown> {
  const name = `s${random.int(1, 2)}`;
  const kind = random.int(0, 9);
  const value = random.int(0, 2);
  const isStale = random.chance(0.2);
  const isWrong = random.chance(0.15);
  const secret = await server.get(name);
  const known = versions.get(name) ?? [];
  versions.set(name, known);
  if (secret !== undefined) {
    // A write without changes may still get a new version from a real API server, if it changes managedFields.
    const content = JSON.stringify(comparable(secret)) + secret.metadata.uid;
    if (known.at(-1)?.content === content) known.pop();
    known.push({ content, version: { ...secret.metadata } });
  }
  const chosen = known.at(isStale ? -2 : -1)?.version;
  const version = chosen && { ...chosen, ...(isWrong && { uid: 'another-uid' }) };
  const ownerReferences = [[], [owner('one')], [owner('one'), owner('two')]][value] ?? [];
  if (kind <= 1 || version === undefined) {
    const metadata = { namespace, name, labels: { l: 'm' }, annotations: { [OWNER_ANNOTATION]: 'one' } };
    const bound = { ...metadata, ...(value > 0 && { ownerReferences }) };
    return server.create({
      metadata: bound,
      type: value > 1 ? 'Opaque' : 'vps-operator.dev/connection',
      data: { a: 'ä' },
    });
  }
  if (kind === 2) return server.delete(name);
  if (kind === 3) return server.edit(name, { data: { note: value === 0 ? null : `n${value}` } });
  if (kind === 4) return server.edit(name, { annotations: { [OWNER_ANNOTATION]: value === 0 ? null : `o${value}` } });
  if (kind === 5) return server.edit(name, { ownerReferences });
  if (kind === 6) return server.patch(version, { metadata: { ownerReferences } });
  if (kind === 7) return server.patch(version, { metadata: { ownerReferences }, data: { a: null, b: `b${value}` } });
  return server.patch(version, { data: { a: value === 0 ? null : `a${value}`, c: null } });
}

function comparable({ metadata, type, data }: Secret): unknown {
  const { name, labels, annotations, ownerReferences } = metadata;
  return { name, labels, annotations, ownerReferences, type, data };
}

/** The result of the step without what differs between any two API servers. */
async function answer(server: Server, run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
    const all = await Promise.all([server.get('s1'), server.get('s2')]);
    return all.map((secret) => secret && comparable(secret));
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return error.code;
  }
}

it.each([1, 2, 3, 4, 5, 6])(
  'the model keeps Secrets like a real API server after the same random steps (seed %i)',
  async (seed) => {
    const namespace = `secrets-${process.pid}-${seed}`;
    const sides = [modelled(namespace), await real(namespace)].map((server) => ({
      server,
      random: new Random(seed),
      versions: new Map() as Versions,
    }));
    const seen = new Set<string>();
    for (let i = 0; i < 120; i++) {
      const answers = [];
      for (const { server, random, versions } of sides)
        answers.push(await answer(server, () => step(server, random, versions, namespace)));
      expect({ step: i, answer: answers[0] }).toEqual({ step: i, answer: answers[1] });
      seen.add(typeof answers[1] === 'string' ? answers[1] : 'done');
    }
    // A sequence in which nothing was refused would prove little.
    expect([...seen]).toEqual(expect.arrayContaining(['done', 'Conflict', 'Invalid', 'NotFound']));
  },
);
