/** Whether the server that the provider shows is the server of this object: by account, addresses, and your word. Pure. */
import { BOUNDS, type VirtualServer } from '../../api/virtual-server.ts';
import { cut } from '../../base/text.ts';
import { canonicalIpv6, isForAnyHost } from '../../base/ip-address.ts';
import { remembering } from '../../base/recent.ts';
import { ACCEPT_SERVER_ANNOTATION } from '../../api/names.ts';
import {
  MAX_FINGERPRINT,
  isNamed,
  type Fingerprint,
  type ServerRecord,
  mirrorIn,
  type Held,
} from '../../api/record.ts';
import type { Server } from '../../provider/types.ts';
import type { Memo } from './memo.ts';
import type { Others, ShownServer } from './types.ts';
import { namesOf } from './sentences.ts';
import { doubtIn } from '../../api/open.ts';
import { without } from '../../base/without.ts';
import { isLateServer, namesOwner, whoOrdered } from './named.ts';
import { withoutOpen } from './open.ts';
import { knownRecord } from './known-record.ts';
import type { View } from './view.ts';
import { err, ok, type Result } from '../../base/result.ts';

/** Separates the hash of the base URL from the hash of both; names from earlier versions have only the second one. */
const SEPARATOR = '-';

/** True if both name the same key ID at the same base URL. An unknown account equals no other. */
export function isSameAccount(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a === b || ((providerOf(a) === undefined || providerOf(b) === undefined) && keyOf(a) === keyOf(b));
}

/**
 * True if both used the same base URL, whatever the key ID. A name without its first part identifies only its account.
 */
export function isSameProvider(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return isSameAccount(a, b) || (providerOf(a) !== undefined && providerOf(a) === providerOf(b));
}

function providerOf(account: string): string | undefined {
  const end = account.indexOf(SEPARATOR);
  return end === -1 ? undefined : account.slice(0, end);
}

function keyOf(account: string): string {
  return account.slice(account.indexOf(SEPARATOR) + 1);
}

/** Each version of an object, and each read of its server, asks about the same addresses. */
const RECENT_ADDRESSES = 4096;
const hardwareOf = remembering(RECENT_ADDRESSES, (value: string) => (isForAnyHardware(value) ? undefined : value));
const ipv6Of = remembering(RECENT_ADDRESSES, (value: string) => {
  const address = canonicalIpv6(value);
  return isForAnyHost(address) ? undefined : address;
});

/** The hardware addresses that can identify a server. The provider documents no format, so any text may be one. */
export const hardwareIn = (values: readonly string[]): string[] =>
  shownIn(values).filter((value) => hardwareOf(value) !== undefined);

/** The IPv6 addresses that can identify a server; two spellings of an address give the same text. */
export const ipv6In = (values: readonly string[]): string[] =>
  distinct(
    shownIn(values)
      .map(ipv6Of)
      .filter((address) => address !== undefined),
  );

/** All values that a record can hold, whether they identify anything or not. */
const shownIn = (values: readonly string[]): string[] =>
  distinct(values.map((value) => value.trim().toLowerCase().replaceAll('-', ':'))).filter(
    (value) => value !== '' && value.length <= BOUNDS.address && value.isWellFormed(),
  );

const distinct = (values: readonly string[]): string[] => [...new Set(values)].sort();

/** All zero, all one, or multicast: no such address belongs to one server. Octets may lack their leading zero. */
function isForAnyHardware(value: string): boolean {
  const digits = value
    .split(/[:.]/)
    .map((group) => group.padStart(group.length + (group.length % 2), '0'))
    .join('');
  if (/^(0*|f*)$/.test(digits)) return true;
  return /^[0-9a-f]{12}$/.test(digits) && Number.parseInt(digits.slice(0, 2), 16) % 2 === 1;
}

type Addresses = Pick<Server, 'macs' | 'ipv6'>;

/**
 * Hardware addresses, which a server keeps for life, and IPv6 addresses, for a provider that gives all servers one hardware
 * address. If no address can identify a server, the record keeps what was shown: nothing proves later that a server is this
 * one.
 */
export function fingerprintOf({ macs, ipv6 }: Addresses): Fingerprint {
  const identifying = bounded({ macs: hardwareIn(macs), ipv6: ipv6In(ipv6) });
  return isBlank(identifying) ? bounded({ macs: shownIn(macs), ipv6: shownIn(ipv6) }) : identifying;
}

const bounded = ({ macs, ipv6 }: Addresses): Fingerprint => ({
  ...(macs.length > 0 && { macs: macs.slice(0, MAX_FINGERPRINT) }),
  ...(ipv6.length > 0 && { ipv6: ipv6.slice(0, MAX_FINGERPRINT) }),
});

/** The addresses of a record that can identify its server. */
export const identifyingIn = ({ macs = [], ipv6 = [] }: Fingerprint): string[] => [
  ...hardwareIn(macs),
  ...ipv6In(ipv6),
];

/**
 * `different`: both show hardware addresses, and none in common. `unknown`: one side shows too little, or both show only
 * IPv6 addresses and none in common, which proves nothing.
 */
export function compare(known: Fingerprint | undefined, shown: Addresses): 'same' | 'different' | 'unknown' {
  const { isHardware, common } = inCommon(known, shown);
  if (common.length > 0) return 'same';
  return isHardware ? 'different' : 'unknown';
}

/**
 * The addresses that both show. Without one of the record's hardware addresses, its IPv6 addresses count for nothing: the
 * provider promises for neither that the next server with the identifier gets others. `isHardware`: both show hardware.
 */
function inCommon(known: Fingerprint | undefined, shown: Addresses): { isHardware: boolean; common: string[] } {
  const [was, is] = [hardwareIn(known?.macs ?? []), hardwareIn(shown.macs)];
  const isHardware = was.length > 0 && is.length > 0;
  const macs = was.filter((mac) => is.includes(mac));
  if (was.length > 0 && macs.length === 0) return { isHardware, common: [] };
  const ipv6 = ipv6In(shown.ipv6);
  return { isHardware, common: [...macs, ...ipv6In(known?.ipv6 ?? []).filter((address) => ipv6.includes(address))] };
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
function asVouched(record: Held, account: string, { evidence: { vouched } }: Memo): Held {
  const isVouched = vouched?.identifier === record.identifier && vouched.account === account;
  return isVouched && record.fingerprint === undefined ? { ...record, account } : record;
}

/** Why a server that was read may not be the one of the record. */
export interface Unrecognized {
  /** It is certainly another server with the same identifier. */
  isOther: boolean;
  why: string;
  /** The annotation value that accepts it. */
  accepts: string;
}

/** The server of the record, described as it was just seen. */
export type Recognition = Result<Held, Unrecognized>;

/** The purpose of a read: cancel the server, trust it again after doubts, or only look at it. */
export type Purpose = 'cancel' | 'doubt' | 'look';

/**
 * Whether a server that was just read is the one in the record. The fingerprint must match after a change of the key,
 * before a DELETE, and for a server that had counted as gone or was denied; your annotation replaces the match. If the
 * first read showed no addresses, or there was none, identifier and account are enough, unless the server counted as
 * gone: then it needs the mark of the object too, under an identifier that the operator chose.
 */
export function recognize(
  object: VirtualServer,
  record: Held,
  server: Server,
  account: string,
  purpose: Purpose,
  others: Pick<Others, 'withAddress'>,
): Recognition {
  const likeness = compare(record.fingerprint, server);
  const shared = sharedAddress(object, record, server, account, others);
  const isMarked = isMarkedAsOther(object, record, server);
  const isProven = likeness === 'same' && shared === undefined && !isMarked;
  const isOwnAccount = record.account === undefined || isSameAccount(record.account, account);
  const accepts = `${record.identifier}@${hardwareIn(server.macs)[0] ?? ipv6In(server.ipv6)[0] ?? account}`;
  const isAccepted = hasAccepted(object, accepts);
  const ordered = isNamed(record) ? whoOrdered(object, record, server) : undefined;
  const isNear = isOwnAccount || (ordered === 'own' && isSameProvider(record.account, account));
  const isClaimable = (ordered === undefined || ordered === 'own') && !isMarked;
  const isExpected = record.missingAt === undefined || isLateServer(object, record, server);
  const isPlausible = likeness !== 'different' && isNear && isClaimable && isExpected;
  if (isAccepted || isProven || (isPlausible && isEnough(record.fingerprint, purpose))) {
    const known = withoutOpen(record.missingAt === undefined ? record : without(record, 'missingAt'));
    const seen = fingerprintOf(server);
    const isKnown = !isAccepted && known.fingerprint !== undefined && !isRicher(seen, known.fingerprint, isProven);
    const current = isKnown ? known : { ...known, fingerprint: seen };
    return ok(isOwnAccount && known.account !== undefined ? current : { ...current, account });
  }
  if (likeness === 'different') {
    const [was, is] = [record.fingerprint?.macs ?? [], server.macs].map((macs) => hardwareIn(macs).join(', '));
    return err({ isOther: true, why: `its hardware address is ${is}, the object's server had ${was}`, accepts });
  }
  if (shared !== undefined) {
    const { address, holder } = shared;
    const why = `it has the address ${address}, but the server of ${holder} has it too, so the address proves nothing`;
    return err({ isOther: false, why, accepts });
  }
  if (!isClaimable) {
    const name = server.name === undefined ? 'it has no name' : `its name is ${cut(server.name, BOUNDS.address)}`;
    return err({
      isOther: ordered === 'other',
      why: `${name}, which is not the one that this object ordered it with`,
      accepts,
    });
  }
  const why = isOwnAccount
    ? 'nothing that it shows proves that it is the same one as before'
    : 'it was read with another API key or base URL, and nothing that it shows proves that it is the same one';
  return err({ isOther: false, why, accepts });
}

/**
 * True if another object's order gave the server its name, although this object's order named its own: a provider may give an address
 * again. A server that was handed over or adopted keeps its name.
 */
const isMarkedAsOther = (object: VirtualServer, record: Held, server: Server): boolean =>
  record.mode === 'named' && !isNamed(record) && namesOwner(object, server) === 'other';

/** An address of the record that another server of the account shows too, unless one of its addresses is its own. */
function sharedAddress(
  object: VirtualServer,
  { identifier = '', fingerprint }: ServerRecord,
  server: Server,
  account: string,
  others: Pick<Others, 'withAddress'>,
): { address: string; holder: string } | undefined {
  const { common } = inCommon(fingerprint, server);
  let shared: { address: string; holder: string } | undefined;
  // IPv6 addresses first, because thousands of servers may have one hardware address.
  for (const address of common.toReversed()) {
    const holders = others.withAddress(address, { identifier, account });
    const holder = holders.find((one) => one.startsWith(`${object.metadata.namespace}/`)) ?? holders[0];
    if (holder === undefined) return undefined;
    shared = { address, holder: namesOf([holder], object) };
  }
  return shared;
}

/** Whether identifier and account are enough when nothing can be compared. */
function isEnough(known: Fingerprint | undefined, purpose: Purpose): boolean {
  if (known === undefined || purpose === 'look') return true;
  return purpose === 'cancel' && isBlank(known);
}

/** True if the first read showed no address, not even one that identifies nothing. */
const isBlank = ({ macs, ipv6 }: Fingerprint): boolean => macs === undefined && ipv6 === undefined;

/**
 * True if `seen` has identifying addresses that the record lacks altogether. They count only if both are proven to be of one
 * server, or if no address was ever shown: a read alone must not make a server cancellable.
 */
function isRicher(seen: Fingerprint, known: Fingerprint, isProven: boolean): boolean {
  return (isProven && known.macs === undefined && seen.macs !== undefined) || (isBlank(known) && !isBlank(seen));
}

/** True if the annotation has exactly this value. */
export function hasAccepted(object: VirtualServer, accepts: string): boolean {
  return object.metadata.annotations?.[ACCEPT_SERVER_ANNOTATION] === accepts;
}

/** True after a denial, and after a read that was not recognized. The record has what an earlier process found. */
export function isInDoubt(object: VirtualServer, { evidence }: Memo): boolean {
  const { denials, unrecognized, task } = evidence;
  const identifier = mirrorIn(object.status)?.identifier;
  if (denials?.of.startsWith('server ') === true || unrecognized !== undefined) return true;
  // This process has recognized the server since.
  if (identifier !== undefined && task?.state === 'over' && task.identifier === identifier) return false;
  const known = knownRecord(object);
  return doubtIn(known) !== undefined || known?.missingAt !== undefined;
}

/** Whether a server that was just read is the one in the record. `use`: the purpose, unless there is doubt. */
export function recognizeFor(
  use: 'cancel' | 'look',
  { object, memo, others }: View,
  record: Held,
  { server, account }: ShownServer,
): Recognition {
  const purpose = isInDoubt(object, memo) ? 'doubt' : use;
  return recognize(object, asVouched(record, account, memo), server, account, purpose, others);
}
