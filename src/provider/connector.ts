/**
 * Connections to the provider over one address family. Tokens are bound to the source address that obtained them, so
 * happy eyeballs would invalidate them at random. The family of the last successful connection is tried first, and the
 * other family only after a failure, before any byte is sent.
 */
import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import { buildConnector } from 'undici';

type Family = 4 | 6;

export interface ConnectorOptions {
  /** Timeout of one attempt (TCP and TLS), in milliseconds. */
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

/** Failures of an address. A TLS failure is not among them: it would occur with the other family too. */
const ADDRESS_FAILURES = new Set([
  'ECONNREFUSED',
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
  readonly #connectAddress: buildConnector.connector;
  #family: Family | undefined;

  constructor(options: ConnectorOptions) {
    this.#options = options;
    const { timeoutMs, secureContext } = options;
    this.#connectAddress = resumingConnector({
      autoSelectFamily: false,
      timeout: timeoutMs,
      ...(secureContext && { secureContext }),
    });
  }

  /** Resolves with an established connection, over TLS for https. Rejects before any byte of a request is sent. */
  async open(options: buildConnector.Options): Promise<Socket> {
    const candidates = await this.#candidates(options.hostname);
    for (const [index, { address, family }] of candidates.entries()) {
      try {
        // Keep `host`: undici takes the TLS server name from it.
        const socket = await this.#attempt({ ...options, hostname: address });
        this.#succeeded(family === 6 ? 6 : 4);
        return socket;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (index === candidates.length - 1 || !ADDRESS_FAILURES.has(code ?? '')) throw error;
      }
    }
    throw Object.assign(new Error('the host has no address'), { code: 'ENOTFOUND' });
  }

  /** One address per family, the preferred family first. */
  async #candidates(hostname: string): Promise<Address[]> {
    const literal = isIP(hostname);
    if (literal !== 0) return [{ address: hostname, family: literal }];
    const lookup = this.#options.lookup ?? ((name: string) => dnsLookup(name, { all: true }));
    const addresses = await lookup(hostname);
    const first = this.#family ?? addresses[0]?.family;
    const preferred = addresses.find(({ family }) => family === first);
    const other = addresses.find(({ family }) => family !== first);
    return [preferred, other].filter((address) => address !== undefined);
  }

  #attempt(options: buildConnector.Options): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.#connectAddress(options, (...[error, socket]) => {
        if (error) reject(error);
        else resolve(socket);
      });
    });
  }

  #succeeded(family: Family): void {
    const changed = this.#family !== undefined && this.#family !== family;
    this.#family = family;
    if (changed) this.#options.onFamilyChange();
  }
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
