/** Markdown of the generated pages: tables, anchors and wrapped lines. */

/** A table without the columns that are empty in every row. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const used = columns.map((_, index) => rows.some((row) => row[index] !== ''));
  const line = (cells: readonly string[]): string => `| ${cells.filter((_, index) => used[index]).join(' | ')} |`;
  return [line(columns), line(columns.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Code in a cell: a bar would end the cell, even within backticks. */
export const code = (value: string): string => `\`${value.replaceAll('|', '\\|')}\``;

/** Plain text in a cell. */
export const text = (value: string): string => value.replaceAll('|', '\\|').replaceAll('<', '&lt;');

/** The anchor that GitHub gives to a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** Wraps a paragraph or list item at the width of the written pages; further lines begin with `indent`. */
export function wrap(paragraph: string, indent = ''): string {
  const lines: string[] = [];
  for (const word of paragraph.split(' ')) {
    const longer = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && longer.length <= WIDTH) lines.splice(-1, 1, longer);
    else lines.push(lines.length === 0 ? word : `${indent}${word}`);
  }
  return lines.join('\n');
}

const WIDTH = 125;
