/** `npm run dashboard`: writes the dashboard of deploy/manifests/overlays/monitoring. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DashboardCursorSync, VariableRefresh, type VariableModel } from '@grafana/schema';
import { SECTIONS } from './content.ts';
import type { Dashboard, Panel, Row } from './grafana.ts';
import { DATASOURCE, place, type Unnumbered } from './panels.ts';

export const DASHBOARD_FILE = join(import.meta.dirname, '../../deploy/manifests/overlays/monitoring/dashboard.json');
/** Version of Grafana's data model; newer Grafana versions migrate it. */
const SCHEMA_VERSION = 39;

function labelVariable(name: string, label: string, metric: string, multi: boolean): VariableModel {
  return {
    name,
    type: 'query',
    label: name,
    datasource: DATASOURCE,
    query: { query: `label_values(${metric}, ${label})`, refId: name },
    refresh: VariableRefresh.onTimeRangeChanged,
    multi,
    includeAll: multi,
    current: multi ? { text: 'All', value: '$__all' } : { text: 'vps-operator', value: 'vps-operator' },
  };
}

function panels(): (Panel | Row)[] {
  let top = 0;
  const all = SECTIONS.flatMap(({ title, perLine, height, panels: own }): (Unnumbered | Omit<Row, 'id'>)[] => {
    const row: Omit<Row, 'id'> = {
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y: top, w: 24, h: 1 },
      panels: [],
    };
    const { placed, bottom } = place(own, top + 1, perLine, height);
    top = bottom;
    return [row, ...placed];
  });
  return all.map((panel, index) => ({ id: index + 1, ...panel }));
}

/** The content of the dashboard file. */
export function dashboardJson(): string {
  const dashboard: Dashboard = {
    uid: 'vps-operator',
    title: 'VPS operator',
    description: 'Servers that are ordered and cancelled through Kubernetes, and the operator that manages them.',
    tags: ['vps-operator', 'kubernetes'],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: DashboardCursorSync.Crosshair,
    time: { from: 'now-6h', to: 'now' },
    refresh: '1m',
    timezone: 'browser',
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', label: 'data source', query: 'prometheus', multi: false },
        labelVariable('job', 'job', 'leader_election_master_status{name="vps-operator"}', false),
        labelVariable('namespace', 'namespace', 'leader_election_master_status{job="$job"}', true),
        labelVariable('pod', 'pod', 'leader_election_master_status{job="$job", namespace=~"$namespace"}', true),
      ],
    },
    panels: panels(),
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

if (import.meta.main) await writeFile(DASHBOARD_FILE, dashboardJson());
