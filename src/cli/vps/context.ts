/** What every command is given: the cluster, the terminal, the form of the output. */
import { confirm } from '@inquirer/prompts';
import type { ClusterView } from './cluster.ts';
import { CommandError, EXIT } from './failure.ts';
import { isInteractive, type Terminal } from './terminal.ts';
import type { Format } from './table.ts';

export interface Context {
  cluster: ClusterView;
  terminal: Terminal;
  format: Format;
  /** ms since the epoch. */
  now: () => number;
}

/** Writes results, once there is nothing left to do: a reader that goes away ends the command. */
export function print({ terminal }: Pick<Context, 'terminal'>, lines: readonly string[]): void {
  if (lines.length > 0) terminal.out.write(`${lines.join('\n')}\n`);
}

/** Says what is to be known on the way there. */
export function tell({ terminal }: Pick<Context, 'terminal'>, lines: readonly string[]): void {
  for (const line of lines) terminal.err.write(`${line}\n`);
}

/** Asks yes or no; the answer to no answer is no. Throws CommandError where nobody can be asked. */
export async function agreed({ terminal }: Pick<Context, 'terminal'>, question: string): Promise<boolean> {
  if (!isInteractive(terminal)) {
    throw new CommandError(EXIT.usage, 'nobody can be asked here: say --yes when you are sure');
  }
  return confirm({ message: question, default: false }, { input: terminal.input, output: terminal.err });
}
