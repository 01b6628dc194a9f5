/** What people say of one object besides its spec: the annotations that the operator reads. Pure. */
import { INPUT_ANNOTATIONS } from '../../api/annotations.ts';
import { identifierProblem } from '../../api/identifier.ts';
import {
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../api/names.ts';
import type { Orphan, ServerRecord } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { annotate } from './commands.ts';

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
  const problem = identifierProblem(value);
  if (problem === undefined) return { ok: true, identifier: value };
  return { ok: false, message: `Annotation ${ADOPT_ANNOTATION} does not name a server: ${problem}` };
}

/** True when a person says that this attempt created nothing. */
export function saysNotCreated(object: VirtualServer, record: ServerRecord): boolean {
  const value = object.metadata.annotations?.[NOT_CREATED_ANNOTATION];
  return value !== undefined && value === record.attempt;
}

/** True when you say that nothing was created for this object, of which no record is left. */
export function saysNothingCreated({ metadata: { annotations, uid } }: VirtualServer): boolean {
  return annotations?.[NOT_CREATED_ANNOTATION] === uid;
}

/** True while an annotation says that this server no longer exists, be it true or not. */
export function namesAsGone(object: VirtualServer, { identifier }: Pick<ServerRecord, 'identifier'>): boolean {
  return identifier !== undefined && object.metadata.annotations?.[SERVER_GONE_ANNOTATION] === identifier;
}

/** True when you say that this server no longer exists, and it was not seen since. */
export function saysGone(object: VirtualServer, record: Pick<ServerRecord, 'identifier' | 'goneRefuted'>): boolean {
  return namesAsGone(object, record) && record.goneRefuted === undefined;
}

/** The record of a server that was just seen: a word that it is gone is void until it is said again. */
export function withRefuted(object: VirtualServer, record: ServerRecord): ServerRecord {
  if (!namesAsGone(object, record) || record.goneRefuted === true) return record;
  return { ...record, goneRefuted: true };
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

/** What you have to do about orphans. */
export function orphanMessage(
  object: VirtualServer,
  { orphans = [], identifier }: Pick<ServerRecord, 'orphans' | 'identifier'>,
): string {
  const names = orphans.map(orphanName).join(',');
  const own = identifier === undefined ? '' : ` Keep server ${identifier}, which this object holds.`;
  return (
    `These tasks or orders may have created servers that no object holds: ${names}. Cancel such servers in the ` +
    `provider's control panel.${own} Then run ${annotate(object, ORPHAN_HANDLED_ANNOTATION, names)}`
  );
}
