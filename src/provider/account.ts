/** An API key at the provider: its token, its lists and whether it is refused, all of which its sessions share. */
import { createHash } from 'node:crypto';
import { createCaller, type Caller, type CallRooms } from './caller.ts';
import { Redactor } from './redact.ts';
import { Refusals } from './refusals.ts';
import { createLists, createSession, type SessionRooms } from './session.ts';
import { createTokens, type TokenRooms } from './token.ts';
import type { Account, ApiKey } from './types.ts';

/** What all accounts of a provider share. */
export type ProviderRooms = Omit<TokenRooms, 'redactor' | 'refusals'> &
  Pick<CallRooms, 'transport' | 'line'> &
  Pick<SessionRooms, 'createTimeoutMs'>;

export function createAccount(key: ApiKey, rooms: ProviderRooms): Account {
  const { endpoints, transport, line, timers, createTimeoutMs } = rooms;
  const name = accountOf(endpoints.base, key.keyId);
  const redactor = new Redactor(key);
  const refusals = new Refusals(timers);
  const tokens = createTokens(key, name, { ...rooms, redactor, refusals });
  const callerOf = (tenant: string): Caller =>
    createCaller({ redactor, refusals, tokens, transport, line }, { tenant, account: name });
  const now = (): number => timers.monotonic();
  // What all tenants of the key share waits in a separate line.
  const catalog = createLists(callerOf(name), endpoints, now);
  return {
    name,
    isAccepted: () => tokens.isAccepted(),
    isRefused: () => refusals.isRefused,
    recoveries: () => refusals.recoveries,
    retryLogin: () => refusals.retrySoon(),
    hasKey: ({ keyId, secret }) => keyId === key.keyId && secret === key.secret,
    session: (tenant) =>
      createSession({ account: name, caller: callerOf(tenant), endpoints, catalog, createTimeoutMs, now }),
  };
}

/**
 * Names the account by `<hash of the base URL>-<hash of base URL and key ID>`, which contains no secret; see
 * virtual-server/decision/account.ts.
 */
export function accountOf(base: string, keyId: string): string {
  return `${hash(base)}-${hash(`${base}\0${keyId}`)}`;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
