import type { Provider } from '../../src/provider/types.ts';

/** A provider that hands out these sessions and otherwise does nothing, unless the test overrides it. */
export function fakeProvider(session: Provider['session'], more: Partial<Provider> = {}): Provider {
  return {
    session,
    forget: () => undefined,
    retryLogin: () => undefined,
    onRecovered: () => undefined,
    close: () => Promise.resolve(),
    ...more,
  };
}
