/**
 * The fields of spec that an order sends, in one table: the body of the order, the policy that locks the fields, hand-overs,
 * plans and the revisions of sets all come from it. Once the order may have been sent, a change would misrepresent the server.
 */
import { without } from '../base/without.ts';
import { isDeepEqual, isObject } from '../base/deep-equal.ts';
import { RECORD_ANNOTATION } from './names.ts';
import { mirrorIn } from './record.ts';
import type { Advanced, ChangePolicy, VirtualServer, VirtualServerSpec } from './virtual-server.ts';

/** The fields that no order sends, so they may change at any time. Every other field of spec needs a row in the table below. */
export const UNORDERED_FIELDS = [
  'apiKeySecretRef',
  'changePolicy',
  'connectionSecretName',
  'deletionDelay',
  'deletionPolicy',
  'deletionProtection',
  'expiresAt',
  'power',
  'sshCheck',
  'ttl',
] as const satisfies readonly (keyof VirtualServerSpec)[];

export type OrderedField = Exclude<keyof VirtualServerSpec, (typeof UNORDERED_FIELDS)[number]>;

/** The fields of an order that few objects set. */
export type FurtherField = Exclude<
  OrderedField,
  'product' | 'image' | 'diskSize' | 'identifier' | 'sshKeys' | 'sshKeysFrom'
>;

/** What an order sends: the values of spec, and what the Secrets hold that spec names. */
export type OrderValues = Pick<VirtualServerSpec, Exclude<OrderedField, keyof FromSecrets>> &
  Pick<FromSecrets, 'sshKeysFrom'> &
  Partial<FromSecrets>;

/** What an order sends from Secrets. */
export interface FromSecrets {
  sshKeysFrom: readonly string[];
  userDataFrom: string | undefined;
}

type Sent = string | number | boolean;
/** Several fields of the body, by name. */
type SentFields = Readonly<Record<string, Sent>>;

/** A row that does not say as what its field is sent does not compile. */
type Row<Value> = Uses & (AsOne<Value> | AsSeveral<Value>);

interface AsOne<Value> {
  /** The provider's name of the field in the body. Lists under one name are sent together. */
  sentAs: string;
  /** The value that is sent; a list is sent as one text with a line for each entry. */
  encode: (value: Value) => Sent | readonly string[];
}

interface AsSeveral<Value> {
  sentAs?: never;
  /** The fields of the body, with the provider's names. */
  encode: (value: Value) => SentFields;
}

interface Uses {
  /** What counts when two values are compared, in TypeScript (also for a manifest, whose spec may be anything) and in CEL. */
  compared?: { value: (value: unknown) => unknown; cel: (value: string) => string };
  /** How the value may change while the server lives. Left out: never. */
  inPlace?: InPlace;
}

/** A change that the operator makes to the server itself. */
export interface InPlace {
  /** The least `spec.changePolicy` that allows it. */
  policy: Exclude<ChangePolicy, 'Never'>;
  /** Whether these two values allow it; never if the later one is missing. In TypeScript and in CEL, which gets the paths of both values. */
  allows: { value: (before: unknown, after: unknown) => boolean; cel: (before: string, after: string) => string };
  /** Why a pair of values may not allow it. */
  limit?: string;
  /**
   * Whether the value after is what the server has, or what the server can become if `mayChange`. The value before does not
   * count: it may never have been sent. In TypeScript and in CEL, which gets the expression of `mayChange`.
   */
  returns: { value: (known: Known, values: Values) => boolean; cel: (mayChange: string) => string };
}

/** An object whose status shows its server. */
export type Known = Pick<VirtualServer, 'metadata' | 'status'>;

interface Values {
  before: unknown;
  after: unknown;
  /** Whether `spec.changePolicy` allows changes of the field. */
  mayChange: boolean;
}

const asIs = <Value>(value: Value): Value => value;
const trimmed = (key: unknown): unknown => (typeof key === 'string' ? key.trim() : key);

/** Setting a field to the provider's default counts as not setting it. */
const usually = (usual: Sent): Required<Row<never>>['compared'] => ({
  value: (value) => value ?? usual,
  cel: (value) => `${value}.orValue(${typeof usual === 'string' ? `'${usual}'` : usual})`,
});

const ADVANCED: { readonly [F in keyof Required<Advanced>]: string } = {
  hostServer: 'host_server',
  extraCores: 'extra_cores',
  extraMemory: 'extra_ram',
  cpuMode: 'cpu_mode',
  netDevice: 'net_device',
  diskBus: 'disk_bus',
  tablet: 'tablet',
};

/** In the order of the table: the hash of the body is stored, and the API server may return the fields in another one. */
function advancedBody({ cpuMode, ...others }: Advanced): SentFields {
  const values: Advanced | SentFields = { ...others, ...(cpuMode && { cpuMode: cpuMode.toLowerCase() }) };
  const sent = (Object.keys(ADVANCED) as (keyof Advanced)[]).map((field) => [ADVANCED[field], values[field]] as const);
  return Object.fromEntries(sent.filter((each): each is [string, Sent] => each[1] !== undefined));
}

const sortedByKey = (value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;

const isSet: InPlace['allows'] = {
  value: (_before, after) => after !== undefined,
  cel: (_before, after) => `has(${after})`,
};

const LARGER: InPlace['allows'] = {
  value: (before, after) => typeof before === 'number' && typeof after === 'number' && after > before,
  cel: (before, after) => `${after} > ${before}`,
};

/** CEL: the status, of which the schema does not declare the whole record. */
const STATUS = 'dyn(oldObject).?status';

const priceIn = ({ status }: Known): { product?: unknown; diskSize?: unknown; isDormant?: unknown } =>
  mirrorIn(status)?.price ?? {};

/** The provider writes `performance`, spec has `Performance`. In TypeScript and in CEL. */
export const isSameText = (one: unknown, other: unknown): boolean =>
  String(one).toLowerCase() === String(other).toLowerCase();
const isSameTextInCel = (one: string, other: string): string => {
  const texts = `type(${one}) == string && type(${other}) == string`;
  return `${one} == ${other} || (${texts} && ${one}.lowerAscii() == ${other}.lowerAscii())`;
};

/**
 * What the provider does not show stays as it was ordered, which the record has with the price. A dormant server may be shown as another
 * product than the one that it is awake.
 */
const BACK_TO_PRODUCT: InPlace['returns'] = {
  value: (known, { after }) => {
    const { product, isDormant } = priceIn(known);
    const has = isDormant === true ? product : (known.status?.product ?? product);
    return has !== undefined && isSameText(after, has);
  },
  cel: () => {
    const price = `${STATUS}.?record.?price`;
    const has = `(${price}.?isDormant.orValue(false) == true ? optional.none() : ${STATUS}.?product).or(${price}.?product)`;
    return `${has}.optMap(it, ${isSameTextInCel('dyn(object).spec.product', 'it')}).orValue(false)`;
  },
};

const BACK_TO_DISK: InPlace['returns'] = {
  value: (known, { after, mayChange }) => {
    const size = known.status?.specs?.diskSize ?? priceIn(known).diskSize;
    return after === size || (mayChange && LARGER.value(size, after));
  },
  cel: (mayChange) =>
    `${STATUS}.?specs.?diskSize.or(${STATUS}.?record.?price.?diskSize)` +
    `.optMap(it, object.spec.diskSize == it || (${mayChange} && object.spec.diskSize > it)).orValue(false)`,
};

/** Of a name that the operator marks, the provider gets only so many characters before the space and the mark (decision/named.ts). */
export const MAX_MARKED = 89;

/** A server without a chosen name has none, or one that the operator made for it (decision/named.ts). */
const BACK_TO_NAME: InPlace['returns'] = {
  value: ({ metadata: { namespace, uid }, status }, { after }) => {
    const [name, mark] = [(status?.name ?? '').trim(), `(${uid.slice(0, 8)})`];
    if (typeof after === 'string') return name === after.trim() || name === `${after.slice(0, MAX_MARKED)} ${mark}`;
    return name === '' || (name.startsWith(`${namespace}/`) && name.endsWith(mark));
  },
  cel: () => {
    const mark = "'(' + oldObject.metadata.uid.substring(0, 8) + ')'";
    const cut = `(it.size() > ${MAX_MARKED} ? it.substring(0, ${MAX_MARKED}) : it)`;
    const chosen = `object.spec.?serverName.optMap(it, variables.name == it.trim() || variables.name == ${cut} + ' ' + ${mark})`;
    const made = `variables.name.startsWith(oldObject.metadata.namespace + '/') && variables.name.endsWith(${mark})`;
    return `${chosen}.orValue(variables.name == '' || (${made}))`;
  },
};

/** The fields of `advanced` that may change in place. */
export const CHANGEABLE_ADVANCED = ['extraCores', 'extraMemory', 'cpuMode', 'netDevice', 'diskBus', 'tablet'] as const;

const keptIn =
  (before: unknown, after: unknown) =>
  (field: keyof Advanced): boolean => {
    const [old, now] = [before, after].map((value) => (isObject(value) ? value[field] : undefined));
    return field === 'hostServer' ? old === now : old === undefined || now !== undefined;
  };

const SAME_HOST: InPlace['allows'] = {
  value: (before, after) => (['hostServer', ...CHANGEABLE_ADVANCED] as const).every(keptIn(before, after)),
  cel: (before, after) => {
    const of = (value: string, field: string): string => `${value.replace('.spec.', '.spec.?')}.?${field}`;
    const kept = CHANGEABLE_ADVANCED.map(
      (field) => `(!${of(before, field)}.hasValue() || ${of(after, field)}.hasValue())`,
    );
    return [`${of(before, 'hostServer')} == ${of(after, 'hostServer')}`, ...kept].join(' && ');
  },
};

/** Each field on its own: kept as it is, changed as the policy allows, or as the server has it. */
const BACK_TO_ADVANCED: InPlace['returns'] = {
  value: ({ status }, { before, after, mayChange }) => {
    const [shown, old, now] = [status?.advanced, before, after].map((value) => (isObject(value) ? value : {}));
    const isFine = (field: keyof Advanced): boolean => {
      const [has, was, becomes] = [shown?.[field], old?.[field], now?.[field]];
      if (was === becomes || (mayChange && becomes !== undefined)) return true;
      if (has === undefined) return false;
      return becomes === undefined ? !isSameText(was, has) : isSameText(becomes, has);
    };
    return old?.hostServer === now?.hostServer && CHANGEABLE_ADVANCED.every(isFine);
  },
  cel: (mayChange) => {
    const [shown, old, now] = [`${STATUS}.?advanced`, 'dyn(oldObject).spec.?advanced', 'dyn(object).spec.?advanced'];
    const fields = CHANGEABLE_ADVANCED.map((field) => `'${field}'`).join(', ');
    const value = (of: string): string => `${of}[?field].value()`;
    return (
      `${old}.?hostServer == ${now}.?hostServer && [${fields}].all(field, ${old}[?field] == ${now}[?field] || ` +
      `(${mayChange} && ${now}[?field].hasValue()) || (${shown}[?field].hasValue() && ` +
      `(${now}[?field].hasValue() ? (${isSameTextInCel(value(now), value(shown))}) : !(${isSameTextInCel(value(old), value(shown))}))))`
    );
  },
};

/** The only field that is sent in the path of the order. */
const PATH_FIELD = 'identifier';
type BodyField = Exclude<OrderedField, typeof PATH_FIELD>;

type BodyRows = { readonly [F in BodyField]: Row<NonNullable<OrderValues[F]>> };
interface Rows extends BodyRows {
  readonly [PATH_FIELD]: Uses;
}

const ROWS: Rows = {
  product: {
    sentAs: 'product',
    encode: asIs,
    inPlace: { policy: 'Online', allows: isSet, returns: BACK_TO_PRODUCT },
  },
  image: { sentAs: 'image', encode: asIs },
  diskSize: {
    sentAs: 'disk_size',
    encode: asIs,
    inPlace: { policy: 'Online', allows: LARGER, limit: 'A disk can only get larger', returns: BACK_TO_DISK },
  },
  identifier: {},
  sshKeys: {
    sentAs: 'ssh_keys',
    encode: (keys) => keys.map((key) => key.trim()),
    // A tool that reads the same key from a file may add or drop the line end; the order sends neither.
    compared: {
      value: (keys) => (Array.isArray(keys) ? keys.map(trimmed) : keys),
      cel: (keys) => `${keys}.optMap(keys, keys.map(key, key.trim()))`,
    },
  },
  sshKeysFrom: { sentAs: 'ssh_keys', encode: asIs },
  ipv4: { sentAs: 'ipv4', encode: asIs, compared: usually(false) },
  zone: { sentAs: 'zone', encode: asIs },
  hostname: { sentAs: 'hostname', encode: asIs },
  serverName: {
    sentAs: 'name',
    encode: asIs,
    inPlace: {
      policy: 'Online',
      allows: isSet,
      limit: 'spec.serverName can be changed, but not removed',
      returns: BACK_TO_NAME,
    },
  },
  diskType: { sentAs: 'disk_type', encode: asIs, compared: usually('ssd') },
  forwardDNS: { sentAs: 'set_forward_dns', encode: asIs },
  reverseDNS: { sentAs: 'set_reverse_dns', encode: asIs },
  advanced: {
    encode: advancedBody,
    compared: { value: sortedByKey, cel: asIs },
    inPlace: {
      policy: 'AllowStop',
      allows: SAME_HOST,
      limit: 'spec.advanced.hostServer cannot change, and no field of spec.advanced can be removed',
      returns: BACK_TO_ADVANCED,
    },
  },
  storedUserData: { sentAs: 'user_data', encode: asIs },
  userData: { sentAs: 'user_data_string', encode: asIs },
  userDataFrom: { sentAs: 'user_data_string', encode: asIs },
};

export const ORDERED_FIELDS = Object.keys(ROWS) as readonly OrderedField[];

/** The body of the order. A field that is not set is not sent. */
export function orderBody(values: OrderValues): Readonly<Record<string, Sent>> {
  const body = new Map<string, Sent | readonly string[]>();
  for (const field of ORDERED_FIELDS) {
    if (field === PATH_FIELD) continue;
    const sent = encoded(field, values);
    if (isFields(sent)) {
      for (const [name, value] of Object.entries(sent)) body.set(name, value);
      continue;
    }
    const { sentAs } = ROWS[field];
    if (sent === undefined || sentAs === undefined) continue;
    const before = body.get(sentAs);
    body.set(sentAs, isList(sent) && isList(before) ? [...before, ...sent] : sent);
  }
  return Object.fromEntries([...body].map(([name, sent]) => [name, isList(sent) ? sent.join('\n') : sent]));
}

type Encoded = Sent | readonly string[] | SentFields | undefined;

function encoded<F extends BodyField>(field: F, values: Pick<OrderValues, F>): Encoded {
  const row: BodyRows[F] = ROWS[field];
  const value = values[field];
  return value === undefined ? undefined : row.encode(value);
}

const isList = (sent: Encoded): sent is readonly string[] => Array.isArray(sent);
const isFields = (sent: Encoded): sent is SentFields => isObject(sent);

/** A spec, or what a manifest has in its place. */
type AnySpec = Readonly<Partial<Record<OrderedField, unknown>>>;

/** The ordered fields in which two specs differ. */
export function orderDifference(one: AnySpec, other: AnySpec): OrderedField[] {
  return ORDERED_FIELDS.filter(
    (field) => !isDeepEqual(comparedValue(field, one[field]), comparedValue(field, other[field])),
  );
}

/** What counts of a value when it is compared with another one. */
export const comparedValue = (field: OrderedField, value: unknown): unknown =>
  ROWS[field].compared?.value(value) ?? value;

/** Without the fields that are set to what the provider does anyway. */
export function withoutUsual<Values extends AnySpec>(values: Values): Values {
  const usual = ORDERED_FIELDS.filter(
    (field) => comparedValue(field, values[field]) === comparedValue(field, undefined),
  );
  return without<AnySpec, OrderedField>(values, ...usual) as Values;
}

/** CEL: whether `object` and `oldObject` have the same value. */
export function isSameInCel(field: OrderedField): string {
  const cel = ROWS[field].compared?.cel ?? asIs;
  return `${cel(`object.spec.?${field}`)} == ${cel(`oldObject.spec.?${field}`)}`;
}

/** What the policies allow, from least to most. */
const ALLOWED: Readonly<Record<ChangePolicy, readonly ChangePolicy[]>> = {
  Never: [],
  Online: ['Online'],
  AllowStop: ['Online', 'AllowStop'],
};

/** How a field may change in place; undefined: never. */
export const inPlaceOf = (field: OrderedField): InPlace | undefined => ROWS[field].inPlace;

/** The policies of which each allows what this one does. */
export const policiesFor = (least: ChangePolicy): ChangePolicy[] =>
  (Object.keys(ALLOWED) as ChangePolicy[]).filter((policy) => ALLOWED[policy].includes(least));

/** Whether the policy allows the change of this field from one value to the other, in place. */
export function changesInPlace(
  field: OrderedField,
  { before, after, policy = 'Never' }: { before: unknown; after: unknown; policy?: ChangePolicy | undefined },
): boolean {
  const { inPlace } = ROWS[field];
  return inPlace !== undefined && ALLOWED[policy].includes(inPlace.policy) && inPlace.allows.value(before, after);
}

/**
 * Whether a request to change the server in place may be under way, or may still have an effect. The annotation has it before the request
 * is sent.
 */
export function mayBeChanging({ metadata: { annotations }, status }: Known): boolean {
  const text = annotations?.[RECORD_ANNOTATION] ?? '';
  const { change, changeRequests } = mirrorIn(status) ?? {};
  return OPEN_CHANGE.some((key) => text.includes(key)) || (changeRequests ?? change?.sentAt) !== undefined;
}

/** A quote inside a text is escaped. The second is of an earlier version, which noted only what was accepted. */
const OPEN_CHANGE = ['"changeRequests":', '"sentAt":'] as const;

/** CEL: the same. */
export const MAY_BE_CHANGING = ((): string => {
  const text = `oldObject.metadata.?annotations[?'${RECORD_ANNOTATION}'].orValue('')`;
  return [
    ...OPEN_CHANGE.map((key) => `${text}.contains('${key}')`),
    `${STATUS}.?record.?changeRequests.hasValue()`,
    `${STATUS}.?record.?change.?sentAt.hasValue()`,
  ].join(' || ');
})();

/** What spec may become by the server that was read, once no request is under way: see `InPlace.returns`. */
export function returnsTo(
  field: OrderedField,
  known: Known,
  { before, after, policy = 'Never' }: { before: unknown; after: unknown; policy?: ChangePolicy | undefined },
): boolean {
  const { inPlace } = ROWS[field];
  if (inPlace === undefined || known.status?.serverStatus === undefined) return false;
  return inPlace.returns.value(known, { before, after, mayChange: ALLOWED[policy].includes(inPlace.policy) });
}
