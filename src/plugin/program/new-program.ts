/** The arguments and flags of `kubectl vps new`. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { identifierOf, NAME } from '../flags/arguments.ts';
import { applyManifest, writeManifest, type NewOptions } from '../commands/new.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import type { Run } from './rollout-program.ts';
import { addSetFlags } from '../flags/set-flags.ts';
import { addSpecFlags } from '../flags/spec-flags.ts';

export function addNew(program: Command, run: Run): void {
  const command = program
    .command('new')
    .description('write a manifest from flags and prompts, or create the object with --apply')
    .argument(`<${NAME.name}>`, NAME.description);
  addSetFlags(
    addSpecFlags(command)
      .option('--adopt <identifier>', 'adopt an existing server instead of ordering one', identifierOf)
      .option('--label <key=value>', 'label of the server, or with --set of each member; repeatable', label, {})
      .option(
        '--annotation <key=value>',
        'annotation of the server, or with --set of each member; repeatable',
        entry,
        {},
      )
      .option('--set', 'make a VirtualServerSet, which keeps a number of equal servers', false),
  )
    .option('--apply', 'create the object instead of writing a manifest', false)
    .addOption(new Option('-o, --output <format>', 'output format').choices(['yaml', 'json']).default('yaml'))
    .action((name: string, { apply, ...options }: NewOptions & { apply: boolean }) => {
      if (apply && command.getOptionValueSource('output') === 'cli')
        throw new CommandError(EXIT.usage, 'pass either --apply or --output, not both');
      return run(command, (context) => (apply ? applyManifest : writeManifest)(context, name, options));
    });
}

/** As the API server accepts it, and a selector. */
const LABEL = /^[A-Za-z0-9]([\w./-]*[A-Za-z0-9])?=([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

function label(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const next = entry(text, before);
  if (LABEL.test(text)) return next;
  const form = 'at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends';
  throw new InvalidArgumentError(`A label is KEY=VALUE, and its value has ${form}.`);
}

function entry(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const [, key, value = ''] = /^([^=]+)=(.*)$/.exec(text) ?? [];
  if (key === undefined) throw new InvalidArgumentError('Use KEY=VALUE.');
  return { ...before, [key]: value };
}
