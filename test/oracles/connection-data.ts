/**
 * The data that a server's connection Secret must hold according to the provider, derived without the operator's code.
 */
import type { Simulation } from '../../src/simulator/index.ts';

type Shown = NonNullable<ReturnType<Simulation['fleet']['find']>>['object'];
/** The public API shows neither consoles nor VNC. */
type ShownServer = Omit<Shown, 'vnc' | 'admin_console'> & Partial<Pick<Shown, 'vnc' | 'admin_console'>>;

/**
 * The data by key; empty without a server. `identifier`: as the record has it, perhaps in other case. `keys`: the trusted
 * host keys.
 */
export function expectedData(
  identifier: string,
  server: ShownServer | undefined,
  keys: readonly { type: string; key: string }[] = [],
): Partial<Record<string, string>> {
  if (server === undefined) return {};
  const { ipv4, ipv6, ssh_proxy: proxy, admin_console: console, vnc } = server;
  const hosts = [`[${proxy.hostname}]:${proxy.port}`, ...ipv6, ...ipv4.map(String)];
  const lines = hosts.flatMap((host) => keys.map(({ type, key }) => `${host} ${type} ${key}\n`));
  return {
    identifier,
    ...(ipv6.length > 0 && { ipv6: ipv6.join(',') }),
    ...(ipv4.length > 0 && { ipv4: ipv4.join(',') }),
    sshHost: proxy.hostname,
    sshPort: String(proxy.port),
    sshUser: 'root',
    ...(console && { adminConsoleHost: console.hostname, adminConsoleUser: console.username }),
    ...(vnc && {
      vncMode: vnc.mode,
      vncPassword: vnc.password,
      vncDisplay: String(vnc.display),
      vncPort: String(vnc.port),
      vncIPv4: vnc.ipv4,
      vncIPv6: vnc.ipv6,
    }),
    ...(lines.length > 0 && { known_hosts: lines.join('') }),
  };
}
