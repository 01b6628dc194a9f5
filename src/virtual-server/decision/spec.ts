/** Compares a spec with the provider's own lists. Pure. */
import { distance } from 'fastest-levenshtein';
import type { VirtualServerSpec } from '../../api/virtual-server.ts';
import type { Catalog } from '../../provider/types.ts';
import { cut } from '../../base/text.ts';

const NEAREST = 5;

/** What the provider does not offer, with the field and the nearest valid values; undefined if it offers everything. */
export function specProblem(spec: VirtualServerSpec, catalog: Catalog): string | undefined {
  const products = catalog.products.map((product) => product.code);
  const images = catalog.images.map((image) => image.name);
  const sizes = catalog.diskSizes.ssd ?? [];
  const problems = [
    unknownName('spec.product', spec.product, products),
    unknownName('spec.image', spec.image, images),
    unknownSize('spec.diskSize', spec.diskSize, sizes),
  ].filter((problem) => problem !== undefined);
  return problems.length === 0 ? undefined : problems.join('; ');
}

function unknownName(field: string, value: string, offered: readonly string[]): string | undefined {
  if (offered.includes(value)) return undefined;
  const far = (name: string): number => distance(value.toLowerCase(), name.toLowerCase());
  const nearest = [...offered].sort((a, b) => far(a) - far(b));
  return describe(field, `"${value}"`, nearest);
}

function unknownSize(field: string, value: number, offered: readonly number[]): string | undefined {
  if (offered.includes(value)) return undefined;
  const nearest = [...offered].sort((a, b) => Math.abs(value - a) - Math.abs(value - b));
  return describe(field, String(value), nearest.map(String));
}

function describe(field: string, value: string, nearest: readonly string[]): string {
  if (nearest.length === 0) return `${field} ${value} is not offered: the provider's list is empty`;
  const shown = nearest.slice(0, NEAREST).map((text) => cut(text, 64));
  const more = nearest.length > shown.length ? ` and ${nearest.length - shown.length} more` : '';
  return `${field} ${value} is not offered; nearest valid values: ${shown.join(', ')}${more}`;
}
