/** What a ServerCatalog says of itself, against what the provider lists. */
import { RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';

/** As the provider answers them, in the words of a catalog. */
export type Lists = Required<Pick<NonNullable<ServerCatalog['status']>, 'products' | 'images' | 'diskSizes'>>;

/** Few words for labels, each with a plus before it; none for one that nobody has read yet. */
export function stateOfCatalog(catalog: ServerCatalog): string {
  const { metadata, status } = catalog;
  if (status?.conditions === undefined) return '';
  const words = [
    ...(isInOrder(catalog) ? ['ready'] : ['behind']),
    ...(metadata.annotations?.[RECONCILE_AT_ANNOTATION] === undefined ? [] : ['asked']),
    ...(metadata.generation === 1 ? [] : ['edited']),
  ];
  return words.map((word) => `+${word}`).join('');
}

/** Read for the present spec, and nothing has to be done about it. */
function isInOrder({ metadata, status }: ServerCatalog): boolean {
  const truths = status?.conditions?.filter(({ status: value }) => value === 'True').map(({ type }) => type);
  return status?.observedGeneration === metadata.generation && truths?.join() === 'Ready';
}

export function shows(catalog: ServerCatalog | undefined, lists: Lists): boolean {
  return catalog !== undefined && isInOrder(catalog) && textOf(catalog.status ?? {}) === textOf(lists);
}

/** Whatever the order of the lists is. */
function textOf({ products = [], images = [], diskSizes = [] }: Partial<Lists>): string {
  const lines = [
    ...products.map(({ code, ram }) => `product ${code} ${ram ?? ''}`),
    ...images.map(({ name, description }) => `image ${name} ${description ?? ''}`),
    ...diskSizes.flatMap(({ type, sizes }) => sizes.map((size) => `disk ${type} ${size}`)),
  ];
  return lines.sort().join('\n');
}
