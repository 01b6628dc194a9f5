/** Collects everything known about a stage, for the report of a failure. */
import type { Simulator } from '../../src/simulator/index.ts';
import type { Replica } from './replica.ts';

const LEDGER_LINES = 40;
const LOG_LINES = 80;

interface Dumped {
  objects: unknown;
  simulator: Simulator;
  labels: readonly string[];
  replicas: readonly Replica[];
}

export function dump({ objects, simulator, labels, replicas }: Dumped): string {
  const ledger = simulator.ledger.entries().filter(({ kind }) => kind !== 'connection' && kind !== 'login');
  const entries = ledger.slice(-LEDGER_LINES).map((entry) => JSON.stringify(entry));
  return [
    `objects: ${JSON.stringify(objects)}`,
    section('the provider, latest requests', entries),
    section('requests', labels),
    ...replicas.map(({ name, log, stderr }) => section(`log of ${name}`, [...log.slice(-LOG_LINES), ...stderr])),
  ].join('\n');
}

function section(title: string, lines: readonly string[]): string {
  return [`${title}:`, ...lines.map((line) => `  ${line}`)].join('\n');
}
