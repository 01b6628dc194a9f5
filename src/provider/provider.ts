/** The provider client of one process: sessions per API key and tenant over one transport and one token bucket. */
import { realTimers, type Timers } from '../base/timers.ts';
import { accountOf } from './account.ts';
import { Caller } from './caller.ts';
import type { ConnectorOptions } from './connector.ts';
import type { Network } from './dialer.ts';
import { Endpoints } from './endpoints.ts';
import { ProviderError } from './errors/provider-error.ts';
import { createLine, type Line } from './line.ts';
import { Lists } from './lists.ts';
import { Redactor } from './redact.ts';
import { ProviderSession } from './session.ts';
import { TokenSource } from './token.ts';
import type { LoginResult } from './token.ts';
import { Transport } from './transport.ts';
import type { RequestInfo, Wire } from './transport.ts';
import type { ApiKey, Provider, Session } from './types.ts';

export interface ProviderOptions {
  /** An http or https URL; may have a path prefix and a trailing slash. */
  baseUrl: string;
  authUrl: string;
  /** Timeout of each request, logins included, from when it has a connection, in milliseconds; default 30,000. */
  timeoutMs?: number | undefined;
  /**
   * Timeout of the wait for a turn, a token and a connection for an order, and again of the order itself, in milliseconds;
   * default 120,000.
   */
  createTimeoutMs?: number | undefined;
  /** Requests per second of the process, logins included; also the burst, which is at least 1. */
  qps: number;
  timers?: Timers | undefined;
  userAgent?: string | undefined;
  /** Called for each request, for metrics and logs; must not throw. */
  onRequest?: ((info: RequestInfo) => void) | undefined;
  /** Called for each login; must not throw. */
  onLogin?: ((result: LoginResult) => void) | undefined;
  /** Replaces the system's resolver. */
  lookup?: ConnectorOptions['lookup'];
  network?: Network | undefined;
  /** Replaces the network in simulations; it then handles timeouts and name resolution itself. */
  transport?: Wire;
}

/** State shared by all sessions of a key. */
interface Shared {
  account: string;
  caller: Caller;
  lists: Lists;
}

/** Throws TypeError or RangeError for invalid options. */
export function createProvider(options: ProviderOptions): Provider {
  return new HttpProvider(options);
}

class HttpProvider implements Provider {
  readonly #endpoints: Endpoints;
  readonly #transport: Wire;
  readonly #line: Line;
  readonly #createTimeoutMs: number;
  readonly #timers: Timers;
  readonly #onLogin: ((result: LoginResult) => void) | undefined;
  readonly #keys = new Map<string, Shared>();
  readonly #recoveryListeners: ((key: ApiKey) => void)[] = [];

  constructor(options: ProviderOptions) {
    const { timeoutMs = 30_000, createTimeoutMs = 120_000, qps, timers = realTimers } = options;
    if (!(qps > 0 && timeoutMs > 0 && createTimeoutMs > 0)) throw new RangeError('qps and timeouts must be above 0');
    this.#timers = timers;
    this.#onLogin = options.onLogin;
    this.#createTimeoutMs = createTimeoutMs;
    this.#endpoints = new Endpoints(options.baseUrl, options.authUrl);
    this.#line = createLine(qps, timers);
    this.#transport =
      options.transport ??
      new Transport({
        timeoutMs,
        userAgent: options.userAgent ?? 'vps-operator',
        now: () => timers.monotonic(),
        onRequest: options.onRequest,
        onFamilyChange: () => this.#dropTokens(),
        network: options.network,
        ...(options.lookup && { lookup: options.lookup }),
      });
  }

  session(key: ApiKey, tenant = ''): Session {
    const { account, caller, lists } = this.#shared(key);
    return new ProviderSession({
      account,
      caller: caller.of(tenant),
      endpoints: this.#endpoints,
      lists,
      createTimeoutMs: this.#createTimeoutMs,
      now: () => this.#timers.monotonic(),
    });
  }

  forget(key: ApiKey): void {
    this.#keys.delete(nameOf(key));
  }

  retryLogin(key: ApiKey): void {
    this.#keys.get(nameOf(key))?.caller.tokens.retrySoon();
  }

  onRecovered(listener: (key: ApiKey) => void): void {
    this.#recoveryListeners.push(listener);
  }

  async close(): Promise<void> {
    this.#line.close(new ProviderError('PROVIDER_UNREACHABLE', 'the provider client is closed'));
    this.#keys.clear();
    await this.#transport.close();
  }

  #shared(key: ApiKey): Shared {
    const name = nameOf(key);
    const known = this.#keys.get(name);
    if (known) return known;
    const redactor = new Redactor(key);
    const account = accountOf(this.#endpoints.base, key.keyId);
    const tokens = new TokenSource(key, {
      redactor,
      endpoints: this.#endpoints,
      transport: this.#transport,
      line: this.#line,
      account,
      timers: this.#timers,
      onLogin: this.#onLogin,
      onRecovered: () => {
        for (const listener of this.#recoveryListeners) listener(key);
      },
    });
    // What all tenants of the key share waits in a line of its own.
    const caller = new Caller(redactor, tokens, this.#transport, this.#line, { tenant: account, account });
    const lists = new Lists(caller, this.#endpoints, () => this.#timers.monotonic());
    const shared = { account, caller, lists };
    this.#keys.set(name, shared);
    return shared;
  }

  /** Drops all tokens: they are bound to a source address that is no longer in use. */
  #dropTokens(): void {
    for (const { caller } of this.#keys.values()) caller.tokens.drop();
  }
}

function nameOf({ keyId, secret }: ApiKey): string {
  return JSON.stringify([keyId, secret]);
}
