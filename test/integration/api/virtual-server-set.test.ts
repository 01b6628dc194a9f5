/** The CustomResourceDefinition of VirtualServerSet. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_VERSION, MEMBER_TEMPLATE_ANNOTATION, SET_KIND, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { createClient } from '../../../src/kube/client.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { planSet } from '../../../src/virtual-server-set/decision/set-plan.ts';
import { memberOf } from '../../../src/virtual-server-set/decision/member.ts';
import { changesFor, manifestOf } from '../../../src/virtual-server-set/decision/template.ts';
import { PRIVATE_KEYS, SECRET } from '../../fixtures/public-keys.ts';
import { adminHttp, createNamespace, kubectl, manifest } from '../kube/support.ts';

let http: KubeHttp;
let namespace: string;
let folder: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
  folder = `/apis/${API_VERSION}/namespaces/${namespace}/${SET_PLURAL}`;
});
afterAll(() => http.close());

let count = 0;
async function createSet(spec: object = {}, template: object = {}, name = `set-${(count += 1)}`) {
  const body = {
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: { name },
    spec: { template: { spec: manifest('x').spec, ...template }, ...spec },
  };
  return (await http.call({ method: 'POST', path: folder, body })) as VirtualServerSet;
}

const withStrategy = (rollingUpdate: object): object => ({ strategy: { rollingUpdate } });
const withSpec = (spec: object): object => ({ spec: { ...manifest('x').spec, ...spec } });

describe('a set', () => {
  it('gets its defaults from the API server', async () => {
    const { spec, status } = await createSet();
    expect(spec).toMatchObject({
      replicas: 1,
      minReadySeconds: 0,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      scaleDown: { order: 'Newest' },
      paused: false,
      progressDeadlineSeconds: 3600,
      template: { spec: { deletionPolicy: 'Delete', deletionProtection: false, sshCheck: 'None' } },
    });
    expect(status).toEqual({ observedGeneration: -1 });
  });

  it.each([{ maxSurge: 2, maxUnavailable: '25%' }, { maxSurge: '100%' }, { maxSurge: 0, maxUnavailable: 1 }])(
    'accepts the limits %o',
    async (limits) => {
      expect((await createSet(withStrategy(limits))).spec.strategy.rollingUpdate).toMatchObject(limits);
    },
  );

  it.each<[string, object, object, string]>([
    ['a surge of 101 %', withStrategy({ maxSurge: '101%' }), {}, 'must be a number from 0 to 10000, or a percentage'],
    ['a surge that is no number', withStrategy({ maxSurge: 'many' }), {}, 'must be a number from 0 to 10000'],
    ['a negative surge', withStrategy({ maxSurge: -1 }), {}, 'must be a number from 0 to 10000'],
    [
      'a rollout that can do nothing',
      withStrategy({ maxSurge: 0 }),
      {},
      'maxSurge and maxUnavailable cannot both be 0',
    ],
    ['10,001 replicas', { replicas: 10_001 }, {}, 'spec.replicas'],
    ['an expiry', {}, withSpec({ ttl: '1h' }), 'expiresAt and ttl are not allowed in a set'],
    ['a private key', {}, withSpec({ sshKeys: [PRIVATE_KEYS.OpenSSH] }), 'sshKeys[0] must not contain a private key'],
    ['a template without SSH keys', {}, withSpec({ sshKeys: [] }), 'set at least one SSH key'],
    [
      'an instruction for single objects',
      {},
      { metadata: { annotations: { 'vps-operator.dev/adopt': 'srv1' } } },
      'must not begin with vps-operator.dev/',
    ],
    ['a long label', {}, { metadata: { labels: { tier: 'x'.repeat(64) } } }, 'tier'],
    ['a label that no object can have', {}, { metadata: { labels: { tier: 'a b' } } }, 'must be the value of a label'],
    ['a label without a name', {}, { metadata: { labels: { 'example.org/': 'a' } } }, 'names must be like "tier"'],
    ['an annotation without a name', {}, { metadata: { annotations: { '': 'a' } } }, 'names must be like "tier"'],
  ])('is rejected with %s', async (_case, spec, template, message) => {
    const refused = createSet(spec, template);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow(SECRET);
  });

  it.each(['x'.repeat(58), 'web.example'])('is rejected with the name %s', async (name) => {
    await expect(createSet({}, {}, name)).rejects.toThrow('the name of a set must be a DNS label');
  });

  it('accepts a name of 57 characters', async () => {
    expect((await createSet({}, {}, 'x'.repeat(57))).metadata.name).toHaveLength(57);
  });
});

describe('labels and annotations of the template', () => {
  const NAMES = Array.from('abcdefghijklmnopqrstuvwxyzABCDEF');
  /** As many entries as a template may have, with 2,048 characters together. */
  const full = (character: string): Record<string, string> =>
    Object.fromEntries(NAMES.map((name) => [name, character.repeat(2048 / NAMES.length - 1)]));

  it('reach a member whole at the largest size that the API server accepts', async () => {
    // No character is longer as JSON.
    const metadata = { annotations: full('\u0001'), labels: full('x') };
    const spec = {
      ...manifest('x').spec,
      apiKeySecretRef: { name: 'x'.repeat(253) },
      connectionSecretName: 'x'.repeat(240),
      deletionPolicy: 'Retain',
    };
    const set = await createSet({ replicas: 10_000 }, { metadata, spec }, 'y'.repeat(57));
    const made = manifestOf(set, 19_999);
    await http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVERS, namespace), body: made });
    const member = await createClient(http, VIRTUAL_SERVERS).get(namespace, made.metadata.name);
    if (member === undefined) throw new Error('the member is gone');
    expect(member.metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION]?.length).toBeGreaterThan(14_000);
    expect(changesFor(set, memberOf(member, 19_999))).toBeUndefined();
  });

  it.each(['annotations', 'labels'])('are refused if the %s have one character more', async (what) => {
    const { a = '', ...others } = full('x');
    const created = createSet({}, { metadata: { [what]: { ...others, aa: a } } });
    await expect(created).rejects.toThrow('names and values must have at most 2048 characters together');
  });
});

describe('the status of a plan', () => {
  it('is accepted unchanged, and shows in the columns and in the scale subresource', async () => {
    const set = await createSet({ replicas: 3 }, { metadata: { labels: { tier: 'web' } } }, 'web');
    const { status, actions } = planSet(set, { objects: [], live: true }, Date.UTC(2026, 0, 2));
    expect(actions).toHaveLength(3);
    const path = `${folder}/web/status`;
    const contentType = 'application/merge-patch+json';
    const written = (await http.call({ method: 'PATCH', path, body: { status }, contentType })) as VirtualServerSet;
    expect(written.status).toEqual(status);
    const scale = (await http.call({ path: `${folder}/web/scale` })) as { spec: object; status: object };
    expect(scale).toMatchObject({
      spec: { replicas: 3 },
      status: { replicas: 0, selector: 'vps-operator.dev/set=web' },
    });
    const [header = '', row = ''] = (await kubectl('get', 'vpsset', 'web', '-n', namespace)).split('\n');
    expect(header.split(/\s+/)).toEqual(['NAME', 'DESIRED', 'READY', 'UPDATED', 'AVAILABLE', 'PRICE', 'AGE']);
    expect(row.split(/\s+/).slice(0, 5)).toEqual(['web', '3', '0', '0', '0']);
  });

  it('leaves the number of replicas to kubectl scale', async () => {
    await createSet({ replicas: 3 }, {}, 'scaled');
    await kubectl('scale', 'vpsset/scaled', '--replicas=0', '-n', namespace);
    const set = (await http.call({ path: `${folder}/scaled` })) as VirtualServerSet;
    expect(set.spec.replicas).toBe(0);
  });
});
