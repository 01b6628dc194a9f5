/** What a set makes of its template: the names and specs of members, its revisions, and the changes of members. Pure. */
import {
  API_VERSION,
  MEMBER_TEMPLATE_ANNOTATION,
  REVISION_LABEL,
  SERVER_KIND,
  SET_KIND,
  SET_LABEL,
} from '../../api/names.ts';
import { ORDERED_FIELDS, UNORDERED_FIELDS, comparedValue, type OrderedField } from '../../api/ordered-fields.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import {
  MAX_REVISIONS,
  RESTARTED_AT,
  REVISIONS_LENGTH,
  type Ordered,
  type VirtualServerSet,
  type VirtualServerSetStatus,
} from '../../api/virtual-server-set.ts';
import { isObject } from '../../base/deep-equal.ts';

/** The ordinal in a name that the set gives; undefined for any other name. */
export function ordinalOf(set: string, name: string): number | undefined {
  const digits = name.startsWith(`${set}-`) ? name.slice(set.length + 1) : '';
  return /^(0|[1-9][0-9]{0,4})$/.test(digits) ? Number(digits) : undefined;
}

/** The name of the set that would give this name; undefined if none would. */
export function givingSet(name: string): string | undefined {
  const set = name.slice(0, name.lastIndexOf('-'));
  return ordinalOf(set, name) === undefined ? undefined : set;
}

export const nameOf = (set: string, ordinal: number): string => `${set}-${ordinal}`;

/**
 * Equal for specs that order the same; the API server may return fields in a different order. The text of a spec must not
 * change from version to version: its hash is stored. So the fields that came later count only if they are set to something else than
 * what the provider does anyway.
 */
export function revisionOf(spec: Ordered): string {
  const { product, image, diskSize, sshKeys = [], sshKeysFrom = [], ...later } = orderedOf(spec);
  // No server is replaced for a line end, which no order sends. Spaces without one stay: earlier versions compared them.
  const keys = sshKeys.map((key) => key.replace(/^[ \t\r\n]+|[\r\n][ \t\r\n]*$/g, ''));
  const from = sshKeysFrom.map(({ name, key }) => [name, key]);
  const more = (Object.keys(later) as OrderedField[])
    .map((field) => [field, comparedValue(field, spec[field])] as const)
    .filter(([field, value]) => value !== comparedValue(field, undefined));
  return JSON.stringify([product, image, diskSize, keys, from, ...more]);
}

/** What an order sends of a spec. */
export function orderedOf(spec: Ordered): Ordered {
  const given = ORDERED_FIELDS.filter((field) => spec[field] !== undefined);
  return Object.fromEntries(given.map((field) => [field, spec[field]])) as Ordered;
}

/** A short name of a revision, only for display: FNV-1a with 32 bits, as in the label pod-template-hash. */
export function shortName(revision: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < revision.length; index++) {
    hash = Math.imul(hash ^ revision.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, '0');
}

type Revisions = NonNullable<VirtualServerSetStatus['revisions']>;

/** The revisions of the status; the template's revision comes first. */
export function withTemplate({ spec: { template }, status }: VirtualServerSet): Revisions {
  const text = revisionOf(template.spec);
  const spec = orderedOf(template.spec);
  const others = (status?.revisions ?? []).filter((other) => revisionOf(other.spec) !== text);
  const kept: Revisions = [];
  let length = 0;
  for (const revision of [{ revision: shortName(text), spec }, ...others].slice(0, MAX_REVISIONS)) {
    length += JSON.stringify(revision).length;
    if (length > REVISIONS_LENGTH) break;
    kept.push(revision);
  }
  return kept;
}

type Through = Partial<Pick<VirtualServerSpec, (typeof UNORDERED_FIELDS)[number]>>;

/** What a set writes to a member besides what the order sends. */
interface Written {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  spec: Through;
  /** Short name of the revision that the set created the member from, or changed it to; undefined for an adopted one. */
  revision?: string;
  /** The generation of the member that has the last change in place. */
  changed?: number;
}

export interface ControllerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller: true;
  blockOwnerDeletion: true;
}

export function ownerOf({ metadata: { name, uid } }: VirtualServerSet): ControllerReference {
  return { apiVersion: API_VERSION, kind: SET_KIND, name, uid, controller: true, blockOwnerDeletion: true };
}

export interface MemberManifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences: ControllerReference[];
  };
  spec: VirtualServerSpec;
}

export function manifestOf(set: VirtualServerSet, ordinal: number): MemberManifest {
  const { name, namespace } = set.metadata;
  const { spec } = set.spec.template;
  const revision = shortName(revisionOf(spec));
  const written = { ...writtenTo(set, ordinal, restartOf(set)), revision };
  return {
    apiVersion: API_VERSION,
    kind: SERVER_KIND,
    metadata: {
      name: nameOf(name, ordinal),
      namespace,
      labels: { ...written.labels, [SET_LABEL]: name, [REVISION_LABEL]: revision },
      annotations: { ...written.annotations, [MEMBER_TEMPLATE_ANNOTATION]: JSON.stringify(written) },
      ownerReferences: [ownerOf(set)],
    },
    spec: { ...spec, ...written.spec },
  };
}

/** The last restart of the set, as its template names it; a tool may empty the annotation instead of removing it. */
function restartOf({ spec: { template } }: VirtualServerSet): string | undefined {
  return template.metadata?.annotations?.[RESTARTED_AT] || undefined;
}

/** `restartedAt`: the restart that the member is from, which the set does not change. */
function writtenTo(
  { spec: { template } }: VirtualServerSet,
  ordinal: number | undefined,
  restartedAt: string | undefined,
): Written {
  const { labels = {}, annotations: { [RESTARTED_AT]: _last, ...others } = {} } = template.metadata ?? {};
  const annotations = { ...others, ...(restartedAt !== undefined && { [RESTARTED_AT]: restartedAt }) };
  const { connectionSecretName: prefix } = template.spec;
  const own = prefix === undefined || ordinal === undefined ? undefined : `${prefix}-${ordinal}`;
  const spec = { ...template.spec, connectionSecretName: own };
  const fields = UNORDERED_FIELDS.map((field) => [field, spec[field]] as const).filter(
    ([, value]) => value !== undefined,
  );
  return { labels, annotations, spec: Object.fromEntries(fields) };
}

/** A merge patch; `null` removes a value. */
export interface MemberPatch {
  metadata: { labels: Record<string, string | null>; annotations: Record<string, string | null> };
  spec: Record<string, unknown>;
}

interface Existing {
  object: VirtualServer;
  /** Undefined if the name is not one that the set gives. */
  ordinal: number | undefined;
  /** Short name of the revision that a set created it from; undefined for an adopted member. */
  createdFrom: string | undefined;
}

/**
 * What changed in the template since the set wrote to this member; undefined if nothing. As with `kubectl apply`, a value
 * that you changed on the member stays until the template changes the same value.
 */
export function changesFor(
  set: VirtualServerSet,
  { object, ordinal, createdFrom: revision }: Existing,
): MemberPatch | undefined {
  const before = object.metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION];
  const found = parse(before);
  const restartedAt = found === undefined ? restartOf(set) : found.annotations[RESTARTED_AT];
  const next: Written = {
    ...writtenTo(set, ordinal, restartedAt),
    ...(revision !== undefined && { revision }),
    ...(found?.changed !== undefined && { changed: found.changed }),
  };
  const text = JSON.stringify(next);
  if (before === text) return undefined;
  // An adopted object that no set wrote to keeps what it has.
  const last = found ?? next;
  return {
    metadata: {
      labels: differences(last.labels, next.labels) as Record<string, string | null>,
      annotations: {
        ...(differences(last.annotations, next.annotations) as Record<string, string | null>),
        [MEMBER_TEMPLATE_ANNOTATION]: text,
      },
    },
    spec: differences(last.spec, next.spec),
  };
}

/** The patch that changes a member in place, which has everything else that the template says. */
export function patchInPlace(set: VirtualServerSet, { object, ordinal }: Existing, spec: object): MemberPatch {
  const found = parse(object.metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION]);
  const revision = shortName(revisionOf(set.spec.template.spec));
  const written = writtenTo(set, ordinal, found?.annotations[RESTARTED_AT]);
  // The API server raises the generation with every change of spec.
  const changed = object.metadata.generation + (Object.keys(spec).length > 0 ? 1 : 0);
  return {
    metadata: {
      labels: { [REVISION_LABEL]: revision },
      annotations: { [MEMBER_TEMPLATE_ANNOTATION]: JSON.stringify({ ...written, revision, changed }) },
    },
    spec: { ...spec },
  };
}

/**
 * Whether the operator has seen the last change in place. The number may be from an object that was restored, which begins
 * with a new generation.
 */
export function isObserved({ metadata, status }: VirtualServer): boolean {
  const changed: unknown = parse(metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION])?.changed;
  const seen = status?.observedGeneration ?? -1;
  return typeof changed !== 'number' || seen >= Math.min(changed, metadata.generation);
}

/**
 * False if the set was restarted after it first wrote to the member. By the text, because the clock of the user who
 * restarts the set may be wrong. A member that no set wrote to is as good as new.
 */
export function isSinceRestart(set: VirtualServerSet, { metadata }: VirtualServer): boolean {
  const last = restartOf(set);
  if (last === undefined) return true;
  const written = parse(metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION]);
  return written === undefined || written.annotations[RESTARTED_AT] === last;
}

/** Short name of the revision that a set created the member from, or changed it to; undefined if none did. */
export function createdFrom({ metadata }: VirtualServer): string | undefined {
  const revision: unknown = parse(metadata.annotations?.[MEMBER_TEMPLATE_ANNOTATION])?.revision;
  return typeof revision === 'string' ? revision : undefined;
}

function parse(text: string | undefined): Written | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    const { labels, annotations, spec } = (value ?? {}) as Partial<Record<keyof Written, unknown>>;
    return [labels, annotations, spec].every(isObject) ? (value as Written) : undefined;
  } catch {
    return undefined;
  }
}

function differences(before: object, after: object): Record<string, unknown> {
  const [old, now] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const changed = keys.filter((key) => JSON.stringify(old[key]) !== JSON.stringify(now[key]));
  return Object.fromEntries(changed.map((key) => [key, now[key] ?? null]));
}
