/** The arguments and flags of `kubectl vps orphans`. */
import { CommanderError, type Command } from 'commander';
import { outputOption } from './arguments.ts';
import { ORPHANS_EXIT, showOrphans } from './commands/orphans.ts';
import { CommandError, EXIT } from './failure.ts';
import type { Run } from './rollout-program.ts';

export function addOrphans(program: Command, run: Run, exitWith: (code: number) => void): void {
  program
    .command('orphans')
    .description('list servers that you pay for and that no object of this cluster holds')
    .option('-A, --all-namespaces', 'include the catalogs of all namespaces', false)
    .addOption(outputOption())
    .action(async ({ allNamespaces }: { allNamespaces: boolean }, command: Command) => {
      try {
        await run(command, async (context) => exitWith(await showOrphans(context, allNamespaces)));
      } catch (error) {
        throw untold(error);
      }
    });
}

/** So that 1 can only mean orphans. */
function untold(error: unknown): unknown {
  if (error instanceof CommanderError) return error;
  const hints = error instanceof CommandError ? error.hints : [];
  if (error instanceof CommandError && error.exitCode === EXIT.interrupted) return error;
  return new CommandError(ORPHANS_EXIT.unknown, error instanceof Error ? error.message : String(error), hints);
}
