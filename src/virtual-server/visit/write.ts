/**
 * Writes what a step changed: at most one metadata write and one status write, each bound to the version that was read.
 */
import { FINALIZER, RECORD_ANNOTATION } from '../../api/names.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { formatRecord, type ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Next } from '../decision/types.ts';
import type { MetadataPatch } from '../../kube/client.ts';
import type { ObjectVersion } from '../../kube/resource.ts';
import type { Kube } from '../kube.ts';

export interface WriteRooms {
  kube: Pick<Kube, 'patchMetadata' | 'writeStatus'>;
  /** Called at once with every version that a write returned. */
  wrote: (object: VirtualServer) => void;
}

/** Returns the newest version. Throws KubeError; whatever was written before the error stays written. */
export async function write(
  object: VirtualServer,
  next: Pick<Next, 'record' | 'status'>,
  room: WriteRooms,
): Promise<VirtualServer> {
  let newest = object;
  const patch = next.record === undefined ? undefined : metadataPatch(object, next.record);
  if (patch !== undefined) {
    newest = await room.kube.patchMetadata(versionOf(newest), patch);
    room.wrote(newest);
  }
  if (next.status !== undefined && !isDeepEqual(newest.status, next.status)) {
    newest = await room.kube.writeStatus(versionOf(newest), newest.status, next.status);
    room.wrote(newest);
  }
  return newest;
}

/** Undefined if metadata already matches. An object that is being deleted cannot get a new finalizer. */
function metadataPatch(object: VirtualServer, record: ServerRecord | null): MetadataPatch | undefined {
  const { finalizers = [], annotations, deletionTimestamp } = object.metadata;
  const present = finalizers.includes(FINALIZER);
  if (record === null) {
    return {
      finalizers: finalizers.filter((other) => other !== FINALIZER),
      annotations: { [RECORD_ANNOTATION]: null },
    };
  }
  const text = formatRecord(record);
  const add = !present && deletionTimestamp === undefined;
  if (!add && annotations?.[RECORD_ANNOTATION] === text) return undefined;
  return { annotations: { [RECORD_ANNOTATION]: text }, ...(add && { finalizers: [...finalizers, FINALIZER] }) };
}

function versionOf(object: VirtualServer): ObjectVersion {
  const { namespace, name, uid, resourceVersion } = object.metadata;
  return { namespace, name, uid, resourceVersion };
}
