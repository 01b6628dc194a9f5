/** Which objects have a running server, which costs money; the price of a server that is gone is history. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { FINALIZER } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isRunning } from './reach.ts';

/** True if the operator is done with the object and its server, and only other finalizers keep the object. */
export function isLetGo({ metadata }: VirtualServer): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FINALIZER) !== true;
}

/** Goes by the status; the status of a missing server still shows its last state. */
export function hasRunningServer(object: VirtualServer): boolean {
  const { serverStatus, conditions } = object.status ?? {};
  return isRunning(serverStatus) && currentReason(conditions) !== 'ServerMissing' && !isLetGo(object);
}
