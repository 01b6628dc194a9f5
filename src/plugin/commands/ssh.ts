/** `kubectl vps ssh`, `scp` and `console`: the ways to reach a server. */
import { spawn } from 'node:child_process';
import { openInBrowser, webAddress } from '../browser.ts';
import { print, tell, type Context } from '../context.ts';
import { CommandError, EXIT } from '../failure.ts';
import { scpArguments, scpServer, sshArguments, sshDestination } from '../ssh-arguments.ts';
import { data } from '../table.ts';
import { clean } from '../terminal.ts';

export interface SshOptions {
  direct: boolean;
  /** Each as for ssh -o. */
  sshOption: readonly string[];
  identityFile?: string | undefined;
}

/** Runs the user's ssh in this terminal. Resolves with its exit code, above 128 if a signal ended it. */
export async function runSsh(
  { cluster }: Context,
  name: string,
  command: readonly string[],
  { direct, sshOption, identityFile }: SshOptions,
): Promise<number> {
  const target = sshDestination(await cluster.get(name), direct, cluster.where);
  const own = given({ sshOption, identityFile });
  await cluster.close();
  return run('ssh', sshArguments(target, own, command));
}

export type ScpOptions = SshOptions & { recursive: boolean };

/** Copies between this machine and one server, with the user's scp. Resolves with its exit code. */
export async function runScp({ cluster }: Context, paths: readonly string[], options: ScpOptions): Promise<number> {
  const target = sshDestination(await cluster.get(scpServer(paths)), options.direct, cluster.where);
  const own = [...given(options), ...(options.recursive ? ['-r'] : [])];
  await cluster.close();
  return run('scp', scpArguments(target, own, paths));
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
  const { status } = await cluster.get(name);
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
