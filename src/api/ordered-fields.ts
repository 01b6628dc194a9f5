/**
 * The fields of spec that an order sends, in one table: the body of the order, the policy that locks the fields, hand-overs,
 * plans and the revisions of sets all come from it. Once the order may have been sent, a change would misrepresent the server.
 */
import { isDeepEqual } from '../base/deep-equal.ts';
import type { VirtualServerSpec } from './virtual-server.ts';

/** The fields that may change while the server lives. Every other field of spec needs a row in the table below. */
export const CHANGEABLE_FIELDS = [
  'apiKeySecretRef',
  'connectionSecretName',
  'deletionDelay',
  'deletionPolicy',
  'deletionProtection',
  'expiresAt',
  'sshCheck',
  'ttl',
] as const satisfies readonly (keyof VirtualServerSpec)[];

export type OrderedField = Exclude<keyof VirtualServerSpec, (typeof CHANGEABLE_FIELDS)[number]>;

/** The fields of an order that few objects set. */
export type FurtherField = Exclude<
  OrderedField,
  'product' | 'image' | 'diskSize' | 'identifier' | 'sshKeys' | 'sshKeysFrom'
>;

/** What an order sends: the values of spec, and what the Secrets hold that spec names. */
export type OrderValues = Pick<VirtualServerSpec, Exclude<OrderedField, 'sshKeysFrom'>> & {
  sshKeysFrom: readonly string[];
};

type Sent = string | number | boolean;

interface Row<Value> {
  /**
   * The provider's name of the field in the body. Lists under one name are sent together. Undefined: the field is sent in the path
   * of the order.
   */
  sentAs: string | undefined;
  /** The value that is sent; a list is sent as one text with a line for each entry. */
  encode: (value: Value) => Sent | readonly string[];
  /** What counts when two values are compared, in TypeScript (also for a manifest, whose spec may be anything) and in CEL. */
  compared?: { value: (value: unknown) => unknown; cel: (value: string) => string };
}

const asIs = <Value>(value: Value): Value => value;
const trimmed = (key: unknown): unknown => (typeof key === 'string' ? key.trim() : key);

/** Writing down what the provider does anyway orders the same as leaving it out. */
const usually = (usual: Sent): Required<Row<never>>['compared'] => ({
  value: (value) => value ?? usual,
  cel: (value) => `${value}.orValue(${typeof usual === 'string' ? `'${usual}'` : usual})`,
});

type Rows = { readonly [F in OrderedField]: Row<NonNullable<OrderValues[F]>> };

const ROWS: Rows = {
  product: { sentAs: 'product', encode: asIs },
  image: { sentAs: 'image', encode: asIs },
  diskSize: { sentAs: 'disk_size', encode: asIs },
  identifier: { sentAs: undefined, encode: asIs },
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
  serverName: { sentAs: 'name', encode: asIs },
  diskType: { sentAs: 'disk_type', encode: asIs, compared: usually('ssd') },
  forwardDNS: { sentAs: 'set_forward_dns', encode: asIs },
  reverseDNS: { sentAs: 'set_reverse_dns', encode: asIs },
  storedUserData: { sentAs: 'user_data', encode: asIs },
  userData: { sentAs: 'user_data_string', encode: asIs },
};

export const ORDERED_FIELDS = Object.keys(ROWS) as readonly OrderedField[];

/** The body of the order. A field that is not set is not sent. */
export function orderBody(values: OrderValues): Readonly<Record<string, Sent>> {
  const body = new Map<string, Sent | readonly string[]>();
  for (const field of ORDERED_FIELDS) {
    const sent = encoded(field, values);
    const { sentAs } = ROWS[field];
    if (sent === undefined || sentAs === undefined) continue;
    const before = body.get(sentAs);
    body.set(sentAs, isList(sent) && isList(before) ? [...before, ...sent] : sent);
  }
  return Object.fromEntries([...body].map(([name, sent]) => [name, isList(sent) ? sent.join('\n') : sent]));
}

function encoded<F extends OrderedField>(field: F, values: Pick<OrderValues, F>): Sent | readonly string[] | undefined {
  const row: Rows[F] = ROWS[field];
  const value = values[field];
  return value === undefined ? undefined : row.encode(value);
}

const isList = (sent: Sent | readonly string[] | undefined): sent is readonly string[] => Array.isArray(sent);

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

/** CEL: whether `object` and `oldObject` have the same value. */
export function isSameInCel(field: OrderedField): string {
  const cel = ROWS[field].compared?.cel ?? asIs;
  return `${cel(`object.spec.?${field}`)} == ${cel(`oldObject.spec.?${field}`)}`;
}
