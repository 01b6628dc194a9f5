/** The proxy for the API server that the environment names, by the rules that Go's httpproxy gives to kubectl. Pure. */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { addressMatcher } from '../base/proxy.ts';

const SCHEMES: readonly string[] = ['http:', 'https:', 'socks5:', 'socks5h:'];

/** Throws an Error that starts with `what` and quotes nothing: the URL may contain a password. */
export function proxyUrl(text: string, what: string): string {
  const url = URL.parse(text);
  if (url !== null && url.hostname !== '' && SCHEMES.includes(url.protocol) && hasReadableUser(url)) return url.href;
  throw new Error(`${what} is not valid: give an http, https or socks5 URL, such as http://proxy.example.org:3128`);
}

function hasReadableUser({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}

/** The URL of the proxy for this server; undefined: connect directly. Throws an Error for a proxy that is not valid. */
export function environmentProxy(server: string, env: NodeJS.ProcessEnv): string | undefined {
  const { protocol, hostname, port } = new URL(server);
  const isTls = protocol === 'https:';
  const [variable, text] = named(env, isTls ? 'HTTPS_PROXY' : 'HTTP_PROXY') ?? [];
  if (variable === undefined || text === undefined) return undefined;
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  if (host === 'localhost' || isLoopback(host)) return undefined;
  const target = { host, port: port === '' ? (isTls ? '443' : '80') : port };
  const [, exceptions = ''] = named(env, 'NO_PROXY') ?? [];
  if (exceptions.split(',').some((entry) => isException(entry.trim().toLowerCase(), target))) return undefined;
  return proxyUrl(text.includes('://') ? text : `http://${text}`, variable);
}

/** The upper case takes precedence, and an empty value counts as not set. */
function named(env: NodeJS.ProcessEnv, name: string): [variable: string, value: string] | undefined {
  for (const variable of [name, name.toLowerCase()]) {
    const value = env[variable]?.trim() ?? '';
    if (value !== '') return [variable, value];
  }
  return undefined;
}

const LOOPBACK = ['127.0.0.0/8', '::1'].map((network) => addressMatcher(network));
const isLoopback = (host: string): boolean => LOOPBACK.some((matches) => matches?.(host) === true);

/** An entry of NO_PROXY that has none of Go's forms matches nothing. */
function isException(entry: string, { host, port }: { host: string; port: string }): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return addressMatcher(entry)?.(host) === true;
  const [, bracketed, plain, ownPort] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  if (name === '' || (ownPort !== undefined && ownPort !== '' && ownPort !== port)) return false;
  if (name.includes('%')) return false;
  if (isIP(name) !== 0) return isSame(name, host);
  // `example.org` matches itself and its subdomains, `.example.org` and `*.example.org` match subdomains only.
  const [, wildcard = '', domain = ''] = /^(\*?\.)?(.*)$/.exec(name) ?? [];
  const ascii = /[^\0-\x7f]/.test(domain) ? domainToASCII(domain) : domain;
  return host.endsWith(`.${ascii}`) || (wildcard === '' && host === ascii);
}

/** An IPv4 address and the same one in the form of IPv6 are equal. */
function isSame(one: string, other: string): boolean {
  return addressMatcher(one)?.(other) === true || addressMatcher(other)?.(one) === true;
}
