/** Authorized calls of one tenant with one API key: token, `--provider-qps`, connection; a new login after a 401. */
import { ProviderError, failureMessage, type ProviderOperation } from './error.ts';
import type { CallOwner, Line } from './line.ts';
import type { Cleaner } from './redact.ts';
import type { Refusals } from './key-refusals.ts';
import type { Tokens } from './token.ts';
import type { Exchange, ProviderAnswer, Wire } from './transport.ts';
import type { Priority } from './types.ts';

type Call = Omit<Exchange, 'headers' | 'redactor'>;

/** What the calls of all tenants with the key share. */
export interface CallDeps {
  redactor: Cleaner;
  refusals: Refusals;
  tokens: Tokens;
  transport: Wire;
  line: Line;
}

export interface Caller extends CallDeps {
  readonly owner: CallOwner;
  /** Resolves with a token once this tenant may send one request. Throws any error of the login. */
  turn(priority: Priority): Promise<string>;
  /**
   * Resolves with any response except a 401. Calls `check` after all waiting, right before each request; if it throws,
   * nothing is sent.
   * Throws PROVIDER_UNAUTHORIZED after a second 401, and any error of the login or of the transport.
   */
  call(call: Call, priority: Priority, check?: () => void): Promise<ProviderAnswer>;
  /**
   * The error for a second 401. The token stays: the next call starts with it and renews it, so a refusing provider sees
   * one login per call.
   */
  unauthorized(operation: ProviderOperation): ProviderError;
}

export function createCaller(deps: CallDeps, owner: CallOwner): Caller {
  const { redactor, refusals, tokens, transport, line } = deps;

  async function turn(priority: Priority): Promise<string> {
    const { tenant } = owner;
    // Fail before the wait if the key is refused. Ask again after it, since the token may have changed.
    await tokens.get(tenant, priority);
    await line.bucket.acquire(priority, tenant);
    return tokens.get(tenant, priority);
  }

  async function once(
    call: Call,
    priority: Priority,
    check: () => void,
  ): Promise<{ answer: ProviderAnswer; token: string }> {
    const token = await turn(priority);
    const release = await line.calls.take(owner);
    try {
      check();
      const headers = {
        authorization: `Bearer ${token}`,
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
      };
      const answer = await transport.send({ ...call, headers, redactor });
      if (answer.status !== 401) refusals.tokenAccepted();
      return { answer, token };
    } finally {
      release();
    }
  }

  function unauthorized(operation: ProviderOperation): ProviderError {
    refusals.tokenRefused();
    const message = failureMessage(operation, 'the provider refuses a token that it has just issued');
    return new ProviderError('PROVIDER_UNAUTHORIZED', message);
  }

  return {
    ...deps,
    owner,
    turn,
    async call(call, priority, check = () => undefined) {
      const first = await once(call, priority, check);
      if (first.answer.status !== 401) return first.answer;
      tokens.drop(first.token);
      const second = await once(call, priority, check);
      if (second.answer.status !== 401) return second.answer;
      throw unauthorized(call.operation);
    },
    unauthorized,
  };
}
