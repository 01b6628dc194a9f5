/** Rows in columns, as kubectl shows them; and objects as JSON or YAML. Pure. */
import { stringify } from 'yaml';
import { clean } from './terminal.ts';

export const FORMATS = ['table', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

/** Cells are cleaned; the last column is as long as it is. */
export function columns(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cleaned = [header, ...rows.map((cells) => cells.map((cell) => clean(cell) || '-'))];
  const widths = header.map((_, index) => Math.max(...cleaned.map((cells) => cells[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('   ');
  return cleaned.map((cells) => line(cells).trimEnd());
}

/** Data for programs; ends with a newline. */
export function data(value: unknown, format: Exclude<Format, 'table'>): string {
  return format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : stringify(value, { lineWidth: 0 });
}
