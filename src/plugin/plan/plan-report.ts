/** Shows a plan as text, Markdown or JSON. Pure. */
import { printable } from '../../base/text.ts';
import { priceText, sumOf } from '../../virtual-server/decision/price.ts';
import type { PlannedChange, Costs, Total, Verb } from './plan-servers.ts';
import { columns, data } from '../terminal/table.ts';
import { plural } from '../state/totals.ts';
import { clean, type Paint } from '../terminal/terminal.ts';

export const PLAN_FORMATS = ['text', 'json', 'markdown'] as const;
export type PlanFormat = (typeof PLAN_FORMATS)[number];

export interface PlanReport {
  changes: readonly PlannedChange[];
  /** By namespace. */
  prices: ReadonlyMap<string, { before: Total; after: Total }>;
  /** What the plan cannot tell. */
  notes: readonly string[];
}

const WORDS: Record<Verb, string> = {
  order: 'to order',
  adopt: 'to adopt',
  replace: 'to replace',
  cancel: 'to cancel',
  release: 'to release',
  change: 'to change',
  delete: 'to delete',
  refuse: 'refused',
  none: 'unchanged',
};

export function render(report: PlanReport, format: PlanFormat, paint: Paint): string {
  if (format === 'json') return data(dataOf(report), 'json');
  return `${(format === 'markdown' ? markdown(report) : text(report, paint)).join('\n')}\n`;
}

/** An unchanged object has a row if it waits for something: the apply does not end that. */
const isShown = ({ verb, detail }: PlannedChange): boolean => verb !== 'none' || detail !== '';

const verbOf = ({ verb }: PlannedChange): string => (verb === 'none' ? WORDS.none : verb);

function text(report: PlanReport, paint: Paint): string[] {
  const shown = report.changes.filter(isShown);
  const rows = shown.map((change) => [verbOf(change), objectOf(change), costOf(change), change.detail]);
  return [
    ...(rows.length === 0 ? [] : [...columns(['PLAN', 'OBJECT', 'PRICE', 'DETAILS'], rows), '']),
    paint.strong(summaryOf(report)),
    ...priceLines(report).map(clean),
    ...report.notes.map((note) => clean(`note: ${note}`)),
  ];
}

/** For a comment on a pull request. Text from a manifest or the cluster is in code spans, where it has no effect. */
function markdown(report: PlanReport): string[] {
  const shown = report.changes.filter(isShown);
  const rows = shown.map((change) =>
    [`**${verbOf(change)}**`, code(objectOf(change)), code(costOf(change)), code(change.detail)].join(' | '),
  );
  const table = ['| plan | object | price | details |', '|---|---|---|---|', ...rows.map((row) => `| ${row} |`), ''];
  return [
    `### ${summaryOf(report)}`,
    '',
    ...(rows.length === 0 ? [] : table),
    ...priceLines(report).map((line) => `- ${code(line)}`),
    ...report.notes.map((note) => `- note: ${code(note)}`),
  ];
}

/**
 * A code span, which shows its text literally: no mention, link or HTML. Nothing in it can end the span or the cell of the
 * table: backslashes and bars have look-alikes, because escapes in a span in a table depend on the renderer.
 */
function code(value: string): string {
  const safe = printable(value).trim().replaceAll('`', "'").replaceAll('|', '¦').replaceAll('\\', '⧵');
  return safe === '' ? '' : `\`${safe}\``;
}

function summaryOf({ changes }: PlanReport): string {
  const counts = (Object.keys(WORDS) as Verb[]).flatMap((verb) => {
    const count = changes.filter((change) => change.verb === verb).length;
    return count === 0 ? [] : [`${count} ${WORDS[verb]}`];
  });
  const servers = sumBy(changes, 'ordered') + sumBy(changes, 'cancelled');
  const orders = `${plural(sumBy(changes, 'ordered'), 'server')} ordered and ${sumBy(changes, 'cancelled')} cancelled`;
  const plan = counts.length === 0 ? 'no object' : counts.join(', ');
  return servers === 0 ? `Plan: ${plan}` : `Plan: ${plan}; ${orders}`;
}

const sumBy = (changes: readonly PlannedChange[], which: 'ordered' | 'cancelled'): number =>
  changes.reduce((sum, change) => sum + change[which].length, 0);

function priceLines({ prices }: PlanReport): string[] {
  return [...prices].map(([namespace, { before, after }]) => {
    const unit = "in the provider's unit";
    return `price in ${namespace}: ${totalText(before)} before, ${totalText(after)} after, ${unit}`;
  });
}

function totalText({ price, unknown, estimated }: Total): string {
  const known = `${estimated === true ? ABOUT : ''}${priceText(price)}`;
  return unknown === 0 ? known : `${known} and ${unknown} of unknown price`;
}

/** Before an estimate. */
const ABOUT = 'about ';

const objectOf = ({ kind, namespace, name }: PlannedChange): string => `${kind} ${namespace}/${name}`;

/** The known difference, and how many unknown prices it leaves out. */
function costOf(change: PlannedChange): string {
  const { more, less } = costsIn(change);
  if (more.length + less.length === 0) return '';
  const { price, unknown, estimated } = differenceOf(more, less);
  // Half of a difference tells nothing.
  const isKnown = [...more, ...less].some((one) => one.price !== undefined);
  if (!isKnown || (change.resized?.length === 1 && unknown > 0)) return 'unknown';
  const difference = `${estimated === true ? ABOUT : ''}${price > 0 ? '+' : ''}${priceText(price)}`;
  return unknown === 0 ? difference : `${difference} and ${unknown} unknown`;
}

/** What costs more after the change, and what costs less. */
const costsIn = ({
  ordered,
  cancelled,
  adopted = [],
  resized = [],
}: PlannedChange): { more: Costs[]; less: Costs[] } => ({
  more: [...ordered, ...adopted, ...resized.map(({ after }) => after)],
  less: [...cancelled, ...resized.map(({ before }) => before)],
});

function differenceOf(more: readonly Costs[], less: readonly Costs[]): Total {
  const known = (costs: readonly Costs[]): number[] =>
    costs.flatMap(({ price }) => (price === undefined ? [] : [price]));
  const price = sumOf([...known(more), ...known(less).map((one) => -one)]);
  const all = [...more, ...less];
  const unknown = all.filter((one) => one.price === undefined).length;
  return { price, unknown, ...(all.some(({ estimated }) => estimated) && { estimated: true }) };
}

/** The total after the changes. */
export function totalAfter(before: Total, changes: readonly PlannedChange[]): Total {
  const costs = changes.map(costsIn);
  const [more, less] = [costs.flatMap((one) => one.more), costs.flatMap((one) => one.less)];
  const unknownIn = (some: readonly Costs[]): number => some.filter(({ price }) => price === undefined).length;
  const { price, estimated } = differenceOf(more, less);
  return {
    price: sumOf([before.price, price]),
    unknown: before.unknown + unknownIn(more) - unknownIn(less),
    ...((before.estimated ?? estimated) && { estimated: true }),
  };
}

function dataOf({ changes, prices, notes }: PlanReport): object {
  const counts = Object.fromEntries(
    (Object.keys(WORDS) as Verb[]).map((verb) => [verb, changes.filter((change) => change.verb === verb).length]),
  );
  return {
    summary: { ...counts, servers: { ordered: sumBy(changes, 'ordered'), cancelled: sumBy(changes, 'cancelled') } },
    prices: Object.fromEntries(prices),
    changes,
    notes,
  };
}
