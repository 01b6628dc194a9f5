/** Formats rows in columns as kubectl does, and objects as JSON or YAML. Pure. */
import { Document, visit } from 'yaml';
import { escaped } from '../../base/text.ts';
import { isPlainText } from '../../kube/yaml.ts';
import { clean } from './terminal.ts';

export const FORMATS = ['table', 'json', 'yaml'] as const;
export type Format = (typeof FORMATS)[number];

/** Cleans the cells and pads the columns; lines have no trailing blanks. */
export function columns(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cleaned = [header, ...rows.map((cells) => cells.map((cell) => clean(cell) || '-'))];
  const widths = header.map((_, index) => Math.max(...cleaned.map((cells) => cells[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('   ');
  return cleaned.map((cells) => line(cells).trimEnd());
}

// kubectl reads YAML 1.1, where yes, on and 1_000 are not strings unless quoted.
const YAML = { lineWidth: 0, compat: 'yaml-1.1' } as const;

/** Output for programs, escaped so that it cannot steer the terminal either; ends with a newline. */
export function data(value: unknown, format: Exclude<Format, 'table'>): string {
  return escaped(format === 'json' ? `${JSON.stringify(value, null, 2)}\n` : yaml(value));
}

/**
 * Puts strings that need escapes in double quotes, the only place where YAML has escapes, and also those that kubectl would
 * read as another value and the package yaml would not, such as 0X1f.
 */
function yaml(value: unknown): string {
  const document = new Document(value, YAML);
  visit(document, {
    Scalar: (_key, scalar) => {
      const { value: text } = scalar;
      if (typeof text === 'string' && (escaped(text) !== text || !isPlainText(text))) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString(YAML);
}
