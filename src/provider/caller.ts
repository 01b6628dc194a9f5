/** Authorized calls of one tenant with one API key: token, bucket, and one new login plus one retry after a 401. */
import type { Bucket } from './bucket.ts';
import type { Endpoint } from './endpoints.ts';
import { ProviderError } from './errors/provider-error.ts';
import { failed } from './operations.ts';
import type { Redactor } from './redact.ts';
import type { TokenSource } from './token.ts';
import type { ProviderAnswer, Exchange, Operation, Wire } from './transport.ts';
import type { Priority } from './types.ts';

interface Call {
  operation: Operation;
  method: 'GET' | 'POST' | 'DELETE';
  target: Endpoint;
  body?: string;
}

export class Caller {
  readonly redactor: Redactor;
  readonly tokens: TokenSource;
  readonly transport: Wire;
  readonly #bucket: Bucket;
  readonly #tenant: string;

  constructor(redactor: Redactor, tokens: TokenSource, transport: Wire, bucket: Bucket, tenant = '') {
    this.redactor = redactor;
    this.tokens = tokens;
    this.transport = transport;
    this.#bucket = bucket;
    this.#tenant = tenant;
  }

  /** The same key for another tenant. */
  of(tenant: string): Caller {
    return new Caller(this.redactor, this.tokens, this.transport, this.#bucket, tenant);
  }

  /** As `authorized`, for a GET over shared connections. */
  get(operation: Operation, target: Endpoint, priority: Priority): Promise<ProviderAnswer> {
    return this.authorized({ operation, method: 'GET', target }, priority, (exchange) => this.transport.send(exchange));
  }

  /**
   * Resolves with any response except a 401. `send` sends one request.
   * Throws PROVIDER_UNAUTHORIZED after a second 401, and any error of the login or of `send`.
   */
  async authorized(
    call: Call,
    priority: Priority,
    send: (exchange: Exchange) => Promise<ProviderAnswer>,
  ): Promise<ProviderAnswer> {
    const first = await this.#once(call, priority, send);
    if (first.answer.status !== 401) return first.answer;
    this.tokens.drop(first.token);
    const second = await this.#once(call, priority, send);
    if (second.answer.status !== 401) return second.answer;
    // Keep the token: the next call starts with it and renews it, so a refusing provider sees one login per call.
    throw new ProviderError(
      'PROVIDER_UNAUTHORIZED',
      failed(call.operation, 'the provider refuses a token that it has just issued'),
    );
  }

  async #once(
    call: Call,
    priority: Priority,
    send: (exchange: Exchange) => Promise<ProviderAnswer>,
  ): Promise<{ answer: ProviderAnswer; token: string }> {
    // Fail before the wait if the key is refused. Ask again after it, since the token may have changed.
    await this.tokens.get();
    await this.#bucket.acquire(priority, this.#tenant);
    const token = await this.tokens.get();
    const headers = {
      authorization: `Bearer ${token}`,
      ...(call.body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await send({ ...call, headers, redactor: this.redactor });
    return { answer, token };
  }
}
