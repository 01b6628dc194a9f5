/** The arguments and flags of `kubectl vps plan`. */
import { CommanderError, Option, type Command } from 'commander';
import { quoted } from '../../base/text.ts';
import { collect } from '../flags/arguments.ts';
import { showPlan, type PlanOptions } from '../commands/plan.ts';
import { CommandError, EXIT, UsageFailure } from '../terminal/failure.ts';
import { PLAN_FORMATS } from '../plan/plan-report.ts';
import type { Run } from './rollout-program.ts';

/** As for `terraform plan`. */
const CHANGES = 2;

export function addPlan(program: Command, run: Run, exitWith: (code: number) => void): void {
  const command = program
    .command('plan')
    .description('show what an apply would order, cancel, adopt, replace, change and refuse, and what it would cost')
    .option('-f, --filename <file>', 'manifest, folder of manifests, or - for standard input; repeatable', collect, [])
    .option('-R, --recursive', 'also read the folders in a folder', false)
    .option('--prune', 'also plan to delete what kubectl has applied and no manifest has; with --selector', false)
    .option('-l, --selector <selector>', 'select manifests, and with --prune objects, by label, as for kubectl apply')
    .option('--detailed-exitcode', 'exit with code 2 if there is something to do', false)
    .addOption(new Option('-o, --output <format>', 'output format').choices(PLAN_FORMATS).default('text'))
    .allowExcessArguments()
    .action(async (options: PlanOptions & { detailedExitcode: boolean }) => {
      try {
        await run(command, async (context) => {
          const [file] = command.args;
          if (file !== undefined)
            throw new CommandError(EXIT.usage, 'plan takes manifests with --filename:', [
              `kubectl vps plan${context.cluster.where} -f ${quoted(file)}`,
            ]);
          const hasChanges = await showPlan(context, options);
          if (hasChanges && options.detailedExitcode) exitWith(CHANGES);
        });
      } catch (error) {
        if (!(error instanceof CommandError)) throw error;
        // So that 2 can only mean changes.
        const code = options.detailedExitcode || error.exitCode !== EXIT.usage ? EXIT.failed : EXIT.usage;
        throw new CommandError(code, error.message, error.hints);
      }
    });
  command.exitOverride((error: CommanderError) => {
    // The mistake may stand before this flag.
    const isDetailed = program.args.includes('--detailed-exitcode');
    throw isDetailed && error.exitCode !== 0 ? new UsageFailure(error.exitCode, error.code, error.message) : error;
  });
}
