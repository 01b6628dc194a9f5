/** Accounts, their keys, and the tokens that were issued for them. */
import { Buffer } from 'node:buffer';

import type { Ledger } from './ledger.ts';
import type { Key, Settings, TokenExpiry } from './options.ts';
import { json, mediaType } from './wire.ts';
import type { WireRequest, WireResponse } from './wire.ts';

interface Token {
  account: string;
  keyId: string;
  sourceAddress: string;
  /** From here the lifetime counts: the issue, or with sliding expiry the most recent use. */
  countsFrom: number;
}

interface Identity {
  account: string;
  keyId: string;
}

/**
 * What the provider refuses to a suspended account, whose servers stay alive. `login`: its keys cannot log in, and its
 * tokens keep working. `calls`: every call is refused. `empty`: every list is empty and everything else is unknown.
 */
type Suspension = 'login' | 'calls' | 'empty';

export class Accounts {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  readonly #keys = new Map<string, { account: string; secret: string }>();
  readonly #tokens = new Map<string, Token>();
  readonly #names = new Set<string>();
  readonly #suspended = new Map<string, { how: Suspension; status: 401 | 403 }>();
  readonly #expiry: TokenExpiry;
  readonly #lifetimeSeconds: number;

  constructor(settings: Settings, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
    this.#expiry = settings.tokenExpiry;
    this.#lifetimeSeconds = settings.tokenLifetimeSeconds;
    for (const { name, keys } of settings.accounts) {
      this.#names.add(name);
      for (const key of keys) this.addKey(name, key);
    }
  }

  /** Makes the account too, when there is none of that name. */
  addKey(account: string, key: Key): void {
    if (key.keyId.includes(':')) throw new Error('A key id cannot hold a colon: Basic credentials end it there');
    if (this.#keys.has(key.keyId)) throw new Error(`Key ${key.keyId} exists already`);
    this.#names.add(account);
    this.#keys.set(key.keyId, { account, secret: key.secret });
  }

  /**
   * The key logs in to this account from now on, and makes the account if there is none of that name. Its tokens keep
   * the account that they were issued for unless `moveTokens` (the documentation does not say).
   */
  moveKey(keyId: string, account: string, { moveTokens = false }: { moveTokens?: boolean } = {}): void {
    this.#key(keyId).account = account;
    this.#names.add(account);
    if (!moveTokens) return;
    for (const token of this.#tokens.values()) if (token.keyId === keyId) token.account = account;
  }

  /** `status` is the answer to each call with `calls`. Replaces an earlier suspension. */
  suspend(account: string, how: Suspension, status: 401 | 403 = 401): void {
    this.#checkName(account);
    this.#suspended.set(account, { how, status });
  }

  /** Ends the suspension; the account has the same servers as before. */
  resume(account: string): void {
    this.#checkName(account);
    this.#suspended.delete(account);
  }

  /** Undefined for an account in good standing. */
  suspension(account: string): { how: Suspension; status: 401 | 403 } | undefined {
    return this.#suspended.get(account);
  }

  /** The key no longer logs in; its tokens end with it unless `keepTokens` (the documentation does not say). */
  revokeKey(keyId: string, options: { keepTokens?: boolean } = {}): void {
    if (!this.#keys.delete(keyId)) throw new Error(`There is no key ${keyId}`);
    if (!options.keepTokens) this.#forget((token) => token.keyId === keyId);
  }

  /** Gives the key another secret; tokens stay. */
  rotateKey(keyId: string, secret: string): void {
    this.#key(keyId).secret = secret;
  }

  /** Every token, or those of one account, is refused from now on. */
  forgetTokens(account?: string): void {
    this.#forget((token) => account === undefined || token.account === account);
  }

  /** POST {auth_url}/login. */
  login(request: WireRequest): WireResponse {
    if (mediaType(request.contentType) !== 'application/x-www-form-urlencoded') {
      return loginError(400, 'invalid_request', 'The body must be a form');
    }
    if (new URLSearchParams(request.body).get('grant_type') !== 'client_credentials') {
      return loginError(400, 'unsupported_grant_type', 'grant_type must be client_credentials');
    }
    const credentials = basicCredentials(request.authorization);
    const key = credentials && this.#keys.get(credentials.keyId);
    const known = key !== undefined && key.secret === credentials?.secret;
    if (!known || this.suspension(key.account)?.how === 'login') {
      return this.refuseLogin(request, this.#settings.loginFailureStatus);
    }
    this.#record(request, true);
    const access_token = this.#issue({ account: key.account, keyId: credentials.keyId }, request.sourceAddress);
    return json(200, { access_token, expires_in: this.#lifetimeSeconds, token_type: 'bearer' });
  }

  /** Answers as to bad credentials, or as after a failure of the provider, without a look at the credentials. */
  refuseLogin(request: WireRequest, status: number): WireResponse {
    this.#record(request, false);
    if (status >= 500) return loginError(status, 'server_error', 'Something went wrong');
    return loginError(status, 'invalid_client', 'Unknown key or wrong secret');
  }

  /** Undefined unless the token is valid now and from this address; a valid use counts for sliding expiry. */
  authenticate(request: WireRequest): Identity | undefined {
    const value = bearerToken(request.authorization);
    const token = value === undefined ? undefined : this.#tokens.get(value);
    if (value === undefined || !token || token.sourceAddress !== request.sourceAddress) return undefined;
    const now = this.#settings.clock.now();
    if (now - token.countsFrom >= this.#lifetimeSeconds * 1000) {
      this.#tokens.delete(value);
      return undefined;
    }
    if (this.#expiry === 'sliding') token.countsFrom = now;
    return token;
  }

  /** Whose request this is, valid credentials or not, without any effect. */
  identify(request: WireRequest): Identity | undefined {
    const token = bearerToken(request.authorization);
    if (token !== undefined) return this.#tokens.get(token);
    const credentials = basicCredentials(request.authorization);
    const key = credentials && this.#keys.get(credentials.keyId);
    return key && { account: key.account, keyId: credentials.keyId };
  }

  #record(request: WireRequest, ok: boolean): void {
    const keyId = basicCredentials(request.authorization)?.keyId;
    const account = keyId === undefined ? undefined : this.#keys.get(keyId)?.account;
    const { sourceAddress } = request;
    this.#ledger.append({ kind: 'login', at: this.#settings.clock.now(), ok, keyId, account, sourceAddress });
  }

  #key(keyId: string): { account: string; secret: string } {
    const key = this.#keys.get(keyId);
    if (!key) throw new Error(`There is no key ${keyId}`);
    return key;
  }

  #checkName(account: string): void {
    if (!this.#names.has(account)) throw new Error(`There is no account ${account}`);
  }

  #issue(identity: Identity, sourceAddress: string): string {
    const token = this.#settings.newToken();
    this.#tokens.set(token, { ...identity, sourceAddress, countsFrom: this.#settings.clock.now() });
    return token;
  }

  #forget(which: (token: Token) => boolean): void {
    for (const [value, token] of this.#tokens) if (which(token)) this.#tokens.delete(value);
  }
}

function loginError(status: number, error: string, error_description: string): WireResponse {
  return json(status, { error, error_description });
}

/** The key id ends at the first colon (RFC 7617), so a secret may hold colons; both are taken as they are, in UTF-8. */
function basicCredentials(authorization: string | undefined): Key | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]+=*) *$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { keyId: text.slice(0, colon), secret: text.slice(colon + 1) };
}

function bearerToken(authorization: string | undefined): string | undefined {
  return authorization !== undefined && /^Bearer /i.test(authorization)
    ? authorization.slice('Bearer '.length).trim()
    : undefined;
}
