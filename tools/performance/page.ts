/** The table and the plot of docs/reference/performance.md. */
import { table } from '../docs/table.ts';
import { plot, type Panel } from './plot.ts';
import type { Figures } from './results.ts';

/** The programs on the page, by their names in the results. */
const NAMES = new Map([
  ['product', 'vps-operator'],
  ['controller-runtime', 'plain Go operator'],
  ['limit', 'bare writes'],
]);

interface Row extends Panel {
  /** Decimal places. */
  places: number;
}

const READY: Row = { title: 'all Ready after (s)', value: ({ readySeconds }) => readySeconds, places: 1, scale: 'log' };
const CPU: Row = { title: 'CPU for each server (ms)', value: ({ cpuMsPerServer }) => cpuMsPerServer, places: 1 };
const MEMORY: Row = { title: 'peak memory (MB)', value: ({ peakMemoryMb }) => peakMemoryMb, places: 0 };
const ROWS: readonly Row[] = [
  READY,
  { title: 'all gone after (s)', value: ({ goneSeconds }) => goneSeconds, places: 1 },
  { title: 'one new object: order sent after (ms)', value: ({ singleMs }) => singleMs, places: 0 },
  CPU,
  {
    title: 'CPU of API server and etcd for each server (ms)',
    value: ({ controlPlaneMsPerServer }) => controlPlaneMsPerServer,
    places: 1,
  },
  { title: 'writes for each server, with Events', value: ({ writesPerServer }) => writesPerServer, places: 1 },
  MEMORY,
];

const START = '<!-- figures: `npm run performance` writes this part -->';
const END = '<!-- end of figures -->';

/** The page with the present figures; throws an Error if it lacks the two comments between which they stand. */
export function withFigures(page: string, figures: readonly Figures[]): string {
  const [before, rest] = page.split(START);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined) throw new Error(`the page needs "${START}" and "${END}"`);
  return `${before}${START}\n\n${tables(figures)}\n\n${END}${after}`;
}

/** An SVG document. */
export function picture(figures: readonly Figures[]): string {
  return plot(figures, NAMES, [READY, CPU, MEMORY]);
}

/** One table for each number of servers. */
function tables(figures: readonly Figures[]): string {
  const sizes = [...new Set(figures.map(({ n }) => n))].sort((a, b) => a - b);
  return sizes
    .map((n) =>
      tableOf(
        n,
        figures.filter((figure) => figure.n === n),
      ),
    )
    .join('\n\n');
}

function tableOf(n: number, figures: readonly Figures[]): string {
  const columns = [...NAMES].flatMap(([peer, name]) => {
    const found = figures.find((figure) => figure.peer === peer);
    return found === undefined ? [] : [{ name, found }];
  });
  const rows = ROWS.map(({ title, value, places }) => [
    title,
    ...columns.map(({ found }) => value(found)?.toFixed(places) ?? '-'),
  ]);
  return table([`${n.toLocaleString('en')} servers`, ...columns.map(({ name }) => name)], rows);
}
