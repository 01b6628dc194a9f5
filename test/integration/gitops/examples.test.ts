/** A real API server, with the CRDs of Argo CD and Flux, accepts every example. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { CUSTOMIZATION } from '../../../tools/gitops.ts';
import { established } from '../deploy/cluster.ts';
import { adminHttp, createNamespace, kubectl } from '../kube/support.ts';
import { ROOT } from './judge.ts';

const EXAMPLES = join(ROOT, 'examples');
const CRDS = join(import.meta.dirname, 'crds');
const examples = (await readdir(EXAMPLES, { recursive: true })).filter((name) => name.endsWith('.yaml')).sort();

let http: KubeHttp;
let namespace: string;

beforeAll(async () => {
  http = adminHttp();
  namespace = await createNamespace(http);
  await kubectl('apply', '--server-side', '-f', CRDS);
  await established(kubectl, '-f', CRDS);
  for (const name of ['argocd', 'flux-system']) {
    await http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  }
});
afterAll(async () => {
  await kubectl('delete', '--wait=false', '-f', CRDS);
  await http.close();
});

const dryRun = (example: string): Promise<string> => {
  // Manifests of servers get a namespace; the others name the namespace of their tool.
  const where = example.startsWith('servers/') ? ['--namespace', namespace] : [];
  return kubectl(
    'apply',
    '--server-side',
    '--dry-run=server',
    '--validate=strict',
    ...where,
    '-f',
    join(EXAMPLES, example),
  );
};

describe('the examples', () => {
  it('cover servers, Argo CD and Flux', () => {
    expect(new Set(examples.map((name) => name.split('/')[0]))).toEqual(new Set(['argocd', 'flux', 'servers']));
  });

  it.each(examples)('%s is accepted by the API server without changes', async (example) => {
    expect(await dryRun(example)).toMatch(/serverside-applied \(server dry run\)$/m);
  });

  it("add our health check to Argo CD's ConfigMap and leave the rest of it alone", async () => {
    const inArgo = ['--namespace', 'argocd'];
    await kubectl('create', ...inArgo, 'configmap', 'argocd-cm', '--from-literal=url=https://argocd.example.org');
    const path = 'examples/argocd/argocd-cm.yaml';
    const [, command = ''] = /^# +kubectl (.*)$/m.exec(await readFile(join(ROOT, path), 'utf8')) ?? [];
    await kubectl(...command.replace(path, join(ROOT, path)).split(' '));
    const { data } = JSON.parse(await kubectl('get', ...inArgo, 'configmap', 'argocd-cm', '--output=json')) as {
      data: Record<string, string>;
    };
    expect(data).toEqual({
      url: 'https://argocd.example.org',
      'resource.customizations.health.vps-operator.dev_VirtualServer': await readFile(
        join(CUSTOMIZATION, 'health.lua'),
        'utf8',
      ),
    });
  });
});
