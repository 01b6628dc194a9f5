/** The options of a provider, and the token bucket that its sessions share. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createProvider } from '../../../src/provider/provider.ts';
import type { ProviderOperation } from '../../../src/provider/error.ts';
import type { ProviderAnswer, Wire } from '../../../src/provider/transport.ts';
import type { Account } from '../../../src/provider/types.ts';

const URLS = { baseUrl: 'https://api.example.org', authUrl: 'https://auth.example.org' };

describe('a provider', () => {
  it.each([
    'ftp://api.example.org',
    'api.example.org',
    '',
    'https://user:hush@api.example.org',
    'https://api.example.org/?key=hush',
    'https://api.example.org/#hush',
  ])('rejects %j as a URL, without quoting it', (url) => {
    for (const urls of [{ baseUrl: url }, { authUrl: url }]) {
      const create = () => createProvider({ ...URLS, ...urls, qps: 5 });
      expect(create).toThrow(TypeError);
      expect(create).not.toThrow(/hush/);
    }
  });

  it.each([{ qps: 0 }, { qps: NaN }, { qps: -1 }, { qps: 5, timeoutMs: 0 }, { qps: 5, createTimeoutMs: -1 }])(
    'does not take %j',
    (options) => {
      expect(() => createProvider({ ...URLS, ...options })).toThrow(RangeError);
    },
  );
});

describe('the sessions of one key', () => {
  const KEY = { keyId: 'key-4711', secret: 'secret-4711' };
  const BODIES: Partial<Record<ProviderOperation, unknown>> = {
    login: { access_token: 'token', expires_in: 3600 },
    deleteServer: { message: 'cancelled' },
    products: [],
    images: [],
    diskSizes: {},
  };

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function setUp() {
    const sent: ProviderOperation[] = [];
    const transport: Wire = {
      send: ({ operation }): Promise<ProviderAnswer> => {
        sent.push(operation);
        return Promise.resolve({ status: 200, headers: {}, body: JSON.stringify(BODIES[operation]) });
      },
      connect: () => Promise.reject(new Error('nothing is ordered here')),
      sendAlone: (exchange) => transport.send(exchange),
      within: (_ms, work) => work(new AbortController().signal),
      close: () => Promise.resolve(),
    };
    return { sent, account: createProvider({ ...URLS, qps: 10, transport }).account(KEY) };
  }

  /** A namespace with a hundred pending cancellations, ten of them sent. */
  async function flood(account: Account): Promise<void> {
    const session = account.session('many');
    for (let index = 0; index < 100; index++) void session.deleteServer(`vs${index}`);
    await vi.advanceTimersByTimeAsync(0);
  }

  it('do not let a namespace with one request wait for another with a hundred', async () => {
    const { account } = setUp();
    await flood(account);
    let isDone = false;
    void account
      .session('one')
      .products()
      .then(() => (isDone = true));
    await vi.advanceTimersByTimeAsync(200);
    expect(isDone).toBe(true);
  });

  it('share one login and the lists, which wait behind no namespace', async () => {
    const { account, sent } = setUp();
    await flood(account);
    let done = 0;
    for (const tenant of ['many', 'one'])
      void account
        .session(tenant)
        .catalog(0)
        .then(() => done++);
    await vi.advanceTimersByTimeAsync(700);
    expect(done).toBe(2);
    expect(sent.filter((operation) => operation === 'images')).toHaveLength(1);
    expect(sent.filter((operation) => operation === 'login')).toHaveLength(1);
  });
});
