/** Reads an object's record without the operator's own merge of its two copies. */
import { RECORD_ANNOTATION } from '../../src/api/names.ts';
import { parseRecord, type ServerRecord } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';

/** The record from the annotation or the mirror, if it was written for this object. */
export function recordOf(object: VirtualServer): ServerRecord | undefined {
  const { metadata, status } = object;
  const own = annotatedRecordOf(object);
  const mirror = status?.record?.owner === metadata.uid ? status.record : undefined;
  if (own === undefined || mirror === undefined) return own ?? mirror;
  return { ...mirror, ...own };
}

/** By object: the API server's model freezes its objects, and the checks read each of them many times. */
const read = new WeakMap<VirtualServer, { record: ServerRecord | undefined }>();

/** The record from the annotation alone, if it was written for this object. */
export function annotatedRecordOf(object: VirtualServer): ServerRecord | undefined {
  const known = read.get(object);
  if (known !== undefined) return known.record;
  const record = readRecord(object);
  if (Object.isFrozen(object.metadata)) read.set(object, { record });
  return record;
}

function readRecord({ metadata: { uid, annotations } }: VirtualServer): ServerRecord | undefined {
  const parsed = parseRecord(annotations?.[RECORD_ANNOTATION]);
  return parsed.ok && parsed.record?.owner === uid ? parsed.record : undefined;
}
