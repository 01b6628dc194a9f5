/** Draws on a terminal what changes: one line with a spinner, or a whole screen. Elsewhere, only text is written. */
import { stripVTControlCharacters } from 'node:util';
import { duration } from './progress.ts';
import type { Terminal } from '../terminal/terminal.ts';

const ERASE_LINE = '\r\u001b[K';
/** Text beyond the right edge is then not shown: some characters are two columns wide, and a wrapped line could not be erased. */
const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 100;
/** Below this width, the line has no room for a bar. */
const NARROW = 80;
/** What the text of a line keeps of the width, before its times are left out. */
const TEXT_PART = 0.6;
/** Lines that the terminal needs below the screen: one for the cursor. */
const SPARE_LINES = 1;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Whether what was drawn on this stream can be drawn again. */
export function isLive(terminal: Terminal, stream: 'out' | 'err'): boolean {
  return terminal[stream].isTTY && !terminal.isDumb;
}

/** Columns and rows; some terminals do not know theirs. */
function sizeOf({ columns, rows }: NodeJS.WriteStream): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}

/** Hides the cursor until the returned function is called. A signal ends the process as without this, with the cursor shown. */
function withoutCursor(stream: NodeJS.WriteStream): () => void {
  const restore = (): void => {
    for (const signal of SIGNALS) process.off(signal, die);
    stream.write(SHOW_CURSOR);
  };
  const die = (signal: NodeJS.Signals): void => {
    restore();
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, die);
  stream.write(HIDE_CURSOR);
  return restore;
}

export interface LiveLine {
  /** Whether there is no room for a bar. */
  isNarrow: boolean;
  /** `times`: what changes with the clock, so that it is no reason for another line in a pipe. */
  show: (text: string, times?: string) => void;
  /** Erases the line. */
  end: () => void;
}

/** On a terminal, one line with a spinner and the time since the start; elsewhere, a line for each change. `name` begins it. */
export function liveLine(terminal: Terminal, name: string, now: () => number): LiveLine {
  const { err } = terminal;
  if (!isLive(terminal, 'err')) return plainLines(err, name);
  const start = now();
  let shown: { text: string; times: string | undefined } = { text: '', times: undefined };
  const draw = (): void => {
    // A note about the first look has a separate line.
    if (shown.text === '') return;
    const elapsed = now() - start;
    const frame = FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length] ?? '';
    const times = [duration(elapsed), ...(shown.times === undefined ? [] : [shown.times])];
    const line = fitted(`${frame} ${name}  ${shown.text}`, times, sizeOf(err).columns - 1);
    err.write(ERASE_LINE + NO_WRAP + line + WRAP);
  };
  const restore = withoutCursor(err);
  const timer = setInterval(draw, FRAME_MS);
  return {
    isNarrow: sizeOf(err).columns < NARROW,
    show(text, times) {
      shown = { text, times };
      draw();
    },
    end() {
      clearInterval(timer);
      err.write(ERASE_LINE);
      restore();
    },
  };
}

function plainLines(err: NodeJS.WriteStream, name: string): LiveLine {
  let shown: string | undefined;
  return {
    isNarrow: false,
    show(text, times) {
      if (text !== shown) err.write(`${name}  ${text}${times === undefined ? '' : `, ${times}`}\n`);
      shown = text;
    },
    end: () => undefined,
  };
}

/** Cuts the text, not the times. `times`: the last ones are left out first. */
function fitted(text: string, times: readonly string[], width: number): string {
  const tail = `  (${times.join(', ')})`;
  const room = width - tail.length;
  if (text.length <= room) return text + tail;
  if (times.length > 1 && room < width * TEXT_PART) return fitted(text, times.slice(0, -1), width);
  return `${text.slice(0, Math.max(1, room - 1))}…${tail}`;
}

export interface LiveScreen {
  /** In place of what was drawn before. */
  draw: (lines: readonly string[]) => void;
  /** Keeps what the screen shows. */
  end: () => void;
}

/** Long lines wrap as the terminal wraps them, so that a command copied from them stays whole. */
export function liveScreen({ out }: Pick<Terminal, 'out'>): LiveScreen {
  let drawn: readonly string[] = [];
  return {
    end: withoutCursor(out),
    draw(lines) {
      const size = sizeOf(out);
      const shown = within(lines, Math.max(1, size.rows - SPARE_LINES), size.columns);
      if (shown.join('\n') === drawn.join('\n')) return;
      // The terminal may have another width by now.
      const rows = rowsOf(drawn, size.columns);
      out.write(`${rows === 0 ? '' : `\u001b[${rows}A\u001b[J`}${shown.join('\n')}\n`);
      drawn = shown;
    },
  };
}

/** As many lines as fit, and how many do not. */
function within(lines: readonly string[], room: number, columns: number): readonly string[] {
  if (rowsOf(lines, columns) <= room) return lines;
  const fits = lines.findIndex((_, index) => rowsOf(lines.slice(0, index + 1), columns) > room - 1);
  return [...lines.slice(0, fits), `… ${lines.length - fits} more lines`];
}

function rowsOf(lines: readonly string[], columns: number): number {
  const rows = lines.map((line) => Math.ceil(stripVTControlCharacters(line).length / columns));
  return rows.reduce((sum, count) => sum + Math.max(1, count), 0);
}
