/** The client of the service for one process: sessions by API key over one transport and one token bucket. */
import { Bucket } from './bucket.ts';
import { Caller } from './caller.ts';
import type { ConnectorOptions } from './connector.ts';
import { Endpoints } from './endpoints.ts';
import { TransportError } from './errors/transport-error.ts';
import { Redactor } from './redact.ts';
import { ServiceSession } from './session.ts';
import { TokenSource } from './token.ts';
import type { LoginResult } from './token.ts';
import { Transport } from './transport.ts';
import type { RequestInfo, Wire } from './transport.ts';
import type { ApiKey, Provider, Session } from './types.ts';

export interface ProviderOptions {
  /** http or https; may have a path prefix and a trailing slash. */
  baseUrl: string;
  authUrl: string;
  /** Of each exchange, login included, in milliseconds; 30,000 if left out. */
  timeoutMs?: number | undefined;
  /** Of the whole create: waiting, logins, connection and request; 120,000 if left out. */
  createTimeoutMs?: number | undefined;
  /** Requests per second of the process, logins not counted; the burst is as large, and at least 1. */
  qps: number;
  /** Monotonic clock in milliseconds, for the age of tokens and lists and for the bucket. */
  now?: (() => number) | undefined;
  userAgent?: string | undefined;
  /** Told of each exchange, for metrics and logs; must not throw. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
  /** Told of each login, as `onRequest`. */
  onLogin?: ((result: LoginResult) => void) | undefined;
  /** Replaces the system's resolver. */
  lookup?: ConnectorOptions['lookup'];
  /** Replaces the network, for simulations; the timeouts and `lookup` are then its own affair. */
  transport?: Wire;
}

/** Throws TypeError and RangeError for options that cannot work. */
export function createProvider(options: ProviderOptions): Provider {
  return new ServiceProvider(options);
}

class ServiceProvider implements Provider {
  readonly #endpoints: Endpoints;
  readonly #transport: Wire;
  readonly #bucket: Bucket;
  readonly #createTimeoutMs: number;
  readonly #now: () => number;
  readonly #onLogin: ((result: LoginResult) => void) | undefined;
  readonly #sessions = new Map<string, ServiceSession>();

  constructor(options: ProviderOptions) {
    const { timeoutMs = 30_000, createTimeoutMs = 120_000, qps, now = () => performance.now() } = options;
    if (!(qps > 0 && timeoutMs > 0 && createTimeoutMs > 0)) throw new RangeError('qps and timeouts must be above 0');
    this.#now = now;
    this.#onLogin = options.onLogin;
    this.#createTimeoutMs = createTimeoutMs;
    this.#endpoints = new Endpoints(options.baseUrl, options.authUrl);
    this.#bucket = new Bucket({ qps, now });
    this.#transport =
      options.transport ??
      new Transport({
        timeoutMs,
        userAgent: options.userAgent ?? 'vps-operator',
        now,
        onRequest: options.onRequest,
        onFamilyChange: () => this.#dropTokens(),
        ...(options.lookup && { lookup: options.lookup }),
      });
  }

  session(key: ApiKey): Session {
    const name = nameOf(key);
    const known = this.#sessions.get(name);
    if (known) return known;
    const redactor = new Redactor(key);
    const tokens = new TokenSource(key, redactor, this.#endpoints, this.#transport, this.#now, this.#onLogin);
    const session = new ServiceSession({
      keyId: key.keyId,
      caller: new Caller(redactor, tokens, this.#transport, this.#bucket),
      endpoints: this.#endpoints,
      createTimeoutMs: this.#createTimeoutMs,
      now: this.#now,
    });
    this.#sessions.set(name, session);
    return session;
  }

  forget(key: ApiKey): void {
    this.#sessions.delete(nameOf(key));
  }

  async close(): Promise<void> {
    this.#bucket.close(new TransportError('the client of the service was closed'));
    this.#sessions.clear();
    await this.#transport.close();
  }

  #dropTokens(): void {
    for (const session of this.#sessions.values()) session.dropToken();
  }
}

function nameOf({ keyId, secret }: ApiKey): string {
  return JSON.stringify([keyId, secret]);
}
