/** The terminal, or the pipe, that a command talks to: text without control characters, colours only where they show. */
import { styleText } from 'node:util';
import { printable } from '../../base/printable.ts';

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
  /** Everything else: progress, questions, warnings. */
  err: NodeJS.WriteStream;
  input: NodeJS.ReadStream;
  paint: Paint;
}

type Style = Parameters<typeof styleText>[0];

/** Colours as `stream` can show them: none in a pipe, with NO_COLOR, or on a dumb terminal. */
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

/** Questions can be asked only where a person both reads and types. */
export function isInteractive({ input, err }: Terminal): boolean {
  return input.isTTY && err.isTTY;
}

/** Text of the provider or of other people, as it may be shown: it must not steer the terminal. */
export function clean(text: string): string {
  return printable(text).trim();
}
