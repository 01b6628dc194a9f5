/** Where an SSH server should answer (`spec.sshCheck`), and what its answer means for Ready. Pure. */
import type { Verdict } from '../../controller/conditions.ts';
import type { ServerRecord } from '../../api/record.ts';
import { isRunning } from '../../api/server-state.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { Server } from '../../provider/types.ts';
import type { ShownKey } from './key-types.ts';
import type { Boot } from './memo.ts';
import { isHost, serverFields, SSH_PORT } from './server-status.ts';
import { isOverdue, type View } from './view.ts';
import type { Result } from '../../base/result.ts';

export interface SshEndpoint {
  /** A host name or an address, never text that could be read as something else. */
  host: string;
  port: number;
}

/**
 * The result of the SSH check. `key`: the host key, whose possession the host has proven; `noKey`: why it is missing. All texts are
 * short and printable.
 */
export type ProbeResult = Result<{ banner: string; key?: ShownKey; noKey?: string }>;

/** The condition Reachable. */
export interface Reachable {
  status: 'True' | 'False';
  reason: 'Reachable' | 'Unreachable' | 'Booting' | 'PoweredOff' | 'Dormant';
  message: string;
}

/** Checks only the form; any other mistake in the address shows when the check connects. */
export const isIPv6 = (text: string): boolean => text.includes(':') && /^[0-9A-Fa-f:.]+$/.test(text);

/** Undefined if there is nothing to check or the spec asks for no check. Uses only values that are fit for status. */
export function sshTarget({ spec, metadata }: VirtualServer, server: Server): SshEndpoint | undefined {
  if (metadata.deletionTimestamp !== undefined || !isRunning(server.status)) return undefined;
  const { sshProxy, ipv6 = [] } = serverFields(server);
  if (spec.sshCheck === 'Proxy' && sshProxy !== undefined && isHost(sshProxy.hostname))
    return { host: sshProxy.hostname, port: sshProxy.port };
  const [address] = ipv6;
  if (spec.sshCheck === 'Direct' && address !== undefined && isIPv6(address)) return { host: address, port: SSH_PORT };
  return undefined;
}

/** How long a server may take to boot (ms). Until then, it needs no attention if no SSH server answers. */
const BOOT_MS = 5 * 60_000;

/**
 * Since when the server may be booting, after a read and an SSH check: a new server from its first read on, another one if this
 * process has seen it not running.
 */
export function bootOf(
  { memo, monotonic, now }: View,
  record: ServerRecord,
  { identifier, status }: Server,
  probed: ProbeResult | undefined,
): Boot {
  if (!isRunning(status)) return { identifier, since: 'off' };
  const { boot } = memo.evidence;
  const before = boot?.identifier === identifier ? boot.since : undefined;
  const isNew = record.mode !== 'adopt' && record.readyAt === undefined && !isOverdue(record, now);
  if (probed?.ok === true || before === 'over' || (before === undefined && !isNew))
    return { identifier, since: 'over' };
  const since = typeof before === 'number' ? before : monotonic;
  return { identifier, since: monotonic - since < BOOT_MS ? since : 'over' };
}

/** For a running server; undefined if `sshCheck` asks for nothing. */
export function reach(
  object: VirtualServer,
  server: Server,
  probed: ProbeResult | undefined,
  { since }: Boot,
): { verdict?: Verdict; reachable?: Reachable } | undefined {
  const { sshCheck } = object.spec;
  if (sshCheck !== 'Proxy' && sshCheck !== 'Direct') return undefined;
  const target = sshTarget(object, server);
  if (target === undefined || probed === undefined) {
    const missing = sshCheck === 'Proxy' ? 'SSH proxy' : 'IPv6 address';
    const message = `Server ${server.identifier} is running, but has no ${missing} yet, and sshCheck: ${sshCheck} requires one`;
    return { verdict: { reason: 'AddressPending', message } };
  }
  const host = isIPv6(target.host) ? `[${target.host}]` : target.host;
  const where = `${host}:${target.port}`;
  if (probed.ok) {
    const { banner, noKey } = probed.value;
    const unread = noKey === undefined ? '' : `. The operator could not read its host key: ${noKey}`;
    const message = `An SSH server answers at ${where}: ${banner}${unread}`;
    return { reachable: { status: 'True', reason: 'Reachable', message } };
  }
  const reason = typeof since === 'number' ? 'Booting' : 'Unreachable';
  const then =
    reason === 'Booting'
      ? `A server needs some minutes to boot. If none answers for ${BOOT_MS / 60_000} minutes, the reason becomes Unreachable`
      : "If the server has not just been restarted, check sshd and the firewall on the server's console";
  const message = `Server ${server.identifier} is running, but no SSH server answers at ${where}: ${probed.error}. The operator keeps checking. ${then}`;
  return { verdict: { reason, message }, reachable: { status: 'False', reason, message } };
}
