/** Builds the arguments of ssh from the status of a server. Pure. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { devNull } from 'node:os';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { knownHostsLine } from '../../virtual-server/decision/host-keys.ts';
import { isPort } from '../../virtual-server/decision/server-status.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { serverNameOf } from './target.ts';

export interface SshDestination {
  host: string;
  /** Undefined: the default of ssh, which the user's ssh configuration may set. */
  port: number | undefined;
  /** The name under which ssh stores the server's host key. */
  hostKeyAlias: string;
  /** Lines of a known_hosts file with the keys in the status; none if the operator knows no key. */
  knownHosts: readonly string[];
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
  const knownHosts = (status?.sshHostKeys ?? []).filter(isKey).map((key) => knownHostsLine(hostKeyAlias, key));
  if (direct) {
    const [host] = ipv6.filter((address) => isIPv6(address));
    if (host === undefined) throw new CommandError(EXIT.failed, `${metadata.name} has no IPv6 address`);
    return { host, port: undefined, hostKeyAlias, knownHosts };
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
  return { host: sshProxy.hostname, port: sshProxy.port, hostKeyAlias, knownHosts };
}

/**
 * Each server has its own alias. The provider reuses addresses and proxy ports for other servers, and ssh would then
 * report the other server's key as an attack.
 */
function aliasOf(identifier: string): string {
  const name = PLAIN.test(identifier) ? identifier : createHash('sha256').update(identifier).digest('hex');
  return `vps-${name}`;
}

/** A key that ssh can read only as a key, even if the status was forged. */
function isKey({ type, key }: { type: unknown; key: unknown }): boolean {
  return isText(type, /^[A-Za-z0-9@.-]+$/) && isText(key, /^[A-Za-z0-9+/]+={0,2}$/);
}

const isText = (value: unknown, pattern: RegExp): boolean => typeof value === 'string' && pattern.test(value);

/**
 * Options of ssh that let it accept the keys in this file and no other, whatever its configuration says. `file`: see
 * `quotedPath`. An ssh before 8.5 has no KnownHostsCommand.
 */
export function strictOptions(file: string): [name: string, value: string][] {
  return [
    ['UserKnownHostsFile', file],
    ['GlobalKnownHostsFile', devNull],
    ['IgnoreUnknown', 'KnownHostsCommand'],
    ['KnownHostsCommand', 'none'],
    ['StrictHostKeyChecking', 'yes'],
    ['UpdateHostKeys', 'no'],
    ['VerifyHostKeyDNS', 'no'],
  ];
}

/** A path as ssh reads it in an option. Throws CommandError for one that ssh cannot be given. */
export function quotedPath(path: string): string {
  if (/["'\\${}]|[\p{Cc}\p{Zl}\p{Zp}]/u.test(path) && process.platform !== 'win32') {
    const why = `${JSON.stringify(path)} cannot be a known_hosts file: use a path without quotes, backslashes, $, {, } and line breaks`;
    throw new CommandError(EXIT.usage, why);
  }
  return `"${path.replaceAll('%', '%%')}"`;
}

/**
 * Arguments of ssh: the plugin's options, the user's options, the destination, the command. `knownHosts`: the file with the
 * lines of the target, if there are any; ssh takes the first of several values, so no option of the user replaces it.
 */
export function sshArguments(
  target: SshDestination,
  options: readonly string[],
  command: readonly string[],
  knownHosts?: string,
): string[] {
  return [...addressed(target, '-p', knownHosts), ...options, '--', `root@${target.host}`, ...command];
}

/** Under which name the host key is known, and the port. */
function addressed({ port, hostKeyAlias }: SshDestination, portFlag: '-p' | '-P', knownHosts?: string): string[] {
  // Older clients also check the key of the address, which would defeat the alias.
  const alias = ['-o', `HostKeyAlias=${hostKeyAlias}`, '-o', 'CheckHostIP=no'];
  // A connection that is open already was checked against other keys, or against none.
  const strict: [string, string][] =
    knownHosts === undefined ? [] : [...strictOptions(quotedPath(knownHosts)), ['ControlPath', 'none']];
  return [
    ...alias,
    ...strict.flatMap(([name, value]) => ['-o', `${name}=${value}`]),
    ...(port === undefined ? [] : [portFlag, String(port)]),
  ];
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
export function scpArguments(
  target: SshDestination,
  options: readonly string[],
  paths: readonly string[],
  knownHosts?: string,
): string[] {
  const address = isIPv6(target.host) ? `[${target.host}]` : target.host;
  const files = paths.map((path) => {
    const remote = remoteOf(path);
    return remote === undefined ? path : `root@${address}:${remote.path}`;
  });
  return [...addressed(target, '-P', knownHosts), ...options, '--', ...files];
}
