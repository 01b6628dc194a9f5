/** The commands of `kubectl vps`, their arguments and flags. */
import { Command, Help, Option } from 'commander';
import { similarTo } from '../../base/similar.ts';
import { quoted } from '../../base/text.ts';
import {
  collect,
  durationOf,
  identifierOf,
  NAME,
  nameOfA,
  namespaceOf,
  outputOption,
  PATH,
  SERVER_OR_SET,
} from '../flags/arguments.ts';
import { adoptFromRecord, type FromRecordOptions } from '../commands/adopt-from-record.ts';
import { showCatalog } from '../commands/catalog.ts';
import { showCost } from '../commands/cost.ts';
import { findLost } from '../commands/find-lost.ts';
import { list, LIST_FORMATS, listFormat, type ListOptions } from '../commands/list.ts';
import { adoptListed, startOver, type ListedOptions } from '../commands/listed.ts';
import { adoptServer, resolveAdopt, resolveGone, resolveNotCreated } from '../commands/resolve.ts';
import { runScp, runSsh, showConsole, type ScpOptions, type SshOptions } from '../commands/ssh.ts';
import { showStatus, showTimeline } from '../commands/status.ts';
import { waitForAll, type WaitOptions } from '../commands/wait.ts';
import { ClusterView, type ClusterFlags } from '../cluster/cluster.ts';
import type { Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { takeNamespace } from '../flags/dotted-names.ts';
import { addEveryday, addLogin, addReplace, addUndelete } from './everyday-program.ts';
import { addExamples } from './examples.ts';
import { addOperator } from './operator-program.ts';
import { groupCommands } from './help-groups.ts';
import { addNew } from './new-program.ts';
import { addSshHosts } from './ssh-hosts-program.ts';
import { addImport, addOrphans } from './orphans-program.ts';
import { addPlan } from './plan-program.ts';
import { addRollout, type Run } from './rollout-program.ts';
import { ORDERS } from '../screens/overview.ts';
import { withSkew } from '../cluster/skew.ts';
import type { Format } from '../terminal/table.ts';
import { serverNameOf, targetOf } from '../flags/target.ts';
import { clean, type Terminal } from '../terminal/terminal.ts';

interface Globals extends ClusterFlags {
  /** Of commands that have output for programs. */
  output?: Format;
}

interface ProgramOptions {
  terminal: Terminal;
  version: string;
  /** Called with an exit code that is not a failure of the plugin, such as that of ssh. */
  exitWith: (code: number) => void;
}

export function createProgram({ terminal, version, exitWith }: ProgramOptions): Command {
  const program = new Command('kubectl vps')
    .usage('[command] [flags]')
    .description('Show, access and fix the servers of VirtualServer and VirtualServerSet objects.')
    .version(version)
    .option('--kubeconfig <file>', 'kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)')
    .option('--context <name>', 'kubeconfig context (default: the current one)')
    .option('--as <user>', 'user to impersonate')
    .option('--as-group <group>', 'group to impersonate, with --as; repeatable', collect)
    .option('--as-uid <uid>', 'UID to impersonate, with --as')
    .option('--cluster <name>', 'kubeconfig cluster (default: the cluster of the context)')
    .option('--user <name>', 'kubeconfig user (default: the user of the context)')
    .option('-s, --server <url>', 'address of the API server')
    .option('--tls-server-name <name>', 'name in the certificate of the API server (default: its host)')
    .option('--certificate-authority <file>', 'certificate authority of the API server')
    .option('--insecure-skip-tls-verify', 'do not check the certificate of the API server')
    .option('--client-certificate <file>', 'client certificate, with --client-key')
    .option('--client-key <file>', 'key of the client certificate')
    .option('--token <token>', 'bearer token for the API server')
    .option('-n, --namespace <name>', 'namespace (default: the namespace of the context)', namespaceOf)
    .exitOverride()
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => void terminal.out.write(text),
      writeErr: (text) => void terminal.err.write(text),
      outputError: (text, write) =>
        write(
          text
            .replace(/^error: /, 'kubectl vps: ')
            .replace(GUESS, '')
            .replace(MEANT, '\n  did you mean $1'),
        ),
    });
  const warned = new Set<string>();
  // As kubectl does.
  const onWarning = (text: string): void => {
    if (!warned.has(text)) terminal.err.write(`Warning: ${clean(text)}\n`);
    warned.add(text);
  };

  const open = (command: Command, other?: string): ClusterView => {
    const { output: _output, ...flags } = command.optsWithGlobals<Globals>();
    const answered = answeredBy(command);
    return new ClusterView({
      ...flags,
      namespace: other ?? flags.namespace,
      onWarning: (text) => {
        if (answered === undefined || !text.includes(`'${answered}'`)) onWarning(text);
      },
    });
  };
  program.hook('preAction', async (_program, command) => {
    const { namespace: given } = command.optsWithGlobals<Globals>();
    const namespace = await takeNamespace(command, (other) => open(command, other), given);
    if (namespace !== undefined) program.setOptionValue('namespace', namespace);
  });
  const run: Run = async (command, work) => {
    const { output = 'table' } = command.optsWithGlobals<Globals>();
    const cluster = open(command);
    try {
      await work({ cluster, terminal, format: output, now: Date.now });
    } catch (error) {
      throw await withSkew(error, cluster, version);
    } finally {
      await cluster.close();
    }
  };

  program
    .command('list')
    .aliases(['get', 'ls'])
    .description('list servers and sets, with their state and price')
    .option('-A, --all-namespaces', 'include all namespaces', false)
    .option('-l, --selector <selector>', 'select servers and sets by label')
    .addOption(new Option('--sort <column>', 'column to sort by').choices(ORDERS).default('name'))
    .option('-w, --watch', 'show every change until Ctrl-C', false)
    .addOption(
      new Option('-o, --output <format>', `output format: ${LIST_FORMATS.join(', ')} or custom-columns=HEADER:PATH,...`)
        .argParser(listFormat)
        .default('table'),
    )
    // Users of `kubectl get` pass a name; the error tells where it goes.
    .allowExcessArguments()
    .action((options: ListOptions, command: Command) =>
      run(command, (context) => {
        const [name] = command.args;
        if (name === undefined) return list(context, options);
        const hint = `kubectl vps status ${quoted(name)}${context.cluster.where}`;
        throw new CommandError(EXIT.usage, 'list takes no names; to show one server or set, run:', [hint]);
      }),
    );

  program
    .command('status')
    .description('show one server or one set on one screen; without a name, list all')
    .argument(`[${SERVER_OR_SET.name}]`, SERVER_OR_SET.description)
    .option('-A, --all-namespaces', 'include all namespaces', false)
    .option('-w, --watch', 'show every change until Ctrl-C', false)
    .addOption(outputOption())
    .action(
      (
        name: string | undefined,
        { allNamespaces, watch }: Pick<ListOptions, 'allNamespaces' | 'watch'>,
        command: Command,
      ) =>
        run(command, (context) => {
          if (name === undefined) return list(context, { allNamespaces, sort: 'name', watch, output: context.format });
          if (!allNamespaces) return showStatus(context, targetOf(name), watch);
          throw new CommandError(EXIT.usage, 'pass either NAME or --all-namespaces, not both');
        }),
    );

  program
    .command('timeline')
    .description('show what happened to a server, in the order of time')
    .argument(`<${NAME.name}>`, NAME.description)
    .action((name: string, _options: object, command: Command) =>
      run(command, (context) => showTimeline(context, serverNameOf(name))),
    );

  addEveryday(program, run);
  addLogin(program, run);

  program
    .command('wait')
    .description('wait until servers or sets are ready, deleted or stuck, and show their progress')
    .argument(`<${SERVER_OR_SET.name}...>`, SERVER_OR_SET.description)
    .addOption(
      new Option('--for <state>', 'state to wait for').choices(['ready', 'deleted', 'delete']).default('ready'),
    )
    .addOption(
      new Option('--timeout <duration>', 'give up after this time').argParser(durationOf).default(15 * 60_000, '15m'),
    )
    .action((names: string[], options: { for: WaitOptions['for'] | 'delete'; timeout: number }, command: Command) =>
      run(command, (context) => {
        // As kubectl spells it.
        const state = options.for === 'delete' ? 'deleted' : options.for;
        return waitForAll(
          context,
          names.map((name) => targetOf(name)),
          { for: state, timeoutMs: options.timeout },
        );
      }),
    );

  program
    .command('ssh')
    .description('log in to a server as root, or run a command on it')
    .argument(`<${NAME.name}>`, NAME.description)
    .argument('[command...]', 'command to run, after --')
    .option('--direct', 'connect over IPv6 instead of the SSH proxy', false)
    .option('-i, --identity-file <file>', 'private key, as for ssh -i')
    .option('--ssh-option <option>', 'option, as for ssh -o; repeatable', collect, [])
    .action((name: string, words: string[], options: SshOptions, command: Command) =>
      run(command, async (context) => exitWith(await runSsh(context, serverNameOf(name), words, options))),
    );

  program
    .command('scp')
    .description('copy files to or from a server, as scp does')
    .argument(`<${PATH.name}...>`, PATH.description)
    .option('-r, --recursive', 'copy folders with their content', false)
    .option('--direct', 'connect over IPv6 instead of the SSH proxy', false)
    .option('-i, --identity-file <file>', 'private key, as for scp -i')
    .option('--ssh-option <option>', 'option, as for scp -o; repeatable', collect, [])
    .action((paths: string[], options: ScpOptions, command: Command) =>
      run(command, async (context) => exitWith(await runScp(context, paths, options))),
    );

  addSshHosts(program, run);

  program
    .command('console')
    .description('show host and user of the admin console, or open it')
    .argument(`<${NAME.name}>`, NAME.description)
    .option('--open', 'open the admin console in the browser', false)
    .addOption(outputOption())
    .action((name: string, { open }: { open: boolean }, command: Command) =>
      run(command, (context) => showConsole(context, serverNameOf(name), open)),
    );

  program
    .command('catalog')
    .description('list what you can order')
    .option('--secret <name>', 'Secret with the API key, if the namespace has several catalogs', nameOfA('Secret'))
    .addOption(outputOption())
    .action(({ secret }: { secret?: string }, command: Command) =>
      run(command, (context) => showCatalog(context, secret)),
    );

  addNew(program, run);

  program
    .command('adopt')
    .description('adopt an existing server, a list of servers, or the servers of restored objects')
    .argument(`[${NAME.name}]`, NAME.description)
    .argument('[identifier]', "the provider's identifier of the server")
    .option('--from-record', 'adopt the servers that the records of restored objects name', false)
    .option(
      '-f, --filename <file>',
      'CSV file with the columns namespace,name,identifier; with --from-record: file or folder with a backup of the objects; repeatable',
      collect,
      [],
    )
    .option('-l, --selector <selector>', 'with --from-record: select objects by label')
    .option('--all', 'with --from-record: select all objects in the namespace', false)
    .option('--dry-run', 'with --from-record or --filename: only show what would happen', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .action((name: string | undefined, identifier: string | undefined, options: AdoptOptions, command: Command) =>
      run(command, (context) => takeOver(context, name, identifier, options)),
    );

  program
    .command('start-over')
    .description('order new servers for copied or restored objects, and leave the old servers alone')
    .argument(`[${NAME.name}]`, NAME.description)
    .option('-f, --filename <file>', 'CSV file with the columns namespace,name; repeatable', collect, [])
    .option('--dry-run', 'only show what would happen', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .action((name: string | undefined, options: ListedOptions, command: Command) =>
      run(command, (context) => {
        const isListed = options.filename.length > 0;
        if (isListed === (name === undefined)) return startOver(context, name && serverNameOf(name), options);
        throw new CommandError(EXIT.usage, 'pass either NAME or --filename FILE');
      }),
    );

  program
    .command('resolve')
    .description('tell the operator what happened to an order or a server that it cannot see, or look for the server')
    .argument(`<${NAME.name}>`, NAME.description)
    .option('--not-created', 'you checked: the order created no server', false)
    .option('--adopt <identifier>', 'you checked: the order created this server', identifierOf)
    .option('--gone', 'you checked: the server of the object no longer exists', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .action((name: string, options: Resolution, command: Command) =>
      run(command, (context) => resolve(context, serverNameOf(name), options)),
    );

  program
    .command('cost')
    .description('sum up servers and their prices by namespace')
    .option('-A, --all-namespaces', 'include all namespaces', false)
    .addOption(outputOption())
    .action(({ allNamespaces }: { allNamespaces: boolean }, command: Command) =>
      run(command, (context) => showCost(context, allNamespaces)),
    );
  addOrphans(program, run, exitWith);
  addImport(program, run);
  addReplace(program, run);
  addUndelete(program, run);
  addRollout(program, run);
  addPlan(program, run, exitWith);
  addOperator(program, run);
  const names = program.commands.map((command) => command.name());
  program.on('command:*', ([word = '']: string[]) => {
    throw unknownCommand(word, names);
  });
  program.on('beforeAllHelp', ({ error }: { error: boolean }) => {
    const [command, word] = program.args;
    if (error && command === 'help' && word !== undefined) throw unknownCommand(word, names);
  });
  addExamples(program);
  groupCommands(program);
  pointToHelp(program);
  return program;
}

/** The policy whose warning the command has taken care of itself. */
function answeredBy(command: Command): string | undefined {
  switch (command.name()) {
    case 'login':
    case 'logout':
      return 'vps-operator-api-keys';
    case 'undelete':
      return 'vps-operator-deletion-delay';
    case 'cancel':
      return command.opts<{ now: boolean }>().now ? 'vps-operator-deletion-delay' : undefined;
    default:
      return undefined;
  }
}

/** Mistakes that the help of the command explains. A wrong value is explained by its error. */
const OF_HELP = /unknown (option|command)|missing required argument|argument missing|too many arguments/;

/** Ends such an error with the help of the command that was typed. */
function pointToHelp(command: Command, path = command.name()): void {
  const usual = command.configureOutput();
  const parts = command.parent === null ? [] : command.commands.map((each) => each.name());
  const shows = parts.length === 0 ? 'shows its arguments and flags' : `shows its commands: ${parts.join(', ')}`;
  const hint = `  ${path} --help   # ${shows}\n`;
  command.configureOutput({
    outputError: (text, write) =>
      usual.outputError?.(text, (shown) => write(OF_HELP.test(text) ? `${shown.trimEnd()}\n${hint}` : shown)),
  });
  for (const each of command.commands) pointToHelp(each, `${path} ${each.name()}`);
}

/** What commander guesses, which is to look like our own hints. */
const MEANT = /\n\(Did you mean ([^)]*)\)/;

/** Without a default that tells nothing, such as false for a switch that is off. */
function describeOption(this: Help, option: Option): string {
  const defaultValue: unknown = option.defaultValue;
  const saysNothing = defaultValue === false || isEmpty(defaultValue);
  const shown = saysNothing ? Object.assign(new Option(option.flags), option, { defaultValue: undefined }) : option;
  return Help.prototype.optionDescription.call(this, shown);
}

const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** A flag of a few letters is close to many others, such as --as, which makes you another user. */
const GUESS = /(?<=unknown option '--?\w{1,3}')\n\(Did you mean [^)]*\)/;

/** The object can then be deleted. */
const KEEP_SERVER = `kubectl patch vps NAME --type=merge --patch='{"spec":{"deletionPolicy":"Retain"}}'`;

/** Commands of other tools. By its letters alone, `delete` is closest to `undelete`, which is the opposite. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ps: 'kubectl vps list',
  show: 'kubectl vps status',
  describe: 'kubectl vps status',
  events: 'kubectl vps timeline',
  create: 'kubectl vps new',
  order: 'kubectl vps new',
  delete: 'kubectl vps cancel',
  rm: 'kubectl vps cancel',
  remove: 'kubectl vps cancel',
  destroy: 'kubectl vps cancel',
  terminate: 'kubectl vps cancel',
  release: KEEP_SERVER,
  retain: KEEP_SERVER,
  undo: 'kubectl vps undelete NAME, or kubectl vps rollout undo SET',
  shutdown: 'kubectl vps stop',
  wake: 'kubectl vps start',
  price: 'kubectl vps catalog',
  prices: 'kubectl vps catalog',
  restart: 'kubectl vps reboot',
  diff: 'kubectl vps plan -f FILE',
  version: 'kubectl vps --version',
  apply: 'kubectl apply -f FILE',
  edit: 'kubectl edit vps NAME',
  scale: 'kubectl scale vpsset/NAME --replicas=NUMBER',
  completion: 'kubectl completion --help',
};

function unknownCommand(word: string, commands: readonly string[]): CommandError {
  const similar = similarTo(word, commands);
  const own = similar === undefined ? undefined : `kubectl vps ${similar}`;
  const meant = Object.hasOwn(ELSEWHERE, word) ? ELSEWHERE[word] : own;
  return new CommandError(EXIT.usage, `unknown command ${JSON.stringify(word)}`, [
    ...(meant === undefined ? [] : [`did you mean ${meant}?`]),
    'kubectl vps --help   # lists all commands',
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
  const given = [notCreated, identifier !== undefined, gone].filter(Boolean).length;
  if (given === 0) return findLost(context, name, yes);
  if (given > 1) {
    throw new CommandError(EXIT.usage, 'pass exactly one of --not-created, --adopt IDENTIFIER and --gone');
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
    if (name !== undefined)
      throw new CommandError(EXIT.usage, 'pass either --from-record or NAME and IDENTIFIER, not both');
    return adoptFromRecord(context, options);
  }
  const { filename, selector, all, dryRun, yes } = options;
  if (selector !== undefined || all) throw new CommandError(EXIT.usage, '--selector and --all require --from-record');
  if (filename.length > 0) {
    if (name === undefined) return adoptListed(context, { filename, dryRun, yes });
    throw new CommandError(EXIT.usage, 'pass either --filename FILE or NAME and IDENTIFIER, not both');
  }
  if (dryRun) throw new CommandError(EXIT.usage, '--dry-run requires --from-record or --filename FILE');
  if (name === undefined || identifier === undefined) {
    throw new CommandError(EXIT.usage, 'pass NAME and IDENTIFIER, --filename FILE, or --from-record');
  }
  await adoptServer(context, serverNameOf(name), identifier, options.yes);
}
