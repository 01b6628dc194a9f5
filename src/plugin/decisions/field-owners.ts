/**
 * Who owns which fields of an object, for an object that replaces a deleted one of the same name: server-side apply removes a
 * field that is gone from the manifest only if no other manager owns it. Pure.
 */
import * as z from 'zod';
import type { ObjectMeta } from '../../api/meta.ts';
import { GROUP } from '../../api/names.ts';
import { isDeepEqual, isObject } from '../../base/deep-equal.ts';
import { FIELD_MANAGER } from '../cluster/cluster.ts';

/** A tree of fields as the API server writes it (fieldsV1). */
const fields = z.record(z.string(), z.unknown());
type Fields = z.infer<typeof fields>;
const ownerSchema = z.object({
  manager: z.string(),
  operation: z.string(),
  apiVersion: z.string(),
  fieldsV1: fields,
});
export type FieldOwner = z.infer<typeof ownerSchema>;
export const ownersSchema = z.array(ownerSchema);

/** An entry of metadata.managedFields. */
interface Managed extends FieldOwner {
  subresource?: string;
}

/** The owners of spec, with what they own of it, of the labels, and of the annotations of others. */
export function ownersOf(metadata: ObjectMeta): FieldOwner[] {
  return managedIn(metadata).flatMap(({ manager, operation, apiVersion, fieldsV1 }) => {
    const { 'f:metadata': meta, 'f:spec': spec } = fieldsV1;
    if (!isObject(spec)) return [];
    const { 'f:labels': labels, 'f:annotations': annotations } = isObject(meta) ? meta : {};
    const others = isObject(annotations)
      ? Object.fromEntries(Object.entries(annotations).filter(([key]) => !key.startsWith(`f:${GROUP}/`)))
      : undefined;
    const owned = { ...(isObject(labels) && { 'f:labels': labels }), ...(others && { 'f:annotations': others }) };
    const about = Object.keys(owned).length === 0 ? {} : { 'f:metadata': owned };
    return [{ manager, operation, apiVersion, fieldsV1: { ...about, 'f:spec': spec } }];
  });
}

/**
 * metadata.managedFields of an object that this plugin created, with the fields of `owners` given back to them; undefined if
 * the plugin owns none of those.
 */
export function givenBack(metadata: ObjectMeta, owners: readonly FieldOwner[]): object[] | undefined {
  const managed = managedIn(metadata);
  const own = managed.find(isPlugins);
  const others = owners.filter((owner) => !isPlugins(owner));
  if (own === undefined || others.length === 0) return undefined;
  const taken = others.reduce((rest, { fieldsV1 }) => minus(rest, fieldsV1), own.fieldsV1);
  // Such as what `kubectl vps protect` had set, besides the manifest.
  const left = owners
    .filter(isPlugins)
    .reduce((rest, { fieldsV1 }) => plus(rest, common(own.fieldsV1, fieldsV1)), taken);
  if (isDeepEqual(left, own.fieldsV1)) return undefined;
  // A tool that was faster keeps what it has applied since, and removes the rest only if it owns that.
  const back = others.map((owner) => {
    const since = managed.find(({ manager, operation }) => manager === owner.manager && operation === owner.operation);
    return { ...own, ...owner, ...since, fieldsV1: plus(owner.fieldsV1, since?.fieldsV1 ?? {}) };
  });
  const isBack = (entry: Managed): boolean =>
    entry.subresource === undefined &&
    back.some(({ manager, operation }) => manager === entry.manager && operation === entry.operation);
  const rest = allIn(metadata).filter((entry) => entry !== own && !isBack(entry));
  return [...rest, ...back, ...(Object.keys(left).length === 0 ? [] : [{ ...own, fieldsV1: left }])];
}

const isPlugins = ({ manager, operation }: FieldOwner): boolean => manager === FIELD_MANAGER && operation === 'Update';

const allIn = (metadata: ObjectMeta): Managed[] => (metadata as { managedFields?: Managed[] }).managedFields ?? [];

function managedIn(metadata: ObjectMeta): Managed[] {
  return allIn(metadata).filter((entry) => entry.subresource === undefined && ownerSchema.safeParse(entry).success);
}

/** The fields of `from` that are not among `gone`. */
function minus(from: Fields, gone: Fields): Fields {
  const left: Fields = {};
  for (const [key, value] of Object.entries(from)) {
    const other = gone[key];
    if (!isObject(other)) left[key] = value;
    else if (isObject(value) && Object.keys(value).length > 0) {
      const rest = minus(value, other);
      if (Object.keys(rest).length > 0) left[key] = rest;
    }
  }
  return left;
}

/** The fields of `one` and of `other`. */
function plus(one: Fields, other: Fields): Fields {
  const sum: Fields = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const present = sum[key];
    sum[key] = isObject(present) && isObject(value) ? plus(present, value) : value;
  }
  return sum;
}

/** The fields that are in both. */
function common(one: Fields, other: Fields): Fields {
  return minus(one, minus(one, other));
}
