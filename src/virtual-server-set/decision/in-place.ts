/** Which members a changed template reaches in place, and which need a new server. Pure. */
import {
  changesInPlace,
  comparedValue,
  inPlaceOf,
  mayBeChanging,
  orderDifference,
  returnsTo,
  type OrderedField,
} from '../../api/ordered-fields.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Ordered, VirtualServerSet } from '../../api/virtual-server-set.ts';
import { isObject } from '../../base/deep-equal.ts';
import { cut } from '../../base/text.ts';
import type { Member } from './member.ts';
import { isSinceRestart } from './template.ts';

export interface MemberChange {
  /** What the spec of the member gets. */
  spec: Readonly<Record<string, unknown>>;
  /** The member takes it now. If not, it is being created, or the set has to write something else first. */
  isDue: boolean;
  /** The server has all that already, so nothing is sent to it. */
  isQuiet?: true;
  /** A request to change the server may be under way. Its end tells whether the template gets into the member in place. */
  waits?: true;
  /** What in the member's own spec forbids it. The set neither changes nor replaces such a member. */
  obstacle?: { field: OrderedField; why: string };
}

/**
 * How the template gets into an outdated member without a new server; undefined: only with one. It depends on what changed in
 * the template, because a policy or you may have changed the spec of the member. And on the server that was read: it may have what
 * the template says, because an earlier template never reached it.
 */
export function memberChangeOf(set: VirtualServerSet, member: Member): MemberChange | undefined {
  const { object, createdFrom } = member;
  const { spec: template } = set.spec.template;
  const { changePolicy: policy } = template;
  if (!isSinceRestart(set, object)) return undefined;
  const known = set.status?.revisions?.find(({ revision }) => revision === createdFrom);
  const from: Ordered = known?.spec ?? object.spec;
  const missing = orderDifference(object.spec, template);
  // A field that you have changed to the new value yourself needs nothing.
  const fields = orderDifference(from, template).filter((field) => missing.includes(field));
  const returns = (field: OrderedField): boolean =>
    returnsTo(field, object, { before: object.spec[field], after: template[field], policy });
  const left = fields.filter(
    (field) => !changesInPlace(field, { before: from[field], after: template[field], policy }),
  );
  const lost = left.filter((field) => !returns(field));
  if (lost.length > 0) {
    const field = known === undefined && lost.every((each) => mayBeYours(set, member, each)) ? lost[0] : undefined;
    const obstacle = field && { field, why: shown(object, field) };
    return obstacle && { spec: {}, isDue: false, obstacle };
  }
  if (left.length > 0 && mayBeChanging(object)) return { spec: {}, isDue: false, waits: true };
  const isWritten = member.update === undefined;
  // The same order may have to be sent again until its server was read.
  const isDue = isWritten && (member.holdsNothing || object.status?.serverStatus !== undefined);
  const obstacle = fields.find((field) => !allows(member, field, template[field]));
  const spec = Object.fromEntries(fields.map((field) => [field, patchTo(object.spec[field], template[field])]));
  const isQuiet = fields.every((field) =>
    returnsTo(field, object, { before: object.spec[field], after: template[field] }),
  );
  if (!isDue || obstacle === undefined) return { spec, isDue, ...(isQuiet && { isQuiet }) };
  const { changePolicy: its = 'Never' } = object.spec;
  const why = its === policy ? shown(object, obstacle) : `spec.changePolicy ${its}`;
  return { spec, isDue: false, obstacle: { field: obstacle, why } };
}

const shown = ({ spec }: VirtualServer, field: OrderedField): string =>
  `spec.${field} ${cut(JSON.stringify(spec[field] ?? null), 64)}`;

/**
 * Whether the value of this field may be your own, of a member whose template the set does not know anymore: no template that it
 * knows had the value, and the field can change in place. A new server would lose the disk that you made larger, for example.
 */
function mayBeYours({ spec, status }: VirtualServerSet, { object, createdFrom }: Member, field: OrderedField): boolean {
  if (createdFrom === undefined || (spec.template.spec.changePolicy ?? 'Never') === 'Never') return false;
  const own = JSON.stringify(comparedValue(field, object.spec[field]));
  const isOf = ({ spec: other }: { spec: Ordered }): boolean =>
    JSON.stringify(comparedValue(field, other[field])) === own;
  return inPlaceOf(field) !== undefined && !(status?.revisions ?? []).some(isOf);
}

const allows = ({ object }: Member, field: OrderedField, after: unknown): boolean => {
  const { [field]: before, changePolicy: policy } = object.spec;
  const values = { before, after, policy };
  return changesInPlace(field, values) || (!mayBeChanging(object) && returnsTo(field, object, values));
};

/** For a merge patch, in which null removes a value. */
function patchTo(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return after ?? null;
  const dropped = Object.keys(before).filter((key) => after[key] === undefined);
  return { ...after, ...Object.fromEntries(dropped.map((key) => [key, null])) };
}
