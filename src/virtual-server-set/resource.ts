/** VirtualServerSets as the API server serves them. */
import { API_VERSION, SET_KIND, SET_PLURAL } from '../api/names.ts';
import type { VirtualServerSet } from '../api/virtual-server-set.ts';
import { resource } from '../kube/resource.ts';

export const VIRTUAL_SERVER_SETS = resource<VirtualServerSet>({
  apiVersion: API_VERSION,
  kind: SET_KIND,
  plural: SET_PLURAL,
});
