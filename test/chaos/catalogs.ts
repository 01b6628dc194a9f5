/** Compares a ServerCatalog's status with what the provider lists. */
import { RECONCILE_AT_ANNOTATION } from '../../src/api/names.ts';
import type { ServerCatalog } from '../../src/api/server-catalog.ts';

/** The provider's lists, in the shape of a catalog's status. */
export type Lists = Required<Pick<NonNullable<ServerCatalog['status']>, 'products' | 'images' | 'diskSizes'>>;

/** The catalog's state in a few words for labels, each after a plus sign; empty if the catalog was never read. */
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

/** Whether the catalog was read for the present spec and needs no action. */
function isInOrder({ metadata, status }: ServerCatalog): boolean {
  const truths = status?.conditions?.filter(({ status: value }) => value === 'True').map(({ type }) => type);
  return status?.observedGeneration === metadata.generation && truths?.join() === 'Ready';
}

export function shows(catalog: ServerCatalog | undefined, lists: Lists): boolean {
  return catalog !== undefined && isInOrder(catalog) && textOf(catalog.status ?? {}) === textOf(lists);
}

/** Serializes the lists regardless of their order. */
function textOf({ products = [], images = [], diskSizes = [] }: Partial<Lists>): string {
  const lines = [
    ...products.map(({ code, ram }) => `product ${code} ${ram ?? ''}`),
    ...images.map(({ name, description }) => `image ${name} ${description ?? ''}`),
    ...diskSizes.flatMap(({ type, sizes }) => sizes.map((size) => `disk ${type} ${size}`)),
  ];
  return lines.sort().join('\n');
}
