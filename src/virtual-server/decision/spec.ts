/** Finds what is wrong with a spec before it is ordered: SSH keys, and what the provider's lists lack. Pure. */
import { PRIVATE_KEY, keysProblem } from '../../api/public-key.ts';
import { userDataProblem } from '../../api/user-data.ts';
import { DEFAULT_DISK_TYPE, type VirtualServerSpec } from '../../api/virtual-server.ts';
import { MAX_COMPARED, closest } from '../../base/similar.ts';
import { cut } from '../../base/text.ts';
import { serverNameProblem } from './named.ts';
import type { Catalog, Zone } from '../../provider/types.ts';

const NEAREST = 5;

/**
 * What the provider does not offer, with the field and the nearest valid values, and which SSH keys are none; undefined if
 * nothing is wrong. The lists may be very long. Without `zones` or `hosts`, the provider decides.
 */
export function specProblem(
  spec: VirtualServerSpec,
  catalog: Catalog & { zones?: readonly Zone[] | undefined; hosts?: readonly string[] | undefined },
): string | undefined {
  const products = catalog.products.map((product) => product.code);
  const images = catalog.images.map((image) => image.name);
  const zones = catalog.zones?.map((zone) => zone.code);
  const { diskType = DEFAULT_DISK_TYPE } = spec;
  const sizes = Object.hasOwn(catalog.diskSizes, diskType) ? catalog.diskSizes[diskType] : undefined;
  const types = Object.keys(catalog.diskSizes);
  const broken = spec.userData === undefined ? undefined : userDataProblem(spec.userData);
  const problems = [
    unknownName('spec.product', spec.product, products),
    unknownName('spec.image', spec.image, images),
    sizes === undefined && spec.diskType !== undefined
      ? unknownName('spec.diskType', diskType, types)
      : unknownSize('spec.diskSize', spec.diskSize, sizes ?? []),
    unlisted('spec.zone', spec.zone, zones),
    unlisted('spec.advanced.hostServer', spec.advanced?.hostServer, catalog.hosts),
    serverNameProblem(spec),
    keysProblem(spec),
    broken && `spec.userData ${broken}`,
  ].filter((problem) => problem !== undefined);
  return problems.length === 0 ? undefined : problems.join('; ');
}

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

function unknownSize(field: string, value: number, offered: readonly number[]): string | undefined {
  if (offered.includes(value)) return undefined;
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
