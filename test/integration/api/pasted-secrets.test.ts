/** A secret that is pasted into any field of any kind, by mistake: the refusal of the API server does not quote it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  serverCatalogCrd,
  virtualServerCrd,
  virtualServerSetCrd,
  type StructuralSchema,
} from '../../../src/api/crd.ts';
import { API_VERSION, CATALOG_KIND, SERVER_KIND, SET_KIND } from '../../../src/api/names.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { PRIVATE_KEYS, SECRET } from '../../fixtures/public-keys.ts';
import { adminHttp, createNamespace, manifest } from '../kube/support.ts';

let http: KubeHttp;
let namespace: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
});
afterAll(() => http.close());

type Spec = Record<string, unknown>;
interface Crd {
  spec: { names: { plural: string }; versions: [{ schema: { openAPIV3Schema: StructuralSchema } }] };
}

/**
 * The API server itself reads the number of replicas for the subresource `scale`, and quotes a text that it finds there,
 * whatever the schema says.
 */
const READ_FOR_SCALE = [`${SET_KIND} spec`, `${SET_KIND} spec.replicas`];

/** What is pasted: a whole key, and less than every bound of a text. */
const PASTED = { key: PRIVATE_KEYS.OpenSSH ?? '', text: `-----BEGIN PRIVATE KEY----- ${SECRET}`, word: SECRET };

/** Every field below a value, with the value that replaces it. */
function* fields(
  node: StructuralSchema,
  path: string,
  good: unknown,
  put: (value: unknown) => unknown,
): Generator<[path: string, with_: (pasted: unknown) => unknown]> {
  // One of a few words, which editors and offline validators need in the schema.
  if (node.enum === undefined) yield [path, put];
  const base = (good ?? {}) as Spec;
  for (const [name, child] of Object.entries(node.properties ?? {}))
    yield* fields(child, `${path}.${name}`, base[name], (value) => put({ ...base, [name]: value }));
  if (node.items !== undefined) {
    const [first] = (good ?? []) as unknown[];
    yield* fields(node.items, `${path}[]`, first ?? example(node.items), (value) => put([value]));
  }
  if (typeof node.additionalProperties === 'object') {
    yield* fields(node.additionalProperties, `${path}.*`, undefined, (value) => put({ ...base, tier: value }));
    yield [`${path} (its name)`, (name) => put({ ...base, [String(name)]: 'web' })];
  }
}

const example = ({ properties = {} }: StructuralSchema): Spec =>
  Object.fromEntries(Object.keys(properties).map((name) => [name, 'x']));

const ofServer = manifest('x').spec;
const KINDS: [kind: string, crd: object, good: Spec][] = [
  [SERVER_KIND, virtualServerCrd(), ofServer],
  [SET_KIND, virtualServerSetCrd(), { template: { spec: ofServer } }],
  [CATALOG_KIND, serverCatalogCrd(), {}],
];

describe.each(KINDS)('%s', (kind, crd, good) => {
  const { names, versions } = (crd as Crd).spec;
  const spec = versions[0].schema.openAPIV3Schema.properties?.spec ?? {};
  const path = () => `/apis/${API_VERSION}/namespaces/${namespace}/${names.plural}`;
  const refusalOf = (wrong: unknown): Promise<string | undefined> =>
    http
      .call({
        method: 'POST',
        path: path(),
        query: { dryRun: 'All' },
        body: { apiVersion: API_VERSION, kind, metadata: { name: 'web' }, spec: wrong },
      })
      .then(
        () => undefined,
        (error: unknown) => String(error),
      );

  it('is accepted without what is pasted', async () => {
    expect(await refusalOf(good)).toBeUndefined();
  });

  const pastable = [...fields(spec, 'spec', good, (value) => value)].filter(
    ([field]) => !READ_FOR_SCALE.includes(`${kind} ${field}`),
  );
  it.each(pastable)('is not quoted from %s', async (field, wrong) => {
    for (const pasted of Object.values(PASTED)) {
      const said = await refusalOf(wrong(pasted));
      expect(said ?? 'accepted', field).not.toContain(SECRET);
    }
  });
});

it.each<[field: string, spec: Spec, message: string]>([
  ['sshCheck', { sshCheck: 'proxy' }, 'supported values: "None", "Proxy", "Direct"'],
  [
    'expiresAt',
    { expiresAt: 'tomorrow' },
    'spec.expiresAt: Invalid value: must be a time that exists, such as 2027-01-31T18:00:00Z',
  ],
  ...['2027-02-30T00:00:00Z', '2027-04-31T00:00:00Z', '2027-02-29T00:00:00Z', '2027-13-01T00:00:00Z'].map(
    (expiresAt): [string, Spec, string] => [
      `expiresAt ${expiresAt}`,
      { expiresAt },
      'spec.expiresAt: Invalid value: must be a time that exists',
    ],
  ),
  [
    'connectionSecretName',
    { connectionSecretName: 'Web' },
    'spec.connectionSecretName: Invalid value: must be the name of a Secret',
  ],
  ['apiKeySecretRef', { apiKeySecretRef: { name: 'a_b' } }, 'spec.apiKeySecretRef.name: Invalid value: must be'],
  ['ttl', { ttl: '3d' }, 'spec.ttl: Invalid value: ttl must be a duration above 0 in hours, minutes and seconds'],
])('the refusal of a wrong %s says what is valid', async (_field, spec, message) => {
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/virtualservers`;
  await expect(http.call({ method: 'POST', path, body: manifest('web', spec) })).rejects.toThrow(message);
});

it.each([
  '2027-01-31T18:00:00Z',
  '2027-01-31T18:00:00.123456Z',
  '2027-01-31T18:00:00+02:00',
  '2027-01-31T18:00:00,5-24:00',
  '2028-02-29T00:00:00Z',
  '2400-02-29T00:00:00Z',
  '2027-12-31T23:59:59Z',
])('a time may have each form of RFC 3339 that the operator reads: %s', async (expiresAt) => {
  const path = `/apis/${API_VERSION}/namespaces/${namespace}/virtualservers`;
  const call = { method: 'POST', path, query: { dryRun: 'All' }, body: manifest('web', { expiresAt }) } as const;
  await expect(http.call(call)).resolves.toMatchObject({ spec: { expiresAt } });
});
