/** Which members a changed template reaches in place, and which need a new server. Pure. */
import { changesInPlace, orderDifference, type OrderedField } from '../../api/ordered-fields.ts';
import type { Ordered, VirtualServerSet } from '../../api/virtual-server-set.ts';
import { cut } from '../../base/text.ts';
import type { Member } from './member.ts';
import { changesFor, isSinceRestart } from './template.ts';

export interface MemberChange {
  /** What the spec of the member gets. */
  spec: Readonly<Record<string, unknown>>;
  /** The member takes it now. If not, it is being created, or the set has to write something else first. */
  isDue: boolean;
  /** What in the member's own spec forbids it. The set neither changes nor replaces such a member. */
  obstacle?: { field: OrderedField; why: string };
}

/**
 * How the template gets into an outdated member without a new server; undefined: only with one. It depends on what changed in
 * the template, because a policy or you may have changed the spec of the member.
 */
export function memberChangeOf(set: VirtualServerSet, member: Member): MemberChange | undefined {
  const { object, createdFrom } = member;
  const { spec: template } = set.spec.template;
  const { changePolicy: policy } = template;
  if (!isSinceRestart(set, object)) return undefined;
  const known = set.status?.revisions?.find(({ revision }) => revision === createdFrom);
  const from: Ordered = known?.spec ?? object.spec;
  const fields = orderDifference(from, template);
  const isInPlace = (field: OrderedField): boolean =>
    changesInPlace(field, { before: from[field], after: template[field], policy });
  if (policy === undefined || policy === 'Never' || !fields.every(isInPlace)) return undefined;
  const own = orderDifference(object.spec, template).filter((field) => fields.includes(field));
  const isWritten = changesFor(set, member) === undefined;
  // The same order may have to be sent again until its server was read.
  const isDue = isWritten && (member.holdsNothing || object.status?.serverStatus !== undefined);
  const obstacle = own.find((field) => !allows(member, field, template[field]));
  const spec = Object.fromEntries(own.map((field) => [field, template[field]]));
  if (!isDue || obstacle === undefined) return { spec, isDue };
  const { changePolicy: its = 'Never', [obstacle]: value } = object.spec;
  const why =
    its === policy ? `spec.${obstacle} ${cut(JSON.stringify(value ?? null), 64)}` : `spec.changePolicy ${its}`;
  return { spec, isDue: false, obstacle: { field: obstacle, why } };
}

const allows = ({ object: { spec } }: Member, field: OrderedField, after: unknown): boolean =>
  changesInPlace(field, { before: spec[field], after, policy: spec.changePolicy });
