/** The table of `kubectl vps list`: a row for each server and each set, with as many columns as fit. Pure. */
import { SET_LABEL } from '../../api/names.ts';
import { isPaidFor } from '../../api/server-state.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { knownRecord } from '../../virtual-server/decision/known-record.ts';
import { cancelIsForbidden } from '../../virtual-server/decision/view.ts';
import { duration, inTime, percentOf } from './progress.ts';
import {
  asides,
  heldChange,
  inWords,
  paused,
  pendingChange,
  serverReadiness,
  setReadiness,
  stalled,
  verdict,
} from '../state/readiness.ts';
import { keptBy, upToDate } from '../state/let-go.ts';
import { clean, type Paint } from '../terminal/terminal.ts';
import { plural, priceText, sumUp } from '../state/totals.ts';

export type Item = { kind: 'server'; object: VirtualServer } | { kind: 'set'; object: VirtualServerSet };

/** In the order of their importance: on a narrow terminal, the last ones are left out. */
const COLUMNS = {
  namespace: ({ object }) => object.metadata.namespace,
  name: nameOf,
  state: stateOf,
  product: productOf,
  price: (item) => (priceOf(item) === undefined ? '' : priceText(priceOf(item) ?? 0)),
  ends: endsIn,
  age: ({ object }, now) => duration(now - createdAt(object)),
  ipv6: ({ kind, object }) => (kind === 'server' ? (object.status?.ipv6?.[0] ?? '') : ''),
  ssh: ({ kind, object }) => (kind === 'server' ? (object.status?.ssh ?? '') : ''),
  identifier: ({ kind, object }) => (kind === 'server' ? (object.status?.identifier ?? '') : ''),
  zone: ({ kind, object }) => (kind === 'server' ? (object.status?.zone?.code ?? '') : ''),
  image: ({ kind, object }) => (kind === 'server' ? object.spec.image : object.spec.template.spec.image),
} satisfies Record<string, (item: Item, now: number) => string>;
type Column = keyof typeof COLUMNS;

const USUAL: readonly Column[] = ['name', 'state', 'product', 'price', 'ends', 'age'];
const WIDE = Object.keys(COLUMNS).filter((column) => column !== 'namespace') as Column[];
const GAP = '   ';
const DOT = '●';

export const ORDERS = ['name', 'state', 'product', 'price', 'ends', 'age'] as const;
export type SortOrder = (typeof ORDERS)[number];

export interface OverviewOptions {
  /** ms since the epoch. */
  now: number;
  order: SortOrder;
  withNamespace: boolean;
  /** All columns, whole, also on a narrow terminal: its lines then wrap, as those of `kubectl get -o wide` do. */
  isWide: boolean;
  /** Of the terminal; undefined elsewhere: the usual columns, as wide as they need to be. */
  width: number | undefined;
  paint: Paint;
}

/** Header, rows, sum, and what the rows that need you say. Unless wide, no line is longer than the terminal is wide. */
export function overview(listed: readonly Item[], options: OverviewOptions): string[] {
  const { paint } = options;
  const items = listed.map(shownItem);
  const ordered = sorted(items, options);
  const columns = columnsFor(ordered, options);
  const width = options.isWide ? undefined : options.width;
  const lines = [cut(columns.map(({ title, width: w }) => title.padEnd(w)).join(GAP), width)];
  for (const [index, item] of ordered.entries()) lines.push(rowOf(item, index, columns, options));
  lines.push('', ...sums(items).map((line) => paint.faint(cut(line, width))));
  const bad = ordered.flatMap((item) => {
    const { object } = item;
    const why = stalled(object) === undefined ? heldChange(object) : verdictOf(item);
    const told = [...(why === undefined ? [] : [why]), ...asides(object)];
    // Several conditions may quote the same.
    const texts = new Set(told.map((condition) => inWords(condition)));
    return [...texts].map((text) => cut(`${nameOf(item)}: ${text}`, width));
  });
  if (bad.length > 0) lines.push('', ...bad);
  return lines.map((line) => line.trimEnd());
}

/** One row without dot and color, for a pipe that gets a row for each change. */
export function plainRow(listed: Item, options: Pick<OverviewOptions, 'now' | 'withNamespace'>): string {
  const item = shownItem(listed);
  const names = options.withNamespace ? (['namespace', ...USUAL] as const) : USUAL;
  return names.map((name) => clean(COLUMNS[name](item, options.now)) || '-').join(GAP);
}

function shownItem(item: Item): Item {
  return item.kind === 'set' ? item : { ...item, object: upToDate(item.object) };
}

interface Shown {
  name: Column;
  title: string;
  width: number;
  cells: readonly string[];
}

function columnsFor(items: readonly Item[], { now, withNamespace, isWide, width }: OverviewOptions): Shown[] {
  const wanted = isWide || width !== undefined ? WIDE : USUAL;
  const names: readonly Column[] = withNamespace ? ['namespace', ...wanted] : wanted;
  const all = names.map((name): Shown => {
    const cells = items.map((item) => clean(COLUMNS[name](item, now)) || '-');
    const dots = name === 'state' && width !== undefined ? DOT.length + 1 : 0;
    const widest = Math.max(name.length, ...cells.map((cell) => cell.length + dots));
    return { name, title: name.toUpperCase(), width: widest, cells };
  });
  if (isWide || width === undefined) return all;
  // A column that is empty in each row tells nothing.
  const told = all.filter(({ name, cells }) => name === 'name' || cells.some((cell) => cell !== '-'));
  return fitting(told, width);
}

/** Columns are left out, never cut, except for the first ones on a terminal that is too narrow even for them. */
function fitting(columns: readonly Shown[], width: number): Shown[] {
  const needed = (shown: readonly Shown[]): number =>
    shown.reduce((sum, column) => sum + column.width, GAP.length * (shown.length - 1));
  const first = columns.slice(0, columns.findIndex(({ name }) => name === 'state') + 1);
  const shown = [...first];
  for (const column of columns.slice(first.length)) if (needed([...shown, column]) <= width) shown.push(column);
  return shown;
}

function rowOf(item: Item, index: number, columns: readonly Shown[], options: OverviewOptions): string {
  const { width, isWide, paint } = options;
  const isBad = stalled(item.object) !== undefined;
  const color = isBad ? paint.bad : isReady(item) ? paint.good : paint.busy;
  let left = isWide ? Infinity : (width ?? Infinity);
  return columns
    .map(({ name, width: padded, cells }, position) => {
      const isDotted = name === 'state' && width !== undefined;
      const text = `${isDotted ? `${DOT} ` : ''}${cells[index] ?? ''}`.padEnd(padded);
      const gap = position === 0 ? '' : GAP;
      const shown = cut(gap + text, left);
      left -= shown.length;
      return name === 'state' ? color(shown) : shown;
    })
    .join('');
}

/** At most `width` characters; with 0, which a longer name leaves to the state, none. */
function cut(text: string, width = Infinity): string {
  if (width === 0) return '';
  return text.trimEnd().length <= width
    ? text.slice(0, width === Infinity ? undefined : width)
    : `${text.slice(0, width - 1)}…`;
}

function nameOf({ kind, object }: Item): string {
  return kind === 'set' ? `set/${object.metadata.name}` : object.metadata.name;
}

/** What the server has and what it becomes, or what spec says in vain, if the two differ. */
function productOf({ kind, object }: Item): string {
  if (kind === 'set') return object.spec.template.spec.product;
  const { product: wanted } = object.spec;
  const { product = wanted } = object.status ?? {};
  if (product === wanted) return wanted;
  if (pendingChange(object) !== undefined) return `${product} → ${wanted}`;
  // A dormant server may be shown as another product, and does not differ.
  return asides(object).some(({ type }) => type === 'Drifted') ? `${product} ≠ ${wanted}` : wanted;
}

const verdictOf = (item: Item) => (item.kind === 'set' ? setReadiness(item.object) : verdict(item.object));

function isReady({ kind, object }: Item): boolean {
  const { status } = kind === 'set' ? setReadiness(object) : serverReadiness(object);
  return status === 'True' && object.metadata.deletionTimestamp === undefined;
}

function stateOf(item: Item, now: number): string {
  const state = unpausedState(item, now);
  return paused(item.object) === undefined ? state : `${state}, paused`;
}

function unpausedState(item: Item, now: number): string {
  const { object } = item;
  const { deletionTimestamp } = object.metadata;
  const { reason } = verdictOf(item);
  if (deletionTimestamp !== undefined) {
    const since = `deleting for ${duration(now - Date.parse(deletionTimestamp))}`;
    const kept = item.kind === 'set' ? undefined : keptBy(item.object);
    const state = kept === undefined ? since : `${since}, ${kept}`;
    return stalled(object) === undefined ? state : `${reason}, ${state}`;
  }
  if (item.kind === 'set') {
    const { readyReplicas = 0 } = item.object.status ?? {};
    const count = `${readyReplicas}/${item.object.spec.replicas}`;
    return isReady(item) ? `Ready ${count}` : `${reason} ${count}`;
  }
  const percent = isReady(item) ? undefined : percentOf(item.object);
  const more = reason === 'Available' ? pendingChange(object)?.reason : reason;
  const head = !isReady(item) ? [reason] : ['Ready', ...(more === undefined ? [] : [more])];
  const state = [...new Set([...head, ...asides(object).map((aside) => aside.reason)])].join(', ');
  return percent === undefined ? state : `${state} ${percent} %`;
}

function priceOf({ kind, object }: Item): number | undefined {
  if (kind === 'set') return object.status?.price;
  return isPaidFor(object) ? object.status?.price : undefined;
}

/** When the operator cancels the server, by `spec.deletionDelay` or by its expiry (ms since the epoch). */
function endOf({ kind, object }: Item): number | undefined {
  if (kind === 'set' || cancelIsForbidden(object) !== undefined) return undefined;
  const { cancelsAt } = object.status ?? {};
  return cancelsAt === undefined ? expiryOf(object, knownRecord(object)) : Date.parse(cancelsAt);
}

function endsIn(item: Item, now: number): string {
  const end = endOf(item);
  if (end !== undefined) return inTime(end - now);
  if (item.kind === 'set' || cancelIsForbidden(item.object) !== undefined) return '';
  const { ttl } = item.object.spec;
  return ttl === undefined ? '' : `${ttl} after ready`;
}

const createdAt = ({ metadata }: Item['object']): number => Date.parse(metadata.creationTimestamp);

/** VPSX4 comes before VPSX16. */
const natural = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

/** By name, the members of a set come after it. */
function sorted(items: readonly Item[], { order }: OverviewOptions): Item[] {
  const place = (item: Item): string => {
    const { namespace, name, labels = {} } = item.object.metadata;
    const set = item.kind === 'set' ? name : labels[SET_LABEL];
    return [namespace, ...(set === undefined ? [name] : [set, item.kind === 'set' ? '' : name])].join('\n');
  };
  const byName = [...items].sort((a, b) => natural(place(a), place(b)));
  const number: Partial<Record<SortOrder, (item: Item) => number>> = {
    // The most expensive, the newest, and the one that ends first come first.
    price: (item) => -(priceOf(item) ?? -Infinity),
    age: (item) => -createdAt(item.object),
    ends: (item) => endOf(item) ?? Infinity,
    state: (item) => (stalled(item.object) === undefined ? (isReady(item) ? 2 : 1) : 0),
  };
  const of = number[order];
  // The sort is stable. Two infinite values have no difference.
  if (of !== undefined) return byName.sort((a, b) => (of(a) === of(b) ? 0 : of(a) - of(b)));
  if (order === 'product') return byName.sort((a, b) => natural(COLUMNS.product(a), COLUMNS.product(b)));
  return byName;
}

/** Members of a set count as servers; the price of the set would count them twice. */
function sums(items: readonly Item[]): string[] {
  const servers = items.flatMap(({ kind, object }) => (kind === 'server' ? [object] : []));
  const sets = items.length - servers.length;
  const { all } = sumUp(servers);
  const counted = [plural(servers.length, 'server'), ...(sets === 0 ? [] : [plural(sets, 'set')])].join(', ');
  const unpriced = all.unpriced === 0 ? '' : `, ${all.unpriced} without a price`;
  const { off = 0 } = all;
  const paid = [
    ...(all.servers > off || off === 0 ? [`${all.servers - off} running`] : []),
    ...(off > 0 ? [`${off} off on purpose`] : []),
  ].join(' and ');
  return [`${counted}; ${paid} for ${priceText(all.price)} in the provider's unit${unpriced}`];
}
