/** What stays on a terminal after a program has written to it. */
import { stripVTControlCharacters } from 'node:util';

/** Keeps colors. Wraps long lines between words, which read better than the cut words of a terminal. */
export function screenOf(output: string, columns: number): string {
  return output
    .replaceAll('\r\n', '\n')
    .replaceAll(MODES, '')
    .split('\n')
    .map((line) => wrapped(line.slice(line.lastIndexOf(ERASED) + 1).replace(ERASE, ''), columns))
    .join('\n');
}

/** The program has returned to the start of the line, and erased it. */
const ERASED = '\r\u001b[K';
const ERASE = '\u001b[K';
/** Hides or shows the cursor, and whether long lines wrap. */
// eslint-disable-next-line no-control-regex
const MODES = /\u001b\[\?(25|7)[hl]/g;

function wrapped(line: string, columns: number): string {
  let column = 0;
  let result = '';
  for (const word of line.split(/(?<= )(?=[^ ])/)) {
    const shown = stripVTControlCharacters(word);
    if (column > 0 && column + shown.trimEnd().length > columns) {
      result += '\n';
      column = 0;
    }
    result += word;
    column += shown.length;
  }
  return result;
}
