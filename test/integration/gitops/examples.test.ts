/** A real API server, with the CRDs of Argo CD and Flux, accepts every example once it has the user's SSH key. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { withOwnKey } from '../../../tools/demo/manifests.ts';
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

const dryRun = (example: string, file = join(EXAMPLES, example)): Promise<string> => {
  // Manifests of servers get a namespace; the others name the namespace of their tool.
  const where = example.startsWith('servers/') ? ['--namespace', namespace] : [];
  return kubectl('apply', '--server-side', '--dry-run=server', '--validate=strict', ...where, '-f', file);
};

describe('the examples', () => {
  it('cover servers, Argo CD and Flux', () => {
    expect(new Set(examples.map((name) => name.split('/')[0]))).toEqual(new Set(['argocd', 'flux', 'servers']));
  });

  it.each(examples)(
    '%s is accepted by the API server, with an SSH key in place of the placeholder',
    async (example) => {
      const folder = await mkdtemp(join(tmpdir(), 'vps-operator-example-'));
      onTestFinished(() => rm(folder, { recursive: true }));
      await writeFile(join(folder, 'example.yaml'), withOwnKey(await readFile(join(EXAMPLES, example), 'utf8')));
      expect(await dryRun(example, join(folder, 'example.yaml'))).toMatch(/serverside-applied \(server dry run\)$/m);
    },
  );

  it('have no SSH key that could log in to the server of a user who applies them as they are', async () => {
    const documents = ['README.md', 'docs/getting-started.md', 'docs/how-to/adopt.md'];
    const files = [...examples.map((name) => `examples/${name}`), ...documents];
    const found = await Promise.all(
      files.map(async (name) => ((await readFile(join(ROOT, name), 'utf8')).includes('AAAAC3Nza') ? [name] : [])),
    );
    expect(found.flat()).toEqual([]);
  });

  it.each(['servers/simple.yaml', 'servers/protected.yaml', 'servers/adopt.yaml'])(
    '%s is refused as it is, and the message says how to get a key',
    async (example) => {
      await expect(dryRun(example)).rejects.toThrow(
        /spec\.sshKeys\[0\]: Invalid value: "PASTE-YOUR-OWN-SSH-PUBLIC-KEY": must be one SSH public key .*cat ~\/\.ssh\/id_ed25519\.pub/,
      );
    },
  );

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
