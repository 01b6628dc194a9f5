/** Authorized calls of one tenant with one API key: token, `--provider-qps`, connection; a new login after a 401. */
import type { Endpoint } from './endpoints.ts';
import { ProviderError } from './errors/provider-error.ts';
import type { Line } from './line.ts';
import { failed } from './operations.ts';
import type { Redactor } from './redact.ts';
import type { Holder } from './slots.ts';
import type { TokenSource } from './token.ts';
import type { ProviderAnswer, Operation, Wire } from './transport.ts';
import type { Priority } from './types.ts';

interface Call {
  operation: Operation;
  method: 'GET' | 'DELETE';
  target: Endpoint;
}

export class Caller {
  readonly redactor: Redactor;
  readonly tokens: TokenSource;
  readonly transport: Wire;
  readonly line: Line;
  readonly holder: Holder;

  constructor(redactor: Redactor, tokens: TokenSource, transport: Wire, line: Line, holder: Holder) {
    this.redactor = redactor;
    this.tokens = tokens;
    this.transport = transport;
    this.line = line;
    this.holder = holder;
  }

  /** The same key for another tenant. */
  of(tenant: string): Caller {
    return new Caller(this.redactor, this.tokens, this.transport, this.line, { ...this.holder, tenant });
  }

  /** Resolves with a token once this tenant may send one request. Throws any error of the login. */
  async turn(priority: Priority): Promise<string> {
    const { tenant } = this.holder;
    // Fail before the wait if the key is refused. Ask again after it, since the token may have changed.
    await this.tokens.get(tenant, priority);
    await this.line.bucket.acquire(priority, tenant);
    return this.tokens.get(tenant, priority);
  }

  /**
   * Resolves with any response except a 401. Calls `check` after all waiting, right before each request; if it throws,
   * nothing is sent.
   * Throws PROVIDER_UNAUTHORIZED after a second 401, and any error of the login or of the transport.
   */
  async call(call: Call, priority: Priority, check = (): void => undefined): Promise<ProviderAnswer> {
    const first = await this.#once(call, priority, check);
    if (first.answer.status !== 401) return first.answer;
    this.tokens.drop(first.token);
    const second = await this.#once(call, priority, check);
    if (second.answer.status !== 401) return second.answer;
    throw unauthorized(call.operation);
  }

  async #once(call: Call, priority: Priority, check: () => void): Promise<{ answer: ProviderAnswer; token: string }> {
    const token = await this.turn(priority);
    const release = await this.line.calls.take(this.holder);
    try {
      check();
      const headers = { authorization: `Bearer ${token}` };
      return { answer: await this.transport.send({ ...call, headers, redactor: this.redactor }), token };
    } finally {
      release();
    }
  }
}

/**
 * For a second 401. Keep the token: the next call starts with it and renews it, so a refusing provider sees one login
 * per call.
 */
export function unauthorized(operation: Operation): ProviderError {
  const message = failed(operation, 'the provider refuses a token that it has just issued');
  return new ProviderError('PROVIDER_UNAUTHORIZED', message);
}
