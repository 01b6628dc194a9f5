/** `kubectl vps catalog`: lists what you can order. */
import { CATALOG_SHORT_NAME } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { requireCatalog } from '../state/catalogs.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { duration } from '../screens/progress.ts';
import { NOT_REPORTED } from '../state/readiness.ts';
import { columns, data } from '../terminal/table.ts';
import { plural, priceText } from '../state/totals.ts';
import { clean } from '../terminal/terminal.ts';

export async function showCatalog(context: Context, secret: string | undefined): Promise<void> {
  const { cluster, format, terminal } = context;
  const catalog = await requireCatalog(cluster, secret);
  const { products = [], images = [], diskSizes = [], zones = [], prices } = catalog.status ?? {};
  const isEmpty = products.length + images.length + diskSizes.length === 0;
  if (isEmpty && readyOf(catalog)?.status !== 'True') throw unread(catalog, cluster.where);
  if (format !== 'table') return void terminal.out.write(data(catalog.status ?? {}, format));
  const { strong } = terminal.paint;
  const sections = [
    [
      strong('Products'),
      ...columns(
        ['CODE', 'RAM', ...(prices ? ['PRICE', 'PERIOD'] : [])],
        products.map(({ code, ram, price, period = '' }) => [
          code,
          String(ram ?? ''),
          ...(prices ? [price === undefined ? '' : priceText(price), period] : []),
        ]),
      ),
    ],
    [
      strong('Images'),
      ...columns(
        ['NAME', 'DESCRIPTION'],
        images.map(({ name, description = '' }) => [name, description]),
      ),
    ],
    [
      strong('Disk sizes'),
      ...columns(
        ['TYPE', 'SIZES'],
        diskSizes.map(({ type, sizes }) => [type, sizes.join(', ')]),
      ),
    ],
    ...(zones.length === 0
      ? []
      : [
          [
            strong('Zones'),
            ...columns(
              ['CODE', 'DESCRIPTION'],
              zones.map(({ code, description = '' }) => [code, description]),
            ),
          ],
        ]),
    ...(prices === undefined
      ? []
      : [[strong('Prices besides the product'), ...columns(['OF', 'PRICE'], extras(prices))]]),
  ];
  print(
    context,
    sections.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines])),
  );
  tell(context, remarks(catalog, context.now()));
}

function extras({ disks, ipv4 }: NonNullable<NonNullable<ServerCatalog['status']>['prices']>): string[][] {
  return [
    ...disks.map(({ type, price, extent }) => [`each ${extent} GB of ${type}`, priceText(price)]),
    ...(ipv4 === undefined ? [] : [['an IPv4 address', priceText(ipv4)]]),
  ];
}

/** The operator has never read the lists: the condition has the cause. */
function unread(catalog: ServerCatalog, where: string): CommandError {
  return new CommandError(EXIT.failed, state(catalog), [
    `kubectl describe ${CATALOG_SHORT_NAME} ${catalog.metadata.name}${where}`,
  ]);
}

function readyOf({ status }: ServerCatalog) {
  return status?.conditions?.find(({ type }) => type === 'Ready');
}

function state(catalog: ServerCatalog): string {
  const { reason, message } = readyOf(catalog) ?? {
    reason: NOT_REPORTED,
    message: 'The operator has not reported on this catalog yet',
  };
  return `ServerCatalog ${catalog.metadata.name} is not ready: ${reason}. ${clean(message)}`;
}

/** What the user should know before trusting the lists. */
function remarks(catalog: ServerCatalog, now: number): string[] {
  const { products = [], images = [], counts, observedAt, prices } = catalog.status ?? {};
  const cut = counts !== undefined && (counts.products > products.length || counts.images > images.length);
  return [
    "RAM and disk sizes in the provider's units",
    ...(prices === undefined ? [] : ["prices by the provider's list of prices, in its unit"]),
    ...(observedAt === undefined ? [] : [`unchanged for ${duration(now - Date.parse(observedAt))}`]),
    ...(cut
      ? [`shortened: the provider lists ${plural(counts.products, 'product')} and ${plural(counts.images, 'image')}`]
      : []),
    ...(readyOf(catalog)?.status === 'True' ? [] : [state(catalog)]),
  ];
}
