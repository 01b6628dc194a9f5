/** Obtaining, renewing, dropping and refusing tokens. */
import { describe, expect, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import type { ApiKey } from '../../../src/provider/types.ts';
import { FakeTimers } from '../../fixtures/timers.ts';
import { errorOf, KEY, providerFor, sessionFor, startStub } from './stub-provider.ts';
import type { Reply, StubProvider } from './stub-provider.ts';

const LOGIN = '/auth/login';
const PRODUCTS = '/beta/vps/products';

/** A provider that issues `token-n` with this lifetime, and accepts only tokens for which `accepts` is true. */
async function tokenStub(expiresIn: unknown, accepts: (token: string) => boolean = () => true): Promise<StubProvider> {
  const stub = await startStub();
  let logins = 0;
  stub.on(`POST ${LOGIN}`, (_request, response) => {
    response.end(JSON.stringify({ access_token: `token-${++logins}`, expires_in: expiresIn, token_type: 'bearer' }));
  });
  stub.on(`GET ${PRODUCTS}`, ({ headers }, response) => {
    const accepted = accepts((headers.authorization ?? '').replace('Bearer ', ''));
    response.writeHead(accepted ? 200 : 401).end('[]');
  });
  return stub;
}

function basic({ keyId, secret }: ApiKey): string {
  return `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
}

describe('the login', () => {
  it.each<ApiKey>([
    KEY,
    { keyId: 'a+b%41', secret: '::' },
    { keyId: 'schlüssel', secret: '秘密 🔑 %2B' },
    { keyId: 'plain', secret: ' spaces around ' },
  ])('sends the raw key as Basic credentials in UTF-8, with the documented form: %j', async (key) => {
    const stub = await startStub();
    await sessionFor(stub, {}, key).ensureToken();
    const [login] = stub.seen;
    const credentials = (login?.headers.authorization ?? '').replace('Basic ', '');
    expect(Buffer.from(credentials, 'base64').toString('utf8')).toBe(`${key.keyId}:${key.secret}`);
    expect(login).toMatchObject({ method: 'POST', path: LOGIN, body: 'grant_type=client_credentials' });
    expect(login?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  });

  it('marks the key as accepted, unless the provider refuses it', async () => {
    const stub = await tokenStub(300);
    const account = providerFor(stub).account(KEY);
    expect([account.isAccepted(), account.isRefused()]).toEqual([false, false]);
    await account.session('').ensureToken();
    expect([account.isAccepted(), account.isRefused()]).toEqual([true, false]);
    const refusing = await startStub();
    refusing.on(`POST ${LOGIN}`, (_request, response) => void response.writeHead(401).end());
    const refused = providerFor(refusing).account(KEY);
    await errorOf(refused.session('').ensureToken());
    expect([refused.isAccepted(), refused.isRefused()]).toEqual([false, true]);
  });

  it('is sent once for 50 concurrent calls', async () => {
    const stub = await tokenStub(300);
    const session = sessionFor(stub);
    await Promise.all(Array.from({ length: 50 }, () => session.products()));
    expect(stub.count('POST', LOGIN)).toBe(1);
    expect(stub.count('GET', PRODUCTS)).toBe(50);
  });

  it('waits for --provider-qps, namespace by namespace', async () => {
    const stub = await startStub();
    const timers = new FakeTimers();
    const provider = providerFor(stub, { qps: 2, timers });
    const keys = Array.from({ length: 20 }, (_, index) => ({ keyId: `theirs-${index}`, secret: 's' }));
    const theirs = keys.map((key) => provider.account(key).session('theirs').ensureToken());
    const logins = () => stub.count('POST', LOGIN);
    await expect.poll(logins).toBe(2);
    let isDone = false;
    const mine = provider.account(KEY).session('mine').ensureToken();
    void mine.then(() => (isDone = true));
    timers.advance(500);
    await expect.poll(logins).toBe(3);
    timers.advance(500);
    await mine;
    expect([isDone, logins()]).toEqual([true, 4]);
    for (let index = 0; index < 20; index++) timers.advance(500);
    await Promise.all(theirs);
    expect(logins()).toBe(21);
  });

  it('does not wait behind logins of another namespace that get no answer, and neither do other calls', async () => {
    const stub = await tokenStub(300);
    let hanging = 0;
    const provider = providerFor(stub);
    const mine = provider.account(KEY).session('mine');
    await mine.ensureToken();
    stub.on(`POST ${LOGIN}`, ({ headers }, response) => {
      if (headers.authorization === basic({ keyId: 'late', secret: 's' })) response.end('{"access_token":"late"}');
      else hanging += 1;
    });
    for (let index = 0; index < 100; index++) {
      const theirs = provider.account({ keyId: `theirs-${index}`, secret: 's' }).session('theirs');
      void theirs.ensureToken().catch(() => undefined);
    }
    await expect.poll(() => hanging).toBe(2);
    // Nine calls at a time: more than the share of one namespace would leave to another.
    await Promise.all(Array.from({ length: 9 }, () => mine.products()));
    await provider.account({ keyId: 'late', secret: 's' }).session('mine').ensureToken();
    expect(hanging).toBe(2);
  });

  it('takes no connection from the other calls of its namespace', async () => {
    const stub = await tokenStub(300);
    const provider = providerFor(stub);
    const session = provider.account(KEY).session('mine');
    await session.ensureToken();
    stub.on(`POST ${LOGIN}`, () => undefined);
    for (let index = 0; index < 20; index++) {
      const other = provider.account({ keyId: `other-${index}`, secret: 's' }).session('mine');
      void other.ensureToken().catch(() => undefined);
    }
    await expect.poll(() => stub.count('POST', LOGIN)).toBe(3);
    expect(await session.products()).toEqual([]);
  });

  it('is sent once per account', async () => {
    const stub = await tokenStub(300);
    const provider = providerFor(stub);
    const accounts = [KEY, { ...KEY, secret: 'other' }, { ...KEY, keyId: 'other' }].map((key) => provider.account(key));
    for (let round = 0; round < 2; round++)
      await Promise.all(accounts.map((account) => account.session(`${round}`).ensureToken()));
    expect(stub.count('POST', LOGIN)).toBe(3);
    expect(accounts.map((account) => account.hasKey({ ...KEY }))).toEqual([true, false, false]);
  });

  it('is retried by the next call after a failure', async () => {
    const stub = await startStub();
    const session = sessionFor(stub);
    stub.on(`POST ${LOGIN}`, { status: 503 });
    expect(await errorOf(session.ensureToken())).toMatchObject({ code: 'PROVIDER_RESPONSE', status: 503 });
    stub.on(`POST ${LOGIN}`, { status: 200, body: { access_token: 'good', expires_in: 300 } });
    await session.ensureToken();
    expect(stub.count('POST', LOGIN)).toBe(2);
  });

  it.each<[Reply, string]>([
    [{ status: 200, body: '' }, 'PROVIDER_PROTOCOL'],
    [{ status: 200, body: '[]' }, 'PROVIDER_PROTOCOL'],
    [{ status: 200, body: { access_token: 5 } }, 'PROVIDER_PROTOCOL'],
    [{ status: 200, body: { access_token: '' } }, 'PROVIDER_PROTOCOL'],
    [{ status: 200, body: { access_token: 'two\r\nx-evil: lines' } }, 'PROVIDER_PROTOCOL'],
    [{ status: 200, body: { access_token: 'x'.repeat(10_000) } }, 'PROVIDER_PROTOCOL'],
    [{ status: 201, body: { access_token: 'a' } }, 'PROVIDER_PROTOCOL'],
    [{ status: 307, headers: { location: '/elsewhere' } }, 'PROVIDER_PROTOCOL'],
    [{ status: 429, headers: { 'retry-after': '3' }, body: { error: 'invalid_client' } }, 'PROVIDER_RATE_LIMITED'],
    [{ status: 500, body: { error: 'invalid_client' } }, 'PROVIDER_RESPONSE'],
  ])('fails if the response is %j', async (reply, code) => {
    const stub = await startStub();
    stub.on(`POST ${LOGIN}`, reply);
    expect(await errorOf(sessionFor(stub).ensureToken())).toMatchObject({ code });
    expect(stub.seen).toHaveLength(1);
  });

  it('quotes code and description of any other failure', async () => {
    const stub = await startStub();
    const body = { error: 'unauthorized_client', error_description: 'This key has no access to the API' };
    stub.on(`POST ${LOGIN}`, { status: 400, body });
    const error = await errorOf(sessionFor(stub).ensureToken());
    expect(error).toMatchObject({ code: 'PROVIDER_RESPONSE', status: 400 });
    expect(error.message).toContain('unauthorized_client: This key has no access to the API');
  });
});

describe('a refused key', () => {
  it.each<Reply>([
    { status: 401, body: { error: 'invalid_client', error_description: 'Unknown key' } },
    { status: 400, body: { error: 'invalid_client', error_description: 'Unknown key' } },
    { status: 401, body: 'Unknown key' },
  ])('is not sent again by later calls: %j', async (reply) => {
    const stub = await startStub();
    stub.on(`POST ${LOGIN}`, reply);
    const session = sessionFor(stub);
    const first = await errorOf(session.ensureToken());
    expect(first).toMatchObject({ code: 'PROVIDER_INVALID_CREDENTIALS' });
    expect(first.message).toContain('Unknown key');
    const calls = [session.products(), session.pollTask(1), session.readServer('a', 'low'), session.ensureToken()];
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toMatchObject({ code: 'PROVIDER_INVALID_CREDENTIALS' });
    }
    expect(stub.seen).toHaveLength(1);
  });

  it('does not affect another key', async () => {
    const stub = await startStub();
    const provider = providerFor(stub);
    const refused = provider.account(KEY).session('');
    stub.on(`POST ${LOGIN}`, { status: 401 });
    await errorOf(refused.ensureToken());
    stub.on(`POST ${LOGIN}`, { status: 200, body: { access_token: 'good' } });
    await provider
      .account({ ...KEY, secret: 'right' })
      .session('')
      .ensureToken();
    expect(await errorOf(refused.ensureToken())).toMatchObject({ code: 'PROVIDER_INVALID_CREDENTIALS' });
  });
});

describe('a retry with a refused key', () => {
  const REFUSAL = { status: 401, body: { error: 'invalid_client', error_description: 'Suspended.' } };
  const MINUTE_MS = 60_000;

  /** A provider that refuses the key until the test changes that, on a clock that starts at 10:00 UTC. */
  async function refusing(random = 0.5) {
    const stub = await startStub();
    const refuse = () => stub.on(`POST ${LOGIN}`, REFUSAL);
    refuse();
    let ms = 0;
    const start = Date.UTC(2026, 0, 1, 10);
    const provider = providerFor(stub, {
      timers: { ...realTimers, monotonic: () => ms, now: () => start + ms, random: () => random },
    });
    const account = provider.account(KEY);
    const session = account.session('');
    return {
      account,
      session,
      refuse,
      logins: () => stub.count('POST', LOGIN),
      pass: (more: number) => void (ms += more),
      refusal: () => errorOf(session.ensureToken()) as Promise<Error & { retryAfterMs?: number }>,
      accept: () => stub.on(`POST ${LOGIN}`, { status: 200, body: { access_token: 'good', expires_in: 300 } }),
      fail: () => stub.on(`POST ${LOGIN}`, { status: 503 }),
    };
  }

  it('is sent after one minute, and then after delays that double up to ten minutes', async () => {
    const { logins, pass, refusal } = await refusing();
    await refusal();
    for (const [index, minutes] of [1, 2, 4, 8, 10, 10].entries()) {
      pass(minutes * MINUTE_MS - 1);
      await refusal();
      expect(logins()).toBe(index + 1);
      pass(1);
      await refusal();
      expect(logins()).toBe(index + 2);
    }
  });

  it.each([
    [0, 54_000],
    [0.999, 66_000],
  ])('is sent after a delay with jitter: %d', async (random, pauseMs) => {
    const { refusal } = await refusing(random);
    expect((await refusal()).retryAfterMs).toBeCloseTo(pauseMs, -2);
  });

  it('is announced in an error that stays the same until then', async () => {
    const { pass, refusal } = await refusing();
    const first = await refusal();
    expect(first.message).toBe(
      'the provider refuses the API key: invalid_client: Suspended. ' +
        'Next try in 1 minute (at 2026-01-01T10:01:00Z), or within a minute after the Secret changes',
    );
    expect(first.retryAfterMs).toBe(MINUTE_MS);
    pass(20_000);
    const second = await refusal();
    expect(second.message).toBe(first.message);
    expect(second.retryAfterMs).toBe(40_000);
    pass(40_000);
    await refusal();
    pass(2 * MINUTE_MS);
    expect((await refusal()).message).toContain('Next try in 4 minutes (at 2026-01-01T10:07:00Z)');
  });

  it('is sent once for 50 calls, succeeds, and counts as one recovery', async () => {
    const { account, session, logins, pass, refusal, accept } = await refusing();
    await refusal();
    accept();
    expect([account.recoveries(), account.isRefused()]).toEqual([0, true]);
    pass(MINUTE_MS);
    await Promise.all(Array.from({ length: 50 }, () => session.ensureToken()));
    pass(MINUTE_MS);
    await session.ensureToken();
    expect(logins()).toBe(2);
    expect([account.recoveries(), account.isRefused()]).toEqual([1, false]);
  });

  it('starts with a short delay again if the key was accepted in between', async () => {
    const { session, pass, refusal, accept, refuse } = await refusing();
    for (const minutes of [1, 2, 4]) {
      await refusal();
      pass(minutes * MINUTE_MS);
    }
    accept();
    await session.ensureToken();
    refuse();
    pass(10 * MINUTE_MS);
    expect((await refusal()).retryAfterMs).toBe(MINUTE_MS);
  });

  it('is sent at once on request, but never twice within 5 seconds', async () => {
    const { account, logins, pass, refusal } = await refusing();
    await refusal();
    account.retryLogin();
    expect(await refusal()).toMatchObject({ retryAfterMs: 5_000 });
    expect(logins()).toBe(1);
    pass(5_000);
    await refusal();
    expect(logins()).toBe(2);
    pass(30_000);
    await refusal();
    expect(logins()).toBe(2);
    account.retryLogin();
    account.retryLogin();
    await Promise.all([refusal(), refusal()]);
    await refusal();
    expect(logins()).toBe(3);
  });

  it('keeps its delays if the provider was down in between', async () => {
    const { account, pass, refusal, refuse, fail } = await refusing();
    await refusal();
    fail();
    pass(MINUTE_MS);
    expect(await refusal()).toMatchObject({ code: 'PROVIDER_RESPONSE' });
    refuse();
    expect(await refusal()).toMatchObject({ retryAfterMs: 2 * MINUTE_MS });
    expect(account.recoveries()).toBe(0);
  });
});

describe('the renewal of a token', () => {
  it.each([
    [300, 269_000, 271_000],
    ['300', 269_000, 271_000],
    [3600, 3_569_000, 3_571_000],
    [10, 7900, 8100],
    [1, 790, 810],
  ])('with a lifetime of %j seconds comes before expiry, counted from issue', async (seconds, before, after) => {
    const stub = await tokenStub(seconds);
    let now = 5000;
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await session.ensureToken();
    now = 5000 + before;
    await session.products();
    expect(stub.count('POST', LOGIN)).toBe(1);
    now = 5000 + after;
    await session.products();
    expect(stub.count('POST', LOGIN)).toBe(2);
  });

  it.each([0, -1, null, undefined, 'soon', '', {}, [], true, '-5', 1e-9, 1e300, '1e999'])(
    'does not cause a storm of logins when expires_in is %j',
    async (expiresIn) => {
      const stub = await tokenStub(expiresIn);
      let now = 0;
      const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
      for (let call = 0; call < 20; call++) {
        now += 20;
        await session.products();
      }
      expect(stub.count('POST', LOGIN)).toBe(1);
      now += 24 * 60 * 60 * 1000;
      await session.products();
      expect(stub.count('POST', LOGIN)).toBe(2);
    },
  );

  it('keeps using the old token while the login fails', async () => {
    const stub = await tokenStub(100);
    let now = 0;
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await session.ensureToken();
    stub.on(`POST ${LOGIN}`, { status: 503 });
    now = 90_000;
    await session.products();
    await session.products();
    expect(stub.count('POST', LOGIN)).toBe(2);
    expect(stub.seen.at(-1)?.headers.authorization).toBe('Bearer token-1');
  });
});

describe('a call that gets 401', () => {
  it('is retried once with a new token', async () => {
    const stub = await tokenStub(300, (token) => token !== 'token-1');
    expect(await sessionFor(stub).products()).toEqual([]);
    expect(stub.count('POST', LOGIN)).toBe(2);
    expect(stub.count('GET', PRODUCTS)).toBe(2);
  });

  it('logs in once for 50 concurrent calls', async () => {
    const revoked = new Set<string>();
    const stub = await tokenStub(300, (token) => !revoked.has(token));
    const session = sessionFor(stub);
    await session.ensureToken();
    revoked.add('token-1');
    await Promise.all(Array.from({ length: 50 }, () => session.products()));
    expect(stub.count('POST', LOGIN)).toBe(2);
  });

  it('does not drop a token that another call has already renewed', async () => {
    const stub = await tokenStub(300, (token) => token !== 'token-1');
    const arrived = Promise.withResolvers<() => void>();
    stub.on('GET /beta/queue/vps/1', ({ headers }, response) => {
      if (headers.authorization === 'Bearer token-1') arrived.resolve(() => response.writeHead(401).end());
      else response.end('{}');
    });
    const session = sessionFor(stub);
    const poll = session.pollTask(1);
    const refuse = await arrived.promise;
    await session.products();
    refuse();
    expect(await poll).toMatchObject({ state: 'pending' });
    expect(stub.count('POST', LOGIN)).toBe(2);
  });

  it('fails after the second 401, with two logins for 50 concurrent calls', async () => {
    const stub = await tokenStub(300, () => false);
    const session = sessionFor(stub);
    const errors = await Promise.all(Array.from({ length: 50 }, () => errorOf(session.products())));
    for (const error of errors) expect(error).toMatchObject({ code: 'PROVIDER_UNAUTHORIZED' });
    expect(stub.count('POST', LOGIN)).toBeLessThanOrEqual(3);
    expect(stub.count('GET', PRODUCTS)).toBe(100);
  });

  it('marks the key as refused by the second 401, until a call succeeds', async () => {
    let isAccepted = false;
    const stub = await tokenStub(300, () => isAccepted);
    const account = providerFor(stub).account(KEY);
    const session = account.session('');
    await errorOf(session.products());
    await session.ensureToken();
    expect(account.isRefused()).toBe(true);
    isAccepted = true;
    await session.products();
    expect([account.isRefused(), account.recoveries()]).toEqual([false, 0]);
  });

  it('fails with the error of the login if the login fails', async () => {
    const stub = await tokenStub(300, () => false);
    const session = sessionFor(stub);
    await session.ensureToken();
    stub.on(`POST ${LOGIN}`, { status: 401, body: { error: 'invalid_client' } });
    expect(await errorOf(session.products())).toMatchObject({ code: 'PROVIDER_INVALID_CREDENTIALS' });
    expect(stub.count('GET', PRODUCTS)).toBe(1);
  });
});
