/** Shows lines that stay, and on a terminal a view below them that is redrawn in place. */

export interface Screen {
  /** A line that stays. */
  say(text: string): void;
  /** The view of the moment: on a terminal `lines` replace those of the last call; elsewhere `plain` is said once. */
  view(lines: readonly string[], plain: string): void;
  /** The view stays as it is; the next one begins below. */
  freeze(): void;
}

const UP_AND_CLEAR = (lines: number) => `\u001b[${lines}A\u001b[J`;

export function createScreen(out: NodeJS.WriteStream): Screen {
  let drawn: readonly string[] = [];
  let said = '';

  /** A line that wraps would take two and break the count. */
  const fit = (line: string): string => line.slice(0, Math.max(20, out.columns - 1));
  const erase = (): string => (drawn.length === 0 ? '' : UP_AND_CLEAR(drawn.length));
  const draw = (lines: readonly string[]): string => lines.map((line) => `${fit(line)}\n`).join('');

  return {
    say(text) {
      out.write(`${erase()}${text}\n${draw(drawn)}`);
    },
    view(lines, plain) {
      if (out.isTTY) {
        out.write(`${erase()}${draw(lines)}`);
        drawn = lines;
      } else if (plain !== said) out.write(`${plain}\n`);
      said = plain;
    },
    freeze() {
      drawn = [];
    },
  };
}
