/** One spelling for each address of a server, and which addresses can tell one server from another. Pure. */
import { BOUNDS } from '../../api/virtual-server.ts';
import { canonicalIpv6, isForAnyHost } from '../../base/ip-address.ts';

/** The hardware addresses that can identify a server. The provider documents no format, so any text may be one. */
export const hardwareIn = (values: readonly string[]): string[] =>
  shownIn(values).filter((value) => !isForAnyHardware(value));

/** The IPv6 addresses that can identify a server; two spellings of an address give the same text. */
export const ipv6In = (values: readonly string[]): string[] =>
  distinct(shownIn(values).map(canonicalIpv6)).filter((value) => !isForAnyHost(value));

/** All values that a record can hold, whether they identify anything or not. */
export const shownIn = (values: readonly string[]): string[] =>
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
