/** The input of every command: the cluster, the terminal and the output format. */
import { confirm } from '@inquirer/prompts';
import type { ClusterView } from './cluster.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { isInteractive, type Terminal } from '../terminal/terminal.ts';
import type { Format } from '../terminal/table.ts';

export interface Context {
  cluster: ClusterView;
  terminal: Terminal;
  format: Format;
  /** ms since the epoch. */
  now: () => number;
}

/** Writes results. Call it last: the process exits if the reader closes the pipe. */
export function print({ terminal }: Pick<Context, 'terminal'>, lines: readonly string[]): void {
  if (lines.length > 0) terminal.out.write(`${lines.join('\n')}\n`);
}

/** Writes progress and notes to standard error. */
export function tell({ terminal }: Pick<Context, 'terminal'>, lines: readonly string[]): void {
  for (const line of lines) terminal.err.write(`${line}\n`);
}

export const cannotAsk = (): CommandError => new CommandError(EXIT.usage, 'not a terminal: pass --yes to confirm');

/** Asks a yes/no question; the default is no. Throws CommandError without a terminal. */
export async function agreed({ terminal }: Pick<Context, 'terminal'>, question: string): Promise<boolean> {
  if (!isInteractive(terminal)) throw cannotAsk();
  return confirm({ message: question, default: false }, { input: terminal.input, output: terminal.err });
}
