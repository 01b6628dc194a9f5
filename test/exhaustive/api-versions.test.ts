/**
 * The steps of docs/reference/versions.md from one API version to the next, on a real API server. No release contains
 * them yet, so the second version here is the first one under another name.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { virtualServer } from '../fixtures/virtual-server.ts';
import { established, ROOT, startEmptyCluster, type Cluster } from '../integration/deploy/cluster.ts';

interface Version {
  name: string;
  storage: boolean;
}
interface Crd {
  spec: { versions: Version[] };
}

const NAME = 'virtualservers.vps-operator.dev';
/** The object by API version: kubectl prefers the newest version that it has seen, also after a step back. */
const OLD = 'virtualservers.v1alpha1.vps-operator.dev/web';
const NEW = 'virtualservers.v1beta1.vps-operator.dev/web';

let cluster: Cluster;
let folder: string;
beforeAll(async () => {
  cluster = await startEmptyCluster();
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-versions-'));
});
afterAll(async () => {
  await cluster.stop();
  await rm(folder, { recursive: true });
});

/** Applies the CRD with these versions, whose schemas are the same. */
async function serve(versions: string[], stored: string): Promise<void> {
  const crd = parse(await readFile(join(ROOT, `deploy/crds/vps-operator.dev_virtualservers.yaml`), 'utf8')) as Crd;
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error('the CRD has no version');
  crd.spec.versions = versions.map((name) => ({ ...version, name, storage: name === stored }));
  await apply(crd);
  await established((...args) => cluster.kubectl(...args), `crd/${NAME}`);
}

async function apply(object: object): Promise<void> {
  const file = join(folder, 'object.yaml');
  await writeFile(file, stringify(object));
  await cluster.kubectl('apply', '--server-side', '--force-conflicts', '-f', file);
}

const storedVersions = (): Promise<string> =>
  cluster.kubectl('get', 'crd', NAME, '-o', 'jsonpath={.status.storedVersions}');

it('moves the stored version one release after the new version is served, so that each step can be undone', async () => {
  await serve(['v1alpha1'], 'v1alpha1');
  const server = virtualServer('web');
  await vi.waitFor(() => apply({ ...server, metadata: { name: 'web', namespace: 'default' } }), { timeout: 30_000 });
  await cluster.kubectl('patch', OLD, '--type=merge', '--patch={"spec":{"deletionProtection":true}}');
  await cluster.kubectl('apply', '--server-side', '-f', 'deploy/manifests/base/admission.yaml');
  const uid = await cluster.kubectl('get', OLD, '-o', 'jsonpath={.metadata.uid}');

  // The release that serves both: the object is the same under the new name, and the guards protect it there too.
  await serve(['v1alpha1', 'v1beta1'], 'v1alpha1');
  await vi.waitFor(
    async () =>
      expect(await cluster.kubectl('get', NEW, '-o', 'jsonpath={.apiVersion} {.metadata.uid}')).toBe(
        `vps-operator.dev/v1beta1 ${uid}`,
      ),
    { timeout: 30_000 },
  );
  await vi.waitFor(
    () => expect(cluster.kubectl('delete', NEW, '--dry-run=server')).rejects.toThrow('deletionProtection'),
    { timeout: 30_000 },
  );
  expect(await storedVersions()).toBe('["v1alpha1"]');
  await serve(['v1alpha1'], 'v1alpha1');
  expect(await cluster.kubectl('get', OLD, '-o', 'jsonpath={.metadata.uid}')).toBe(uid);

  // The release that stores the new version: back to the one before, but not to one that does not know it.
  await serve(['v1alpha1', 'v1beta1'], 'v1beta1');
  expect(await storedVersions()).toBe('["v1alpha1","v1beta1"]');
  await serve(['v1alpha1', 'v1beta1'], 'v1alpha1');
  await expect(serve(['v1alpha1'], 'v1alpha1')).rejects.toThrow('must remain in spec.versions');

  // The release without the old version: refused until every object is stored in the new one.
  await serve(['v1alpha1', 'v1beta1'], 'v1beta1');
  await expect(serve(['v1beta1'], 'v1beta1')).rejects.toThrow('must remain in spec.versions');
  await cluster.kubectl('annotate', NEW, 'example.org/rewrite=true');
  const status = '--patch={"status":{"storedVersions":["v1beta1"]}}';
  await cluster.kubectl('patch', 'crd', NAME, '--subresource=status', '--type=merge', status);
  await serve(['v1beta1'], 'v1beta1');
  await vi.waitFor(async () => expect(await cluster.kubectl('get', NEW, '-o', 'jsonpath={.metadata.uid}')).toBe(uid), {
    timeout: 30_000,
  });
});
