/** `npm run release -- chart` with a real Helm and a registry on this machine. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { ROOT, version } from '../../tools/image-build.ts';
import { HELM_BUILD_MS, useHelm, type Helm } from './helm.ts';
import { digestOf, startOciRegistry, type OciRegistry } from './oci-registry.ts';

let helm: Helm;
beforeAll(async () => {
  helm = await useHelm();
}, HELM_BUILD_MS);
afterAll(() => helm.remove());

/** The registry ends with the test. */
async function registry(options?: { refuses: boolean }): Promise<OciRegistry> {
  const started = await startOciRegistry(options);
  onTestFinished(() => started.close());
  return started;
}

async function push({ host }: OciRegistry): Promise<Record<string, string>> {
  const args = [join(ROOT, 'tools/release/main.ts'), 'chart', `--registry=${host}/owner`, '--plain-http'];
  const { GITHUB_OUTPUT: _, ...ours } = process.env;
  const env = { ...ours, ...helm.env, PATH: `${dirname(helm.path)}:${process.env['PATH']}` };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return Object.fromEntries(
    stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );
}

it('pushes the chart of this version, and reports the name and digest that cosign signs', async () => {
  const target = await registry();
  const { name, digest } = await push(target);
  const number = await version();
  expect(name).toBe(`${target.host}/owner/charts/vps-operator`);
  const manifest = target.manifests.get(`owner/charts/vps-operator/manifests/${number}`) ?? Buffer.from('');
  expect(digest).toBe(digestOf(manifest));
  const shown = await helm.run('show', 'chart', `oci://${name}@${digest}`, '--plain-http');
  expect(parse(shown)).toMatchObject({ name: 'vps-operator', version: number, appVersion: number });
});

it('reports why the registry refused the chart', async () => {
  await expect(push(await registry({ refuses: true }))).rejects.toThrow(/npm run release: .*403/s);
});
