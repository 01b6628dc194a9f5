/** HTTP requests to the provider: deadline, size limit, no redirects, and failures as ProviderErrors. */
import { Agent, Client } from 'undici';
import type { Dispatcher } from 'undici';
import { Deadline } from '../base/deadline.ts';
import { exchange as collect } from '../base/exchange.ts';
import { until } from '../base/until.ts';
import { connectOptions } from './connector.ts';
import { Dialer } from './dialer.ts';
import type { ConnectorOptions } from './connector.ts';
import type { Network } from './dialer.ts';
import type { Endpoint } from './endpoints.ts';
import { ProviderError, type ProviderErrorCode } from './errors/provider-error.ts';
import type { Redactor } from './redact.ts';

export type Operation =
  'login' | 'products' | 'images' | 'diskSizes' | 'createServer' | 'pollTask' | 'readServer' | 'deleteServer';

export interface Exchange {
  operation: Operation;
  method: 'GET' | 'POST' | 'DELETE';
  target: Endpoint;
  headers: Record<string, string>;
  body?: string;
  redactor: Redactor;
}

export interface ProviderAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The body, or the error that cut it off. */
  body: string | ProviderError;
}

/** Reported for each request; contains the operation name, never a URL. */
export interface RequestInfo {
  operation: Operation;
  /** HTTP status, if there was a response. */
  status?: number;
  /** Code of the error, if there was no response or its body was cut off. */
  code?: ProviderErrorCode;
  durationMs: number;
}

interface TransportOptions {
  timeoutMs: number;
  userAgent: string;
  now: () => number;
  onRequest?: ((info: RequestInfo) => void) | undefined;
  onFamilyChange: () => void;
  lookup?: ConnectorOptions['lookup'];
  network?: Network | undefined;
}

const CONNECTIONS_PER_ORIGIN = 8;
const CONNECT_TIMEOUT_MS = 10_000;
const MAX_RESPONSE = 8 * 1024 * 1024;
/** The deadlines of this module cover the whole request, so undici's own timers are off. */
const LIMITS = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_RESPONSE };

/** The transport that the provider client uses; simulations supply their own. */
export interface Wire {
  /** For calls that are safe to repeat. Throws ProviderError if no headers arrive. */
  send(exchange: Exchange): Promise<ProviderAnswer>;
  /** Sends the body at most once. Calls `connected` right before; if it throws, nothing is sent. */
  sendFresh(exchange: Exchange, signal: AbortSignal, connected: () => void): Promise<ProviderAnswer>;
  /** Runs `work` with a signal that fires after `ms` or on close; the reason is a ProviderError. */
  within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export class Transport implements Wire {
  readonly #options: TransportOptions;
  readonly #dialer: Dialer;
  readonly #open = new Set<Deadline>();
  #agent: Agent;
  #closed = false;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#dialer = new Dialer({
      timeoutMs: CONNECT_TIMEOUT_MS,
      onFamilyChange: () => this.#familyChanged(),
      userAgent: options.userAgent,
      network: options.network ?? {},
      ...(options.lookup && { lookup: options.lookup }),
    });
    this.#agent = this.#newAgent();
  }

  /** Uses shared connections, for calls that are safe to repeat. Throws ProviderError if no headers arrive. */
  async send(exchange: Exchange): Promise<ProviderAnswer> {
    const { redactor } = exchange;
    return this.#until(this.#options.timeoutMs, (deadline) =>
      this.#observed(exchange, async () => {
        const answer = await collect(this.#agent, this.#requestOptions(exchange), deadline);
        const { statusCode: status, headers, text, cut } = answer;
        return { status, headers, body: cut === undefined ? text : toProviderError(cut, redactor) };
      }),
    );
  }

  /**
   * Opens a new connection, calls `connected`, then sends the request. If `connected` throws, nothing is sent. The body
   * is sent at most once, whatever happens to the connection.
   */
  async sendFresh(exchange: Exchange, signal: AbortSignal, connected: () => void): Promise<ProviderAnswer> {
    return this.#observed(exchange, async () => {
      const { origin } = exchange.target;
      const opening = this.#dialer.open(connectOptions(origin), signal);
      const socket = await until(signal, opening).catch((error: unknown) => {
        opening.then((late) => late.destroy()).catch(() => undefined);
        throw error;
      });
      // undici reconnects if it believes that a request was not sent yet; an order must never be sent twice.
      let unused = true;
      const client = new Client(origin, {
        ...LIMITS,
        pipelining: 0,
        connect: (_options, callback) => {
          const hand = () => (unused ? callback(null, socket) : callback(new Error('the connection is lost'), null));
          // undici stalls if the callback runs synchronously.
          queueMicrotask(() => {
            hand();
            unused = false;
          });
        },
      });
      try {
        connected();
        const response = await until(signal, client.request({ ...this.#requestOptions(exchange), signal }));
        return await this.#answer(response, exchange.redactor);
      } finally {
        socket.destroy();
        await client.destroy();
      }
    });
  }

  /** Runs `work` with a signal that fires after `ms` or on close; the reason is a ProviderError. */
  async within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#until(ms, ({ signal }) => work(signal));
  }

  /** Aborts running requests and closes every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const deadline of this.#open) deadline.end(closedError());
    await this.#agent.destroy();
  }

  async #until<T>(ms: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    const deadline = new Deadline(ms, () => lateError(ms));
    this.#open.add(deadline);
    try {
      return await work(deadline);
    } finally {
      deadline.clear();
      this.#open.delete(deadline);
    }
  }

  #newAgent(): Agent {
    return new Agent({ ...LIMITS, connections: CONNECTIONS_PER_ORIGIN, connect: this.#dialer.connect });
  }

  #familyChanged(): void {
    // Connections of the old family would send new tokens from the old address.
    const old = this.#agent;
    this.#agent = this.#newAgent();
    if (this.#closed) void this.#agent.destroy();
    void old.close();
    this.#options.onFamilyChange();
  }

  #requestOptions(exchange: Exchange): Dispatcher.RequestOptions & { origin: string } {
    const { method, target, headers, body } = exchange;
    return {
      origin: target.origin,
      path: target.path,
      method,
      headers: { accept: 'application/json', 'user-agent': this.#options.userAgent, ...headers },
      ...(body !== undefined && { body }),
    };
  }

  async #answer(response: Dispatcher.ResponseData, redactor: Redactor): Promise<ProviderAnswer> {
    const { statusCode: status, headers } = response;
    const body = await response.body.text().catch((error: unknown) => toProviderError(error, redactor));
    return { status, headers, body };
  }

  async #observed(exchange: Exchange, run: () => Promise<ProviderAnswer>): Promise<ProviderAnswer> {
    const { operation, redactor } = exchange;
    const start = this.#options.now();
    const tell = (rest: Pick<RequestInfo, 'status' | 'code'>) =>
      this.#options.onRequest?.({ operation, ...rest, durationMs: this.#options.now() - start });
    try {
      const answer = await run();
      const { status, body } = answer;
      tell({ status, ...(typeof body !== 'string' && { code: body.code }) });
      return answer;
    } catch (fault) {
      const error = toProviderError(fault, redactor);
      tell({ code: error.code });
      throw error;
    }
  }
}

/** Returns the body; throws the error that cut it off. */
export function bodyOf({ body }: ProviderAnswer): string {
  if (typeof body !== 'string') throw body;
  return body;
}

function lateError(ms: number): ProviderError {
  const seconds = Math.round(ms / 100) / 10;
  return new ProviderError('PROVIDER_TIMEOUT', `the provider gave no complete answer within ${seconds} s`);
}

function closedError(): ProviderError {
  return new ProviderError('PROVIDER_UNREACHABLE', 'the provider client is closed');
}

function toProviderError(fault: unknown, redactor: Redactor): ProviderError {
  if (fault instanceof ProviderError) return fault;
  const cause = redactor.cause(fault);
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return new ProviderError('PROVIDER_PROTOCOL', `the provider's answer is larger than ${MAX_RESPONSE} bytes`, {
      cause,
    });
  }
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_')) {
    return new ProviderError('PROVIDER_PROTOCOL', `the provider's answer is not HTTP: ${cause.message}`, { cause });
  }
  return new ProviderError(
    'PROVIDER_UNREACHABLE',
    `the provider cannot be reached: ${cause.message || code || cause.name}`,
    { cause },
  );
}
