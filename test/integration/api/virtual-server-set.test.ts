/** The CustomResourceDefinition of VirtualServerSet, on a separate real API server: it is not installed by default. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { virtualServerSetCrd } from '../../../src/api/crd.ts';
import { API_VERSION, SET_KIND, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { planSet } from '../../../src/virtual-server-set/decision/plan.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { crdYaml } from '../../../tools/crds.ts';
import { adminHttp, manifest } from '../kube/support.ts';

const FOLDER = `/apis/${API_VERSION}/namespaces/default/${SET_PLURAL}`;
const run = promisify(execFile);

let controlPlane: ControlPlane;
let http: KubeHttp;

beforeAll(async () => {
  const crds = await mkdtemp(join(tmpdir(), 'vps-operator-crds-'));
  await writeFile(join(crds, 'sets.yaml'), crdYaml(virtualServerSetCrd()));
  controlPlane = await startControlPlane({ crds });
  await rm(crds, { recursive: true });
  http = adminHttp(controlPlane.kubeconfigPath);
}, 120_000);
afterAll(async () => {
  await http.close();
  await controlPlane.stop();
});

async function kubectl(...args: string[]): Promise<string> {
  const { stdout } = await run(inject('kubectl'), ['--kubeconfig', controlPlane.kubeconfigPath, ...args]);
  return stdout;
}

let count = 0;
async function createSet(spec: object = {}, template: object = {}, name = `set-${(count += 1)}`) {
  const body = {
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: { name },
    spec: { template: { spec: manifest('x').spec, ...template }, ...spec },
  };
  return (await http.call({ method: 'POST', path: FOLDER, body })) as VirtualServerSet;
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
    ['a template without SSH keys', {}, withSpec({ sshKeys: [] }), 'set at least one SSH key'],
    [
      'an instruction for single objects',
      {},
      { metadata: { annotations: { 'vps-operator.dev/adopt': 'srv1' } } },
      'must not begin with vps-operator.dev/',
    ],
    ['a long label', {}, { metadata: { labels: { tier: 'x'.repeat(64) } } }, 'tier'],
  ])('is rejected with %s', async (_case, spec, template, message) => {
    await expect(createSet(spec, template)).rejects.toThrow(message);
  });

  it.each(['x'.repeat(58), 'web.example'])('is rejected with the name %s', async (name) => {
    await expect(createSet({}, {}, name)).rejects.toThrow('the name of a set must be a DNS label');
  });

  it('accepts a name of 57 characters', async () => {
    expect((await createSet({}, {}, 'x'.repeat(57))).metadata.name).toHaveLength(57);
  });
});

describe('the status of a plan', () => {
  it('is accepted unchanged, and shows in the columns and in the scale subresource', async () => {
    const set = await createSet({ replicas: 3 }, { metadata: { labels: { tier: 'web' } } }, 'web');
    const { status, actions } = planSet(set, { objects: [], live: true }, Date.UTC(2026, 0, 2));
    expect(actions).toHaveLength(3);
    const path = `${FOLDER}/web/status`;
    const contentType = 'application/merge-patch+json';
    const written = (await http.call({ method: 'PATCH', path, body: { status }, contentType })) as VirtualServerSet;
    expect(written.status).toEqual(status);
    const scale = (await http.call({ path: `${FOLDER}/web/scale` })) as { spec: object; status: object };
    expect(scale).toMatchObject({
      spec: { replicas: 3 },
      status: { replicas: 0, selector: 'vps-operator.dev/set=web' },
    });
    const [header = '', row = ''] = (await kubectl('get', 'vpsset', 'web')).split('\n');
    expect(header.split(/\s+/)).toEqual(['NAME', 'DESIRED', 'READY', 'UPDATED', 'AVAILABLE', 'PRICE', 'AGE']);
    expect(row.split(/\s+/).slice(0, 5)).toEqual(['web', '3', '0', '0', '0']);
  });

  it('leaves the number of replicas to kubectl scale', async () => {
    await createSet({ replicas: 3 }, {}, 'scaled');
    await kubectl('scale', 'vpsset/scaled', '--replicas=0');
    const set = (await http.call({ path: `${FOLDER}/scaled` })) as VirtualServerSet;
    expect(set.spec.replicas).toBe(0);
  });
});
