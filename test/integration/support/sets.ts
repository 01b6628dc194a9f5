/** A VirtualServerSet in the namespace of a world. */
import { API_VERSION, SET_KIND, SET_PLURAL } from '../../../src/api/names.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { currentReason } from '../../../src/api/conditions.ts';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import type { World } from './world.ts';

/** Creates the set `web`; `spec` may replace its template. */
export async function createSet(world: World, spec: object) {
  const { http, namespace } = world;
  const folder = `/apis/${API_VERSION}/namespaces/${namespace}/${SET_PLURAL}`;
  const path = `${folder}/web`;
  const template = { spec: virtualServer('template').spec };
  const body = { apiVersion: API_VERSION, kind: SET_KIND, metadata: { name: 'web' }, spec: { template, ...spec } };
  await http.call({ method: 'POST', path: folder, body });
  const get = async (): Promise<VirtualServerSet> => (await http.call({ path })) as VirtualServerSet;
  const patch = (change: object, subresource = ''): Promise<unknown> =>
    http.call({ method: 'PATCH', path: path + subresource, body: change, contentType: 'application/merge-patch+json' });
  const waitForReason = async (reason: string): Promise<VirtualServerSet> => {
    let last = await get();
    await world.until(
      async () => {
        last = await get();
        return (
          last.status?.observedGeneration === last.metadata.generation &&
          currentReason(last.status.conditions) === reason
        );
      },
      () => `the set to be ${reason}; it is now ${JSON.stringify(last.status, undefined, 1)}`,
    );
    return last;
  };
  return { path, get, patch, waitForReason };
}
