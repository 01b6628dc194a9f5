/**
 * Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go programs do: the scheme of a URL selects the variable, and upper case
 * takes precedence. Unlike in Go, loopback addresses are no exception. Pure.
 */
import { isIP } from 'node:net';
import { addressMatcher, type Proxy, type ProxyFor } from '../base/proxy.ts';
import { FlagError } from './flag-values.ts';

/** The variable for each scheme of a provider URL. */
const VARIABLES = { 'https:': 'HTTPS_PROXY', 'http:': 'HTTP_PROXY' } as const;
const NO_PROXY = 'NO_PROXY';

export const PROXY_VARIABLES: readonly string[] = [...Object.values(VARIABLES), NO_PROXY];

const PROXY_FORM =
  'an http or https URL without path, such as http://proxy.example.org:3128 or ' +
  'http://USER:PASSWORD@proxy.example.org:3128, with special characters of user and password percent-encoded';
const NO_PROXY_FORM =
  'a comma-separated list of host names, addresses and networks, each with an optional port, such as ' +
  '.example.org,api.example.net:8443,192.0.2.0/24,[2001:db8::1]:443, or * for all hosts';

const HOST = /^(?:\*?\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/;

interface Found {
  text: string;
  variable: string;
}

interface Destination {
  /** In lower case, without brackets and without a dot at the end. */
  host: string;
  port: number;
}

/**
 * `files`: values by name, for names that the environment does not set. Throws a FlagError that names the variable and
 * quotes no part of a proxy's URL, which may contain a password.
 */
export function parseProxies(env: NodeJS.ProcessEnv, files: ReadonlyMap<string, string> = new Map()): ProxyFor {
  const read = (name: string): Found | undefined => fromEnvironment(env, name) ?? found(name, files.get(name));
  const proxies = new Map<string, Proxy>();
  for (const [scheme, name] of Object.entries(VARIABLES)) {
    const proxy = read(name);
    if (proxy !== undefined) proxies.set(scheme, parseProxy(proxy.text, proxy.variable));
  }
  if (proxies.size === 0) return () => undefined;
  const exceptions = parseExceptions(read(NO_PROXY));
  return (origin) => {
    const target = destinationOf(origin);
    return exceptions.some((matches) => matches(target)) ? undefined : proxies.get(new URL(origin).protocol);
  };
}

function fromEnvironment(env: NodeJS.ProcessEnv, name: string): Found | undefined {
  const lower = name.toLowerCase();
  return found(name, env[name]) ?? found(lower, env[lower]);
}

/** An empty value counts as unset. */
function found(variable: string, value: string | undefined): Found | undefined {
  const text = value?.trim() ?? '';
  return text === '' ? undefined : { text, variable };
}

function parseProxy(text: string, variable: string): Proxy {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  // A path, query or fragment is the rest of a password that is not percent-encoded.
  const isPlain = url?.pathname === '/' && !/[?#\s\\]/.test(text);
  if (!isPlain || !/^https?:$/.test(url.protocol)) throw new FlagError(`${variable} is not valid: give ${PROXY_FORM}`);
  const { origin, username, password } = url;
  if (username === '' && password === '') return { origin, variable };
  const pair = `${decoded(username, variable)}:${decoded(password, variable)}`;
  return { origin, variable, authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function decoded(text: string, variable: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new FlagError(
      `${variable} is not valid: user and password must be percent-encoded, and % itself is written %25`,
    );
  }
}

function destinationOf(origin: string): Destination {
  const { protocol, hostname, port } = new URL(origin);
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

function parseExceptions(given: Found | undefined): ((target: Destination) => boolean)[] {
  const { text = '', variable = NO_PROXY } = given ?? {};
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  return entries.map((entry, index) => {
    const matches = parseException(entry.toLowerCase());
    if (matches !== undefined) return matches;
    // A pasted URL may contain a password, and a comma in the password makes two entries.
    const shown = text.includes('@') ? `entry ${index + 1}` : JSON.stringify(entry);
    throw new FlagError(`${variable}: ${shown} is not valid: give ${NO_PROXY_FORM}`);
  });
}

/** Undefined if the entry has none of the forms of NO_PROXY_FORM. */
function parseException(entry: string): ((target: Destination) => boolean) | undefined {
  // An IPv6 address with a port needs brackets.
  const { bracketed, plain, port } =
    isIP(entry) === 6 || entry.includes('/')
      ? { plain: entry }
      : (/^(?:\[(?<bracketed>[^[\]]+)\]|(?<plain>[^:[\]]+))(?::(?<port>\d{1,5}))?$/.exec(entry)?.groups ?? {});
  const name = bracketed ?? plain;
  if (name === undefined || Number(port ?? 1) > 65535 || Number(port ?? 1) === 0) return undefined;
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined;
  const matches = name === '*' ? () => true : (addressMatcher(name) ?? hostMatcher(name));
  return matches && ((target) => (port === undefined || Number(port) === target.port) && matches(target.host));
}

/** `example.org` matches itself and its subdomains, `.example.org` and `*.example.org` match subdomains only. */
function hostMatcher(text: string): ((host: string) => boolean) | undefined {
  if (!HOST.test(text)) return undefined;
  const bare = text.replace(/^\*?\./, '').replace(/\.$/, '');
  const matchesItself = bare === text.replace(/\.$/, '');
  return (host) => (matchesItself && host === bare) || host.endsWith(`.${bare}`);
}
