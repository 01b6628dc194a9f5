/** Whether there is a reason to doubt that the server of this name is still that of the object. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { asVouched, recognize, type Recognition } from './identity.ts';
import type { Memo, Outcome } from './types.ts';
import type { View } from './view.ts';

/** After a denial, and after a reading that was not recognized; what an earlier process met stands in status. */
export function isInDoubt(object: VirtualServer, { denials, unrecognized, taskComplete }: Memo): boolean {
  const identifier = object.status?.record?.identifier;
  if (denials?.of.startsWith('server ') === true || unrecognized !== undefined) return true;
  // This process has recognized it since.
  if (identifier !== undefined && taskComplete === identifier) return false;
  return hasTrait(currentReason(object.status?.conditions), 'doubt');
}

/** Whether a server that was just read is that of the record. `use`: what for, where nothing speaks against it. */
export function recognizeFor(
  use: 'cancel' | 'look',
  { object, facts: { memo } }: View,
  record: ServerRecord,
  { server, account }: Extract<Outcome, { type: 'server' }>,
): Recognition {
  const purpose = isInDoubt(object, memo) ? 'doubt' : use;
  return recognize(object, asVouched(record, account, memo), server, account, purpose);
}
