/** `kubectl vps cost`: servers and price, by namespace and in all. */
import { print, type Context } from '../context.ts';
import { columns, data } from '../table.ts';
import { priceText, sumUp } from '../totals.ts';

export async function showCost(context: Context, allNamespaces: boolean): Promise<void> {
  const { cluster, format, terminal } = context;
  const totals = sumUp(await cluster.list(allNamespaces));
  if (format !== 'table') return void terminal.out.write(data(totals, format));
  const rows = [...totals.namespaces, { namespace: 'in all', ...totals.all }].map(
    ({ namespace, servers, price, unpriced }) => [
      namespace,
      String(servers),
      priceText(price),
      unpriced === 0 ? '' : `${unpriced} without a price`,
    ],
  );
  print(context, columns(['NAMESPACE', 'SERVERS', 'PRICE', 'NOTE'], rows));
  terminal.err.write("prices are the provider's own figures; it names neither currency nor period\n");
}
