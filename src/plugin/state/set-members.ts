/** Which set a server belongs to. Pure. */
import { SET_KIND } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { quoted } from '../../base/text.ts';

/** The set that controls the server. Its name may be invalid: the API server does not check the names of owners. */
export function setOf({ metadata }: VirtualServer): { name: string; uid: string } | undefined {
  return metadata.ownerReferences?.find(({ kind, controller }) => controller === true && kind === SET_KIND);
}

/** The set as an argument of the commands that the plugin prints, safe for a shell. */
export const setArgument = ({ name }: { name: string }): string => quoted(`set/${name}`);
