/** The commands of `kubectl vps`, their arguments and flags. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { specSchema } from '../../api/virtual-server.ts';
import { similarTo } from '../../base/similar.ts';
import { parseDuration } from '../../base/duration.ts';
import { adoptFromRecord, type FromRecordOptions } from './commands/adopt-from-record.ts';
import { showCatalog } from './commands/catalog.ts';
import { showCost } from './commands/cost.ts';
import { writeManifest, type NewOptions } from './commands/new.ts';
import { adopt, resolveAdopt, resolveGone, resolveNotCreated } from './commands/resolve.ts';
import { runSsh, showConsole, type SshOptions } from './commands/ssh.ts';
import { listStatus, showStatus } from './commands/status.ts';
import { waitFor, type WaitOptions } from './commands/wait.ts';
import { ClusterView, type ClusterFlags } from './cluster.ts';
import type { Context } from './context.ts';
import { CommandError, EXIT } from './failure.ts';
import { FORMATS, type Format } from './table.ts';
import type { Terminal } from './terminal.ts';

interface Globals extends ClusterFlags {
  output: Format;
}

interface ProgramOptions {
  terminal: Terminal;
  version: string;
  /** Called with an exit code that is not a failure of ours, such as that of ssh. */
  exitWith: (code: number) => void;
}

/** Arguments that name a server complete to its name; see complete.ts. */
const NAME = ['<name>', 'name of the VirtualServer'] as const;

const SSH_CHECKS = specSchema.shape.sshCheck.unwrap().options;

export function createProgram({ terminal, version, exitWith }: ProgramOptions): Command {
  const program = new Command('kubectl-vps')
    .usage('[command] [flags]')
    .description('Shows, reaches and mends the servers of VirtualServer objects.')
    .version(version)
    .configureHelp({ showGlobalOptions: true })
    .option('--kubeconfig <file>', 'kubeconfig; default: $KUBECONFIG, else ~/.kube/config')
    .option('--context <name>', 'context of the kubeconfig; default: the current one')
    .option('--as <user>', 'user to act as')
    .option('--as-group <group>', 'group to act as, with --as; may be repeated', collect)
    .option('--as-uid <uid>', 'UID to act as, with --as')
    .option('-n, --namespace <name>', 'namespace; default: that of the context')
    .addOption(new Option('-o, --output <format>', 'form of the output').choices(FORMATS).default('table'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.out.write(text),
      writeErr: (text) => void terminal.err.write(text),
    });

  /** Runs a command with what the flags before and behind its name say, and lets go of the connections. */
  const run = async (command: Command, work: (context: Context) => Promise<void>): Promise<void> => {
    const { kubeconfig, context, namespace, as, asUid, asGroup, output } = command.optsWithGlobals<Globals>();
    const cluster = new ClusterView({ kubeconfig, context, namespace, as, asUid, asGroup });
    try {
      await work({ cluster, terminal, format: output, now: Date.now });
    } finally {
      await cluster.close();
    }
  };

  program
    .command('status')
    .description('one server on one screen, or all of them')
    .argument('[name]', NAME[1])
    .option('-A, --all-namespaces', 'servers of all namespaces', false)
    .action((name: string | undefined, { allNamespaces }: { allNamespaces: boolean }, command: Command) =>
      run(command, (context) => {
        if (name === undefined) return listStatus(context, allNamespaces);
        if (!allNamespaces) return showStatus(context, name);
        throw new CommandError(EXIT.usage, 'give either a name or --all-namespaces');
      }),
    );

  program
    .command('wait')
    .description('follow a server until it is ready, gone, or stuck')
    .argument(...NAME)
    .addOption(new Option('--for <state>', 'what to wait for').choices(['ready', 'deleted']).default('ready'))
    .addOption(new Option('--timeout <duration>', 'give up after').argParser(durationOf).default(15 * 60_000, '15m'))
    .action((name: string, options: { for: WaitOptions['for']; timeout: number }, command: Command) =>
      run(command, (context) => waitFor(context, name, { for: options.for, timeoutMs: options.timeout })),
    );

  program
    .command('ssh')
    .description('log in as root, or run a command')
    .argument(...NAME)
    .argument('[command...]', 'what to run, behind --')
    .option('--direct', 'over IPv6 instead of the proxy', false)
    .option('-i, --identity-file <file>', 'private key, as for ssh')
    .option('--ssh-option <option>', 'as behind ssh -o; may be repeated', collect, [])
    .action((name: string, words: string[], options: SshOptions, command: Command) =>
      run(command, async (context) => exitWith(await runSsh(context, name, words, options))),
    );

  program
    .command('console')
    .description('show the admin console')
    .argument(...NAME)
    .action((name: string, _options: object, command: Command) =>
      run(command, (context) => showConsole(context, name)),
    );

  program
    .command('catalog')
    .description('what can be ordered')
    .option('--secret <name>', 'Secret with the API key, where the namespace has several catalogs')
    .action(({ secret }: { secret?: string }, command: Command) =>
      run(command, (context) => showCatalog(context, secret)),
    );

  program
    .command('new')
    .description('write a manifest, from flags or by asking; it is not applied')
    .argument(...NAME)
    .option('--product <code>', 'product code')
    .option('--image <name>', 'image, file/variant')
    .option('--disk-size <size>', 'disk size', wholeNumber)
    .option('--ssh-key <key>', 'public key or a file with one; may be repeated', collect, [])
    .option('--ssh-key-from <secret/key>', 'public key in a Secret; may be repeated', collect, [])
    .option('--secret <name>', 'Secret with the API key')
    .option('--ttl <duration>', 'cancel the server so long after it was ready, such as 72h')
    .option('--expires-at <time>', 'cancel the server at this time, such as 2027-01-31T18:00:00Z')
    .addOption(new Option('--ssh-check <place>', 'ready only while an SSH server answers there').choices(SSH_CHECKS))
    .option('--connection-secret <name>', 'Secret to be made with addresses, SSH and VNC data')
    .option('--retain', 'leave the server alone when the object is deleted', false)
    .option('--protect', 'refuse to cancel the server', false)
    .option('--adopt <identifier>', 'take over an existing server instead of ordering one')
    .action((name: string, options: NewOptions, command: Command) =>
      run(command, (context) => writeManifest(context, name, options)),
    );

  program
    .command('adopt')
    .description('take over an existing server, or the servers of restored objects')
    .argument('[name]', NAME[1])
    .argument('[identifier]', "the provider's identifier of the server")
    .option('--from-record', 'for restored objects: take over the servers that their records name', false)
    .option('-f, --filename <file>', 'with --from-record: objects of a backup; may be repeated', collect, [])
    .option('-l, --selector <selector>', 'with --from-record: objects with these labels')
    .option('--all', 'with --from-record: all objects of the namespace', false)
    .option('--dry-run', 'with --from-record: only show what would be done', false)
    .option('-y, --yes', 'do not ask', false)
    .action((name: string | undefined, identifier: string | undefined, options: AdoptOptions, command: Command) =>
      run(command, (context) => takeOver(context, name, identifier, options)),
    );

  program
    .command('resolve')
    .description('say what became of an order, or of a server, that the operator cannot see')
    .argument(...NAME)
    .option('--not-created', 'you looked: the order created no server', false)
    .option('--adopt <identifier>', 'you looked: the order created this server')
    .option('--gone', 'you looked: the server of the object no longer exists', false)
    .option('-y, --yes', 'do not ask', false)
    .action((name: string, options: Resolution, command: Command) =>
      run(command, (context) => resolve(context, name, options)),
    );

  program
    .command('cost')
    .description('servers and price by namespace and in all')
    .option('-A, --all-namespaces', 'servers of all namespaces', false)
    .action(({ allNamespaces }: { allNamespaces: boolean }, command: Command) =>
      run(command, (context) => showCost(context, allNamespaces)),
    );
  program.on('command:*', ([word = '']: string[]) => {
    throw unknownCommand(
      word,
      program.commands.map((command) => command.name()),
    );
  });
  return program;
}

/** Words that other tools use for what `status` shows. */
const LISTING = ['list', 'ls', 'get', 'ps', 'show', 'describe'];

function unknownCommand(word: string, commands: readonly string[]): CommandError {
  const meant = LISTING.includes(word) ? 'status' : similarTo(word, commands);
  return new CommandError(EXIT.usage, `unknown command ${JSON.stringify(word)}`, [
    ...(meant === undefined ? [] : [`did you mean kubectl vps ${meant}?`]),
    'kubectl vps --help shows all commands',
  ]);
}

interface Resolution {
  notCreated: boolean;
  adopt?: string;
  gone: boolean;
  yes: boolean;
}

async function resolve(
  context: Context,
  name: string,
  { notCreated, adopt: identifier, gone, yes }: Resolution,
): Promise<void> {
  if ([notCreated, identifier !== undefined, gone].filter(Boolean).length !== 1) {
    throw new CommandError(EXIT.usage, 'give one of --not-created, --adopt IDENTIFIER and --gone');
  }
  if (identifier !== undefined) await resolveAdopt(context, name, identifier, yes);
  else if (gone) await resolveGone(context, name, yes);
  else await resolveNotCreated(context, name, yes);
}

type AdoptOptions = FromRecordOptions & { fromRecord: boolean };

async function takeOver(
  context: Context,
  name: string | undefined,
  identifier: string | undefined,
  { fromRecord, ...options }: AdoptOptions,
): Promise<void> {
  if (fromRecord) {
    if (name !== undefined) throw new CommandError(EXIT.usage, '--from-record takes no NAME and no IDENTIFIER');
    return adoptFromRecord(context, options);
  }
  const { filename, selector, all, dryRun } = options;
  if (filename.length > 0 || selector !== undefined || all || dryRun) {
    throw new CommandError(EXIT.usage, '--filename, --selector, --all and --dry-run need --from-record');
  }
  if (name === undefined || identifier === undefined) {
    throw new CommandError(EXIT.usage, 'give NAME and IDENTIFIER, or --from-record');
  }
  await adopt(context, name, identifier, options.yes);
}

function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

function wholeNumber(text: string): number {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) throw new InvalidArgumentError('give a whole number, such as 20');
  return Number(text);
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('give a duration, such as 90s or 15m');
  return ms;
}
