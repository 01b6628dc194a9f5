/** Accounts, their keys and their tokens. */
import { Buffer } from 'node:buffer';

import type { Ledger } from './ledger.ts';
import type { Key, Settings } from './settings.ts';
import { json, mediaType, type WireRequest, type WireResponse } from './wire.ts';

interface Token {
  account: string;
  keyId: string;
  sourceAddress: string;
  /** Start of the lifetime (ms since the epoch): the issue, or with sliding expiry the last use. */
  countsFrom: number;
}

interface Identity {
  account: string;
  keyId: string;
}

/**
 * What the provider refuses to a suspended account; its servers stay alive. `login`: its keys cannot log in, but its
 * tokens keep working. `calls`: every call fails. `empty`: lists are empty, and everything else answers 404.
 */
type Suspension = 'login' | 'calls' | 'empty';

/**
 * The calls that a key may not make, which get 403. `all`: every call. `servers`: all but products, images and disk sizes.
 * `hidden`: as `servers`, but single servers and tasks are denied as if they did not exist. `unseen`: as `hidden`, and the list of
 * servers is empty.
 */
export const RESTRICTIONS = ['all', 'servers', 'hidden', 'unseen'] as const;
export type Restriction = (typeof RESTRICTIONS)[number];

/** Either all keys of an account, or one key. */
interface Whose {
  account?: string;
  keyId?: string;
}

export class SimulatedAccounts {
  readonly #settings: Settings;
  readonly #ledger: Ledger;
  readonly #keys = new Map<string, { account: string; secret: string }>();
  readonly #tokens = new Map<string, Token>();
  readonly #names = new Set<string>();
  /** By `account NAME` and by `key ID`. */
  readonly #restrictions = new Map<string, Restriction>();
  readonly #suspended = new Map<string, { how: Suspension; status: 401 | 403 }>();

  constructor(settings: Settings, ledger: Ledger) {
    this.#settings = settings;
    this.#ledger = ledger;
    for (const { name, keys } of settings.accounts) {
      this.#names.add(name);
      for (const key of keys) this.addKey(name, key);
    }
  }

  /** Creates the account if it does not exist. */
  addKey(account: string, key: Key): void {
    if (key.keyId.includes(':'))
      throw new Error('A key ID must not contain a colon, which ends it in Basic credentials');
    if (this.#keys.has(key.keyId)) throw new Error(`Key ${key.keyId} already exists`);
    this.#names.add(account);
    this.#keys.set(key.keyId, { account, secret: key.secret });
  }

  /**
   * The key logs in to this account from now on; creates the account if it does not exist. Its tokens still belong to the old
   * account unless `moveTokens` (the documentation does not say).
   */
  moveKey(keyId: string, account: string, { moveTokens = false }: { moveTokens?: boolean } = {}): void {
    this.#key(keyId).account = account;
    this.#names.add(account);
    if (!moveTokens) return;
    for (const token of this.#tokens.values()) if (token.keyId === keyId) token.account = account;
  }

  /** With `calls`, every call gets `status`. Replaces an earlier suspension. */
  suspend(account: string, how: Suspension, status: 401 | 403 = 401): void {
    this.#checkName(account);
    this.#suspended.set(account, { how, status });
  }

  /** Ends the suspension; the account still has its servers. */
  resume(account: string): void {
    this.#checkName(account);
    this.#suspended.delete(account);
  }

  /** Undefined if the account is not suspended. */
  suspension(account: string): { how: Suspension; status: 401 | 403 } | undefined {
    return this.#suspended.get(account);
  }

  /** The keys lose rights, and can still log in. Replaces an earlier restriction of the same account or key. */
  restrict(whose: Whose, from: Restriction = 'all'): void {
    this.#restrictions.set(this.#ownerOf(whose), from);
  }

  /** Ends the restriction of this account or key. */
  permit(whose: Whose): void {
    this.#restrictions.delete(this.#ownerOf(whose));
  }

  /** What the key may not do: its own restriction, or that of its account. */
  restriction({ account, keyId }: Identity): Restriction | undefined {
    if (this.#restrictions.size === 0) return undefined;
    return this.#restrictions.get(`key ${keyId}`) ?? this.#restrictions.get(`account ${account}`);
  }

  /** The key can no longer log in; its tokens stop working unless `keepTokens` (the documentation does not say). */
  revokeKey(keyId: string, options: { keepTokens?: boolean } = {}): void {
    if (!this.#keys.delete(keyId)) throw new Error(`There is no key ${keyId}`);
    if (!options.keepTokens) this.#forget((token) => token.keyId === keyId);
  }

  /** Gives the key another secret; its tokens keep working. */
  rotateKey(keyId: string, secret: string): void {
    this.#key(keyId).secret = secret;
  }

  /** Invalidates all tokens, or those of one account. */
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
    return json(200, { access_token, expires_in: this.#settings.tokenLifetimeSeconds, token_type: 'bearer' });
  }

  /** Answers as to bad credentials, or with `status` 500 and above as a provider failure, whatever the credentials. */
  refuseLogin(request: WireRequest, status: number): WireResponse {
    this.#record(request, false);
    if (status >= 500) return loginError(status, 'server_error', 'Something went wrong');
    return loginError(status, 'invalid_client', 'Unknown key or wrong secret');
  }

  /** Undefined unless the token is valid now and for this address. A valid use extends a sliding lifetime. */
  authenticate(request: WireRequest): Identity | undefined {
    const value = bearerToken(request.authorization);
    const token = value === undefined ? undefined : this.#tokens.get(value);
    if (value === undefined || !token || token.sourceAddress !== request.sourceAddress) return undefined;
    const now = this.#settings.clock.now();
    if (now - token.countsFrom >= this.#settings.tokenLifetimeSeconds * 1000) {
      this.#tokens.delete(value);
      return undefined;
    }
    if (this.#settings.tokenExpiry === 'sliding') token.countsFrom = now;
    return token;
  }

  /** Identifies the sender even if a token has expired or a secret is wrong; has no side effects. */
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

  #ownerOf({ account, keyId }: Whose): string {
    if ((account === undefined) === (keyId === undefined)) throw new Error('Name either an account or a key');
    if (keyId !== undefined) this.#key(keyId);
    if (account !== undefined) this.#checkName(account);
    return keyId === undefined ? `account ${account}` : `key ${keyId}`;
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

export function loginError(status: number, error: string, error_description: string): WireResponse {
  return json(status, { error, error_description });
}

/** The key ID ends at the first colon (RFC 7617), so a secret may contain colons. Both are plain UTF-8. */
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
