/** Finds the ServerCatalog of a namespace, which lists what the provider offers. */
import { API_VERSION, CATALOG_KIND, CATALOG_PLURAL, CATALOG_SHORT_NAME } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { DEFAULT_DISK_TYPE } from '../../api/virtual-server.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { SPEC_FLAGS } from '../flags/spec-flags.ts';
import { similarTo } from '../../base/similar.ts';
import { quoted } from '../../base/text.ts';

/** The catalog that uses this Secret, or any catalog if none is given; undefined if there is no such catalog. */
export async function findCatalog(
  cluster: ClusterView,
  secret?: string,
  signal?: AbortSignal,
): Promise<ServerCatalog | undefined> {
  const catalogs = (await cluster.listOf(CATALOG_PLURAL, {}, signal)) as ServerCatalog[];
  const fitting = catalogs.filter(({ spec }) => secret === undefined || spec.apiKeySecretRef.name === secret);
  // Prefer a catalog that has read its lists.
  return fitting.find(({ status }) => status?.products !== undefined) ?? fitting[0];
}

/** Like findCatalog, but throws CommandError with the commands that create a catalog if there is none. */
export async function requireCatalog(cluster: ClusterView, secret?: string): Promise<ServerCatalog> {
  const catalog = await findCatalog(cluster, secret);
  if (catalog !== undefined) return catalog;
  const whose = secret === undefined ? '' : ` for Secret ${JSON.stringify(secret)}`;
  const { create, wait } = creation(cluster.where, secret);
  throw new CommandError(
    EXIT.notFound,
    `no ${CATALOG_KIND}${whose} in namespace ${JSON.stringify(cluster.namespace)}. To create one, run:`,
    [create, wait],
  );
}

/** The commands that create a catalog for this Secret, or for the default one, and wait until the operator has read it. */
export function creation(where: string, secret?: string): { create: string; wait: string } {
  // The name differs per Secret: the commands must not change an existing catalog that uses another Secret.
  const name = secret ?? 'catalog';
  const spec = secret === undefined ? {} : { apiKeySecretRef: { name: secret } };
  const manifest = { apiVersion: API_VERSION, kind: CATALOG_KIND, metadata: { name }, spec };
  return {
    create: `printf %s ${quoted(JSON.stringify(manifest))} | kubectl apply${where} -f -`,
    wait: `kubectl wait${where} --for=condition=Ready ${quoted(`${CATALOG_SHORT_NAME}/${name}`)}`,
  };
}

/** How many values an error names. */
const NAMED = 12;

/** Values of flags, as in spec. */
interface Chosen {
  product?: string;
  image?: string;
  diskSize?: number;
  diskType?: string;
  zone?: string;
}

/**
 * Throws CommandError that names the flag and the valid values, for a value that a catalog with complete lists does not have.
 * `file`: where the values come from, if not from flags.
 */
export function requireOffered(
  { metadata, status }: ServerCatalog,
  { product, image, diskSize, diskType, zone }: Chosen,
  where: string,
  file?: string,
): void {
  const { products, images, diskSizes, zones, counts } = status ?? {};
  const types = diskSizes?.map(({ type }) => type);
  const sizes = diskSizes?.find(({ type }) => type === (diskType ?? DEFAULT_DISK_TYPE))?.sizes;
  // A list that was cut has other values too.
  const lists: [field: keyof Chosen, value: string | number | undefined, offered?: readonly (string | number)[]][] = [
    ['product', product, counts?.products === products?.length ? products?.map(({ code }) => code) : undefined],
    ['image', image, counts?.images === images?.length ? images?.map(({ name }) => name) : undefined],
    ['diskType', diskType, types],
    ['diskSize', diskSize, counts?.diskSizes === sumOfSizes(diskSizes) ? sizes : undefined],
    ['zone', zone, counts?.zones === zones?.length ? zones?.map(({ code }) => code) : undefined],
  ];
  for (const [field, value, offered] of lists) {
    const named = file === undefined ? SPEC_FLAGS[field] : `--filename ${file}: spec.${field}`;
    if (value === undefined || offered === undefined || offered.some((each) => each === value)) continue;
    const meant = similarTo(String(value), offered.map(String));
    const more = offered.length > NAMED ? `, and ${offered.length - NAMED} more` : '';
    throw new CommandError(
      EXIT.usage,
      `${named} ${JSON.stringify(value)} is not in the catalog ${metadata.name}, which has ${offered.slice(0, NAMED).join(', ')}${more}`,
      [
        ...(meant === undefined ? [] : [`did you mean ${file === undefined ? `${named} ` : ''}${quoted(meant)}?`]),
        `kubectl vps catalog${where}   # shows what you can order`,
      ],
    );
  }
}

function sumOfSizes(lists: readonly { sizes: readonly number[] }[] = []): number {
  return lists.reduce((sum, { sizes }) => sum + sizes.length, 0);
}

const MB_PER_GB = 1024;

/** A product with 1 GB has 1024. */
export function memoryText(ram: number | undefined): string | undefined {
  if (ram === undefined) return undefined;
  return ram >= MB_PER_GB && ram % (MB_PER_GB / 2) === 0 ? `${ram / MB_PER_GB} GB RAM` : `${ram} MB RAM`;
}
