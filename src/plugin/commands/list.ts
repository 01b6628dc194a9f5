/** `kubectl vps list`: all servers and sets in a table, once or whenever one changes. */
import { InvalidArgumentError } from 'commander';
import { GROUP, SERVER_PLURAL, SERVER_SINGULAR, SET_PLURAL, SET_SINGULAR } from '../../api/names.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { without } from '../../base/without.ts';
import { keyOf } from '../../kube/resource.ts';
import { VIRTUAL_SERVER_SETS } from '../../virtual-server-set/resource.ts';
import { VIRTUAL_SERVERS } from '../../virtual-server/resource.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { customTable, parseColumns } from '../terminal/custom-columns.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { overview, plainRow, type Item, type SortOrder } from '../screens/overview.ts';
import { data } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';
import { watch as watchFor } from '../screens/watch.ts';

export interface ListOptions {
  allNamespaces: boolean;
  selector?: string | undefined;
  sort: SortOrder;
  watch: boolean;
  output: string;
}

const CUSTOM = 'custom-columns=';

export const LIST_FORMATS = ['table', 'wide', 'name', 'json', 'yaml'] as const;

/** The formats of `list`, and `custom-columns=...`. Throws InvalidArgumentError for any other. */
export function listFormat(text: string): string {
  if (text.startsWith(CUSTOM)) parseColumns(text.slice(CUSTOM.length));
  else if (!LIST_FORMATS.some((format) => format === text)) {
    const valid = [...LIST_FORMATS, `${CUSTOM}HEADER:PATH`].join(', ');
    throw new InvalidArgumentError(`Use one of ${valid}.`);
  }
  return text;
}

export async function list(context: Context, options: ListOptions): Promise<void> {
  const { output, watch } = options;
  if (watch && output !== 'table' && output !== 'wide') {
    throw new CommandError(EXIT.usage, '--watch shows a table: leave --output out, or use -o wide');
  }
  if (watch) await follow(context, options);
  const seen = await look(context, options);
  tell(context, seen.notes);
  if (output === 'json' || output === 'yaml') {
    const whole = { apiVersion: 'v1', kind: 'List', items: seen.whole };
    context.terminal.out.write(data(whole, output));
  } else if (output === 'name') print(context, seen.items.map(nameOf));
  else if (seen.items.length === 0) tell(context, [nothing(context, options)]);
  else if (output.startsWith(CUSTOM)) {
    print(context, customTable(seen.whole, parseColumns(output.slice(CUSTOM.length))));
  } else print(context, table(context, options, seen));
}

interface Seen {
  items: Item[];
  /** As the API server shows them, in the same order. */
  whole: unknown[];
  /** What is not shown, and why. */
  notes: string[];
}

/** Rejects with CommandError. A user who may not list sets sees the servers. */
async function look({ cluster }: Context, { allNamespaces, selector }: ListOptions): Promise<Seen> {
  const asked = { allNamespaces, labelSelector: selector };
  const notes: string[] = [];
  const [servers, sets] = await Promise.all([
    cluster.listOf(SERVER_PLURAL, asked),
    cluster.listOf(SET_PLURAL, asked).catch((error: unknown) => {
      notes.push(`sets are not shown: ${clean(error instanceof Error ? error.message : String(error))}`);
      return [];
    }),
  ]);
  const items: Item[] = [
    ...sets.map((object): Item => ({ kind: 'set', object: VIRTUAL_SERVER_SETS.parse(object) })),
    ...servers.map((object): Item => ({ kind: 'server', object: VIRTUAL_SERVERS.parse(object) })),
  ];
  return { items, whole: [...sets, ...servers].map(withoutManagers), notes };
}

/** Without the fields that kubectl hides too. */
function withoutManagers(object: unknown): unknown {
  const shown = object as { metadata: { managedFields?: unknown } };
  return { ...shown, metadata: without(shown.metadata, 'managedFields') };
}

const nameOf = ({ kind, object }: Item): string =>
  `${kind === 'set' ? SET_SINGULAR : SERVER_SINGULAR}.${GROUP}/${object.metadata.name}`;

function nothing({ cluster }: Context, { allNamespaces, selector }: ListOptions): string {
  const where = allNamespaces ? 'in any namespace' : `in namespace ${JSON.stringify(cluster.namespace)}`;
  return `no servers or sets ${where}${selector === undefined ? '' : ` with the labels ${selector}`}`;
}

function table({ terminal, now }: Context, options: ListOptions, { items }: Seen): string[] {
  return overview(items, {
    now: now(),
    order: options.sort,
    withNamespace: options.allNamespaces,
    isWide: options.output === 'wide',
    width: terminal.out.isTTY ? terminal.out.columns : undefined,
    paint: terminal.paint,
  });
}

/** Until Ctrl-C. On a terminal it draws the table again, elsewhere it prints a row for each change, as kubectl does. */
function follow(context: Context, options: ListOptions): Promise<never> {
  return watchFor<Seen>(context, {
    look: () => look(context, options),
    screen: (seen) => [...table(context, options, seen), ...seen.notes],
    news: (seen, before) => {
      if (before === undefined) tell(context, seen.notes);
      return rows(context, options, seen, before);
    },
  });
}

function rows({ now }: Context, options: ListOptions, { items }: Seen, before: Seen | undefined): string[] {
  const keyOfItem = ({ kind, object }: Item): string => `${kind} ${keyOf(object)}`;
  const earlier = new Map(before?.items.map((item) => [keyOfItem(item), item]));
  const present = new Set(items.map(keyOfItem));
  const changed = items.filter((item) => !isDeepEqual(earlier.get(keyOfItem(item))?.object, item.object));
  const gone = [...earlier].filter(([key]) => !present.has(key));
  const row = (item: Item): string => plainRow(item, { now: now(), withNamespace: options.allNamespaces });
  return [...changed.map(row), ...gone.map(([, item]) => `${row(item)}   gone`)];
}
