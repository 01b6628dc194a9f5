#!/usr/bin/env node
/** Entry point of kubectl-vps; under the name kubectl_complete-vps it completes words for the shell. */
import { basename } from 'node:path';
import { version } from '../base/version.ts';
import { openerFor } from './terminal/browser.ts';
import { complete } from './program/complete.ts';
import { codeOf, EXIT } from './terminal/failure.ts';
import { createProgram } from './program/program.ts';
import { paintFor, type Terminal } from './terminal/terminal.ts';

const terminal: Terminal = {
  out: process.stdout,
  err: process.stderr,
  input: process.stdin,
  paint: paintFor(process.stdout),
  isDumb: process.env.TERM === 'dumb',
  opener: openerFor(process.platform, process.env),
};

const [, script = '', ...words] = process.argv;
// A reader that closes the pipe, such as head, is not a failure: commands do their work before they write results.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok);
  terminal.err.write(`kubectl vps: cannot write the output: ${error.message}\n`);
  process.exit(EXIT.failed);
});
// A closed standard error does not stop a command.
process.stderr.on('error', () => undefined);
const exitWith = (code: number): void => {
  process.exitCode = code;
};
// Ctrl-D closes the terminal, so a pending prompt never settles and the event loop runs dry: exit without acting.
const unanswered = (): never => process.exit(EXIT.interrupted);
process.once('beforeExit', unanswered);

// A function, because the executables of a release contain this program as CommonJS, without top-level await.
async function run(): Promise<void> {
  const program = createProgram({ terminal, version: version(), exitWith });
  if (basename(script).startsWith('kubectl_complete')) {
    const lines = await complete(program, words);
    // Exit at once: work that timed out must not keep the shell waiting.
    process.stdout.write(`${lines.join('\n')}\n`, () => process.exit(EXIT.ok));
  } else {
    await program.parseAsync(words, { from: 'user' }).catch((error: unknown) => exitWith(codeOf(error, terminal)));
  }
  process.off('beforeExit', unanswered);
}

void run();
