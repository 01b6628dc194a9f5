/**
 * Connections to the provider over one address family. Tokens are bound to the source address that obtained them, so
 * happy eyeballs would invalidate them at random. The address of the last successful connection is tried first, then the
 * others of its family, and the other family only after all of them, before any byte is sent.
 */
import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';

type Family = 4 | 6;

export interface ConnectorOptions {
  /** Timeout of the attempt with the last address (TCP and TLS), in milliseconds; see `ATTEMPT_MS`. */
  timeoutMs: number;
  /** Called when connections use another source address; anything bound to the old address is invalid. */
  onFamilyChange: () => void;
  /** Replaces the system's resolver. */
  lookup?: (hostname: string) => Promise<Address[]>;
  /** Which CAs to trust; by default those of Node. */
  secureContext?: SecureContext;
}

export interface Address {
  address: string;
  family: number;
}

/** Longest attempt while another address is left (ms): a silent one must not use up the time of the call. */
const ATTEMPT_MS = 2_500;

/** Failures of an address. A certificate that is refused is not among them: other addresses would show it too. */
const ADDRESS_FAILURES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EACCES',
  'EPERM',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'EADDRNOTAVAIL',
  'EAFNOSUPPORT',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export class Connector {
  readonly #options: ConnectorOptions;
  readonly #connectLast: buildConnector.connector;
  readonly #connectBefore: buildConnector.connector;
  #family: Family | undefined;
  /** The address of each host that the last connection has reached. */
  readonly #reached = new Map<string, string>();

  constructor(options: ConnectorOptions) {
    this.#options = options;
    const { timeoutMs, secureContext } = options;
    const common = { autoSelectFamily: false, ...(secureContext && { secureContext }) };
    this.#connectLast = resumingConnector({ ...common, timeout: timeoutMs });
    this.#connectBefore = resumingConnector({ ...common, timeout: Math.min(timeoutMs, ATTEMPT_MS) });
  }

  /** Resolves with an established connection, over TLS for https. Rejects before any byte of a request is sent. */
  async open(options: buildConnector.Options): Promise<Socket> {
    const candidates = await this.#candidates(options.hostname);
    for (const [index, { address, family }] of candidates.entries()) {
      const isLast = index === candidates.length - 1;
      try {
        // Keep `host`: undici takes the TLS server name from it.
        const target = { ...options, hostname: address };
        const socket = await attempt(isLast ? this.#connectLast : this.#connectBefore, target);
        this.#succeeded(family === 6 ? 6 : 4);
        this.#reached.set(options.hostname, address);
        return socket;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (isLast || !ADDRESS_FAILURES.has(code ?? '')) throw error;
      }
    }
    throw Object.assign(new Error('the host has no address'), { code: 'ENOTFOUND' });
  }

  /** All addresses, those of the preferred family first, and of those the one that was reached last. */
  async #candidates(hostname: string): Promise<Address[]> {
    const literal = isIP(hostname);
    if (literal !== 0) return [{ address: hostname, family: literal }];
    const lookup = this.#options.lookup ?? ((name: string) => dnsLookup(name, { all: true }));
    const addresses = await lookup(hostname);
    const first = this.#family ?? addresses[0]?.family;
    const reached = this.#reached.get(hostname);
    const rank = ({ address, family }: Address): number => (family !== first ? 2 : address === reached ? 0 : 1);
    return addresses.toSorted((one, other) => rank(one) - rank(other));
  }

  #succeeded(family: Family): void {
    const changed = this.#family !== undefined && this.#family !== family;
    this.#family = family;
    if (changed) this.#options.onFamilyChange();
  }
}

function attempt(connect: buildConnector.connector, options: buildConnector.Options): Promise<Socket> {
  return new Promise((resolve, reject) => {
    connect(options, (...[error, socket]) => {
      if (error) reject(error);
      else resolve(socket);
    });
  });
}

/**
 * undici's connector, which resumes the last TLS session with a host: a new connection without a full handshake. undici
 * itself keeps sessions only until the next garbage collection, so this keeps the last one of each host. A failure forgets
 * them all: otherwise a host that cannot cope with a session would fail each time.
 */
export function resumingConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const fresh = (): buildConnector.connector => buildConnector({ ...options, allowH2: false });
  let connect = fresh();
  const sessions = new Map<string, Buffer>();
  return (target, callback) => {
    connect(target, (...[error, socket]) => {
      if (error !== null) {
        sessions.clear();
        connect = fresh();
        callback(error, null);
        return;
      }
      const host = target.host ?? target.hostname;
      if (socket instanceof TLSSocket) socket.on('session', (session) => sessions.set(host, session));
      callback(null, socket);
    });
  };
}

/** For undici's `connect` option. */
export function connectorOf(open: (options: buildConnector.Options) => Promise<Socket>): buildConnector.connector {
  return (options, callback) => {
    open(options).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error as Error, null),
    );
  };
}

/** The options that undici passes to a connector for an origin. */
export function connectOptions(origin: string): buildConnector.Options {
  const { protocol, hostname, host, port } = new URL(origin);
  return { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port };
}
