/** IP addresses in texts of any spelling. */
import { BlockList, isIP, SocketAddress } from 'node:net';

/**
 * The one spelling of an IPv6 address, without a zone and a prefix length. Any other text is returned unchanged.
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

/**
 * Why no single host of the Internet has this address, such as "loopback"; undefined if one may have it. Any other text than an
 * address without a zone is none. Addresses for documentation count as public: no host has them, and none is harmed.
 */
export function notPublic(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0) return 'no address';
  if (text.includes('%')) return 'only known on one machine, as its zone says';
  const type = family === 6 ? 'ipv6' : 'ipv4';
  const found = NOT_PUBLIC.find(({ list }) => list.check(text, type))?.what;
  if (found !== undefined || family === 4) return found;
  return GLOBAL.check(text, 'ipv6') ? notPublicWithin(text) : 'not an address of the Internet';
}

/** An IPv4 address within an IPv6 address leads to the host with the IPv4 address. */
function notPublicWithin(text: string): string | undefined {
  const groups = groupsOf(text);
  if (groups[0] === 0x2002) return notPublic(ipv4Of(groups[1] ?? 0, groups[2] ?? 0));
  const isEmbedded = groups[0] === 0x64 || groups.slice(0, 5).every((group) => group === 0);
  return isEmbedded ? notPublic(ipv4Of(groups[6] ?? 0, groups[7] ?? 0)) : undefined;
}

const ipv4Of = (high: number, low: number): string => [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');

/** The eight numbers of an IPv6 address. */
function groupsOf(text: string): number[] {
  const dotted = new SocketAddress({ address: text, family: 'ipv6' }).address;
  const [, head = '', last] = /^(.*?)(\d+\.\d+\.\d+\.\d+)?$/.exec(dotted) ?? [];
  const [a = 0, b = 0, c = 0, d = 0] = last?.split('.').map(Number) ?? [];
  const whole = last === undefined ? head : `${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  const [front = '', back] = whole.split('::');
  const numbers = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [before, after] = [numbers(front), numbers(back ?? '')];
  return back === undefined
    ? before
    : [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function networks(what: string, ...given: [address: string, prefix: number][]): { what: string; list: BlockList } {
  const list = new BlockList();
  for (const [address, prefix] of given) list.addSubnet(address, prefix, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return { what, list };
}

/** From IANA's registries of special-purpose addresses. The IPv4 rules apply to IPv4-mapped IPv6 addresses too. */
const NOT_PUBLIC = [
  networks('unspecified', ['::', 128], ['0.0.0.0', 8]),
  networks('loopback', ['::1', 128], ['127.0.0.0', 8]),
  networks('link-local', ['fe80::', 10], ['169.254.0.0', 16]),
  networks('multicast', ['ff00::', 8], ['224.0.0.0', 4]),
  networks('broadcast', ['255.255.255.255', 32]),
  networks(
    'private',
    ...([
      ['fc00::', 7],
      ['fec0::', 10],
      ['10.0.0.0', 8],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
    ] as [string, number][]),
    ...([['100.64.0.0', 10]] as [string, number][]),
  ),
  networks('reserved', ['192.0.0.0', 24], ['198.18.0.0', 15], ['240.0.0.0', 4], ['2001::', 23], ['192.88.99.0', 24]),
];

/** Global unicast addresses, and what translates to IPv4 addresses. */
const GLOBAL = networks('global', ['2000::', 3], ['64:ff9b::', 96], ['::ffff:0:0', 96]).list;

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
