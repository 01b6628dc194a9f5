/**
 * The host key of a server's SSH server: which one the operator trusts, and what a changed key means. The first key that a
 * server shows is trusted; from then on, only your annotation replaces it. Pure.
 */
import { timestamp } from '../../base/duration.ts';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../api/names.ts';
import type { ServerRecord } from '../../api/record.ts';
import type { VirtualServer, VirtualServerStatus } from '../../api/virtual-server.ts';
import type { Finding } from '../../controller/conditions.ts';
import type { Server } from '../../provider/types.ts';
import { compare, hardwareIn } from './identity.ts';
import { isKeyType, type KeyType, type ShownKey } from './key-types.ts';
import { isIPv6, type ProbeResult } from './reach.ts';
import { isHost, SSH_PORT } from './server-status.ts';

export type HostKey = NonNullable<VirtualServerStatus['sshHostKeys']>[number];

/**
 * The keys in the status, if they are keys of the server in the record, which has just shown itself as `server`. They belong to
 * the identifier and, as far as the provider shows any, to the hardware addresses beside them: a server that you accepted in
 * place of another one starts without keys. Without the mirror of the record, which an operator that only
 * observes does not write, they are still keys of this server.
 */
export function knownKeys({ status }: VirtualServer, record: ServerRecord, server: Server): readonly HostKey[] {
  const { sshHostKeys = [], identifier, macs = [], ipv6 = [] } = status ?? {};
  // Status and record each hold some of the addresses of a server with many network cards: only what it shows now tells.
  const { macs: recorded = [] } = record.fingerprint ?? {};
  const isShown = hardwareIn(server.macs).length > 0;
  const isOther = isShown && compare({ macs: [...recorded, ...server.macs] }, { macs, ipv6 }) === 'different';
  return identifier === record.identifier && !isOther ? sshHostKeys : [];
}

/** The types of known keys, for the next probe; a status may hold others that a newer version has written. */
export const typesOf = (keys: readonly HostKey[]): KeyType[] => keys.map(({ type }) => type).filter(isKeyType);

export interface PinnedKeys {
  keys: readonly HostKey[];
  /** The status does not hold this key yet. */
  isNew: boolean;
  /** A key that the host showed and that is not trusted. `unknown`: the host showed none, so the last finding stays. */
  changed: ShownKey | 'unknown' | undefined;
}

/** Nothing was checked, and no key is known. */
export const NO_KEYS: PinnedKeys = { keys: [], isNew: false, changed: undefined };

/**
 * Which keys to trust after a probe: one, which every probe verifies. A key of another type, from another connection, could be
 * that of an attacker, and no later probe would show it. `now` in ms since the epoch.
 */
export function pinned(
  { metadata }: VirtualServer,
  known: readonly HostKey[],
  probed: ProbeResult | undefined,
  now: number,
): PinnedKeys {
  const shown = probed?.ok === true ? probed.value.key : undefined;
  const kept = { keys: known, isNew: false };
  if (shown === undefined) return { ...kept, changed: known.length === 0 ? undefined : 'unknown' };
  if (known.some(({ key }) => key === shown.key)) return { ...kept, changed: undefined };
  const isAccepted = metadata.annotations?.[ACCEPT_HOST_KEY_ANNOTATION] === shown.fingerprint;
  if (known.length === 0 || isAccepted)
    return { keys: [{ ...shown, firstSeen: timestamp(now) }], isNew: true, changed: undefined };
  return { ...kept, changed: shown };
}

/** What the condition HostKeyChanged tells; `unknown`: the present one is kept. */
export function hostKeyFinding({ keys: known, changed }: PinnedKeys): Finding | 'unknown' | undefined {
  if (changed === undefined || changed === 'unknown') return changed;
  const { type, fingerprint } = changed;
  const before = known.find((key) => key.type === type) ?? known[0];
  const was = before && `${before.type} key ${before.fingerprint}, known since ${before.firstSeen}`;
  const message =
    `The SSH server shows the ${type} key ${fingerprint} instead of the ${was ?? 'known key'}. The server was reinstalled, its keys were ` +
    'replaced, or another machine answers in its place. The operator keeps the known key';
  return { reason: 'HostKeyChanged', message, subject: fingerprint };
}

/** Checks only the form, which no ssh reads as a pattern. */
const isIPv4 = (text: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(text);

/** The lines of a known_hosts file for the ways to a server; undefined if there is no key or no way. */
export function knownHosts(
  { sshProxy, ipv6 = [], ipv4 = [] }: VirtualServerStatus,
  keys: readonly HostKey[],
): string | undefined {
  const proxy =
    sshProxy !== undefined && isHost(sshProxy.hostname) ? [hostPattern(sshProxy.hostname, sshProxy.port)] : [];
  const direct = [...ipv6, ...ipv4]
    .filter((address) => isIPv6(address) || isIPv4(address))
    .map((address) => hostPattern(address));
  const lines = [...proxy, ...direct].flatMap((host) => keys.map((key) => knownHostsLine(host, key)));
  return lines.length === 0 ? undefined : `${lines.join('\n')}\n`;
}

/** As ssh looks a host up: with brackets and port unless it is the usual one. */
const hostPattern = (host: string, port = SSH_PORT): string =>
  port === SSH_PORT ? host.toLowerCase() : `[${host.toLowerCase()}]:${port}`;

export const knownHostsLine = (host: string, { type, key }: Pick<HostKey, 'type' | 'key'>): string =>
  `${host} ${type} ${key}`;
