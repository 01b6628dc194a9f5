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

const RAW_CONTROL = /[\u007f-\u009f]/g;

/**
 * Data for programs; ends with a newline. JSON and YAML escape control characters, but not those of ISO 8859, which
 * steer some terminals as well; where one stands, the text is quoted in both, so that it can be escaped.
 */
export function data(value: unknown, format: Exclude<Format, 'table'>): string {
  // kubectl reads YAML 1.1, where words such as yes and on, and numbers such as 1_000, are no text without quotes.
  const text =
    format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : stringify(value, { lineWidth: 0, compat: 'yaml-1.1' });
  return text.replace(RAW_CONTROL, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
