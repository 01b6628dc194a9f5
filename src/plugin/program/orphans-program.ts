/** The arguments and flags of `kubectl vps orphans` and `import`. */
import { CommanderError, type Command } from 'commander';
import { UNHELD, nameOfA, outputOption } from '../flags/arguments.ts';
import { importServers, type ImportOptions } from '../commands/import.ts';
import { ORPHANS_EXIT, showOrphans } from '../commands/orphans.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
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

export function addImport(program: Command, run: Run): void {
  program
    .command('import')
    .description('write manifests that adopt servers that no object holds, for you to review')
    .argument(`[${UNHELD.name}...]`, UNHELD.description)
    .option('--all', 'import every orphaned server of the namespace', false)
    .option('--secret <name>', 'only servers of this Secret with an API key', nameOfA('Secret'))
    .action((identifiers: string[], options: ImportOptions, command: Command) =>
      run(command, (context) => importServers(context, identifiers, options)),
    );
}

/** So that 1 can only mean orphans. */
function untold(error: unknown): unknown {
  if (error instanceof CommanderError) return error;
  const hints = error instanceof CommandError ? error.hints : [];
  if (error instanceof CommandError && error.exitCode === EXIT.interrupted) return error;
  return new CommandError(ORPHANS_EXIT.unknown, error instanceof Error ? error.message : String(error), hints);
}
