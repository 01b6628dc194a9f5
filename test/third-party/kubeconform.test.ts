/** kubeconform on the manifests as users apply them, with the schemas of the real API server and of our CRDs. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { goProgram } from '../../tools/go-program.ts';
import { GO_PROGRAMS } from '../../tools/go-programs.ts';
import { kustomize } from '../../tools/manifests.ts';
import { adminHttp } from '../integration/kube/support.ts';
import { readManifests } from '../../tools/demo/manifests.ts';
import { ROOT } from '../integration/deploy/cluster.ts';
import { HELM_BUILD_MS, LEAST, useHelm, type Helm } from './helm.ts';
import { schemaLocation, writeSchemas } from './json-schemas.ts';

let kubeconform: string;
let schemas: string;
let helm: Helm;
beforeAll(async () => {
  helm = await useHelm();
  kubeconform = await goProgram(GO_PROGRAMS.kubeconform);
  schemas = await mkdtemp(join(tmpdir(), 'vps-operator-schemas-'));
  const http = adminHttp();
  const read = async () => JSON.stringify(await http.call({ path: '/openapi/v2' }));
  // The API server publishes a CRD's schema shortly after it starts to serve it.
  const openApi = await vi.waitUntil(
    async () => {
      const text = await read();
      return text.includes('"kind":"VirtualServer"') && text;
    },
    { timeout: 30_000, interval: 200 },
  );
  await writeSchemas(openApi, schemas);
  await http.close();
}, HELM_BUILD_MS);
afterAll(async () => {
  await rm(schemas, { recursive: true });
  await helm.remove();
});

interface Report {
  resources: { status: string; msg: string }[] | null;
  summary: { valid: number; invalid: number; errors: number; skipped: number };
}

async function check(yaml: string): Promise<Report> {
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', schemaLocation(schemas), '-'];
  const text = await new Promise<string>((resolve, reject) => {
    // kubeconform exits with 1 if an object is invalid; it has failed only if there is no output.
    const child = execFile(kubeconform, args, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(`kubeconform printed nothing: ${stderr}`, { cause: error }));
      else resolve(stdout);
    });
    child.stdin?.end(yaml);
  });
  return JSON.parse(text) as Report;
}

const objectsIn = (yaml: string): number => yaml.match(/^kind:/gm)?.length ?? 0;
const built = (name: string, ...components: string[]) => {
  const folders = components.map((component) => `deploy/manifests/components/${component}`);
  return () => kustomize(inject('kubectl'), `deploy/manifests/${name}`, ...folders);
};
const file = (name: string) => () => readFile(join(ROOT, name), 'utf8');
const chart =
  (...values: string[]) =>
  () =>
    helm.render('--values', LEAST, ...values.flatMap((value) => ['--set', value]));
const gettingStarted = async () =>
  Object.values(readManifests(await file('docs/getting-started.md')()).files).join('---\n');

it.each<[string, () => Promise<string>]>([
  ['install.yaml', file('deploy/install.yaml')],
  ['the namespaced overlay', built('overlays/namespaced')],
  ['its part for each namespace', built('overlays/namespaced/watched')],
  ['the component for sshCheck', built('components/ssh-check')],
  ['the base with connection Secrets', built('base', 'connection-secrets')],
  ['the base with user data of ConfigMaps', built('base', 'user-data-config-maps')],
  ['its part for each namespace', built('components/user-data-config-maps/watched')],
  ['the base with secure metrics', built('base', 'metrics-secure')],
  ['the base that only observes', built('base', 'observe-only')],
  ['the namespaced overlay with them', built('overlays/namespaced', 'connection-secrets/namespaced')],
  ['their part for each namespace', built('components/connection-secrets/watched')],
  ['the chart', chart()],
  [
    'the chart with all that is off by default',
    chart(
      'watchNamespaces={team-a}',
      'connectionSecrets.enabled=true',
      'userDataConfigMaps.enabled=true',
      'sshCheck.enabled=true',
      'metrics.secure.enabled=true',
      'metrics.dashboard.enabled=true',
      'proxy.httpsProxy=http://proxy.example.org:3128',
      'provider.ca.configMap=ca',
      'imagePullSecrets[0].name=registry',
    ),
  ],
  ['the demo', built('overlays/demo')],
  ['the server of the demo', file('deploy/manifests/overlays/demo/server.yaml')],
  ['the server of Getting started', gettingStarted],
])('finds every object of %s valid', async (_name, read) => {
  const yaml = await read();
  expect(objectsIn(yaml)).toBeGreaterThan(0);
  const report = await check(yaml);
  expect(report.resources ?? []).toEqual([]);
  expect(report.summary).toEqual({ valid: objectsIn(yaml), invalid: 0, errors: 0, skipped: 0 });
});

it.each([
  ['a field that does not exist', 'deletionPolicy: Delete', 'deletionPolicies: Delete'],
  ['a value that is not offered', 'deletionPolicy: Delete', 'deletionPolicy: Orphan'],
  ['a field that stands twice', 'deletionPolicy: Delete', 'deletionPolicy: Delete\n  deletionPolicy: Delete'],
])('finds %s', async (_name, right, wrong) => {
  const server = (await gettingStarted()).replace('spec:\n', 'spec:\n  deletionPolicy: Delete\n');
  expect((await check(server)).summary).toMatchObject({ valid: 3, invalid: 0, errors: 0 });
  const { summary } = await check(server.replace(right, wrong));
  expect(summary.invalid + summary.errors).toBe(1);
});
