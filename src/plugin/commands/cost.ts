/** `kubectl vps cost`: servers that run or are off on purpose, and their prices, by namespace and in total, and what servers on their way will cost. */
import { API_VERSION, CATALOG_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import { collectionOf } from '../../kube/resource.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { print, type Context } from '../cluster/context.ts';
import { ESTIMATE, listsFrom } from '../state/expected-price.ts';
import { columns, data } from '../terminal/table.ts';
import { priceText, sumUp, type CostTotal } from '../state/totals.ts';

export async function showCost(context: Context, allNamespaces: boolean): Promise<void> {
  const { cluster, format, terminal } = context;
  const servers = await cluster.list(allNamespaces);
  const totals = sumUp(servers, listsFrom(await catalogsOf(cluster, allNamespaces)));
  if (format !== 'table') return void terminal.out.write(data(totals, format));
  const rows = [...totals.namespaces, { namespace: '(total)', ...totals.all }].map(({ namespace, ...total }) => [
    namespace,
    String(total.servers),
    priceText(total.price),
    noteOf(total),
  ]);
  print(context, columns(['NAMESPACE', 'SERVERS', 'PRICE', 'NOTE'], rows));
  terminal.err.write('prices as the provider states them, with neither currency nor period\n');
  if (totals.all.expected?.estimated === true) terminal.err.write(`about: ${ESTIMATE}\n`);
}

/** The command also works without the right to read catalogs. */
async function catalogsOf(cluster: ClusterView, allNamespaces: boolean): Promise<ServerCatalog[]> {
  const path = collectionOf(
    { apiVersion: API_VERSION, plural: CATALOG_PLURAL },
    allNamespaces ? undefined : cluster.namespace,
  );
  const list = (await cluster.ask({ path }).catch(() => ({}))) as { items?: ServerCatalog[] };
  return list.items ?? [];
}

function noteOf({ off = 0, unpriced, otherPeriods = [], expected }: CostTotal): string {
  const periods = Map.groupBy(otherPeriods, (period) => period);
  return [
    ...(off === 0 ? [] : [`${off} off on purpose`]),
    ...[...periods].map(([period, servers]) => `${servers.length} billed by ${period}`),
    ...(unpriced === 0 ? [] : [`${unpriced} without a price`]),
    ...(expected === undefined ? [] : [expectedText(expected)]),
  ].join('; ');
}

function expectedText({ servers, price, unknown, estimated }: NonNullable<CostTotal['expected']>): string {
  const more = servers === unknown ? [] : [`${estimated === true ? 'about ' : ''}${priceText(price)} more`];
  return [...more, ...(unknown === 0 ? [] : [`${unknown} of unknown price`])].join(' and ');
}
