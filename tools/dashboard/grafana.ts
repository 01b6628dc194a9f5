/** Types of a dashboard with our kinds of panels: Grafana's own types, combined by panel type. */
import type {
  Dashboard as AnyDashboard,
  DataQuery,
  DataSourceRef,
  FieldConfigSource,
  GraphFieldConfig,
  Panel as AnyPanel,
  RowPanel,
} from '@grafana/schema';
import type {
  FieldConfig as HeatmapField,
  Options as HeatmapOptions,
} from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { Options as TimeSeriesOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

/** A query of Grafana's Prometheus data source, for which @grafana/schema has no types. */
export interface PrometheusQuery extends DataQuery {
  datasource: DataSourceRef;
  expr: string;
  legendFormat: string;
  format: 'time_series' | 'heatmap';
  range: boolean;
  instant: boolean;
}

/** A panel in Grafana's schema accepts any options; here they are those of its type. */
type Typed<Type extends string, Options, Field> = Omit<
  AnyPanel,
  'type' | 'title' | 'options' | 'fieldConfig' | 'targets' | 'gridPos' | 'id'
> & {
  id: number;
  type: Type;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  options: Options;
  fieldConfig: FieldConfigSource<Field>;
  targets: PrometheusQuery[];
};

export type TimeSeriesPanel = Typed<'timeseries', TimeSeriesOptions, GraphFieldConfig>;
export type HeatmapPanel = Typed<'heatmap', HeatmapOptions, HeatmapField>;
export type StatPanel = Typed<'stat', StatOptions, Record<string, never>>;
export type Panel = TimeSeriesPanel | HeatmapPanel | StatPanel;
export interface Row extends Omit<RowPanel, 'panels'> {
  panels: [];
}

export interface Dashboard extends Omit<AnyDashboard, 'panels'> {
  panels: (Panel | Row)[];
}
