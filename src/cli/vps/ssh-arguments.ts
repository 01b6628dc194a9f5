/** How a server is reached with ssh, from its status. Pure. */
import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { isPort } from '../../virtual-server/decision/status.ts';
import { CommandError, EXIT } from './failure.ts';

interface SshDestination {
  host: string;
  /** Undefined: ssh's own, which the user's configuration may say. */
  port: number | undefined;
  /** Under this name ssh remembers the server's host key. */
  hostKeyAlias: string;
}

const HOSTNAME = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;
const PLAIN = /^[A-Za-z0-9._-]+$/;

/**
 * Through the provider's proxy, or with `direct` over IPv6. Throws CommandError where the status names no such way.
 * `where`: flags such as ` -n team`.
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
    if (host === undefined) throw new CommandError(EXIT.failed, `${metadata.name} shows no IPv6 address`);
    return { host, port: undefined, hostKeyAlias };
  }
  if (sshProxy === undefined) {
    throw new CommandError(EXIT.failed, `${metadata.name} shows no SSH proxy`, ['try --direct, over IPv6']);
  }
  // The words come from the provider and go to a program that reads options: only what a host can be is passed on.
  if (!HOSTNAME.test(sshProxy.hostname)) {
    throw new CommandError(EXIT.failed, `the SSH proxy of ${metadata.name} has no valid host name`);
  }
  // An older CRD, or another writer of the status, may have let it in.
  if (!isPort(sshProxy.port)) {
    const why = `status.sshProxy.port of ${metadata.name} is ${JSON.stringify(sshProxy.port)}, not a port from 1 to 65535`;
    throw new CommandError(EXIT.failed, why, ['try --direct, over IPv6']);
  }
  return { host: sshProxy.hostname, port: sshProxy.port, hostKeyAlias };
}

/**
 * One alias a server: its addresses, and the port of the proxy, are given to others later, and ssh would then take the
 * other server's key for an attack.
 */
function aliasOf(identifier: string): string {
  const name = PLAIN.test(identifier) ? identifier : createHash('sha256').update(identifier).digest('hex');
  return `vps-${name}`;
}

/** Arguments of ssh: its own options first, then the user's, then the destination and the command. */
export function sshArguments(target: SshDestination, options: readonly string[], command: readonly string[]): string[] {
  const { host, port, hostKeyAlias } = target;
  // Older clients look for the key of the address as well, which is what the alias is to spare.
  const alias = ['-o', `HostKeyAlias=${hostKeyAlias}`, '-o', 'CheckHostIP=no'];
  return [...alias, ...(port === undefined ? [] : ['-p', String(port)]), ...options, '--', `root@${host}`, ...command];
}
