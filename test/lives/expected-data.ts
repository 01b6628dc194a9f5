/**
 * The data that a server's connection Secret must hold according to the provider, derived without the operator's code.
 */
import type { Simulation } from '../../src/simulator/index.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';

/** By key; empty if the provider has no such server. */
export function expectedData(
  { fleet }: Pick<Simulation, 'fleet'>,
  identifier: string,
): Partial<Record<string, string>> {
  const server = [OWN_ACCOUNT, OTHER_ACCOUNT].map((account) => fleet.find(account, identifier)?.object).find(Boolean);
  if (server === undefined) return {};
  const { ipv4, ipv6, ssh_proxy: proxy, admin_console: console, vnc } = server;
  return {
    identifier,
    ...(ipv6.length > 0 && { ipv6: ipv6.join(',') }),
    ...(ipv4.length > 0 && { ipv4: ipv4.join(',') }),
    sshHost: proxy.hostname,
    sshPort: String(proxy.port),
    sshUser: 'root',
    adminConsoleHost: console.hostname,
    adminConsoleUser: console.username,
    vncMode: vnc.mode,
    vncPassword: vnc.password,
    vncDisplay: String(vnc.display),
    vncPort: String(vnc.port),
    vncIPv4: vnc.ipv4,
    vncIPv6: vnc.ipv6,
  };
}
