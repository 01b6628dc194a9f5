/** Draws figures over the number of servers: one panel for each measure, one line for each program. */
import * as echarts from 'echarts';
import type { Figures } from './results.ts';

export interface Panel {
  title: string;
  value: (figures: Figures) => number | undefined;
  /** The scale of the measure. The number of servers always has a logarithmic one. */
  scale?: 'value' | 'log';
}

const WIDTH = 960;
const HEIGHT = 320;
const MARGIN = { left: 56, right: 24, top: 72, bottom: 48 };
/** Okabe and Ito's colors, which color-blind readers tell apart. */
const COLORS = ['#0072B2', '#E69F00', '#009E73'];
const FONT = 'system-ui, sans-serif';

/** An SVG document. `names`: peer to name; their order is the order of the lines. */
export function plot(
  figures: readonly Figures[],
  names: ReadonlyMap<string, string>,
  panels: readonly Panel[],
): string {
  const chart = echarts.init(null, undefined, { renderer: 'svg', ssr: true, width: WIDTH, height: HEIGHT });
  const share = WIDTH / panels.length;
  const left = (index: number): number => index * share + MARGIN.left;
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    color: COLORS,
    textStyle: { fontFamily: FONT },
    legend: { top: 8, itemGap: 48, data: [...names.values()] },
    title: panels.map(({ title }, index) => ({
      text: title,
      left: left(index) - MARGIN.left / 2,
      top: 40,
      textStyle: { fontSize: 14, fontWeight: 'bold' },
    })),
    grid: panels.map((_, index) => ({
      left: left(index),
      top: MARGIN.top,
      width: share - MARGIN.left - MARGIN.right,
      height: HEIGHT - MARGIN.top - MARGIN.bottom,
    })),
    xAxis: panels.map((_, index) => ({
      gridIndex: index,
      type: 'log',
      name: 'servers',
      nameLocation: 'middle',
      nameGap: 28,
    })),
    yAxis: panels.map(({ scale = 'value' }, index) => ({ gridIndex: index, type: scale })),
    series: panels.flatMap(({ value }, index) =>
      [...names].map(([peer, name]) => ({
        name,
        type: 'line',
        xAxisIndex: index,
        yAxisIndex: index,
        symbolSize: 7,
        data: figures.flatMap((of) => {
          const measured = of.peer === peer ? value(of) : undefined;
          return measured === undefined ? [] : [[of.n, rounded(measured)]];
        }),
      })),
    ),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  // Classes and their styles serve a mouse, and their names count the charts of a process.
  return `${svg.replaceAll(/ class="[^"]*"/g, '').replace(/<style[\s\S]*<\/style>\s*/, '')}\n`;
}

/** Two significant digits more than a reader needs, so that a drawing does not change with the last bits. */
const rounded = (value: number): number => Number(value.toPrecision(4));
