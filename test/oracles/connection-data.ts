/**
 * The data that a server's connection Secret must hold according to the provider, derived without the operator's code.
 */
import type { Simulation } from '../../src/simulator/index.ts';

type ShownServer = NonNullable<ReturnType<Simulation['fleet']['find']>>['object'];

/** By key; `identifier` is that of the record, whose letters may differ in case. Empty if there is no such server. */
export function expectedData(identifier: string, server: ShownServer | undefined): Partial<Record<string, string>> {
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
