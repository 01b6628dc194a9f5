/** A ResourceQuota of Kubernetes' own bounds the objects of a namespace, as docs/cost.md shows. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadCluster } from '../../../src/kube/config.ts';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { virtualServer } from '../../gen/virtual-server.ts';

const QUOTA = 'count/virtualservers.vps-operator.dev';

let controlPlane: ControlPlane;
let http: KubeHttp;
beforeAll(async () => {
  controlPlane = await startControlPlane({ controllerManager: true });
  http = createKubeHttp({ cluster: loadCluster(controlPlane.kubeconfigPath) });
}, 20 * 60_000);
afterAll(async () => {
  await http.close();
  await controlPlane.stop();
});

interface Quota {
  metadata: { name: string };
  spec: { hard: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

describe('the ResourceQuota of docs/cost.md', () => {
  it('refuses one object more than it allows, and says why', async () => {
    const docs = await readFile(new URL('../../../docs/cost.md', import.meta.url), 'utf8');
    const quota = parse(/```yaml\n(.*?)```/s.exec(docs)?.[1] ?? '') as Quota;
    const allowed = Number(quota.spec.hard[QUOTA]);
    const base = '/api/v1/namespaces/default/resourcequotas';
    await http.call({ method: 'POST', path: base, body: quota });
    // The quota is in force once its controller has counted.
    const counted = async (): Promise<string | undefined> =>
      ((await http.call({ path: `${base}/${quota.metadata.name}` })) as Quota).status?.used?.[QUOTA];
    await expect.poll(counted, { timeout: 60_000 }).toBe('0');
    const path = '/apis/vps-operator.dev/v1alpha1/namespaces/default/virtualservers';
    const create = (name: string) => http.call({ method: 'POST', path, body: virtualServer(name) });
    for (let index = 0; index < allowed; index++) await create(`s${index}`);
    await expect(create('beyond')).rejects.toThrow(/exceeded quota: servers/);
    await http.call({ method: 'DELETE', path: `${path}/s0` });
    await expect.poll(counted, { timeout: 60_000 }).toBe(String(allowed - 1));
    await create('instead');
  });
});
