/** What people say of one object besides its spec: the annotations that the operator reads. Pure. */
import { INPUT_ANNOTATIONS } from '../api/annotations.ts';
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
} from '../api/names.ts';
import { MAX_IDENTIFIER, type Orphan, type ServerRecord } from '../api/record.ts';
import type { VirtualServer } from '../api/virtual-server.ts';

/** One text for all that people can change; another text means: look at once, whatever was planned. */
export function inputsOf(object: VirtualServer): string {
  const { generation, deletionTimestamp, annotations } = object.metadata;
  return JSON.stringify([
    generation,
    deletionTimestamp !== undefined,
    ...INPUT_ANNOTATIONS.map((name) => annotations?.[name] ?? null),
  ]);
}

export function isPaused(object: VirtualServer): boolean {
  const value = object.metadata.annotations?.[PAUSED_ANNOTATION];
  return value !== undefined && value !== 'false';
}

export type Adoption = { ok: true; identifier: string } | { ok: false; message: string } | undefined;

/** The server that a person names; undefined where none is named. */
export function adoptionOf(object: VirtualServer): Adoption {
  const value = object.metadata.annotations?.[ADOPT_ANNOTATION];
  if (value === undefined) return undefined;
  if (value.length > 0 && value.length <= MAX_IDENTIFIER && /^[\x21-\x7e]+$/.test(value))
    return { ok: true, identifier: value };
  return {
    ok: false,
    message: `annotation ${ADOPT_ANNOTATION} must be the identifier of a server: 1 to ${MAX_IDENTIFIER} visible ASCII characters without blanks`,
  };
}

/** True when a person says that this attempt created nothing. */
export function saysNotCreated(object: VirtualServer, record: ServerRecord): boolean {
  const value = object.metadata.annotations?.[NOT_CREATED_ANNOTATION];
  return value !== undefined && value === record.attempt;
}

/** What a person calls an orphan: its task where one is known. */
export function orphanName(orphan: Orphan): string {
  return String(orphan.task ?? orphan.attempt ?? orphan.identifier ?? '');
}

/** The record without the orphans that a person has dealt with; the same record where there is none. */
export function withoutHandledOrphans(object: VirtualServer, record: ServerRecord): ServerRecord {
  const handled = object.metadata.annotations?.[ORPHAN_HANDLED_ANNOTATION]?.split(',').map((name) => name.trim());
  if (handled === undefined || record.orphans === undefined) return record;
  const left = record.orphans.filter((orphan) => !handled.includes(orphanName(orphan)));
  if (left.length === record.orphans.length) return record;
  const { orphans: _orphans, ...rest } = record;
  return left.length === 0 ? rest : { ...rest, orphans: left };
}

/** What a person has to do about orphans. */
export function orphanMessage(orphans: readonly Orphan[]): string {
  const names = orphans.map(orphanName).join(',');
  return (
    `no object refers to the servers that these tasks or attempts may have created: ${names}. ` +
    `Look at the service, cancel them there, then annotate ${ORPHAN_HANDLED_ANNOTATION}=${names}`
  );
}
