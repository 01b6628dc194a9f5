/** Lists the members of a set at the API server, and carries out the actions of a plan: one request each. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { VirtualServerSet } from '../api/virtual-server-set.ts';
import { createClient } from '../kube/client.ts';
import type { KubeHttp } from '../kube/http.ts';
import { requireIdentity, type Resource } from '../kube/resource.ts';
import type { SetAction } from './decision/set-plan.ts';
import { ownerOf } from './decision/template.ts';

export interface Members {
  /** Every VirtualServer of the namespace, never from a cache. Throws KubeError; `signal` ends the request. */
  list(namespace: string, signal: AbortSignal): Promise<VirtualServer[]>;
  /** Throws KubeError: 409 for a name that is taken and for a stale version, 404 gone, 422 for a re-created object. */
  perform(set: VirtualServerSet, action: SetAction): Promise<void>;
}

export function createMembers(http: KubeHttp, resource: Resource<VirtualServer>): Members {
  const servers = createClient(http, resource);
  /** With all owners of an object, of which `servers` keeps only the first few. */
  const whole = createClient<VirtualServer>(http, {
    ...resource,
    parse: (value) => requireIdentity(value, resource.kind) as VirtualServer,
  });
  return {
    list: (namespace, signal) => servers.list(namespace, signal),
    async perform(set, action) {
      if (action.type === 'create') {
        await servers.create(action.manifest);
        return;
      }
      const { namespace } = set.metadata;
      const version = { ...action, namespace };
      switch (action.type) {
        case 'delete':
          await servers.delete(version);
          return;
        case 'adopt':
          await servers.patch(version, { metadata: { ownerReferences: [ownerOf(set)] } });
          return;
        case 'update':
        case 'change':
          await servers.patch(version, action.patch);
          return;
        case 'release': {
          // If the object is gone, the patch fails.
          const owners = (await whole.get(namespace, action.name))?.metadata.ownerReferences ?? [];
          const others = owners.filter(({ uid }) => uid !== set.metadata.uid);
          await servers.patch(version, { metadata: { ownerReferences: others } });
        }
      }
    },
  };
}
