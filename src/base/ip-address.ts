/** IP addresses in texts of any spelling. */
import { BlockList, isIP, SocketAddress } from 'node:net';

/**
 * The one spelling of an IPv6 address, without a zone and a prefix length. Any other text stays as it is.
 */
export function canonicalIpv6(text: string): string {
  const address = bare(text);
  return isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : text;
}

/** True for an address that every host has or may have: unspecified, loopback, link-local, multicast or broadcast. */
export function isForAnyHost(text: string): boolean {
  const address = bare(text);
  const family = isIP(address);
  return family !== 0 && ANY_HOST.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** Its IPv4 rules apply to IPv4-mapped IPv6 addresses too. */
const ANY_HOST = new BlockList();
ANY_HOST.addAddress('::', 'ipv6');
ANY_HOST.addAddress('::1', 'ipv6');
ANY_HOST.addSubnet('fe80::', 10, 'ipv6');
ANY_HOST.addSubnet('ff00::', 8, 'ipv6');
ANY_HOST.addSubnet('0.0.0.0', 8, 'ipv4');
ANY_HOST.addSubnet('127.0.0.0', 8, 'ipv4');
ANY_HOST.addSubnet('169.254.0.0', 16, 'ipv4');
ANY_HOST.addSubnet('224.0.0.0', 4, 'ipv4');
ANY_HOST.addAddress('255.255.255.255', 'ipv4');

/** Without zone and prefix length. */
const bare = (text: string): string => /^[^%/]*/.exec(text)?.[0] ?? '';
