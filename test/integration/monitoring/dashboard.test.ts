/** The dashboard matches its source, is valid according to Grafana's own types, and has no overlapping panels. */
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { DASHBOARD_FILE, dashboardJson } from '../../../tools/dashboard/main.ts';
import type { Dashboard, Panel } from '../../../tools/dashboard/grafana.ts';
import { grafanaSchema, type GrafanaSchema } from './grafana-schema.ts';

let text: string;
let dashboard: Dashboard;
let schema: GrafanaSchema;
beforeAll(async () => {
  text = await readFile(DASHBOARD_FILE, 'utf8');
  dashboard = JSON.parse(text) as Dashboard;
  schema = grafanaSchema();
});

const panels = (): Panel[] => dashboard.panels.filter((panel) => panel.type !== 'row');
/** A copy of the first panel of this type with a change that the types do not allow. */
const broken = (type: string, change: (panel: Record<string, Record<string, unknown>>) => void): unknown => {
  const copy = structuredClone(panels().find((panel) => panel.type === type)) as unknown;
  change(copy as Record<string, Record<string, unknown>>);
  return copy;
};

describe('the dashboard', () => {
  it('matches its source (else run: npm run dashboard)', () => {
    expect(text).toBe(dashboardJson());
  });

  it("is valid according to Grafana's types, each panel by its own type", () => {
    expect(dashboard.panels.flatMap((panel) => schema.panel(panel.type, panel))).toEqual([]);
    expect(schema.dashboard(dashboard)).toEqual([]);
  });

  it('would be invalid with a wrong field, value or option', () => {
    const errors = (type: string, change: Parameters<typeof broken>[1]): string =>
      schema.panel(type, broken(type, change)).join();
    expect(errors('timeseries', (panel) => (panel['gridPosition'] = {}))).toContain('gridPosition');
    expect(errors('timeseries', (panel) => delete panel['options']?.['legend'])).toContain('legend');
    expect(errors('stat', (panel) => Object.assign(panel['options'] ?? {}, { graphMode: 'bars' }))).toContain(
      'graphMode',
    );
    expect(errors('heatmap', (panel) => Object.assign(panel['options'] ?? {}, { palette: 1 }))).toContain('palette');
    expect(schema.dashboard({ ...dashboard, refreshEvery: '1m' }).join()).toContain('refreshEvery');
    expect(schema.dashboard({ ...dashboard, schemaVersion: '39' }).join()).toContain('schemaVersion');
  });

  it('has panels that fit into 24 columns, do not overlap, and have a name, a description and a unique id', () => {
    const taken = new Map<string, string>();
    for (const { title = '', gridPos } of dashboard.panels) {
      const { x, y, w, h } = gridPos ?? { x: 0, y: 0, w: 0, h: 0 };
      expect(x + w, title).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column++)
        for (let line = y; line < y + h; line++) {
          expect(taken.get(`${column} ${line}`), `${title} covers`).toBeUndefined();
          taken.set(`${column} ${line}`, title);
        }
    }
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    expect(panels().filter(({ title, description }) => title === '' || (description ?? '') === '')).toEqual([]);
  });

  it('queries only the data source, job, namespace and pods of its variables', () => {
    const names = dashboard.templating?.list?.map(({ name }) => name);
    expect(names).toEqual(['datasource', 'job', 'namespace', 'pod']);
    for (const { title, datasource, targets } of panels()) {
      for (const source of [datasource, ...targets.map((target) => target.datasource)])
        expect(source, title).toEqual({ type: 'prometheus', uid: '${datasource}' });
      for (const { expr } of targets) {
        expect(expr, title).toContain('job="$job", namespace=~"$namespace"');
        const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name = '']) => name);
        expect(used.filter((name) => name !== '__rate_interval' && !names?.includes(name))).toEqual([]);
      }
    }
  });
});
