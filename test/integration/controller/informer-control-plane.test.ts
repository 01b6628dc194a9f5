import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { virtualServerCrd } from '../../../src/api/crd.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { observe, until } from './informer-support.ts';
import { adminHttp, create, manifest, remove } from '../kube/support.ts';

let controlPlane: ControlPlane;
let noCrds: string;
let http: KubeHttp;

beforeAll(async () => {
  noCrds = await mkdtemp(join(tmpdir(), 'vps-operator-crds-'));
  controlPlane = await startControlPlane({ crds: noCrds });
  http = adminHttp(controlPlane.kubeconfigPath);
});
afterAll(async () => {
  await http.close();
  await controlPlane.stop();
  await rm(noCrds, { recursive: true });
});

describe('an informer, before the CustomResourceDefinition exists and through a crash of the API server', () => {
  it('waits for the CustomResourceDefinition, logs that once, and continues without help', async () => {
    let lists = 0;
    const counted: KubeHttp = { ...http, call: (options) => ((lists += 1), http.call(options)) };
    const { informer, logged, holds } = observe(counted, { namespaces: 'all' });
    informer.start();
    await until(() => lists > 5);
    expect(logged).toEqual(['warn the CustomResourceDefinition of VirtualServer is not installed; waiting for it']);
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await http.call({ method: 'POST', path, body: virtualServerCrd() });
    await informer.synced();
    const object = await create(http, 'default', manifest('first'));
    await until(() => holds(object));
    expect(logged.at(-1)).toBe('info informer recovered');
    await informer.stop();
  });

  it('is correct after the API server was killed and restarted', async () => {
    const lost = await create(http, 'default', manifest('lost'));
    const { informer, holds, seen } = observe(http, { namespaces: 'all' });
    informer.start();
    await informer.synced();
    await controlPlane.killApiServer();
    await controlPlane.restartApiServer();
    await remove(http, lost);
    const found = await create(http, 'default', manifest('found'));
    const first = informer.get('default/first');
    await until(() => first !== undefined && holds(first, found));
    expect(seen.slice(-2).map(({ kind, key }) => [kind, key])).toEqual([
      ['gone', 'default/lost'],
      ['upsert', 'default/found'],
    ]);
    await informer.stop();
  });
});
