/** The commands that change servers and sets in daily life, their arguments and flags. */
import { Option, type Command } from 'commander';
import { DEFAULT_API_KEY_SECRET, SERVER_KIND } from '../../api/names.ts';
import { durationFor, durationOf, fieldOf, NAME, nameOfA, SERVER_OR_SET } from '../flags/arguments.ts';
import {
  actOnEach,
  extending,
  pausing,
  protecting,
  reconciling,
  type Action,
  type Chosen,
} from '../commands/everyday.ts';
import { login, logout, type LoginOptions, type LogoutOptions } from '../commands/login.ts';
import { deleteAndCancel, undelete, type CancelOptions } from '../commands/undelete.ts';
import { rebooting, starting, stopping, suspending, type StopOptions, type SuspendOptions } from '../commands/power.ts';
import { replace, type ReplaceOptions } from '../commands/replace.ts';
import type { Run } from './rollout-program.ts';
import { addSpecFlags } from '../flags/spec-flags.ts';
import { serverNameOf } from '../flags/target.ts';

interface Spelled<O> {
  description: string;
  action: (options: O) => Action;
}

export function addEveryday(program: Command, run: Run): void {
  const add = <O extends Chosen>(word: string, { description, action }: Spelled<O>): Command =>
    program
      .command(word)
      .description(description)
      .argument(`[${SERVER_OR_SET.name}...]`, SERVER_OR_SET.description)
      .option('-l, --selector <selector>', 'select servers by label, instead of names')
      .action((names: string[], options: O, command: Command) =>
        run(command, (context) => actOnEach(context, names, options, action(options))),
      );
  add('pause', {
    description: 'let the operator make no calls for servers, or change nothing in sets',
    action: () => pausing(true),
  });
  add('resume', { description: 'let paused servers and sets continue', action: () => pausing(false) });
  add('reconcile', {
    description: 'read servers at the provider again, at once',
    action: () => reconciling(Date.now()),
  });
  add('protect', {
    description: 'never cancel servers, also when their objects are deleted',
    action: () => protecting(true),
  });
  add('unprotect', { description: 'allow the deletion of protected servers', action: () => protecting(false) });
  add('start', { description: 'switch servers on (spec.power), or wake them', action: starting });
  add<StopOptions>('stop', {
    description: 'shut servers down; they stay, and still cost money',
    action: stopping,
  }).option('--force', 'switch them off without asking their systems, which may lose data', false);
  add<SuspendOptions>('suspend', {
    description: 'make servers dormant: off by force, with disk and addresses kept, for less money',
    action: suspending,
  }).option('-y, --yes', 'do not ask for confirmation', false);
  add('reboot', { description: 'restart servers, once', action: rebooting });
  add<Chosen & { ttl?: string; expiresAt?: string }>('extend', {
    description: 'let servers end later, or earlier',
    action: extending,
  })
    .option('--ttl <duration>', 'cancel the server this long after it was first ready, such as 4d', durationFor('ttl'))
    .option(
      '--expires-at <time>',
      'cancel the server at this time, such as 2027-01-31T18:00:00Z',
      fieldOf('expiresAt'),
    );
}

export function addLogin(program: Command, run: Run): void {
  const secret = (): Option =>
    new Option('--secret <name>', 'Secret with the API key')
      .argParser(nameOfA('Secret'))
      .default(DEFAULT_API_KEY_SECRET);
  program
    .command('login')
    .description('check an API key at the provider, and store it')
    .addOption(secret())
    .option('--key-id <id>', 'ID of the key (default: asked for, or the first line of standard input)')
    .addOption(
      new Option('--timeout <duration>', 'give up after this time').argParser(durationOf).default(60_000, '60s'),
    )
    .option('--skip-check', 'store the key without asking the provider', false)
    .option('-y, --yes', 'replace a stored key without asking', false)
    .action((options: Omit<LoginOptions, 'timeoutMs'> & { timeout: number }, command: Command) =>
      run(command, (context) => login(context, { ...options, timeoutMs: options.timeout })),
    );
  program
    .command('logout')
    .description('delete a stored API key and its catalog, if no server needs it')
    .addOption(secret())
    .option('-y, --yes', 'do not ask for confirmation', false)
    .action((options: LogoutOptions, command: Command) => run(command, (context) => logout(context, options)));
}

export function addUndelete(program: Command, run: Run): void {
  program
    .command('undelete')
    .description('take the deletion of a server back, before its server is cancelled')
    .argument(`<${NAME.name}>`, NAME.description)
    .option('--name <name>', 'name of the object that gets the server (default: the same)', nameOfA(SERVER_KIND))
    .addOption(
      new Option('--timeout <duration>', 'give up after this time, for each of the waits')
        .argParser(durationOf)
        .default(15 * 60_000, '15m'),
    )
    .action((name: string, options: { name?: string; timeout: number }, command: Command) =>
      run(command, (context) => undelete(context, serverNameOf(name), { ...options, timeoutMs: options.timeout })),
    );
  program
    .command('cancel')
    .description('delete a server: the operator cancels it, after its deletionDelay')
    .argument(`<${NAME.name}>`, NAME.description)
    .option('--now', 'do not wait for the end of deletionDelay', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .action((name: string, options: CancelOptions, command: Command) =>
      run(command, (context) => deleteAndCancel(context, serverNameOf(name), options)),
    );
}

export function addReplace(program: Command, run: Run): void {
  addSpecFlags(program.command('replace'))
    .description('order a new server, and cancel the old one when the new one is ready')
    .argument(`<${NAME.name}>`, NAME.description)
    .option('--name <name>', 'name of the new object (default: NAME-v2, then -v3, ...)', nameOfA(SERVER_KIND))
    .option('-f, --filename <file>', 'manifest of the new server, instead of flags; - for standard input')
    .addOption(
      new Option('--timeout <duration>', 'give up after this time, for each of the two waits')
        .argParser(durationOf)
        .default(15 * 60_000, '15m'),
    )
    .option('-y, --yes', 'delete the old object without asking', false)
    .action((name: string, options: Omit<ReplaceOptions, 'timeoutMs'> & { timeout: number }, command: Command) =>
      run(command, (context) => replace(context, serverNameOf(name), { ...options, timeoutMs: options.timeout })),
    );
}
