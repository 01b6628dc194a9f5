/** The provider client of one process: an account per API key, over one transport and one token bucket. */
import { realTimers, type Timers } from '../base/timers.ts';
import { createAccount } from './account.ts';
import type { ConnectorOptions } from './connector.ts';
import type { Network } from './dialer.ts';
import { Endpoints } from './endpoints.ts';
import { ProviderError } from './error.ts';
import { createLine } from './line.ts';
import type { LoginResult } from './token.ts';
import { Transport } from './transport.ts';
import type { RequestInfo, Wire } from './transport.ts';
import type { OrderWay, Provider } from './types.ts';

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
  /** Default: `auto`. */
  orders?: OrderWay | undefined;
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

/** Throws TypeError or RangeError for invalid options. */
export function createProvider(options: ProviderOptions): Provider {
  const { timeoutMs = 30_000, createTimeoutMs = 120_000, qps, orders = 'auto', timers = realTimers } = options;
  if (!(qps > 0 && timeoutMs > 0 && createTimeoutMs > 0)) throw new RangeError('qps and timeouts must be above 0');
  const endpoints = new Endpoints(options.baseUrl, options.authUrl);
  const line = createLine(qps, timers);
  let moves = 0;
  const transport =
    options.transport ??
    new Transport({
      timeoutMs,
      userAgent: options.userAgent ?? 'vps-operator',
      now: () => timers.monotonic(),
      onRequest: options.onRequest,
      onFamilyChange: () => void (moves += 1),
      network: options.network,
      ...(options.lookup && { lookup: options.lookup }),
    });
  const onLogin = options.onLogin ?? (() => undefined);
  const deps = { endpoints, transport, line, timers, createTimeoutMs, orders, moves: () => moves, onLogin };
  return {
    account: (key, told) => createAccount(key, deps, told),
    async close() {
      line.close(new ProviderError('PROVIDER_UNREACHABLE', 'the provider client is closed'));
      await transport.close();
    },
  };
}
