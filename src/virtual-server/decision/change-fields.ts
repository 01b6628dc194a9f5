/**
 * The fields in which a server that was just read differs from spec and that can be changed in place: what a request sends for them,
 * and what the server shows of a request. Pure.
 */
import { CHANGEABLE_ADVANCED, isSameText } from '../../api/ordered-fields.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { isObject } from '../../base/deep-equal.ts';
import { abridged } from '../../base/text.ts';
import type { ChangeBody, Server } from '../../provider/types.ts';
import { chosenName, serverNameProblem } from './named.ts';

export type Value = string | number | boolean;

/** A field in which the server differs from spec. */
export interface FieldChange {
  /** Below `spec`. */
  field: string;
  from: Value;
  to: Value;
  /** Why the operator cannot change it to this value. */
  problem?: string;
  needsOff: boolean;
}

/** In the order in which they are sent. */
type Compared = Omit<FieldChange, 'from' | 'to'> & { from: Value | undefined; to: Value | undefined };

/** What the operator may change. */
export const differencesOf = (object: VirtualServer, server: Server): FieldChange[] =>
  (object.spec.changePolicy ?? 'Never') === 'Never' ? [] : allDifferences(object, server);

/** A value that the provider does not show, and one that spec does not set, is no difference. */
export function allDifferences(object: VirtualServer, server: Server): FieldChange[] {
  const { product, diskSize, advanced = {} } = object.spec;
  const shown = valuesOf(server);
  const size = server.specs?.diskSize;
  const isSmaller = size !== undefined && diskSize < size;
  const wrongName = serverNameProblem(object.spec);
  const all: Compared[] = [
    { field: 'product', to: product, needsOff: false },
    {
      field: 'diskSize',
      to: diskSize,
      needsOff: false,
      ...(isSmaller && { problem: `a disk cannot get smaller. Set spec.diskSize to ${size}` }),
    },
    {
      field: 'serverName',
      to: chosenName(object)?.trim(),
      needsOff: false,
      ...(wrongName !== undefined && { problem: wrongName }),
    },
    ...CHANGEABLE_ADVANCED.map((field) => ({
      field: `advanced.${field}`,
      to: advanced[field],
      needsOff: !field.startsWith('extra'),
    })),
  ].map((each) => ({ ...each, from: shown[each.field] }));
  return all.filter((each): each is FieldChange => {
    const { from, to } = each;
    return from !== undefined && to !== undefined && !isSame(each.field, from, to);
  });
}

/** What the server shows, by the fields below `spec`. A server without a name shows none. */
const valuesOf = ({ product, name, specs = {}, ...devices }: Server): Readonly<Record<string, Value | undefined>> => ({
  product,
  diskSize: specs.diskSize,
  serverName: (name ?? '').trim(),
  'advanced.extraCores': specs.extraCores,
  'advanced.extraMemory': specs.extraMemory,
  'advanced.cpuMode': devices.cpuMode,
  'advanced.netDevice': devices.netDevice,
  'advanced.diskBus': devices.diskBus,
  'advanced.tablet': devices.tablet,
});

/** The provider writes `performance`, spec has `Performance`. A name is for people, who choose its case. */
const isSame = (field: string, one: Value, other: Value): boolean =>
  field === 'serverName' ? String(one) === String(other) : isSameText(one, other);

const NAMES: Readonly<Record<string, string>> = {
  product: 'product',
  serverName: 'name',
  'advanced.cpuMode': 'cpu_mode',
  'advanced.netDevice': 'net_device',
  'advanced.diskBus': 'disk_bus',
  'advanced.tablet': 'tablet',
};
const SPECS: Readonly<Record<string, string>> = {
  diskSize: 'disk_size',
  'advanced.extraCores': 'extra_cores',
  'advanced.extraMemory': 'extra_ram',
};

/** What a request sends that makes these changes. */
export function changeBody(changes: readonly FieldChange[]): ChangeBody {
  const named = (names: Readonly<Record<string, string>>): [string, Value][] =>
    changes.flatMap(({ field, to }) => (names[field] === undefined ? [] : [[names[field], to]]));
  const plain = named(NAMES).map(([name, to]) => [name, name === 'cpu_mode' ? String(to).toLowerCase() : to] as const);
  const specs = Object.fromEntries(named(SPECS)) as Record<string, number>;
  return { ...Object.fromEntries(plain), ...(Object.keys(specs).length > 0 && { specs }) };
}

/** The record is bounded, also if all texts are long and consist of quotes. */
const MAX_TEXT = 32;
const short = <V>(value: V): V | string => (typeof value === 'string' ? abridged(value, MAX_TEXT) : value);

/** A value of a key as people read it; undefined if it may be abridged. */
export const readable = (value: Value): string | undefined =>
  // Where a cut would split a character, the text is one shorter.
  String(value).length < MAX_TEXT - 1 ? String(value) : undefined;

/** What tells one change from another. */
export const keyOfChange = (changes: readonly FieldChange[]): string =>
  JSON.stringify(changeBody(changes.map((each) => ({ ...each, to: short(each.to) }))));

const FIELD_OF: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...NAMES, ...SPECS }).map(([field, name]) => [name, field]),
);

/**
 * The fields that a change sends, by its key, each with its value; undefined: the key is none, or has a field that this version does
 * not know.
 */
export function fieldsOf(key: string): ReadonlyMap<string, Value> | undefined {
  try {
    const body: unknown = JSON.parse(key);
    if (!isObject(body)) return undefined;
    const { specs, ...others } = body;
    const sent = Object.entries({ ...others, ...(isObject(specs) && specs) });
    const fields = sent.map(([name, value]) => [FIELD_OF.get(name), value as Value] as const);
    const isKnown = fields.every((each): each is [string, Value] => each[0] !== undefined);
    return isKnown ? new Map(fields) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the server shows all that this change sends. */
export function isShown(key: string, server: Server): boolean {
  const sent = fieldsOf(key);
  if (sent === undefined) return false;
  const shown = valuesOf(server);
  return [...sent].every(([field, value]) => {
    const has = shown[field];
    return has !== undefined && isSame(field, short(has), value);
  });
}

/** Whether the price may depend on one of them. */
export const concernsPrice = (changes: readonly FieldChange[]): boolean => changes.some(({ field }) => isPriced(field));

const isPriced = (field: string): boolean => field === 'product' || SPECS[field] !== undefined;

/** Whether the provider may resize the server for this change. */
export function resizes(key: string): boolean {
  const fields = [...(fieldsOf(key)?.keys() ?? [])];
  return fields.some(isPriced);
}

/** Whether spec asks for all of what this change sends that the price may depend on. */
export function isWanted(key: string, { product, diskSize, advanced = {} }: VirtualServerSpec): boolean {
  const { extraCores, extraMemory } = advanced;
  const values = { product, diskSize, 'advanced.extraCores': extraCores, 'advanced.extraMemory': extraMemory };
  const wanted: Readonly<Record<string, Value | undefined>> = values;
  const sent = fieldsOf(key);
  if (sent === undefined) return false;
  const priced = [...sent].filter(([field]) => isPriced(field));
  return priced.every(([field, value]) => {
    const asked = wanted[field];
    return asked !== undefined && isSame(field, short(asked), value);
  });
}

/** A resize that waits for a restart, in words. */
export function resizeIn({ specs = {}, resize }: Server): string | undefined {
  const later = (['cores', 'ram', 'diskSize'] as const).flatMap((field) => {
    const [is, becomes] = [specs[field], resize?.[field]];
    return is === undefined || becomes === undefined || is === becomes ? [] : [`${field} from ${is} to ${becomes}`];
  });
  return later.length === 0 ? undefined : later.join(', ');
}

/** What spec asks for in the fields that can be changed in place. */
export function wantedText(object: VirtualServer): string {
  const { product, diskSize, advanced = {} } = object.spec;
  const ofAdvanced = CHANGEABLE_ADVANCED.map((field) => advanced[field]);
  return JSON.stringify([product, diskSize, chosenName(object), ...ofAdvanced].map(short));
}
