#!/usr/bin/env node
/** kubectl-vps: arguments, exit codes; under the name kubectl_complete-vps it completes words for the shell. */
import { basename } from 'node:path';
import { version } from '../../base/version.ts';
import { complete } from './complete.ts';
import { codeOf, EXIT } from './failure.ts';
import { createProgram } from './program.ts';
import { paintFor, type Terminal } from './terminal.ts';

const terminal: Terminal = {
  out: process.stdout,
  err: process.stderr,
  input: process.stdin,
  paint: paintFor(process.stdout),
};

const [, script = '', ...words] = process.argv;
// A reader that goes away, such as head, is no failure: what was asked for is done before its result is written.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  terminal.err.write(`kubectl vps: the output cannot be written: ${error.message}\n`);
  process.exit(EXIT.failed);
});
// That nobody reads what is said meanwhile stops nothing.
process.stderr.on('error', () => undefined);
const exitWith = (code: number): void => {
  process.exitCode = code;
};
// A question whose terminal was closed, by Ctrl-D, is never answered: nothing is left to do, and it is not done.
const unanswered = (): never => process.exit(EXIT.interrupted);
process.once('beforeExit', unanswered);
const program = createProgram({ terminal, version: version(), exitWith });
if (basename(script).startsWith('kubectl_complete')) {
  const lines = await complete(program, words);
  // Whatever it has given up must not hold the shell.
  process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(EXIT.ok));
} else {
  await program.parseAsync(words, { from: 'user' }).catch((error: unknown) => exitWith(codeOf(error, terminal)));
}
process.off('beforeExit', unanswered);
