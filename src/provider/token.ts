/** The bearer token of one API key: shared by all callers, kept only in memory, renewed before it expires. */
import type { Timers } from '../base/timers.ts';
import { ProviderError, failureMessage, isProviderError } from './error.ts';
import type { Endpoints } from './endpoints.ts';
import { excerpt, failure } from './failure.ts';
import type { Refusals } from './key-refusals.ts';
import type { Redactor } from './redact.ts';
import type { Line } from './line.ts';
import type { ProviderAnswer, Wire } from './transport.ts';
import type { ApiKey, Priority } from './types.ts';
import { asObject, objectIn, parseJson } from './wire.ts';

/** Used if the lifetime is missing or invalid; a 401 shows if it was too long. */
const DEFAULT_LIFETIME_MS = 60_000;
const MAX_LIFETIME_MS = 24 * 60 * 60 * 1000;
const MIN_LIFETIME_MS = 1000;
/** Tokens are renewed early enough for running calls to finish, but not before 80% of their lifetime. */
const RENEW_BEFORE_MS = 30_000;
const RENEW_BEFORE_SHARE = 0.2;
const MAX_TOKEN = 8192;

interface Token {
  value: string;
  /** On the monotonic clock (ms). */
  renewAt: number;
  lifetimeMs: number;
}

/** `refused`: the provider reports that the key is invalid. */
export type LoginResult = 'success' | 'refused' | 'error';

export interface TokenDeps {
  redactor: Redactor;
  refusals: Refusals;
  endpoints: Endpoints;
  transport: Wire;
  line: Pick<Line, 'bucket' | 'logins'>;
  timers: Timers;
  /** How often the source address has changed; every token is bound to the address that obtained it. */
  moves: () => number;
  onLogin: (result: LoginResult) => void;
}

export interface Tokens {
  /**
   * Returns a token. A login waits in the line of the tenant that asks first, with the priority of its call.
   * Throws PROVIDER_INVALID_CREDENTIALS without a login until a refused key may be retried.
   */
  get(tenant: string, priority: Priority): Promise<string>;
  /** Drops the token, but only if it is still `value`, so one of many calls with a 401 logs in. */
  drop(value: string): void;
  /** At least one login has succeeded. */
  isAccepted(): boolean;
}

export function createTokens(key: ApiKey, account: string, deps: TokenDeps): Tokens {
  const { redactor, refusals, endpoints, transport, line, timers, moves, onLogin } = deps;
  // Raw instead of form-encoded as in OAuth: the provider documents <KEY_ID>:<SECRET>.
  const authorization = `Basic ${Buffer.from(`${key.keyId}:${key.secret}`, 'utf8').toString('base64')}`;
  let last: { token: Token; move: number } | undefined;
  let isAccepted = false;
  let login: Promise<string> | undefined;

  const current = (): Token | undefined => (last?.move === moves() ? last.token : undefined);

  async function renew(tenant: string, priority: Priority): Promise<string> {
    try {
      const token = await waitAndLogIn(tenant, priority);
      last = { token, move: moves() };
      isAccepted = true;
      refusals.loginAccepted();
      onLogin('success');
      return token.value;
    } catch (error) {
      const isRefused = isProviderError(error, 'PROVIDER_INVALID_CREDENTIALS');
      onLogin(isRefused ? 'refused' : 'error');
      const old = current();
      if (!old || isRefused) throw error;
      // The expiry currently slides, so the old token may work until a login succeeds; a 401 would show otherwise.
      old.renewAt = timers.monotonic() + margin(old.lifetimeMs);
      return old.value;
    }
  }

  async function waitAndLogIn(tenant: string, priority: Priority): Promise<Token> {
    await line.bucket.acquire(priority, tenant);
    const release = await line.logins.take({ tenant, account });
    try {
      return await logIn();
    } finally {
      release();
    }
  }

  async function logIn(): Promise<Token> {
    const start = timers.monotonic();
    const answer = await transport.sendAlone({
      operation: 'login',
      method: 'POST',
      target: endpoints.login,
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
      redactor,
    });
    if (answer.status !== 200) throw loginFailure(answer);
    if (typeof answer.body !== 'string') throw answer.body;
    const body = asObject(parseJson(answer.body, 'login'), 'login');
    const value = body.access_token;
    if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value) || value.length > MAX_TOKEN) {
      throw new ProviderError('PROVIDER_PROTOCOL', failureMessage('login', 'the answer has no usable access token'));
    }
    redactor.addToken(value);
    const lifetimeMs = lifetime(body.expires_in);
    return { value, lifetimeMs, renewAt: start + lifetimeMs - margin(lifetimeMs) };
  }

  function loginFailure(answer: ProviderAnswer): Error {
    const { status, body } = answer;
    const isRefused = status >= 400 && status < 500 && status !== 429 && objectIn(body).error === 'invalid_client';
    if (status !== 401 && !isRefused) return failure(answer, 'login', redactor);
    return refusals.loginRefused(excerpt(body, redactor));
  }

  return {
    async get(tenant, priority) {
      const refused = refusals.pending();
      if (refused !== undefined) throw refused;
      const token = current();
      if (token && timers.monotonic() < token.renewAt) return token.value;
      login ??= renew(tenant, priority).finally(() => (login = undefined));
      return login;
    },
    drop(value) {
      if (last?.token.value === value) last = undefined;
    },
    isAccepted: () => isAccepted,
  };
}

/** How long before its expiry a token is renewed (ms). */
function margin(lifetimeMs: number): number {
  return Math.min(RENEW_BEFORE_MS, lifetimeMs * RENEW_BEFORE_SHARE);
}

/** `expires_in` in milliseconds, bounded so that an invalid value cannot cause a storm of logins. */
function lifetime(expiresIn: unknown): number {
  const numeric = typeof expiresIn === 'number' || (typeof expiresIn === 'string' && /^\s*\d/.test(expiresIn));
  const ms = numeric ? Number(expiresIn) * 1000 : NaN;
  if (Number.isNaN(ms) || ms <= 0) return DEFAULT_LIFETIME_MS;
  return Math.min(MAX_LIFETIME_MS, Math.max(MIN_LIFETIME_MS, ms));
}
