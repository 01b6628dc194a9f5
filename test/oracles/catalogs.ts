/** Whether a ServerCatalog shows what its account's provider lists. */
import type { ServerCatalog } from '../../src/api/server-catalog.ts';

/** The provider's lists, in the shape of a catalog's status. */
export type Lists = Required<Pick<NonNullable<ServerCatalog['status']>, 'products' | 'images' | 'diskSizes'>>;

/** Whether the catalog was read for the present spec and needs no action. */
export function isInOrder({ metadata, status }: ServerCatalog): boolean {
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
