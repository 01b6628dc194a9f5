/** Whether there is a reason to doubt that the server with this identifier is still the object's server. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { hasTrait } from '../../api/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { asVouched, recognize, type Recognition } from './identity.ts';
import type { Memo } from './memo.ts';
import type { ShownServer } from './types.ts';
import type { View } from './view.ts';

/** True after a denial, and after a read that was not recognized. The status tells what an earlier process found. */
export function isInDoubt(object: VirtualServer, { evidence }: Memo): boolean {
  const { denials, unrecognized, task } = evidence;
  const identifier = object.status?.record?.identifier;
  if (denials?.of.startsWith('server ') === true || unrecognized !== undefined) return true;
  // This process has recognized the server since.
  if (identifier !== undefined && task?.state === 'over' && task.identifier === identifier) return false;
  return hasTrait(currentReason(object.status?.conditions), 'doubt');
}

/** Whether a server that was just read is the one in the record. `use`: the purpose, unless there is doubt. */
export function recognizeFor(
  use: 'cancel' | 'look',
  { object, facts: { memo, others } }: View,
  record: ServerRecord,
  { server, account }: ShownServer,
): Recognition {
  const purpose = isInDoubt(object, memo) ? 'doubt' : use;
  return recognize(object, asVouched(record, account, memo), server, account, purpose, others);
}
