/** Builds the arguments of ssh from the status of a server. Pure. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { VirtualServer } from '../api/virtual-server.ts';
import { isPort } from '../virtual-server/decision/status.ts';
import { CommandError, EXIT } from './failure.ts';
import { serverNameOf } from './target.ts';

interface SshDestination {
  host: string;
  /** Undefined: the default of ssh, which the user's ssh configuration may set. */
  port: number | undefined;
  /** The name under which ssh stores the server's host key. */
  hostKeyAlias: string;
}

const HOSTNAME = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const PLAIN = /^[A-Za-z0-9._-]+$/;

/**
 * The provider's SSH proxy, or with `direct` an IPv6 address. Throws CommandError if the status lacks it or has an
 * invalid one. `where`: flags such as ` -n team`.
 */
export function sshDestination({ metadata, status }: VirtualServer, direct: boolean, where: string): SshDestination {
  const { identifier, sshProxy, ipv6 = [] } = status ?? {};
  if (identifier === undefined) {
    throw new CommandError(EXIT.failed, `${metadata.name} has no server yet`, [
      `kubectl vps status ${metadata.name}${where}`,
    ]);
  }
  const hostKeyAlias = aliasOf(identifier);
  if (direct) {
    const [host] = ipv6.filter((address) => isIPv6(address));
    if (host === undefined) throw new CommandError(EXIT.failed, `${metadata.name} has no IPv6 address`);
    return { host, port: undefined, hostKeyAlias };
  }
  const overIPv6 = `kubectl vps ssh ${metadata.name}${where} --direct   # over IPv6`;
  if (sshProxy === undefined) {
    throw new CommandError(EXIT.failed, `${metadata.name} has no SSH proxy`, [overIPv6]);
  }
  // The host name comes from the provider, and ssh reads options: pass on only what can be a host name.
  if (!HOSTNAME.test(sshProxy.hostname)) {
    throw new CommandError(EXIT.failed, `the SSH proxy of ${metadata.name} has no valid host name`);
  }
  // An older CRD or another writer of the status may have let an invalid port in.
  if (!isPort(sshProxy.port)) {
    const why = `status.sshProxy.port of ${metadata.name} is ${JSON.stringify(sshProxy.port)}, not a port from 1 to 65535`;
    throw new CommandError(EXIT.failed, why, [overIPv6]);
  }
  return { host: sshProxy.hostname, port: sshProxy.port, hostKeyAlias };
}

/**
 * Each server has its own alias. The provider reuses addresses and proxy ports for other servers, and ssh would then
 * report the other server's key as an attack.
 */
function aliasOf(identifier: string): string {
  const name = PLAIN.test(identifier) ? identifier : createHash('sha256').update(identifier).digest('hex');
  return `vps-${name}`;
}

/** Arguments of ssh: the plugin's options, the user's options, the destination, the command. */
export function sshArguments(target: SshDestination, options: readonly string[], command: readonly string[]): string[] {
  return [...addressed(target, '-p'), ...options, '--', `root@${target.host}`, ...command];
}

/** Under which name the host key is known, and the port. */
function addressed({ port, hostKeyAlias }: SshDestination, portFlag: '-p' | '-P'): string[] {
  // Older clients also check the key of the address, which would defeat the alias.
  const alias = ['-o', `HostKeyAlias=${hostKeyAlias}`, '-o', 'CheckHostIP=no'];
  return [...alias, ...(port === undefined ? [] : [portFlag, String(port)])];
}

/** `web:/etc/motd` or `vps/web:/etc/motd`. As for scp, any other slash before the colon belongs to a local path. */
const REMOTE = /^((?:vps|virtualservers?[a-z0-9.-]*)\/)?([a-z0-9][a-z0-9.-]*):(.*)$/is;

/** Undefined for a local file. */
export function remoteOf(path: string): { server: string; path: string } | undefined {
  const [, type = '', name, remote] = REMOTE.exec(path) ?? [];
  return name === undefined || remote === undefined ? undefined : { server: serverNameOf(type + name), path: remote };
}

/** The one server that these paths name. Throws CommandError if there is none, or several. */
export function scpServer(paths: readonly string[]): string {
  const servers = new Set(paths.flatMap((path) => remoteOf(path)?.server ?? []));
  const [server, another] = servers;
  if (server !== undefined && another === undefined && paths.length > 1) return server;
  throw new CommandError(
    EXIT.usage,
    'name files here and on one server, such as: kubectl vps scp notes.txt web:/root/',
  );
}

/** Arguments of scp: as those of ssh, with the server's address in the place of its name. */
export function scpArguments(target: SshDestination, options: readonly string[], paths: readonly string[]): string[] {
  const address = isIPv6(target.host) ? `[${target.host}]` : target.host;
  const files = paths.map((path) => {
    const remote = remoteOf(path);
    return remote === undefined ? path : `root@${address}:${remote.path}`;
  });
  return [...addressed(target, '-P'), ...options, '--', ...files];
}
