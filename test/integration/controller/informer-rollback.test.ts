/** A real etcd that is restored from a backup while an informer follows it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { startControlPlane, type ControlPlane } from '../../../tools/control-plane/control-plane.ts';
import { observe, until } from './informer-support.ts';
import { adminHttp, create, edit, manifest, remove } from '../kube/support.ts';

let controlPlane: ControlPlane;
let http: KubeHttp;

beforeAll(async () => {
  controlPlane = await startControlPlane();
  http = adminHttp(controlPlane.kubeconfigPath);
});
afterAll(async () => {
  await http.close();
  await controlPlane.stop();
});

it('is correct after etcd was restored to much older versions', async () => {
  const changed = await create(http, 'default', manifest('changed'));
  const deleted = await create(http, 'default', manifest('deleted'));
  const restore = await controlPlane.backUp();
  const { informer, holds, logged, seen } = observe(http, { namespaces: 'all' });
  informer.start();
  await informer.synced();
  let newest = changed;
  // Enough edits that the API server's own writes after the restore do not reach the old versions.
  for (let index = 0; index < 100; index += 1)
    newest = await edit(http, changed, { metadata: { labels: { edit: String(index) } } });
  await remove(http, deleted);
  const created = await create(http, 'default', manifest('created'));
  await until(() => holds(newest, created));
  seen.length = 0;

  await restore();
  await until(() => holds(changed, deleted));
  expect(seen.map(({ kind, key }) => [kind, key]).sort()).toEqual([
    ['gone', 'default/created'],
    ['upsert', 'default/changed'],
    ['upsert', 'default/deleted'],
  ]);
  expect(logged).toContain(
    'warn the API server is at an older version than before, as after a restore of etcd; listing again',
  );
  // The watch continues from the new versions.
  const again = await edit(http, changed, { metadata: { labels: { edit: 'last' } } });
  expect(BigInt(again.metadata.resourceVersion)).toBeLessThan(BigInt(newest.metadata.resourceVersion));
  await until(() => holds(again, deleted));
  expect(logged.at(-1)).toBe('info informer recovered');
  await informer.stop();
});
