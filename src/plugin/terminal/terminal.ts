/** The terminal or pipe of a command: text without control characters, colors only where they show. */
import { styleText } from 'node:util';
import { printable } from '../../base/text.ts';

export interface Paint {
  strong: (text: string) => string;
  faint: (text: string) => string;
  good: (text: string) => string;
  busy: (text: string) => string;
  bad: (text: string) => string;
}

export interface Terminal {
  /** Results. */
  out: NodeJS.WriteStream;
  /** Everything else: progress, prompts, warnings. */
  err: NodeJS.WriteStream;
  input: NodeJS.ReadStream;
  paint: Paint;
  /** It shows escape codes instead of obeying them. */
  isDumb: boolean;
  /** The program that opens a web address, and its arguments before the address; undefined without a screen. */
  opener?: readonly string[] | undefined;
}

type Style = Parameters<typeof styleText>[0];

/** Colors as far as `stream` shows them: none in a pipe, with NO_COLOR, or on a dumb terminal. */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  const style = (format: Style) => (text: string) => styleText(format, text, { stream });
  return {
    strong: style('bold'),
    faint: style('dim'),
    good: style('green'),
    busy: style('yellow'),
    bad: style('red'),
  };
}

/** Whether prompts work: the user must be able to read and to type. */
export function isInteractive({ input, err }: Terminal): boolean {
  return input.isTTY && err.isTTY;
}

/** Makes text of the provider or of other users safe to show: it must not steer the terminal. */
export function clean(text: string): string {
  return printable(text).trim();
}
