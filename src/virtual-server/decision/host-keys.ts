/**
 * The host keys of a server's SSH server: which ones the operator trusts, and what a changed key means. The first keys that a
 * server shows are trusted; from then on, only your annotation replaces them. Pure.
 */
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { timestamp } from '../../base/duration.ts';
import { ACCEPT_HOST_KEY_ANNOTATION } from '../../api/names.ts';
import { mirrorIn, type ServerRecord } from '../../api/record.ts';
import { BOUNDS, type VirtualServer, type VirtualServerStatus } from '../../api/virtual-server.ts';
import type { Finding } from '../../controller/conditions.ts';
import { fingerprintOf, isOtherFingerprint } from './identity.ts';
import type { ProbeResult } from './reach.ts';
import { isHost, SSH_PORT } from './status.ts';

/** The key types that clients use, best first; a host usually has one key of each family. */
export const KEY_FAMILIES = [
  ['ssh-ed25519'],
  ['ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'],
  ['ssh-rsa'],
] as const satisfies readonly (readonly string[])[] as readonly (readonly KeyType[])[];
export type KeyType = 'ssh-ed25519' | 'ecdsa-sha2-nistp256' | 'ecdsa-sha2-nistp384' | 'ecdsa-sha2-nistp521' | 'ssh-rsa';

export type HostKey = NonNullable<VirtualServerStatus['sshHostKeys']>[number];

/** A key that a host has proven to hold. */
export interface ShownKey {
  type: KeyType;
  /** As `ssh-keygen -l` prints it. */
  fingerprint: string;
  /** Base64, as in known_hosts. */
  key: string;
}

const isKeyType = (text: string): text is KeyType => KEY_FAMILIES.flat().some((type) => type === text);

/** From a key in the format of RFC 4253, 6.6; undefined if its type is unknown or it is too long to be stored. */
export function shownKey(blob: Buffer): ShownKey | undefined {
  const type = blob.length < 4 ? '' : blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1');
  const key = blob.toString('base64');
  if (!isKeyType(type) || key.length > BOUNDS.hostKey) return undefined;
  return { type, fingerprint: `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`, key };
}

/**
 * The keys in the status, if they are keys of the server in the record. They belong to the identifier and, as far as the
 * provider shows any, to the hardware addresses beside them: a server that you accepted in place of another one starts
 * without keys.
 */
export function knownKeys({ status }: VirtualServer, record: ServerRecord): readonly HostKey[] {
  const { sshHostKeys = [], identifier, macs = [], ipv6 = [] } = status ?? {};
  const isOwn = mirrorIn(status)?.owner === record.owner && identifier === record.identifier;
  return isOwn && !isOtherFingerprint(fingerprintOf({ macs, ipv6 }), record.fingerprint) ? sshHostKeys : [];
}

/** The types of known keys, for the next probe; a status may hold others that a newer version has written. */
export const typesOf = (keys: readonly HostKey[]): KeyType[] => keys.map(({ type }) => type).filter(isKeyType);

export interface PinnedKeys {
  keys: readonly HostKey[];
  /** A key that the host showed and that is not trusted. `unknown`: the host showed none, so the last finding stays. */
  changed: ShownKey | 'unknown' | undefined;
}

/** Which keys to trust after a probe. `now` in ms since the epoch. */
export function pinned(
  { metadata }: VirtualServer,
  known: readonly HostKey[],
  probed: ProbeResult | undefined,
  now: number,
): PinnedKeys {
  const shown = probed?.ok === true ? (probed.keys ?? []) : [];
  const [first] = shown;
  if (first === undefined) return { keys: known, changed: known.length === 0 ? undefined : 'unknown' };
  const since = (key: ShownKey): HostKey => ({ ...key, firstSeen: timestamp(now) });
  if (known.length === 0) return { keys: shown.map(since), changed: undefined };
  if (known.some(({ key }) => key === first.key)) return { keys: known, changed: undefined };
  // One word accepts one key. The keys of other types belonged to what was there before.
  if (metadata.annotations?.[ACCEPT_HOST_KEY_ANNOTATION] === first.fingerprint)
    return { keys: [since(first)], changed: undefined };
  return { keys: known, changed: first };
}

/** What the condition HostKeyChanged tells. */
export function changedFinding(known: readonly HostKey[], shown: ShownKey): Finding {
  const { type, fingerprint } = shown;
  const before = known.find((key) => key.type === type) ?? known[0];
  const was = before && `${before.type} key ${before.fingerprint}, known since ${before.firstSeen}`;
  const message =
    `The SSH server shows the ${type} key ${fingerprint} instead of the ${was ?? 'known key'}. The server was reinstalled, its keys were ` +
    'replaced, or another machine answers in its place. The operator keeps the known keys';
  return { reason: 'HostKeyChanged', message, subject: fingerprint };
}

/** The lines of a known_hosts file for the ways to a server; undefined if there is no key or no way. */
export function knownHosts(
  { sshProxy, ipv6 = [], ipv4 = [] }: VirtualServerStatus,
  keys: readonly HostKey[],
): string | undefined {
  const proxy =
    sshProxy !== undefined && isHost(sshProxy.hostname) ? [hostPattern(sshProxy.hostname, sshProxy.port)] : [];
  const direct = [...ipv6, ...ipv4].filter((address) => isIP(address) !== 0).map((address) => hostPattern(address));
  const lines = [...proxy, ...direct].flatMap((host) => keys.map((key) => knownHostsLine(host, key)));
  return lines.length === 0 ? undefined : `${lines.join('\n')}\n`;
}

/** As ssh looks a host up: with brackets and port unless it is the usual one. */
const hostPattern = (host: string, port = SSH_PORT): string =>
  port === SSH_PORT ? host.toLowerCase() : `[${host.toLowerCase()}]:${port}`;

export const knownHostsLine = (host: string, { type, key }: Pick<HostKey, 'type' | 'key'>): string =>
  `${host} ${type} ${key}`;
