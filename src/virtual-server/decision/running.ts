/** Which objects have a server that runs, and that is paid for: a price of one that is gone is history. Pure. */
import { currentReason } from '../../controller/conditions.ts';
import { FINALIZER } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isRunning } from './reach.ts';

/** The operator has nothing to do with its server any more; somebody else's finalizer keeps the object. */
export function isLetGo({ metadata }: VirtualServer): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(FINALIZER) !== true;
}

/** As far as its status says; that of a missing server still shows what the server was. */
export function hasRunningServer(object: VirtualServer): boolean {
  const { serverStatus, conditions } = object.status ?? {};
  return isRunning(serverStatus) && currentReason(conditions) !== 'ServerMissing' && !isLetGo(object);
}
