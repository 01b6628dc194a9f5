/** `kubectl vps cost`: running servers and their prices, by namespace and in total. */
import { print, type Context } from '../context.ts';
import { columns, data } from '../table.ts';
import { priceText, sumUp } from '../totals.ts';

export async function showCost(context: Context, allNamespaces: boolean): Promise<void> {
  const { cluster, format, terminal } = context;
  const totals = sumUp(await cluster.list(allNamespaces));
  if (format !== 'table') return void terminal.out.write(data(totals, format));
  const rows = [...totals.namespaces, { namespace: '(total)', ...totals.all }].map(
    ({ namespace, servers, price, unpriced }) => [
      namespace,
      String(servers),
      priceText(price),
      unpriced === 0 ? '' : `${unpriced} without a price`,
    ],
  );
  print(context, columns(['NAMESPACE', 'SERVERS', 'PRICE', 'NOTE'], rows));
  terminal.err.write('prices as the provider states them, with neither currency nor period\n');
}
