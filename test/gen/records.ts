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

/** The record from the annotation alone, if it was written for this object. */
export function annotatedRecordOf({ metadata: { uid, annotations } }: VirtualServer): ServerRecord | undefined {
  const parsed = parseRecord(annotations?.[RECORD_ANNOTATION]);
  return parsed.ok && parsed.record?.owner === uid ? parsed.record : undefined;
}
