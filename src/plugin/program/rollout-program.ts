/** The commands of `kubectl vps rollout`, their arguments and flags. */
import { type Command, Option } from 'commander';
import { limitOf, outputOption, SET } from '../flags/arguments.ts';
import { actOnEach, pausing } from '../commands/everyday.ts';
import { restart, rolloutHistory, rolloutStatus } from '../commands/rollout.ts';
import { undo, type UndoOptions } from '../commands/undo.ts';
import type { Context } from '../cluster/context.ts';
import { setNameOf } from '../flags/target.ts';

/** Runs a command with the flags before and after its name, then closes the connections. */
export type Run = (command: Command, work: (context: Context) => Promise<void>) => Promise<void>;

export function addRollout(program: Command, run: Run): void {
  const rollout = program
    .command('rollout')
    .description('manage the rollouts of a set: show, pause, resume, restart and undo them');
  rollout
    .command('status')
    .description('wait until the rollout is finished or stuck, and show its progress')
    .argument(`<${SET.name}>`, SET.description)
    .addOption(new Option('--watch <bool>', 'wait until it is finished').choices(['true', 'false']).default('true'))
    .addOption(
      new Option('--timeout <duration>', 'give up after this time')
        .argParser(limitOf)
        .default(Infinity, '0s: no limit'),
    )
    .action((name: string, { watch, timeout }: { watch: string; timeout: number }, command: Command) =>
      run(command, (context) =>
        rolloutStatus(context, setNameOf(name), { watch: watch === 'true', timeoutMs: timeout }),
      ),
    );
  for (const [word, paused, description] of [
    ['pause', true, 'make the set create, change and delete no member'],
    ['resume', false, 'let a paused set continue'],
  ] as const) {
    rollout
      .command(word)
      .description(description)
      .argument(`<${SET.name}>`, SET.description)
      .action((name: string, _options: object, command: Command) =>
        run(command, (context) => actOnEach(context, [`set/${setNameOf(name)}`], {}, pausing(paused))),
      );
  }
  rollout
    .command('restart')
    .description('replace all members of a set with new servers of the same template')
    .argument(`<${SET.name}>`, SET.description)
    .action((name: string, _options: object, command: Command) =>
      run(command, (context) => restart(context, setNameOf(name))),
    );
  rollout
    .command('undo')
    .description('return the template of a set to an earlier revision')
    .argument(`<${SET.name}>`, SET.description)
    .option('--to-revision <revision>', 'revision, as in the history (default: the previous one)')
    .option('--dry-run', 'only show what would happen', false)
    .action((name: string, options: UndoOptions, command: Command) =>
      run(command, (context) => undo(context, setNameOf(name), options)),
    );
  rollout
    .command('history')
    .description('list the revisions of a set')
    .argument(`<${SET.name}>`, SET.description)
    .addOption(outputOption())
    .action((name: string, _options: object, command: Command) =>
      run(command, (context) => rolloutHistory(context, setNameOf(name))),
    );
}
