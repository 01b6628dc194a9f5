/** A proxy for outgoing connections, the choice of one for an origin, and the addresses of an exception. */
import { BlockList, isIP } from 'node:net';

export interface Proxy {
  /** Scheme, host and port, without credentials. */
  origin: string;
  /** Value of the header `proxy-authorization`; confidential. */
  authorization?: string;
  /** The environment variable that names the proxy, for messages. */
  variable: string;
}

/** Returns the proxy for connections to an origin such as `https://api.example.org`; undefined: connect directly. */
export type ProxyFor = (origin: string) => Proxy | undefined;

/** For an address or a network in CIDR notation, such as `192.0.2.0/24`: whether it contains an address. */
export function addressMatcher(text: string): ((host: string) => boolean) | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more.length > 0) return undefined;
  const list = new BlockList();
  const type = family === 6 ? 'ipv6' : 'ipv4';
  if (prefix === undefined) list.addAddress(address, type);
  else if (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32)) {
    list.addSubnet(address, Number(prefix), type);
  } else return undefined;
  // BlockList reads an IPv4 address as an IPv6 one, so `::/0` would contain it.
  const hasIpv4 = family === 4 || /^::ffff:/i.test(address);
  return (host) => (isIP(host) === 6 && list.check(host, 'ipv6')) || (isIP(host) === 4 && hasIpv4 && list.check(host));
}
