/** Which set a server belongs to. Pure. */
import { SET_KIND } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';

/** The set that controls the server. Its name may be invalid: the API server does not check the names of owners. */
export function setOf({ metadata }: VirtualServer): { name: string; uid: string } | undefined {
  return metadata.ownerReferences?.find(({ kind, controller }) => controller === true && kind === SET_KIND);
}
