/** Panels of each kind with this dashboard's defaults; callers state only what differs. */
import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  GraphDrawStyle,
  LegendDisplayMode,
  PercentChangeColorMode,
  SortOrder,
  StackingMode,
  ThresholdsMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizOrientation,
  type DataSourceRef,
} from '@grafana/schema';
import {
  HeatmapColorMode,
  HeatmapColorScale,
} from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type { HeatmapPanel, Panel, PrometheusQuery, StatPanel, TimeSeriesPanel } from './grafana.ts';

export const DATASOURCE: DataSourceRef = { type: 'prometheus', uid: '${datasource}' };
/** Fields that only a panel with a position has. */
type Placed = 'id' | 'gridPos';
export type Unplaced = Omit<TimeSeriesPanel, Placed> | Omit<HeatmapPanel, Placed> | Omit<StatPanel, Placed>;
export type Unnumbered = Unplaced & Pick<Panel, 'gridPos'>;

interface Shown {
  title: string;
  description: string;
  /** A Grafana unit, such as `s`, `bytes`, `reqps`; default: a plain number. */
  unit?: string;
}

/** Expressions by legend; `{{label}}` in a legend is replaced by the label's value. */
type Queries = Record<string, string>;

const refId = (index: number): string => String.fromCharCode('A'.charCodeAt(0) + index);

function targets(queries: Queries, format: PrometheusQuery['format'] = 'time_series', instant = false) {
  return Object.entries(queries).map(([legendFormat, expr], index): PrometheusQuery => ({
    refId: refId(index),
    datasource: DATASOURCE,
    expr,
    legendFormat,
    format,
    range: !instant,
    instant,
  }));
}

export function timeSeries(shown: Shown & { queries: Queries; stacked?: boolean }): Unplaced {
  const { title, description, unit = 'short', queries, stacked = false } = shown;
  return {
    type: 'timeseries',
    title,
    description,
    datasource: DATASOURCE,
    targets: targets(queries),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        custom: {
          drawStyle: GraphDrawStyle.Line,
          fillOpacity: stacked ? 30 : 10,
          ...(stacked && { stacking: { mode: StackingMode.Normal, group: 'A' } }),
        },
      },
      overrides: [],
    },
    options: {
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the package declares this enum twice
      legend: { displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
    },
  };
}

/** The last value as a number, red from `alarm` on. */
export function stat(shown: Shown & { expr: string; alarm?: number }): Unplaced {
  const { title, description, unit = 'short', expr, alarm } = shown;
  const steps = [{ value: null, color: 'green' }, ...(alarm === undefined ? [] : [{ value: alarm, color: 'red' }])];
  return {
    type: 'stat',
    title,
    description,
    datasource: DATASOURCE,
    targets: targets({ [title]: expr }, 'time_series', true),
    fieldConfig: { defaults: { unit, thresholds: { mode: ThresholdsMode.Absolute, steps } }, overrides: [] },
    options: {
      reduceOptions: { calcs: ['lastNotNull'], values: false },
      orientation: VizOrientation.Auto,
      text: {},
      colorMode: BigValueColorMode.Value,
      graphMode: BigValueGraphMode.None,
      justifyMode: BigValueJustifyMode.Auto,
      textMode: BigValueTextMode.Auto,
      wideLayout: true,
      showPercentChange: false,
      percentChangeColorMode: PercentChangeColorMode.Standard,
    },
  };
}

/** A heatmap of a histogram's buckets by `le`. */
export function heatmap(shown: Shown & { expr: string }): Unplaced {
  const { title, description, unit = 'short', expr } = shown;
  return {
    type: 'heatmap',
    title,
    description,
    datasource: DATASOURCE,
    targets: targets({ '{{le}}': expr }, 'heatmap'),
    fieldConfig: { defaults: {}, overrides: [] },
    options: {
      calculate: false,
      color: {
        mode: HeatmapColorMode.Scheme,
        scheme: 'Oranges',
        scale: HeatmapColorScale.Exponential,
        exponent: 0.5,
        fill: 'dark-orange',
        steps: 64,
        reverse: false,
      },
      yAxis: { unit },
      cellGap: 1,
      legend: { show: true },
      tooltip: { mode: TooltipDisplayMode.Single, yHistogram: false, showColorScale: false },
      exemplars: { color: 'rgba(255,0,255,0.7)' },
      showValue: VisibilityMode.Never,
    },
  };
}

/** Places panels, `perLine` of them in each line of 24 columns; returns where the next line begins. */
export function place(panels: readonly Unplaced[], top: number, perLine: number, height: number) {
  const width = 24 / perLine;
  const placed = panels.map((panel, index): Unnumbered => ({
    ...panel,
    gridPos: { x: (index % perLine) * width, y: top + Math.floor(index / perLine) * height, w: width, h: height },
  }));
  return { placed, bottom: top + Math.ceil(panels.length / perLine) * height };
}
