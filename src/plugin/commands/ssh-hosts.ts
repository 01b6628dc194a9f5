/** `kubectl vps ssh-config` and `inventory`: servers for plain ssh, scp, rsync and Ansible, with the host keys of the operator. */
import { randomUUID } from 'node:crypto';
import { mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { SERVER_PLURAL } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { VIRTUAL_SERVERS } from '../../virtual-server/resource.ts';
import { tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import {
  checkSuffix,
  hostVariables,
  inventory,
  knownHostsText,
  sshConfig,
  sshHosts,
  type SshHost,
} from '../decisions/ssh-hosts.ts';
import { data } from '../terminal/table.ts';
import { plural } from '../state/totals.ts';

interface Chosen {
  allNamespaces: boolean;
  selector?: string | undefined;
  direct: boolean;
  /** Such as `.vps`; empty for none. */
  suffix: string;
  knownHosts?: string | undefined;
}

export type SshConfigOptions = Chosen & { write: boolean };

/** Prints the configuration, or writes it. */
export async function writeSshConfig(
  context: Context,
  names: readonly string[],
  options: SshConfigOptions,
): Promise<void> {
  const { hosts, notes } = await chosen(context, names, options);
  const file = knownHostsFile(options);
  const config = sshConfig(hosts, file, notes);
  if (options.write || options.knownHosts !== undefined) await writeKnownHosts(file, hosts, options);
  if (!options.write) {
    context.terminal.out.write(config);
    if (options.knownHosts === undefined)
      tell(context, [`nothing was written: pass --write, or --known-hosts FILE for the host keys`]);
    return;
  }
  const path = join(folder(), 'config');
  await replaceFile(path, config);
  tell(context, [
    `wrote ${plural(hosts.length, 'host')} to ${path}`,
    `put this line at the top of ~/.ssh/config, once: Include ${INCLUDED}`,
  ]);
}

export type InventoryOptions = Chosen & { list: boolean; host?: string | undefined };

/** As Ansible runs an inventory script: the whole inventory, or the variables of one host. */
export async function showInventory(context: Context, options: InventoryOptions): Promise<void> {
  const { host: wanted, list } = options;
  if (list && wanted !== undefined) throw new CommandError(EXIT.usage, 'pass either --list or --host, not both');
  const { hosts } = await chosen(context, [], options);
  const file = knownHostsFile(options);
  // First, because a path that ssh cannot read is refused before anything is written.
  const found = inventory(hosts, file);
  const host = hosts.find(({ name }) => name === wanted);
  await writeKnownHosts(file, hosts, options);
  if (wanted !== undefined) {
    context.terminal.out.write(data(host === undefined ? {} : hostVariables(host, file), 'json'));
    return;
  }
  tell(context, found.notes);
  context.terminal.out.write(data(found.inventory, 'json'));
}

const INCLUDED = '~/.ssh/vps-operator/config';
const folder = (): string => join(homedir(), '.ssh', 'vps-operator');
const knownHostsFile = ({ knownHosts }: Chosen): string =>
  knownHosts === undefined ? join(folder(), 'known_hosts') : resolve(knownHosts);

/** Tells which servers are left out, and why. Throws CommandError for a name that does not exist. */
async function chosen(
  context: Context,
  names: readonly string[],
  options: Chosen,
): Promise<ReturnType<typeof sshHosts>> {
  const { allNamespaces, selector, direct, suffix } = options;
  checkSuffix(suffix);
  if (names.length > 0 && (allNamespaces || selector !== undefined))
    throw new CommandError(EXIT.usage, 'pass either names, or --all-namespaces and --selector');
  const { cluster } = context;
  const objects: VirtualServer[] =
    names.length > 0
      ? await Promise.all(names.map((name) => cluster.get(name)))
      : (await cluster.listOf(SERVER_PLURAL, { allNamespaces, labelSelector: selector })).map(withLabels);
  const found = sshHosts(objects, direct, suffix);
  tell(context, found.notes);
  return found;
}

/** The operator needs no labels, so its reading of an object drops them. */
function withLabels(listed: unknown): VirtualServer {
  const object = VIRTUAL_SERVERS.parse(listed);
  const { labels } = (listed as { metadata: Pick<VirtualServer['metadata'], 'labels'> }).metadata;
  return { ...object, metadata: { ...object.metadata, ...(labels && { labels }) } };
}

async function writeKnownHosts(file: string, hosts: readonly SshHost[], { knownHosts }: Chosen): Promise<void> {
  try {
    const before = await readFile(file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw unwritable(file, error as Error);
    });
    await replaceFile(file, knownHostsText(before, hosts));
  } catch (error) {
    const isWrongFlag = knownHosts !== undefined && error instanceof CommandError;
    throw isWrongFlag ? new CommandError(EXIT.usage, `--known-hosts: ${error.message}`) : error;
  }
}

/** In one step, so that no ssh reads half a file. A link stays, and the file that it names is replaced. */
async function replaceFile(path: string, text: string): Promise<void> {
  let draft: string | undefined;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const target = await realpath(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return path;
      throw error;
    });
    draft = `${target}.${randomUUID()}`;
    // In a folder of many, another user's file or link must not take its place.
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await rename(draft, target);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { force: true });
    throw unwritable(path, error as Error);
  }
}

const unwritable = (path: string, { message }: Error): CommandError =>
  new CommandError(EXIT.failed, `${JSON.stringify(path)} cannot be written: ${message}`);
