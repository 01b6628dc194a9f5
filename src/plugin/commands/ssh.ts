/** `kubectl vps ssh`, `scp` and `console`: the ways to reach a server. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasReadServer, powerStateOf } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { openInBrowser, webAddress } from '../terminal/browser.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { scpArguments, scpServer, sshArguments, sshDestination, type SshDestination } from '../flags/ssh-arguments.ts';
import { endOfObject } from '../state/let-go.ts';
import { data } from '../terminal/table.ts';
import { clean } from '../terminal/terminal.ts';

export interface SshOptions {
  direct: boolean;
  /** Each as for ssh -o. */
  sshOption: readonly string[];
  identityFile?: string | undefined;
}

/** Runs the user's ssh in this terminal. Resolves with its exit code, above 128 if a signal ended it. */
export async function runSsh(
  context: Context,
  name: string,
  command: readonly string[],
  { direct, sshOption, identityFile }: SshOptions,
): Promise<number> {
  const own = given({ sshOption, identityFile });
  return reach(context, name, direct, (target, file) => run('ssh', sshArguments(target, own, command, file)));
}

/** Gives `use` the server and, if the operator knows its host keys, a file with them that exists until `use` has ended. */
async function reach(
  context: Context,
  name: string,
  direct: boolean,
  use: (target: SshDestination, knownHosts?: string) => Promise<number>,
): Promise<number> {
  const { cluster } = context;
  const object = requireServer(await cluster.get(name));
  const target = sshDestination(object, direct, cluster.where);
  await cluster.close();
  // What was read last may be outdated, so this refuses nothing.
  if (hasReadServer(object) && powerStateOf(object.status?.serverStatus) === 'off')
    tell(context, [`the server of ${name} is off: to start it, run kubectl vps start ${name}${cluster.where}`]);
  if (target.knownHosts.length === 0) {
    const hint = object.spec.sshCheck === 'None' ? '; with spec.sshCheck, the operator learns it' : '';
    tell(context, [`no host key of ${name} is known, so your own known_hosts decides${hint}`]);
    return use(target);
  }
  if (object.status?.conditions?.some(({ type }) => type === 'HostKeyChanged') === true)
    tell(context, [`the host key of ${name} has changed: see kubectl vps status ${name}${cluster.where}`]);
  const folder = await mkdtemp(join(tmpdir(), 'kubectl-vps-'));
  try {
    const file = join(folder, 'known_hosts');
    await writeFile(file, `${target.knownHosts.join('\n')}\n`);
    return await use(target, file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Throws CommandError if the server of a deleted object is gone, while other finalizers keep the object. */
function requireServer(object: VirtualServer): VirtualServer {
  const end = endOfObject(object);
  if (end === undefined || end.mayExist) return object;
  throw new CommandError(EXIT.failed, `${object.metadata.name} is being deleted. ${end.message}`);
}

export type ScpOptions = SshOptions & { recursive: boolean };

/** Copies between this machine and one server, with the user's scp. Resolves with its exit code. */
export async function runScp(context: Context, paths: readonly string[], options: ScpOptions): Promise<number> {
  const own = [...given(options), ...(options.recursive ? ['-r'] : [])];
  const name = scpServer(paths);
  return reach(context, name, options.direct, (target, file) => run('scp', scpArguments(target, own, paths, file)));
}

/** The user's options, which ssh and scp spell alike. */
function given({ sshOption, identityFile }: Pick<SshOptions, 'sshOption' | 'identityFile'>): string[] {
  return [...sshOption.flatMap((option) => ['-o', option]), ...(identityFile ? ['-i', identityFile] : [])];
}

const SIGNAL_BASE = 128;

function run(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit' });
  // Leave Ctrl-C to ssh: the whole foreground group receives it, and ssh decides what happens.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'ENOENT' ? `${program} is not installed, or not on PATH` : error.message;
      reject(new CommandError(EXIT.failed, why));
    });
    child.once('close', (code, signal) => {
      process.off('SIGINT', ignore);
      resolve(code ?? SIGNAL_BASE + (signal === 'SIGINT' ? 2 : 15));
    });
  });
}

/** The admin console as the provider names it. `open`: opens it in the browser, or prints its address. */
export async function showConsole(context: Context, name: string, open: boolean): Promise<void> {
  const { cluster, format, terminal } = context;
  if (open && format !== 'table') throw new CommandError(EXIT.usage, 'pass either --open or --output, not both');
  const { status } = requireServer(await cluster.get(name));
  const console = status?.adminConsole;
  if (console === undefined) throw new CommandError(EXIT.failed, `${name} has no admin console`);
  if (format !== 'table') return void terminal.out.write(data(console, format));
  const [host, user] = [clean(console.hostname), clean(console.username)];
  if (!open) {
    print(context, [`host  ${host}`, `user  ${user}`]);
    return;
  }
  const url = webAddress(console.hostname);
  if (url === undefined) throw new CommandError(EXIT.failed, `${JSON.stringify(host)} is no web address`);
  const problem = await openInBrowser(terminal, url);
  if (problem !== undefined) tell(context, [`open this address in a browser: ${problem}`]);
  print(context, [`url   ${url}`, `user  ${user}`]);
}
