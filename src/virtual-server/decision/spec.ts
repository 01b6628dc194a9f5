/** Finds what is wrong with a spec before it is ordered: SSH keys, and what the provider's lists lack. Pure. */
import { PRIVATE_KEY, keysProblem } from '../../api/public-key.ts';
import { ORDERED_FIELDS, type OrderedField } from '../../api/ordered-fields.ts';
import { userDataProblem } from '../../api/user-data.ts';
import { DEFAULT_DISK_TYPE, type VirtualServerSpec } from '../../api/virtual-server.ts';
import { MAX_COMPARED, closest } from '../../base/similar.ts';
import { cut } from '../../base/text.ts';
import { serverNameProblem } from './named.ts';
import type { Catalog, Zone } from '../../provider/types.ts';

const NEAREST = 5;

/** What the provider offers. The provider decides about a field whose list is missing. */
type Lists = Catalog & {
  zones?: readonly Zone[] | undefined;
  hosts?: readonly string[] | undefined;
  /** The size of the disk that is to change in place, which can only get larger. */
  hasDisk?: number | undefined;
};
type Check = (spec: VirtualServerSpec, lists: Lists) => string | undefined;

/** For a field of which the provider has no list: the provider decides about its value. */
const unchecked = (): undefined => undefined;

/** The check of each field that an order sends, in the order of the message. */
const CHECKS: Readonly<Record<OrderedField, Check>> = {
  product: ({ product }, { products }) => unknownName('spec.product', product, codesOf(products)),
  image: ({ image }, { images }) => unknownName('spec.image', image, namesOf(images)),
  diskType: ({ diskType }, { diskSizes }) =>
    diskType === undefined || sizesOf(diskType, diskSizes) !== undefined
      ? undefined
      : unknownName('spec.diskType', diskType, Object.keys(diskSizes)),
  diskSize: ({ diskSize, diskType }, { diskSizes, hasDisk }) => {
    const sizes = sizesOf(diskType, diskSizes);
    return sizes === undefined && diskType !== undefined
      ? undefined
      : unknownSize('spec.diskSize', diskSize, sizes ?? [], hasDisk);
  },
  zone: ({ zone }, { zones }) => unlisted('spec.zone', zone, zones && codesOf(zones)),
  advanced: ({ advanced }, { hosts }) => unlisted('spec.advanced.hostServer', advanced?.hostServer, hosts),
  serverName: serverNameProblem,
  sshKeys: keysProblem,
  sshKeysFrom: unchecked,
  identifier: unchecked,
  ipv4: unchecked,
  hostname: unchecked,
  forwardDNS: unchecked,
  reverseDNS: unchecked,
  storedUserData: unchecked,
  userData: ({ userData }) => {
    const broken = userData === undefined ? undefined : userDataProblem(userData);
    return broken && `spec.userData ${broken}`;
  },
  userDataFrom: unchecked,
};

/**
 * What the provider does not offer, with the field and the nearest valid values, and which SSH keys are none; undefined if
 * nothing is wrong with these fields. The lists may be very long.
 */
export function specProblem(
  spec: VirtualServerSpec,
  lists: Lists,
  fields: readonly OrderedField[] = ORDERED_FIELDS,
): string | undefined {
  const checked = (Object.keys(CHECKS) as OrderedField[]).filter((field) => fields.includes(field));
  const problems = checked.map((field) => CHECKS[field](spec, lists)).filter((problem) => problem !== undefined);
  return problems.length === 0 ? undefined : problems.join('; ');
}

const codesOf = (entries: readonly { code: string }[]): string[] => entries.map(({ code }) => code);
const namesOf = (entries: readonly { name: string }[]): string[] => entries.map(({ name }) => name);
const sizesOf = (
  diskType: string = DEFAULT_DISK_TYPE,
  diskSizes: Catalog['diskSizes'],
): readonly number[] | undefined => (Object.hasOwn(diskSizes, diskType) ? diskSizes[diskType] : undefined);

function unlisted(
  field: string,
  value: string | undefined,
  offered: readonly string[] | undefined,
): string | undefined {
  return value === undefined || offered === undefined ? undefined : unknownName(field, value, offered);
}

function unknownName(field: string, value: string, offered: readonly string[]): string | undefined {
  if (offered.includes(value)) return undefined;
  const what = offered.length > MAX_COMPARED ? 'some valid values' : 'nearest valid values';
  return describe(field, shown(value), what, closest(value, offered, NEAREST), offered.length);
}

/** No name is that long, and the text may be a private key that you have pasted. */
function shown(value: string): string {
  const isNamed = value.length <= 64 && !new RegExp(PRIVATE_KEY).test(value);
  return isNamed ? `"${value}"` : `(${value.length} characters)`;
}

function unknownSize(field: string, value: number, all: readonly number[], least = 0): string | undefined {
  if (all.includes(value)) return undefined;
  const offered = all.filter((size) => size >= least);
  if (offered.length === 0 && all.length > 0)
    return `${field} ${value} is not offered; the provider offers no size from ${least} on, and a disk can only get larger`;
  const far = (size: number): number => Math.abs(value - size);
  const farthest = Float64Array.from(offered, far).sort()[Math.min(NEAREST, offered.length) - 1] ?? 0;
  const nearest = offered.filter((size) => far(size) <= farthest).sort((a, b) => far(a) - far(b));
  return describe(field, String(value), 'nearest valid values', nearest.slice(0, NEAREST).map(String), offered.length);
}

function describe(field: string, value: string, what: string, values: readonly string[], offered: number): string {
  if (offered === 0) return `${field} ${value} is not offered: the provider's list is empty`;
  const more = offered > values.length ? ` and ${offered - values.length} more` : '';
  return `${field} ${value} is not offered; ${what}: ${values.map((text) => cut(text, 64)).join(', ')}${more}`;
}
