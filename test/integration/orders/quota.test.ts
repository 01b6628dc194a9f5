/** A Kubernetes ResourceQuota limits the objects of a namespace, as docs/how-to/limit-cost.md shows. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { adminHttp, createNamespace } from '../kube/support.ts';
import { ask } from '../support/broker.ts';
import type { GuardedPaths } from '../support/guards.ts';

const QUOTA = 'count/virtualservers.vps-operator.dev';

let http: KubeHttp;
let namespace: string;
beforeAll(async () => {
  // Uses the cluster that runs the quota controller.
  http = adminHttp((await ask<GuardedPaths>(inject('broker'), 'guarded')).kubeconfigPath);
  namespace = await createNamespace(http);
});
afterAll(() => http.close());

interface Quota {
  metadata: { name: string };
  spec: { hard: Record<string, string> };
  status?: { hard?: Record<string, string>; used?: Record<string, string> };
}

describe('the ResourceQuota of docs/how-to/limit-cost.md', () => {
  it('rejects one object more than it allows, and says why', async () => {
    const docs = await readFile(new URL('../../../docs/how-to/limit-cost.md', import.meta.url), 'utf8');
    const quota = parse(/```yaml\n(.*?)```/s.exec(docs)?.[1] ?? '') as Quota;
    const allowed = Number(quota.spec.hard[QUOTA]);
    const base = `/api/v1/namespaces/${namespace}/resourcequotas`;
    await http.call({ method: 'POST', path: base, body: quota });
    // The quota takes effect once its controller has counted.
    const counted = async (): Promise<string | undefined> =>
      ((await http.call({ path: `${base}/${quota.metadata.name}` })) as Quota).status?.used?.[QUOTA];
    await expect.poll(counted, { timeout: 60_000 }).toBe('0');
    const path = `/apis/vps-operator.dev/v1alpha1/namespaces/${namespace}/virtualservers`;
    const create = (name: string) => http.call({ method: 'POST', path, body: virtualServer(name) });
    for (let index = 0; index < allowed; index++) await create(`s${index}`);
    await expect(create('beyond')).rejects.toThrow(/exceeded quota: servers/);
    await http.call({ method: 'DELETE', path: `${path}/s0` });
    await expect.poll(counted, { timeout: 60_000 }).toBe(String(allowed - 1));
    await create('instead');
  });
});
