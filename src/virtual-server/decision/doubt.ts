/** Whether there is a reason to doubt that the server of this name is still that of the object. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Purpose } from './identity.ts';
import type { Memo } from './types.ts';
import { currentReason } from './verdict.ts';

const DOUBTS = new Set<string | undefined>(['AbsenceUnproven', 'IdentityUnproven', 'ServerMissing']);

/** After a denial, and after a reading that was not recognized; what an earlier process met stands in status. */
export function isInDoubt(object: VirtualServer, { denials, unrecognized, taskComplete }: Memo): boolean {
  const identifier = object.status?.record?.identifier;
  if (denials?.of.startsWith('server ') === true || unrecognized !== undefined) return true;
  // This process has recognized it since.
  if (identifier !== undefined && taskComplete === identifier) return false;
  return DOUBTS.has(currentReason(object.status?.conditions));
}

/** What a reading before a DELETE is for. */
export function cancelPurpose(object: VirtualServer, memo: Memo): Purpose {
  return isInDoubt(object, memo) ? 'doubt' : 'cancel';
}

/** What any other reading is for. */
export function lookPurpose(object: VirtualServer, memo: Memo): Purpose {
  return isInDoubt(object, memo) ? 'doubt' : 'look';
}
