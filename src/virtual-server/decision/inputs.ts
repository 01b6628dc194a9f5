/** What you tell the operator about one object besides its spec: the annotations that it reads, and those it does not know. Pure. */
import { without } from '../../base/without.ts';
import { INPUT_ANNOTATIONS, KNOWN_ANNOTATIONS } from '../../api/annotations.ts';
import { identifierProblem } from '../../api/identifier.ts';
import {
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  GROUP,
  HAND_OVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  SERVER_PLURAL,
} from '../../api/names.ts';
import type { Orphan, ServerRecord, Held } from '../../api/record.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { ObjectMeta } from '../../api/meta.ts';
import { similarTo } from '../../base/similar.ts';
import { err, ok, type Result } from '../../base/result.ts';

/** A visit asks about the same version many times. */
const texts = new WeakMap<VirtualServer, string>();

/** All that you can change, as one text. When the text changes, the operator acts at once, whatever was planned. */
export function inputsOf(object: VirtualServer): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = inputsText(object);
  texts.set(object, text);
  return text;
}

function inputsText(object: VirtualServer): string {
  const { generation, deletionTimestamp, annotations } = object.metadata;
  return JSON.stringify([
    generation,
    deletionTimestamp !== undefined,
    ...INPUT_ANNOTATIONS.map((name) => annotations?.[name] ?? null),
    ...unknownAnnotations(object.metadata),
  ]);
}

export type Adoption = Result<string> | undefined;

/** The server that the annotation names; undefined without the annotation. */
export function adoptionOf(object: VirtualServer): Adoption {
  const value = object.metadata.annotations?.[ADOPT_ANNOTATION];
  if (value === undefined) return undefined;
  const problem = identifierProblem(value);
  if (problem === undefined) return ok(value);
  return err(`Annotation ${ADOPT_ANNOTATION} does not name a server: ${problem}`);
}

/** True if the annotation says that this attempt created nothing. */
export function saysNotCreated(object: VirtualServer, record: ServerRecord): boolean {
  const value = object.metadata.annotations?.[NOT_CREATED_ANNOTATION];
  return value !== undefined && value === record.attempt;
}

/** True if the annotation says that nothing was created for this object, which has no record left. */
export function saysNothingCreated({ metadata: { annotations, uid } }: VirtualServer): boolean {
  return annotations?.[NOT_CREATED_ANNOTATION] === uid;
}

/** True while an annotation says that this server no longer exists, whether that is true or not. */
export function namesAsGone(object: VirtualServer, { identifier }: Pick<ServerRecord, 'identifier'>): boolean {
  return identifier !== undefined && object.metadata.annotations?.[SERVER_GONE_ANNOTATION] === identifier;
}

/** True if the annotation says that this server no longer exists, and the server was not seen since. */
export function saysGone(object: VirtualServer, record: Pick<ServerRecord, 'identifier' | 'goneRefuted'>): boolean {
  return namesAsGone(object, record) && record.goneRefuted === undefined;
}

/** True if the annotation says that this server need not wait for the end of `spec.deletionDelay`. */
export function isToCancelNow({ metadata }: VirtualServer, { identifier }: Pick<ServerRecord, 'identifier'>): boolean {
  return identifier !== undefined && metadata.annotations?.[CANCEL_NOW_ANNOTATION] === identifier;
}

/** The object of this namespace that is to get the server; undefined: none. */
export function takerOf({ metadata: { annotations } }: VirtualServer): string | undefined {
  return annotations?.[HAND_OVER_ANNOTATION];
}

/** Why no object can ever get the server, by the annotation alone. */
export function takerProblem(object: VirtualServer): string | undefined {
  const taker = takerOf(object);
  if (taker === '') return 'names no object';
  return taker === object.metadata.name ? 'names this object itself' : undefined;
}

/** The record of a server that was just seen: an annotation that says it is gone is void until you set it again. */
export function withRefuted(object: VirtualServer, record: Held): Held {
  if (!namesAsGone(object, record) || record.goneRefuted === true) return record;
  return { ...record, goneRefuted: true };
}

/** The name of an orphan in annotations: its task if known. */
export function orphanName(orphan: Orphan): string {
  return String(orphan.task ?? orphan.attempt ?? orphan.identifier ?? '');
}

/** The record without the orphans that the annotation names; the same record if it names none of them. */
export function withoutHandledOrphans(object: VirtualServer, record: ServerRecord): ServerRecord {
  const handled = object.metadata.annotations?.[ORPHAN_HANDLED_ANNOTATION]?.split(',').map((name) => name.trim());
  if (handled === undefined || record.orphans === undefined) return record;
  const left = record.orphans.filter((orphan) => !handled.includes(orphanName(orphan)));
  if (left.length === record.orphans.length) return record;
  return left.length === 0 ? without(record, 'orphans') : { ...record, orphans: left };
}

/** The servers that no object holds, and when you may cancel them. */
export function orphanMessage({ orphans = [], identifier }: Pick<ServerRecord, 'orphans' | 'identifier'>): string {
  const sources = orphans.map(({ task, attempt, identifier: server }) => {
    if (task !== undefined) return `task ${task}`;
    return attempt === undefined ? `server ${server ?? ''}` : `order ${attempt}`;
  });
  const own = identifier === undefined ? '' : `; this object holds ${identifier}`;
  const [first = ''] = orphans.map(({ attemptedAt = '' }) => attemptedAt).sort();
  const created = first === '' ? '' : ` that was created after ${first}`;
  return (
    `A server that no object holds may exist and cost money, from ${sources.join(', ')}. Look in the provider's control ` +
    `panel for a server${created}. Cancel it there only if you are sure that nothing uses it and that no VirtualServer, in any cluster, ` +
    `holds it${own}`
  );
}

const PREFIX = `${GROUP}/`;
const KNOWN = KNOWN_ANNOTATIONS[SERVER_PLURAL] ?? [];

/** Annotations with the operator's prefix that the operator does not know; most are typos. */
export function unknownAnnotations({ annotations = {} }: Pick<ObjectMeta, 'annotations'>): string[] {
  return Object.keys(annotations).filter((name) => name.startsWith(PREFIX) && !KNOWN.includes(name));
}

/** The annotation that was probably meant by an unknown one. */
export function annotationMeant(name: string): string | undefined {
  const words = KNOWN.map((known) => known.slice(PREFIX.length));
  const meant = similarTo(name.slice(PREFIX.length), words);
  return meant && PREFIX + meant;
}
