/** The URLs of the provider API, and the parsing of Location headers. */
import { toTask, type TaskNumber } from '../base/exact-numbers.ts';
import { ProviderError } from './error.ts';

export interface Endpoint {
  origin: string;
  /** Sent unchanged; no URL parser may normalize it. */
  path: string;
}

/** Maximum length of an identifier from the provider, in characters; the record allows less. */
const MAX_IDENTIFIER = 4096;
/** The version segment of every path but the login's. */
const VERSION = '/beta';
const TASKS = '/queue/vps';
const SERVERS = '/vps/servers';

export class Endpoints {
  /** Base URL without trailing slashes and without the version segment, so that all spellings name the same provider. */
  readonly base: string;
  readonly login: Endpoint;
  readonly products: Endpoint;
  readonly images: Endpoint;
  readonly diskSizes: Endpoint;
  readonly zones: Endpoint;
  readonly hosts: Endpoint;
  readonly prices: Endpoint;
  readonly servers: Endpoint;
  readonly #origin: string;
  readonly #prefix: string;

  /** Throws TypeError for anything but http and https URLs without user, query and fragment. */
  constructor(baseUrl: string, authUrl: string) {
    const base = parse('baseUrl', baseUrl);
    const auth = parse('authUrl', authUrl);
    this.#origin = base.origin;
    this.#prefix = base.path.endsWith(VERSION) ? withoutSlashes(base.path.slice(0, -VERSION.length)) : base.path;
    this.base = base.origin + this.#prefix;
    this.login = { origin: auth.origin, path: `${auth.path}/login` };
    this.products = this.#at('/vps/products');
    this.images = this.#at('/vps/images');
    this.diskSizes = this.#at('/vps/disk-sizes');
    this.zones = this.#at('/vps/zones');
    this.hosts = this.#at('/vps/hosts');
    this.prices = this.#at('/vps/pricing');
    this.servers = this.#at(SERVERS);
  }

  task(task: TaskNumber): Endpoint {
    return this.#at(`${TASKS}/${task}`);
  }

  /** Throws PROVIDER_PROTOCOL for an identifier that cannot be one segment of a path. */
  server(identifier: string): Endpoint {
    if (!isIdentifier(identifier))
      throw new ProviderError('PROVIDER_PROTOCOL', 'the identifier cannot be part of a URL');
    return this.#at(`${SERVERS}/${encodeURIComponent(identifier)}`);
  }

  /** A call about one server. Throws like `server`. */
  ofServer(identifier: string, call: 'power' | 'reboot' | 'dormant'): Endpoint {
    const { origin, path } = this.server(identifier);
    return { origin, path: `${path}/${call}` };
  }

  /** The task that a Location names; undefined unless it is a task at the origin of the base URL. */
  taskOfLocation(location: unknown): TaskNumber | undefined {
    return toTask(this.#segment(location, TASKS));
  }

  /** The identifier that a Location names; undefined unless it is a server at the origin of the base URL. */
  identifierOfLocation(location: unknown): string | undefined {
    const segment = this.#segment(location, SERVERS);
    return isIdentifier(segment) ? segment : undefined;
  }

  #at(path: string): Endpoint {
    return { origin: this.#origin, path: this.#prefix + VERSION + path };
  }

  /** The last segment of a Location in this collection. Its prefix may differ: a proxy may add or remove one. */
  #segment(location: unknown, collection: string): string | undefined {
    if (typeof location !== 'string') return undefined;
    const url = URL.parse(location, `${this.base}/`);
    if (url?.origin !== this.#origin || url.username !== '' || url.password !== '') return undefined;
    const path = url.pathname.replace(/\/$/, '');
    const end = path.lastIndexOf('/');
    const segment = path.slice(end + 1);
    if (segment === '' || !path.slice(0, end).endsWith(collection)) return undefined;
    try {
      return decodeURIComponent(segment);
    } catch {
      return undefined;
    }
  }
}

/** True if the value can be one path segment. Any other identifier is rejected, because no call could use it. */
export function isIdentifier(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_IDENTIFIER) return false;
  // URL parsers and servers resolve `.` and `..` as path steps, even percent-encoded.
  return value !== '.' && value !== '..' && value.isWellFormed();
}

function parse(name: string, text: string): { origin: string; path: string } {
  const url = URL.parse(text);
  const plain = url !== null && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  // Do not quote the text: it may contain a password.
  if (!plain || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`${name} must be an http or https URL without user, query and fragment`);
  }
  return { origin: url.origin, path: withoutSlashes(url.pathname) };
}

const withoutSlashes = (path: string): string => path.replace(/\/+$/, '');
