/**
 * Who owns which fields of an object, for an object that replaces a deleted one of the same name: server-side apply removes a
 * field that is gone from the manifest only if nobody else owns it. Pure.
 */
import * as z from 'zod';
import type { ObjectMeta } from '../../api/meta.ts';
import { GROUP } from '../../api/names.ts';
import { isObject } from '../../base/deep-equal.ts';
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
  const own = managed.find(({ manager, operation }) => manager === FIELD_MANAGER && operation === 'Update');
  const others = owners.filter(({ manager }) => manager !== FIELD_MANAGER);
  if (own === undefined || others.length === 0) return undefined;
  const left = others.reduce((rest, { fieldsV1 }) => minus(rest, fieldsV1), own.fieldsV1);
  if (JSON.stringify(left) === JSON.stringify(own.fieldsV1)) return undefined;
  // A tool that was faster may have applied less: it removes the rest only if it owns that.
  const isOthers = ({ manager, operation, subresource }: Managed): boolean =>
    subresource === undefined && others.some((owner) => owner.manager === manager && owner.operation === operation);
  const rest = allIn(metadata).filter((entry) => entry !== own && !isOthers(entry));
  const back = others.map((owner) => ({ ...own, ...owner }));
  return [...rest, ...back, ...(Object.keys(left).length === 0 ? [] : [{ ...own, fieldsV1: left }])];
}

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
