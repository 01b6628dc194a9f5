/** The bearer token of one API key: shared by all callers, kept only in memory, renewed before it expires. */
import type { Timers } from '../base/timers.ts';
import type { Endpoints } from './endpoints.ts';
import { isProviderError, ProviderError } from './errors/provider-error.ts';
import { excerpt, failure } from './failure.ts';
import { failed } from './operations.ts';
import type { Redactor } from './redact.ts';
import { Refusals } from './refusals.ts';
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

interface TokenOptions {
  redactor: Redactor;
  endpoints: Endpoints;
  transport: Wire;
  line: Pick<Line, 'bucket' | 'logins'>;
  account: string;
  timers: Timers;
  onLogin?: ((result: LoginResult) => void) | undefined;
  /** Called when the provider accepts a key that it refused before. */
  onRecovered: () => void;
}

export class TokenSource {
  readonly #authorization: string;
  readonly #endpoints: Endpoints;
  readonly #transport: Wire;
  readonly #line: TokenOptions['line'];
  readonly #account: string;
  readonly #redactor: Redactor;
  readonly #timers: Timers;
  readonly #refusals: Refusals;
  readonly #onLogin: (result: LoginResult) => void;
  readonly #onRecovered: () => void;
  #token: Token | undefined;
  #isAccepted = false;
  #login: Promise<string> | undefined;

  constructor(key: ApiKey, options: TokenOptions) {
    const { redactor, endpoints, transport, line, account, timers, onLogin = () => undefined, onRecovered } = options;
    // Raw instead of form-encoded as in OAuth: the provider documents <KEY_ID>:<SECRET>.
    this.#authorization = `Basic ${Buffer.from(`${key.keyId}:${key.secret}`, 'utf8').toString('base64')}`;
    this.#redactor = redactor;
    this.#endpoints = endpoints;
    this.#transport = transport;
    this.#line = line;
    this.#account = account;
    this.#timers = timers;
    this.#refusals = new Refusals(timers);
    this.#onLogin = onLogin;
    this.#onRecovered = onRecovered;
  }

  /**
   * Returns a token. A login waits in the line of the tenant that asks first, with the priority of its call.
   * Throws PROVIDER_INVALID_CREDENTIALS without a login until a refused key may be retried.
   */
  async get(tenant: string, priority: Priority): Promise<string> {
    const refused = this.#refusals.pending();
    if (refused !== undefined) throw refused;
    if (this.#token && this.#timers.monotonic() < this.#token.renewAt) return this.#token.value;
    this.#login ??= this.#renew(tenant, priority).finally(() => (this.#login = undefined));
    return this.#login;
  }

  /** At least one login has succeeded. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** Drops the token, but only if it is still `value` when given, so one of many calls with a 401 logs in. */
  drop(value?: string): void {
    if (value === undefined || this.#token?.value === value) this.#token = undefined;
  }

  /** Allows a login with a refused key as soon as possible. */
  retrySoon(): void {
    this.#refusals.retrySoon();
  }

  async #renew(tenant: string, priority: Priority): Promise<string> {
    try {
      this.#token = await this.#waitAndLogIn(tenant, priority);
      this.#isAccepted = true;
      this.#onLogin('success');
      if (this.#refusals.end()) this.#onRecovered();
      return this.#token.value;
    } catch (error) {
      this.#onLogin(isProviderError(error, 'PROVIDER_INVALID_CREDENTIALS') ? 'refused' : 'error');
      const old = this.#token;
      if (!old || isProviderError(error, 'PROVIDER_INVALID_CREDENTIALS')) throw error;
      // The expiry currently slides, so the old token may work until a login succeeds; a 401 would show otherwise.
      old.renewAt = this.#timers.monotonic() + margin(old.lifetimeMs);
      return old.value;
    }
  }

  async #waitAndLogIn(tenant: string, priority: Priority): Promise<Token> {
    await this.#line.bucket.acquire(priority, tenant);
    const release = await this.#line.logins.take({ tenant, account: this.#account });
    try {
      return await this.#logIn();
    } finally {
      release();
    }
  }

  async #logIn(): Promise<Token> {
    const start = this.#timers.monotonic();
    const answer = await this.#transport.sendAlone({
      operation: 'login',
      method: 'POST',
      target: this.#endpoints.login,
      headers: { authorization: this.#authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
      redactor: this.#redactor,
    });
    if (answer.status !== 200) throw this.#failed(answer);
    if (typeof answer.body !== 'string') throw answer.body;
    const body = asObject(parseJson(answer.body, 'login'), 'login');
    const value = body.access_token;
    if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value) || value.length > MAX_TOKEN) {
      throw new ProviderError('PROVIDER_PROTOCOL', failed('login', 'the answer has no usable access token'));
    }
    this.#redactor.addToken(value);
    const lifetimeMs = lifetime(body.expires_in);
    return { value, lifetimeMs, renewAt: start + lifetimeMs - margin(lifetimeMs) };
  }

  #failed(answer: ProviderAnswer): Error {
    const { status, body } = answer;
    const refused = status >= 400 && status < 500 && status !== 429 && objectIn(body).error === 'invalid_client';
    if (status !== 401 && !refused) return failure(answer, 'login', this.#redactor);
    return this.#refusals.add(excerpt(body, this.#redactor));
  }
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
