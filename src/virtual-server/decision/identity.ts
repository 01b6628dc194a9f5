/** Whether the server that the provider shows is the server of this object. Pure. */
import { ACCEPT_SERVER_ANNOTATION } from '../../api/names.ts';
import { MAX_FINGERPRINT, type Fingerprint, type ServerRecord } from '../../api/record.ts';
import { BOUNDS, type VirtualServer } from '../../api/virtual-server.ts';
import type { Server } from '../../provider/types.ts';
import { isSameAccount } from './account.ts';
import type { Memo } from './types.ts';

type Addresses = Pick<Server, 'macs' | 'ipv6'>;

const normal = (values: readonly string[]): string[] =>
  [...new Set(values.map((value) => value.trim().toLowerCase().replaceAll('-', ':')))]
    .filter((value) => value !== '' && value.length <= BOUNDS.address && value.isWellFormed())
    .sort();

/** Hardware addresses if there are any, else IPv6 addresses, which may change during the life of a server. */
export function fingerprintOf({ macs, ipv6 }: Addresses): Fingerprint {
  const hardware = normal(macs).slice(0, MAX_FINGERPRINT);
  if (hardware.length > 0) return { macs: hardware };
  const addresses = normal(ipv6).slice(0, MAX_FINGERPRINT);
  return addresses.length > 0 ? { ipv6: addresses } : {};
}

/** `unknown`: one side shows too little, or both show only IPv6 addresses and none in common, which proves nothing. */
export function compare(known: Fingerprint | undefined, shown: Addresses): 'same' | 'different' | 'unknown' {
  const meets = (values: readonly string[], others: readonly string[]): boolean =>
    values.some((value) => others.includes(value));
  const macs = normal(shown.macs);
  if (known?.macs !== undefined && macs.length > 0) return meets(known.macs, macs) ? 'same' : 'different';
  return known?.ipv6 !== undefined && meets(known.ipv6, normal(shown.ipv6)) ? 'same' : 'unknown';
}

/** True if two records describe the same server, as far as their fingerprints can tell. */
export function isSameFingerprint(a: Fingerprint | undefined, b: Fingerprint | undefined): boolean {
  return b !== undefined && compare(a, { macs: b.macs ?? [], ipv6: b.ipv6 ?? [] }) === 'same';
}

/** True if two records certainly describe different servers, though these have or had the same identifier. */
export function isOtherFingerprint(a: Fingerprint | undefined, b: Fingerprint | undefined): boolean {
  return b !== undefined && compare(a, { macs: b.macs ?? [], ipv6: b.ipv6 ?? [] }) === 'different';
}

/**
 * The record with the account under which its task has named its server: that account then only has to show the server.
 */
export function asVouched(record: ServerRecord, account: string, { vouched }: Memo): ServerRecord {
  const isVouched = vouched?.identifier === record.identifier && vouched?.account === account;
  return isVouched && record.fingerprint === undefined ? { ...record, account } : record;
}

export type Recognition =
  /** The server of the record; `record` describes it as it was just seen. */
  | { ok: true; record: ServerRecord }
  /** `isOther`: certainly another server with the same identifier. `word`: the annotation value that accepts it. */
  | { ok: false; isOther: boolean; why: string; word: string };

/** The purpose of a read: cancel the server, trust it again after doubts, or only look at it. */
export type Purpose = 'cancel' | 'doubt' | 'look';

/**
 * Whether a server that was just read is the one in the record. The fingerprint must match after a change of the key,
 * before a DELETE, and for a server that had counted as gone or was denied; your annotation replaces the match. If the
 * first read showed nothing to compare, or there was none, identifier and account are enough, unless the server counted
 * as gone.
 */
export function recognize(
  object: VirtualServer,
  record: ServerRecord,
  server: Server,
  account: string,
  purpose: Purpose,
): Recognition {
  const seen = fingerprintOf(server);
  const likeness = compare(record.fingerprint, server);
  const isOwnAccount = record.account === undefined || isSameAccount(record.account, account);
  const word = `${record.identifier ?? ''}@${seen.macs?.[0] ?? seen.ipv6?.[0] ?? account}`;
  const isAccepted = isAcceptedWord(object, word);
  const isPlausible = likeness === 'unknown' && isOwnAccount && record.missingAt === undefined;
  if (isAccepted || likeness === 'same' || (isPlausible && isEnough(record.fingerprint, purpose))) {
    const { missingAt, ...present } = record;
    const known = missingAt === undefined ? record : present;
    const isKnown = !isAccepted && known.fingerprint !== undefined && !isPoorer(known.fingerprint, seen);
    const current = isKnown ? known : { ...known, fingerprint: seen };
    return { ok: true, record: isOwnAccount && known.account !== undefined ? current : { ...current, account } };
  }
  if (likeness === 'different') {
    const [was = '', is = ''] = [record.fingerprint?.macs?.join(', '), seen.macs?.join(', ')];
    return { ok: false, isOther: true, why: `its hardware address is ${is}, the object's server had ${was}`, word };
  }
  const why = isOwnAccount
    ? 'nothing that it shows proves that it is the same one as before'
    : 'it was read with another API key or base URL, and nothing that it shows proves that it is the same one';
  return { ok: false, isOther: false, why, word };
}

/** Whether identifier and account are enough when nothing can be compared. */
function isEnough(known: Fingerprint | undefined, purpose: Purpose): boolean {
  if (known === undefined || purpose === 'look') return true;
  return purpose === 'cancel' && known.macs === undefined && known.ipv6 === undefined;
}

/** True if the annotation accepts exactly this word. */
export function isAcceptedWord(object: VirtualServer, word: string): boolean {
  return object.metadata.annotations?.[ACCEPT_SERVER_ANNOTATION] === word;
}

function isPoorer(known: Fingerprint, seen: Fingerprint): boolean {
  return known.macs === undefined && (seen.macs !== undefined || (known.ipv6 === undefined && seen.ipv6 !== undefined));
}
