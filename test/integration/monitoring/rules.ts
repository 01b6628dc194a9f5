/** Reads the alerts. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { ROOT } from '../deploy/cluster.ts';

const FILE = join(ROOT, 'deploy/manifests/overlays/monitoring/prometheusrule.yaml');

export interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** The groups of the PrometheusRule as a Prometheus rule file, and its rules one by one. */
export async function readRules(): Promise<{ file: string; rules: Rule[] }> {
  const text = await readFile(FILE, 'utf8');
  const { spec } = parse(text) as { spec: { groups: { rules: Rule[] }[] } };
  return { file: stringify(spec), rules: spec.groups.flatMap(({ rules }) => rules) };
}
