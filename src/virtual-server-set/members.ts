/** Lists the members of a set at the API server, and carries out the actions of a plan: one request each. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { VirtualServerSet } from '../api/virtual-server-set.ts';
import { FIELD_MANAGER, MERGE_PATCH } from '../kube/client.ts';
import type { KubeHttp } from '../kube/http.ts';
import { listAll } from '../kube/list.ts';
import { collectionOf, pathOf, type Resource } from '../kube/resource.ts';
import type { SetAction } from './decision/plan.ts';
import { ownerOf } from './decision/template.ts';

export interface Members {
  /** Every VirtualServer of the namespace, never from a cache. Throws KubeError; `signal` ends the request. */
  list(namespace: string, signal: AbortSignal): Promise<VirtualServer[]>;
  /** Throws KubeError: 409 for a name that is taken and for a stale version, 404 gone, 422 for a re-created object. */
  perform(set: VirtualServerSet, action: SetAction): Promise<void>;
}

const PAGE = { pageSize: 500, pageBytes: 8 * 1024 * 1024, objectBytes: 16 * 1024 * 1024 };

export function createMembers(http: KubeHttp, resource: Resource<VirtualServer>): Members {
  const query = { fieldManager: FIELD_MANAGER };
  return {
    async list(namespace, signal) {
      const { objects } = await listAll(http, resource, { namespace, ...PAGE, signal }, () => undefined);
      return objects;
    },
    async perform(set, action) {
      const { namespace } = set.metadata;
      if (action.type === 'create') {
        await http.call({ method: 'POST', path: collectionOf(resource, namespace), query, body: action.manifest });
        return;
      }
      const { uid, resourceVersion } = action;
      const path = pathOf(resource, namespace, action.name);
      const patch = (metadata: object, more: object = {}): Promise<unknown> => {
        const body = { metadata: { ...metadata, uid, resourceVersion }, ...more };
        return http.call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH });
      };
      switch (action.type) {
        case 'delete':
          await http.call({ method: 'DELETE', path, body: { preconditions: { uid, resourceVersion } } });
          return;
        case 'adopt':
          await patch({ ownerReferences: [ownerOf(set)] });
          return;
        case 'update':
          await patch(action.patch.metadata, { spec: action.patch.spec });
          return;
        case 'release': {
          // What the operator keeps of an object does not have its owners in full.
          const current = (await http.call({ method: 'GET', path })) as Pick<VirtualServer, 'metadata'>;
          const owners = current.metadata.ownerReferences ?? [];
          await patch({ ownerReferences: owners.filter((owner) => owner.uid !== set.metadata.uid) });
        }
      }
    },
  };
}
