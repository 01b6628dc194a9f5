/** `kubectl vps catalog`: what can be ordered. */
import type { ServerCatalog } from '../../../api/server-catalog.ts';
import { requireCatalog } from '../catalogs.ts';
import { print, tell, type Context } from '../context.ts';
import { duration } from '../progress.ts';
import { columns, data } from '../table.ts';
import { clean } from '../terminal.ts';

export async function showCatalog(context: Context, secret: string | undefined): Promise<void> {
  const { cluster, format, terminal } = context;
  const catalog = await requireCatalog(cluster, secret);
  if (format !== 'table') return void terminal.out.write(data(catalog.status ?? {}, format));
  const { products = [], images = [], diskSizes = [] } = catalog.status ?? {};
  const { strong } = terminal.paint;
  const sections = [
    [
      strong('Products'),
      ...columns(
        ['CODE', 'RAM'],
        products.map(({ code, ram }) => [code, String(ram ?? '')]),
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
  ];
  print(
    context,
    sections.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines])),
  );
  tell(context, remarks(catalog, context.now()));
}

/** What a reader has to know before trusting the lists. */
function remarks({ metadata, status }: ServerCatalog, now: number): string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const { products = [], images = [], counts, observedAt } = status ?? {};
  const cut = counts !== undefined && (counts.products > products.length || counts.images > images.length);
  return [
    ...(observedAt === undefined ? [] : [`unchanged for ${duration(now - Date.parse(observedAt))}`]),
    ...(cut ? [`cut: the service lists ${counts.products} products and ${counts.images} images`] : []),
    ...(ready?.status === 'True'
      ? []
      : [`${metadata.name} is not ready: ${ready?.reason ?? 'NotSeen'}. ${clean(ready?.message ?? '')}`]),
  ];
}
