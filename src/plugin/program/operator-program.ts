/** The commands about the operator itself, their arguments and flags. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { OPERATOR_NAMESPACE } from '../../api/names.ts';
import { durationOf, namespaceOf, outputOption, SERVER_OR_SET } from '../flags/arguments.ts';
import { doctor } from '../commands/doctor.ts';
import { showLogs, type LogsOptions } from '../commands/logs.ts';
import type { Run } from './rollout-program.ts';
import { targetOf } from '../flags/target.ts';

const operatorNamespace = (): Option =>
  new Option('--operator-namespace <name>', 'namespace of the operator')
    .argParser(namespaceOf)
    .default(OPERATOR_NAMESPACE);

/** As in kubectl, -1 means all lines. */
function linesOf(text: string): number {
  if (!/^(-1|\d{1,9})$/.test(text)) throw new InvalidArgumentError('Use a number of lines, such as 20.');
  return text === '-1' ? Infinity : Number(text);
}

export function addOperator(program: Command, run: Run): void {
  program
    .command('logs')
    .description("show the operator's log lines about a server or a set")
    .argument(`<${SERVER_OR_SET.name}>`, SERVER_OR_SET.description)
    .option('-f, --follow', 'print new lines until Ctrl-C', false)
    .addOption(
      new Option('-p, --previous', 'the lines of containers before their last restart')
        .default(false)
        .conflicts('follow'),
    )
    .addOption(new Option('--since <duration>', 'only lines of this last time, such as 1h').argParser(durationOf))
    .addOption(
      new Option('--tail <number>', 'only this many of the newest lines')
        .argParser(linesOf)
        .default(Infinity, '-1: all'),
    )
    .addOption(operatorNamespace())
    .action((name: string, options: LogsOptions, command: Command) =>
      run(command, (context) => showLogs(context, targetOf(name), options)),
    );
  program
    .command('doctor')
    .description('check the operator, the installation, your rights, the provider and the namespace')
    .addOption(operatorNamespace())
    .addOption(outputOption())
    .action((options: { operatorNamespace: string }, command: Command) =>
      run(command, (context) => doctor(context, options.operatorNamespace)),
    );
}
