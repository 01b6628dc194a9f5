/** Grafana's types as a JSON schema that rejects unknown fields. */
import { join } from 'node:path';
import { Ajv, type AnySchemaObject, type ErrorObject } from 'ajv';
import { createGenerator } from 'ts-json-schema-generator';
import { ROOT } from '../deploy/cluster.ts';

const TYPES = join(ROOT, 'tools/dashboard/grafana.ts');

/** Errors of a panel, according to the type of its kind, or of a whole dashboard. */
export interface GrafanaSchema {
  dashboard(value: unknown): string[];
  panel(type: string, value: unknown): string[];
}

const PANELS: Readonly<Record<string, string>> = {
  timeseries: 'TimeSeriesPanel',
  heatmap: 'HeatmapPanel',
  stat: 'StatPanel',
  row: 'Row',
};

/** Takes seconds, because it reads all of Grafana's types. */
export function grafanaSchema(): GrafanaSchema {
  const generator = createGenerator({
    path: TYPES,
    tsconfig: join(ROOT, 'tsconfig.json'),
    // Type names are not unique: DataQuery is declared twice.
    expose: 'none',
    additionalProperties: false,
    skipTypeCheck: true,
  });
  const ajv = new Ajv({ allErrors: true, strict: false });
  const check = (name: string) => {
    const validate = ajv.compile(generator.createSchema(name) as AnySchemaObject);
    return (value: unknown): string[] => (validate(value) ? [] : (validate.errors ?? []).map(sentence));
  };
  const panels = new Map(Object.entries(PANELS).map(([type, name]) => [type, check(name)]));
  return {
    dashboard: check('Dashboard'),
    panel: (type, value) => panels.get(type)?.(value) ?? [`${type} is an unknown kind of panel`],
  };
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  return `${instancePath} ${message ?? ''} ${JSON.stringify(params)}`;
}
