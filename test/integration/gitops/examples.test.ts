/**
 * A real API server, with the CRDs of Argo CD, Flux, External Secrets and KEDA, accepts every example once it has the user's
 * SSH key.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { CATALOG_KIND, SERVER_KIND, SET_KIND } from '../../../src/api/names.ts';
import { publicKeyProblem } from '../../../src/api/public-key.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import { withOwnKey } from '../../../tools/demo/manifests.ts';
import { KINDS, scripts } from '../../../tools/gitops.ts';
import { established, ROOT } from '../deploy/cluster.ts';
import { adminHttp, createNamespace, kubectl } from '../kube/support.ts';
import { blocksOf, createShell, typedIn, type Shell } from '../support/document.ts';
import { operatorExample } from './operator-example.ts';

const EXAMPLES = join(ROOT, 'examples');
const CRDS = join(import.meta.dirname, 'crds');
/** Without kustomization.yaml and GitHub workflows, which are not objects of the API server. */
const examples = (await readdir(EXAMPLES, { recursive: true }))
  .filter((name) => name.endsWith('.yaml') && !name.endsWith('kustomization.yaml') && !name.startsWith('github'))
  .sort();

interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
}
interface Project extends KubeObject {
  spec: {
    destinations: { namespace: string }[];
    clusterResourceWhitelist: { group: string; kind: string }[];
    namespaceResourceWhitelist?: { group: string; kind: string }[];
  };
}
interface HealthCheck {
  kind: string;
  failed: string;
  current: string;
}
interface FluxKustomization extends KubeObject {
  spec: { dependsOn?: { name: string }[]; sourceRef: { name: string }; healthCheckExprs?: HealthCheck[] };
}

const objectsIn = (text: string): KubeObject[] =>
  parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
const example = (name: string): Promise<string> => readFile(join(EXAMPLES, name), 'utf8');

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

/** The path of the example with the user's SSH key in place of the placeholder. */
async function completed(name: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vps-operator-example-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'example.yaml');
  await writeFile(file, withOwnKey(await example(name)));
  return file;
}

const dryRun = (name: string, file: string, ...flags: string[]): Promise<string> => {
  // Manifests without a namespace get one; the others name the namespace of their tool.
  const where = /^(servers|sets)\//.test(name) ? ['--namespace', namespace] : [];
  return kubectl('apply', '--server-side', '--dry-run=server', '--validate=strict', ...where, ...flags, '-f', file);
};

describe('the examples', () => {
  it('cover servers, sets, the operator, and the tools', () => {
    const folders = new Set(examples.map((name) => name.split('/')[0]));
    expect(folders).toEqual(new Set(['argocd', 'external-dns', 'external-secrets', 'flux', 'servers', 'sets']));
  });

  it.each(examples)('%s is accepted by the API server, with an SSH key in place of the placeholder', async (name) => {
    expect(await dryRun(name, await completed(name))).toMatch(/serverside-applied \(server dry run\)$/m);
  });

  it('let Argo CD delete no server without a confirmation', async () => {
    const texts = await Promise.all(examples.map(example));
    const servers = texts.flatMap(objectsIn).filter(({ kind }) => kind === SERVER_KIND || kind === SET_KIND);
    expect(servers).toHaveLength(7);
    for (const { metadata } of servers) {
      // Argo CD 3.2 ignores these options of an Application; 3.6 does not.
      expect(metadata.annotations?.['argocd.argoproj.io/sync-options']).toBe('Prune=confirm,Delete=confirm');
    }
  });

  it('have no SSH key that could log in to the server of a user who applies them unchanged', async () => {
    const documents = ['README.md', 'docs/getting-started.md', 'docs/how-to/adopt.md', 'docs/how-to/server-set.md'];
    const files = [...examples.map((name) => `examples/${name}`), ...documents];
    const found = await Promise.all(
      files.map(async (name) => ((await readFile(join(ROOT, name), 'utf8')).includes('AAAAC3Nza') ? [name] : [])),
    );
    expect(found.flat()).toEqual([]);
  });

  it('have a key in the demo that the operator accepts, and whose private key does not exist', async () => {
    const text = await readFile(join(ROOT, 'deploy/manifests/overlays/demo/server.yaml'), 'utf8');
    const [server] = objectsIn(text).filter(({ kind }) => kind === SERVER_KIND) as unknown as VirtualServer[];
    const [key = ''] = server?.spec.sshKeys ?? [];
    expect(publicKeyProblem(key)).toBeUndefined();
    const sentence = 'vps-operator demo: nobody has the private key';
    const own = Buffer.from(key.split(' ')[1] ?? '', 'base64').subarray(-32);
    expect(own).toEqual(createHash('sha256').update(sentence).digest());
  });

  it.each(['servers/simple.yaml', 'servers/protected.yaml', 'servers/adopt.yaml', 'sets/web.yaml'])(
    '%s is refused unchanged, and the message says how to get a key',
    async (name) => {
      await expect(dryRun(name, join(EXAMPLES, name))).rejects.toThrow(
        /spec\.(?:template\.spec\.)?sshKeys: Invalid value: .*sshKeys\[0\] must be one SSH public key .*cat ~\/\.ssh\/id_ed25519\.pub/,
      );
    },
  );

  it("add our scripts to Argo CD's ConfigMap and leave the rest of it alone", async () => {
    const inArgo = ['--namespace', 'argocd'];
    // Argo CD does not see its ConfigMap without the label. With client-side apply, as many install Argo CD: a later
    // server-side apply by kubectl would take over the fields of the first, and remove those it does not contain.
    const labels = { 'app.kubernetes.io/part-of': 'argocd' };
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-argocd-cm-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const present = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'argocd-cm', labels } };
    const installed = { ...present, data: { url: 'https://argocd.example.org' } };
    await writeFile(join(folder, 'argocd-cm.json'), JSON.stringify(installed));
    await kubectl('apply', ...inArgo, '-f', folder);
    const path = 'examples/argocd/argocd-cm.yaml';
    const [, command = ''] = /^# +kubectl (.*)$/m.exec(await readFile(join(ROOT, path), 'utf8')) ?? [];
    await kubectl(...command.replace(path, join(ROOT, path)).split(' '));
    const { data, metadata } = JSON.parse(
      await kubectl('get', ...inArgo, 'configmap', 'argocd-cm', '--output=json'),
    ) as { data: Record<string, string>; metadata: { labels: object } };
    expect(metadata.labels).toEqual(labels);
    const expected: Record<string, unknown> = { url: 'https://argocd.example.org' };
    for (const kind of KINDS) {
      const { health, actions } = await scripts(kind);
      expected[`resource.customizations.health.vps-operator.dev_${kind}`] = health;
      const key = `resource.customizations.actions.vps-operator.dev_${kind}`;
      const { definitions, ...discovery } = parseAllDocuments(data[key] ?? '')[0]?.toJS() as Record<string, unknown> & {
        definitions: { name: string; 'action.lua': string }[];
      };
      expect(discovery).toEqual({ 'discovery.lua': actions.discovery });
      expect(Object.fromEntries(definitions.map((each) => [each.name, each['action.lua']]))).toEqual(
        actions.definitions,
      );
      expected[key] = data[key];
    }
    expect(data).toEqual(expected);
  });
});

describe('the example of external-dns', () => {
  it('has the flags that docs/how-to/dns.md shows', async () => {
    const objects = objectsIn(await example('external-dns/external-dns.yaml')) as (KubeObject & {
      spec?: { template: { spec: { containers: { args: string[] }[] } } };
    })[];
    const args = objects.flatMap(({ spec }) => spec?.template.spec.containers ?? []).flatMap(({ args: all }) => all);
    const page = await readFile(join(ROOT, 'docs/how-to/dns.md'), 'utf8');
    const shown = [...page.matchAll(/^ +(--\S+=.*)$/gm)].map(([, flag]) => flag);
    expect(shown).toEqual(args.filter((arg) => !arg.startsWith('--provider=')));
  });
});

describe('the example of the operator', () => {
  it('installs this version with its settings, which the Deployment reads', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await example('operator/kustomization.yaml')).toContain(`/deploy/manifests/base?ref=v${version}\n`);

    const manifests = await operatorExample(kubectl);
    const objects = objectsIn(manifests);
    const settings = objects.find(({ kind }) => kind === 'ConfigMap');
    expect(settings?.metadata.name).toMatch(/^vps-operator-config-/);
    expect(settings?.metadata.namespace).toBe('vps-operator-system');
    const deployment = objects.find(({ kind }) => kind === 'Deployment');
    expect(JSON.stringify(deployment)).toContain(`"configMap":{"name":"${settings?.metadata.name}"`);
  });

  it('contains only what its Argo CD project allows', async () => {
    const project = objectsIn(await example('argocd/project.yaml')).find(
      ({ metadata }) => metadata.name === 'vps-operator',
    ) as Project;
    const allowed = project.spec.clusterResourceWhitelist.map(({ group, kind }) => `${group}/${kind}`);
    const namespaces = project.spec.destinations.map((destination) => destination.namespace);
    const used = new Set<string>();
    for (const { apiVersion, kind, metadata } of objectsIn(await operatorExample(kubectl))) {
      const [version = '', group = ''] = apiVersion.split('/').reverse();
      expect(version).toBe('v1');
      if (metadata.namespace === undefined) used.add(`${group}/${kind}`);
      else expect(namespaces).toContain(metadata.namespace);
    }
    expect([...used].sort()).toEqual(allowed.sort());
  });
});

describe('the examples for the API key and the catalog', () => {
  const ownSecret = () => example('external-secrets/api-key.yaml');

  it('let the Argo CD project write the example of External Secrets, and nothing else', async () => {
    const project = objectsIn(await example('argocd/api-key.yaml')).find(
      ({ kind }) => kind === 'AppProject',
    ) as Project;
    const written = objectsIn(await ownSecret()).map(({ apiVersion, kind }) => ({
      group: apiVersion.replace(/\/.*/, ''),
      kind,
    }));
    expect(project.spec.clusterResourceWhitelist).toEqual([]);
    expect(project.spec.namespaceResourceWhitelist).toEqual(written);
  });

  it("give Flux's ServiceAccount the rights to write the example of External Secrets, and no others", async () => {
    const objects = objectsIn(await example('flux/api-key.yaml'));
    for (const right of objects.filter(({ kind }) => /^Role/.test(kind))) {
      const body = { ...right, metadata: { name: right.metadata.name, namespace } };
      const plural = `${right.kind.toLowerCase()}s`;
      const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}`;
      await http.call({ method: 'POST', path, body });
    }
    const AS = '--as=system:serviceaccount:flux-system:server-key';
    const may = (verb: string, what: string): Promise<string> =>
      kubectl('auth', 'can-i', verb, what, '--namespace', namespace, AS);
    for (const verb of ['get', 'list', 'watch', 'create', 'patch', 'delete'])
      await expect.poll(() => may(verb, 'externalsecrets').catch(String)).toBe('yes\n');
    const folder = await mkdtemp(join(tmpdir(), 'vps-operator-example-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(
      join(folder, 'key.yaml'),
      (await ownSecret()).replace('namespace: default', `namespace: ${namespace}`),
    );
    expect(await dryRun('flux/api-key.yaml', folder, AS)).toMatch(/serverside-applied \(server dry run\)$/m);
    for (const what of ['secrets', 'configmaps', 'vps', 'rolebindings'])
      await expect(may('get', what), what).rejects.toThrow();
  });

  it('are in an order of Kustomizations that exist, and judge a catalog as the Kustomization of the servers does', async () => {
    const names = ['source', 'operator', 'api-key', 'servers'];
    const objects = (await Promise.all(names.map((name) => example(`flux/${name}.yaml`)))).flatMap(objectsIn);
    const kustomizations = objects.filter(({ kind }) => kind === 'Kustomization') as FluxKustomization[];
    const place = (name: string): number => kustomizations.findIndex(({ metadata }) => metadata.name === name);
    for (const { metadata, spec } of kustomizations)
      for (const { name } of spec.dependsOn ?? []) {
        expect(place(name), name).toBeGreaterThanOrEqual(0);
        expect(place(name), name).toBeLessThan(place(metadata.name));
      }
    const page = await readFile(join(ROOT, 'docs/how-to/gitops.md'), 'utf8');
    const [, shown = ''] = /\n( +spec:\n +dependsOn:\n(?: +- name: .*\n)+)/.exec(page) ?? [];
    const [{ spec: added } = { spec: { dependsOn: [] } }] = objectsIn(shown) as FluxKustomization[];
    for (const { name } of added.dependsOn ?? []) expect(place(name), name).toBeGreaterThanOrEqual(0);
    expect(added.dependsOn).toContainEqual({ name: 'server-catalog' });

    const checks = (name: string): HealthCheck[] =>
      (kustomizations[place(name)]?.spec.healthCheckExprs ?? []).filter(({ kind }) => kind === CATALOG_KIND);
    expect(checks('server-catalog')).toHaveLength(1);
    expect(checks('server-catalog')).toEqual(checks('servers'));
    const sources = kustomizations.map(({ spec }) => spec.sourceRef);
    expect(new Set(sources.map(({ name }) => name))).toEqual(
      new Set(objects.filter(({ kind }) => kind === 'GitRepository').map(({ metadata }) => metadata.name)),
    );
  });
});

describe('the steps of docs/how-to/remove.md for Argo CD and Flux', async () => {
  const blocks = blocksOf(await readFile(join(ROOT, 'docs/how-to/remove.md'), 'utf8'), 'With Argo CD or Flux');
  const typed = blocks.filter(({ language }) => language === 'console').flatMap(typedIn);
  const shell = (): Promise<Shell> =>
    createShell({ kubeconfigPath: inject('kubeconfigPath'), kubectl: inject('kubectl'), namespace: 'default' });
  /** Types the commands about the object, and compares what they show. */
  const typeAbout = async (object: string): Promise<number> => {
    const user = await shell();
    const about = typed.filter(({ command }) => command.startsWith('kubectl ') && command.includes(object));
    for (const { command, shown } of about.filter(({ command: one }) => !one.startsWith('kubectl wait')))
      expect((await user.run({ language: 'sh', text: command })).trim()).toContain(shown.trim());
    return about.length;
  };

  it('delete the Application of the example so that Argo CD deletes its objects first', async () => {
    await kubectl('apply', '-f', join(EXAMPLES, 'argocd/operator.yaml'));
    expect(await typeAbout('application')).toBe(3);
    const read = ['get', 'application/vps-operator', '--namespace=argocd', '--output=json'];
    const { metadata } = JSON.parse(await kubectl(...read)) as { metadata: object };
    expect(metadata).toMatchObject({
      deletionTimestamp: expect.any(String) as string,
      finalizers: ['resources-finalizer.argocd.argoproj.io'],
    });
    const patch = '--patch={"metadata":{"finalizers":null}}';
    await kubectl('patch', 'application/vps-operator', '--namespace=argocd', '--type=merge', patch);
  });

  it('show that the Kustomizations of the examples leave everything, and delete them', async () => {
    await kubectl('apply', '-f', join(EXAMPLES, 'flux/operator.yaml'), '-f', join(EXAMPLES, 'flux/servers.yaml'));
    for (const name of ['servers', 'vps-operator']) expect(await typeAbout(`kustomization ${name}`)).toBe(2);
    expect(await kubectl('get', 'kustomizations', '--namespace=flux-system', '--output=name')).toBe('');
  });

  it('stop the operator of the example, and do not wait without pods', async () => {
    const [added] = blocks.filter(({ language }) => language === 'yaml');
    const deployment = objectsIn(await operatorExample(kubectl, undefined, added?.text)).find(
      ({ kind }) => kind === 'Deployment',
    );
    expect(deployment).toMatchObject({ spec: { replicas: 0 } });
    const [wait] = typed.filter(({ command }) => command.startsWith('kubectl wait pods'));
    await (await shell()).run({ language: 'sh', text: wait?.command ?? 'false' });
  });
});

describe("the rights of Flux's ServiceAccount for servers", () => {
  const AS = '--as=system:serviceaccount:flux-system:servers';

  it('suffice to apply servers, sets and catalogs, and allow nothing else', async () => {
    const rights = objectsIn(await example('flux/servers.yaml')).filter(({ kind }) => kind === 'RoleBinding');
    for (const right of rights) {
      const body = { ...right, metadata: { name: right.metadata.name, namespace } };
      const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;
      await http.call({ method: 'POST', path, body });
    }
    await expect.poll(() => kubectl('auth', 'can-i', 'patch', 'vps', '-n', namespace, AS)).toBe('yes\n');
    for (const name of ['servers/simple.yaml', 'servers/catalog.yaml', 'sets/web.yaml']) {
      expect(await dryRun(name, await completed(name), AS)).toMatch(/serverside-applied \(server dry run\)$/m);
    }
    for (const verb of ['get', 'list', 'watch', 'delete']) {
      expect(await kubectl('auth', 'can-i', verb, 'vps', '-n', namespace, AS)).toBe('yes\n');
    }
    for (const what of ['secrets', 'configmaps', 'pods', 'rolebindings']) {
      await expect(kubectl('auth', 'can-i', 'get', what, '-n', namespace, AS)).rejects.toThrow();
    }
    const status = ['patch', 'vps', '--subresource=status'];
    await expect(kubectl('auth', 'can-i', ...status, '-n', namespace, AS)).rejects.toThrow();
    await expect(kubectl('auth', 'can-i', 'create', 'vps', '-n', 'kube-public', AS)).rejects.toThrow();
  });
});
