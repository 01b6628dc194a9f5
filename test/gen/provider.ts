import type { Account, ApiKey, Provider, Session } from '../../src/provider/types.ts';

/** A provider whose accounts hand out these sessions, and otherwise only know their key, unless the test overrides it. */
export function fakeProvider(
  session: (key: ApiKey, tenant: string) => Session,
  more: (key: ApiKey) => Partial<Account> = () => ({}),
): Provider {
  return {
    account: (key) => ({
      name: key.keyId,
      isAccepted: () => false,
      isRefused: () => false,
      recoveries: () => 0,
      retryLogin: () => undefined,
      hasKey: ({ keyId, secret }) => keyId === key.keyId && secret === key.secret,
      session: (tenant) => session(key, tenant),
      ...more(key),
    }),
    close: () => Promise.resolve(),
  };
}
