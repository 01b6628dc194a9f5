/** Whether a ServerCatalog shows what its account's provider lists. */
import type { ServerCatalog } from '../../src/api/server-catalog.ts';

/** The provider's lists, in the shape of a catalog's status. */
export type Lists = Required<Pick<NonNullable<ServerCatalog['status']>, 'products' | 'images' | 'diskSizes'>> &
  Pick<NonNullable<ServerCatalog['status']>, 'zones'>;

/** Whether the catalog was read for the present spec and needs no action. */
export function isInOrder({ metadata, status }: ServerCatalog): boolean {
  const truths = status?.conditions?.filter(({ status: value }) => value === 'True').map(({ type }) => type);
  return status?.observedGeneration === metadata.generation && truths?.join() === 'Ready';
}

export function shows(catalog: ServerCatalog | undefined, lists: Lists): boolean {
  if (catalog === undefined || !isInOrder(catalog)) return false;
  // The catalog is complete without the zones, so it shows the last ones if the last read of them failed.
  const known = catalog.status?.provider?.zoneList === 'Unknown' ? { zones: catalog.status.zones } : {};
  return textOf(catalog.status ?? {}) === textOf({ ...lists, ...known });
}

/** Serializes the lists regardless of their order. */
function textOf({ products = [], images = [], diskSizes = [], zones = [] }: Partial<Lists>): string {
  const lines = [
    ...products.map(({ code, ram }) => `product ${code} ${ram ?? ''}`),
    ...images.map(({ name, description }) => `image ${name} ${description ?? ''}`),
    ...zones.map(({ code }) => `zone ${code}`),
    ...diskSizes.flatMap(({ type, sizes }) => sizes.map((size) => `disk ${type} ${size}`)),
  ];
  return lines.sort().join('\n');
}
