/** HTTP requests to the provider: deadline, size limit, no redirects, and failures as ProviderErrors. */
import { Agent, type Dispatcher } from 'undici';
import { ACCEPT_ENCODING } from '../base/content-encoding.ts';
import { Deadline, until } from '../base/deadline.ts';
import { exchange as collect, type Answer } from '../base/exchange.ts';
import { isIdleDeath } from '../base/idle-death.ts';
import { connectOptions, type ConnectorOptions } from './connector.ts';
import { createDialer, type Dialer, type Network } from './dialer.ts';
import type { Endpoint } from './endpoints.ts';
import { ProviderError, type ProviderOperation, type ProviderErrorCode } from './error.ts';
import { CALL_CONNECTIONS } from './line.ts';
import { isUsable, requestOn } from './own-connection.ts';
import type { Cleaner } from './redact.ts';

export interface Exchange {
  operation: ProviderOperation;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  target: Endpoint;
  headers: Record<string, string>;
  body?: string;
  redactor: Cleaner;
  /** Default: the usual timeout (ms). */
  timeoutMs?: number;
}

export interface ProviderAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The body, or the error that cut it off. */
  body: string | ProviderError;
}

/** Reported for each request; contains the operation name, never a URL. */
export interface RequestInfo {
  operation: ProviderOperation;
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

const CONNECT_TIMEOUT_MS = 10_000;
const MAX_RESPONSE = 8 * 1024 * 1024;
/** The deadlines of this module cover the whole request, so undici's own timers are off. */
const LIMITS = { allowH2: false, headersTimeout: 0, bodyTimeout: 0, maxResponseSize: MAX_RESPONSE };

/** Error answers are read whole too: the agent bounds them. */
const BODY = { maxBytes: MAX_RESPONSE, maxErrorBytes: Infinity, tooLarge, undecodable };

/** A connection that carries one request. */
export interface Connection {
  /**
   * Sends the request at most once, whatever happens to the connection. Calls `before` in the tick that writes the
   * request; if it throws, or the connection is closed by then, nothing is sent.
   */
  send(exchange: Exchange, signal: AbortSignal, before: () => void): Promise<ProviderAnswer>;
  close(): void;
}

/** The transport that the provider client uses; simulations supply their own. */
export interface Wire {
  /** For calls that are safe to repeat. Throws ProviderError if no headers arrive. */
  send(exchange: Exchange): Promise<ProviderAnswer>;
  /** Opens a connection for one request. Throws ProviderError. */
  connect(call: Pick<Exchange, 'operation' | 'target' | 'redactor'>, signal: AbortSignal): Promise<Connection>;
  /** Like `send`, over a separate connection: a POST may get informational answers first. */
  sendAlone(exchange: Exchange): Promise<ProviderAnswer>;
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
    this.#dialer = createDialer({
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
    return this.#until(exchange.timeoutMs ?? this.#options.timeoutMs, (deadline) =>
      this.#observed(exchange, async () => {
        const answer = await this.#collected(exchange, deadline);
        // undici uses a connection again only after a cycle of the event loop; until then the caller keeps its place.
        await new Promise((resolve) => setImmediate(resolve));
        const { statusCode: status, headers, text, cut } = answer;
        return { status, headers, body: cut === undefined ? text : toProviderError(cut, redactor) };
      }),
    );
  }

  /**
   * A GET is sent again once, over a new connection, if an idle one turns out to be dead. Not a DELETE or a PUT: what was read
   * before it may no longer be true; and not a POST, of whose two answers the second would hide what the first request did.
   */
  async #collected(exchange: Exchange, deadline: Deadline): Promise<Answer> {
    const agent = this.#agent;
    const options = this.#requestOptions(exchange);
    try {
      return await collect(agent, options, deadline, BODY);
    } catch (error) {
      if (exchange.method !== 'GET' || !isIdleDeath(error)) throw error;
      // The other idle connections may be dead too.
      if (agent === this.#agent) this.#renewAgent();
      return collect(this.#agent, options, deadline, BODY);
    }
  }

  /** Opens a connection for one request. Throws ProviderError; no byte of the request was sent then. */
  async connect(call: Pick<Exchange, 'operation' | 'target' | 'redactor'>, signal: AbortSignal): Promise<Connection> {
    const socket = await this.#orReport(call, this.#options.now(), async () => {
      const opening = this.#dialer.open(connectOptions(call.target.origin), signal);
      return until(signal, opening).catch((error: unknown) => {
        opening.then((late) => late.destroy()).catch(() => undefined);
        throw error;
      });
    });
    // An error without a listener ends the process; `send` finds the connection unusable.
    socket.on('error', () => undefined);
    return {
      send: (exchange, ends, before) =>
        this.#observed(exchange, async () => {
          if (!isUsable(socket)) throw new Error('the connection was closed before the request');
          before();
          const { method, target, body, redactor } = exchange;
          const headers = this.#headersOf(exchange);
          const request = { method, target, headers, body, limits: BODY };
          const { text, cut, ...answer } = await requestOn(socket, request, ends);
          return { ...answer, body: cut === undefined ? text : toProviderError(cut, redactor) };
        }),
      close: () => socket.destroy(),
    };
  }

  /** Sends a request over a separate connection, within the usual time. */
  async sendAlone(exchange: Exchange): Promise<ProviderAnswer> {
    return this.within(this.#options.timeoutMs, async (signal) => {
      const connection = await this.connect(exchange, signal);
      try {
        return await connection.send(exchange, signal, () => undefined);
      } finally {
        connection.close();
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
    return new Agent({ ...LIMITS, connections: CALL_CONNECTIONS, connect: this.#dialer.connect });
  }

  #familyChanged(): void {
    // Connections of the old family would send new tokens from the old address.
    this.#renewAgent();
    this.#options.onFamilyChange();
  }

  /** Running requests end on their old connections. */
  #renewAgent(): void {
    // A request may learn only after the end that its connection had died.
    if (this.#closed) return;
    const old = this.#agent;
    this.#agent = this.#newAgent();
    void old.close();
  }

  #requestOptions(exchange: Exchange): Dispatcher.RequestOptions & { origin: string } {
    const { method, target, body } = exchange;
    return {
      origin: target.origin,
      path: target.path,
      method,
      headers: this.#headersOf(exchange),
      body,
    };
  }

  #headersOf({ headers }: Exchange): Record<string, string> {
    return { accept: 'application/json', ...ACCEPT_ENCODING, 'user-agent': this.#options.userAgent, ...headers };
  }

  async #observed(exchange: Exchange, run: () => Promise<ProviderAnswer>): Promise<ProviderAnswer> {
    const start = this.#options.now();
    const answer = await this.#orReport(exchange, start, run);
    const { status, body } = answer;
    this.#report(exchange, start, { status, ...(typeof body !== 'string' && { code: body.code }) });
    return answer;
  }

  /** Reports a failure, as a ProviderError. */
  async #orReport<T>(call: Pick<Exchange, 'operation' | 'redactor'>, start: number, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (fault) {
      const error = toProviderError(fault, call.redactor);
      this.#report(call, start, { code: error.code });
      throw error;
    }
  }

  #report({ operation }: Pick<Exchange, 'operation'>, start: number, what: Pick<RequestInfo, 'status' | 'code'>): void {
    this.#options.onRequest?.({ operation, ...what, durationMs: this.#options.now() - start });
  }
}

/** Returns the body; throws the error that cut it off. */
export function wholeBody({ body }: ProviderAnswer): string {
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

function tooLarge(): ProviderError {
  return new ProviderError('PROVIDER_PROTOCOL', `the provider's answer is larger than ${MAX_RESPONSE} bytes`);
}

function undecodable(why: string): ProviderError {
  return new ProviderError('PROVIDER_PROTOCOL', `the provider's answer cannot be decoded: ${why}`);
}

function toProviderError(fault: unknown, redactor: Cleaner): ProviderError {
  if (fault instanceof ProviderError) return fault;
  const cause = redactor.cause(fault);
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return tooLarge();
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_')) {
    return new ProviderError('PROVIDER_PROTOCOL', `the provider's answer is not HTTP: ${cause.message}`, { cause });
  }
  return new ProviderError(
    'PROVIDER_UNREACHABLE',
    `the provider cannot be reached: ${cause.message || code || cause.name}`,
    { cause },
  );
}
