/** The outcome of each response to an order: docs/concepts/design.md, "What an answer to the order means". */
import { describe, expect, it } from 'vitest';
import type { CreateOutcome } from '../../../src/provider/types.ts';
import { providerFor, REQUEST, sessionFor, startStub, order } from './stub-provider.ts';
import type { Reply, StubProvider } from './stub-provider.ts';

const SERVERS = '/beta/vps/servers';

async function create(reply: Reply, prefix = ''): Promise<{ outcome: CreateOutcome; stub: StubProvider }> {
  const stub = await startStub(prefix);
  stub.on(`POST ${SERVERS}`, reply);
  return { outcome: await order(sessionFor(stub)), stub };
}

describe('the request of an order', () => {
  it('sends the documented body with the token, on a connection that is closed afterwards', async () => {
    const { stub } = await create({ status: 202, body: { task: 7 } });
    const post = stub.seen.find(({ path }) => path === SERVERS);
    expect(JSON.parse(post?.body ?? '')).toEqual({
      product: 'VPSX4',
      image: 'debian-13/minimal',
      ssh_keys: REQUEST['ssh_keys'],
      disk_size: 10240,
    });
    expect(post?.headers).toMatchObject({
      authorization: 'Bearer token-1',
      'content-type': 'application/json',
      connection: 'close',
    });
  });
});

describe('an accepted order', () => {
  it.each([7, '12', 0])('takes the task %j from the body', async (task) => {
    const { outcome } = await create({ status: 202, body: { task } });
    expect(outcome).toEqual({ kind: 'created', task: Number(task) });
  });

  it.each([
    ['number', '{"task":9007199254740993}'],
    ['number with a nested text', '{"a":[{"n":1}],"task":9007199254740993,"text":"9007199254740995"}'],
    ['string', '{"task":"9007199254740993"}'],
    ['string with zeros', '{"task":"009007199254740993"}'],
  ])('takes every digit of a task beyond 2^53 from a %s', async (_, body) => {
    const { outcome } = await create({ status: 202, body });
    expect(outcome).toEqual({ kind: 'created', task: '9007199254740993' });
  });

  it('takes every digit of a task beyond 2^53 from a Location', async () => {
    const { outcome } = await create({ status: 202, headers: { location: '/beta/queue/vps/18446744073709551615' } });
    expect(outcome).toEqual({ kind: 'created', task: '18446744073709551615' });
  });

  const LOCATIONS: [string, (origin: string) => string][] = [
    ['absolute', (origin) => `${origin}/p/beta/queue/vps/31`],
    ['absolute path', () => '/p/beta/queue/vps/31'],
    ['relative to the base URL', () => 'beta/queue/vps/31'],
    ['with a trailing slash', (origin) => `${origin}/p/beta/queue/vps/31/`],
    ['with a query', (origin) => `${origin}/p/beta/queue/vps/31?from=create`],
    ['absolute, without the prefix', (origin) => `${origin}/beta/queue/vps/31`],
    ['absolute, with another prefix', (origin) => `${origin}/elsewhere/v2/queue/vps/31`],
    ['an absolute path without the version', () => '/queue/vps/31'],
    ['relative to the versioned URL', () => 'queue/vps/31'],
  ];
  it.each(LOCATIONS)('takes the task from a Location that is %s', async (_name, location) => {
    const stub = await startStub('/p');
    stub.on(`POST ${SERVERS}`, { status: 202, headers: { location: location(stub.origin) } });
    const outcome = await order(sessionFor(stub));
    expect(outcome).toEqual({ kind: 'created', task: 31 });
  });

  it.each(['', '{"task": 1', '<html>', 'null', '{"task":-1}', '{"task":1.5}', '{"task":9.1e15}', '{"task":"x"}'])(
    'takes the task from the Location when the body is %j',
    async (body) => {
      const { outcome } = await create({ status: 202, headers: { location: '/beta/queue/vps/31' }, body });
      expect(outcome).toEqual({ kind: 'created', task: 31 });
    },
  );

  it.each([
    'http://127.0.0.2/beta/queue/vps/31',
    'https://127.0.0.1/beta/queue/vps/31',
    '/beta/queue/other/31',
    '/beta/queue/vps/31/more',
    '/beta/queue/vps/../vps2/31',
    'http://user:pass@127.0.0.1/beta/queue/vps/31',
    '/beta/queue/vps/',
    '/beta/queue/vps/abc',
    '//evil.invalid/beta/queue/vps/31',
    'http://[',
  ])('ignores the Location %s and uses the body', async (location) => {
    const withoutTask = await create({ status: 202, headers: { location }, body: {} });
    expect(withoutTask.outcome).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_PROTOCOL' } });
    const withTask = await create({ status: 202, headers: { location }, body: { task: 5 } });
    expect(withTask.outcome).toEqual({ kind: 'created', task: 5 });
  });

  it('is unknown if body and Location name different tasks', async () => {
    const { outcome } = await create({ status: 202, headers: { location: '/beta/queue/vps/8' }, body: { task: 7 } });
    expect(outcome).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_PROTOCOL' } });
    expect(outcome).toHaveProperty('error.message', expect.stringMatching(/task 7.*task 8/));
  });

  it.each(['', 'garbage', '[]', '{}', '{"task":null}', '{"task":{}}'])(
    'is unknown when nothing names a task and the body is %j',
    async (body) => {
      const { outcome, stub } = await create({ status: 202, body });
      expect(outcome).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_PROTOCOL' } });
      expect(stub.count('POST', SERVERS)).toBe(1);
    },
  );
});

describe('an order that is not accepted', () => {
  it.each([400, 402, 403, 404, 405, 413, 415, 422])(
    'is refused by %i, with the words of the provider',
    async (status) => {
      const { outcome, stub } = await create({ status, body: { message: 'no such product' } });
      expect(outcome).toMatchObject({ kind: 'refused', status, error: { status, said: 'no such product' } });
      const message = `no such product (the provider answered ${status} to the order)`;
      expect(outcome).toHaveProperty('error.message', message);
      expect(stub.count('POST', SERVERS)).toBe(1);
    },
  );

  it('is not created on 429, and reports how long to wait', async () => {
    const { outcome, stub } = await create({ status: 429, headers: { 'retry-after': '17' } });
    expect(outcome).toMatchObject({
      kind: 'notCreated',
      error: { code: 'PROVIDER_RATE_LIMITED', retryAfterMs: 17_000 },
    });
    expect(stub.count('POST', SERVERS)).toBe(1);
  });

  it.each([
    200, 201, 204, 206, 301, 302, 303, 307, 308, 406, 408, 409, 410, 418, 423, 425, 500, 501, 502, 503, 504, 599,
  ])('is unknown on %i, and is not sent again', async (status) => {
    const location = 'http://127.0.0.1:1/beta/queue/vps/31';
    const { outcome, stub } = await create({
      status,
      headers: { location },
      body: status === 204 ? '' : { task: 1 },
    });
    expect(outcome.kind).toBe('unknown');
    expect(stub.count('POST', SERVERS)).toBe(1);
  });
});

describe('an order that succeeds with a status other than 202', () => {
  it.each([
    { status: 201, body: { task: 7 }, location: undefined },
    { status: 200, body: {}, location: '/beta/queue/vps/7' },
    { status: 200, body: { task: 7 }, location: '/beta/queue/vps/7' },
    { status: 206, body: { task: '7' }, location: undefined },
  ])('is unknown and keeps the task named by $status: $body, Location $location', async (reply) => {
    const { status, body, location } = reply;
    const { outcome, stub } = await create({ status, body, headers: location === undefined ? {} : { location } });
    expect(outcome).toMatchObject({ kind: 'unknown', task: 7, error: { code: 'PROVIDER_PROTOCOL' } });
    expect(outcome).toHaveProperty('error.message', expect.stringMatching(`${status} instead of 202.*task 7`));
    expect(stub.count('POST', SERVERS)).toBe(1);
  });

  it.each([
    { status: 200, body: {}, words: /answered 200 instead of 202 and names no task/ },
    { status: 201, body: { task: 8 }, words: /task 8.*task 7/ },
    { status: 202, body: { task: 8 }, words: /task 8.*task 7/ },
  ])('keeps no task if none, or more than one, is named: $status $body', async ({ status, body, words }) => {
    const headers: Record<string, string> = 'task' in body ? { location: '/beta/queue/vps/7' } : {};
    const { outcome } = await create({ status, body, headers });
    expect(outcome).not.toHaveProperty('task', expect.anything());
    expect(outcome).toHaveProperty('error.message', expect.stringMatching(words));
  });
});

describe('an order with a refused token', () => {
  it('logs in again and retries once', async () => {
    const stub = await startStub();
    stub.on(`POST ${SERVERS}`, (request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer token-2' ? 202 : 401).end('{"task":3}');
    });
    expect(await order(sessionFor(stub))).toEqual({ kind: 'created', task: 3 });
    expect(stub.count('POST', '/auth/login')).toBe(2);
    expect(stub.count('POST', SERVERS)).toBe(2);
  });

  it('notes that the first request created nothing before it waits for another login', async () => {
    const stub = await startStub();
    const steps: string[] = [];
    stub.on('POST /auth/login', (_request, response) => {
      steps.push('login');
      response.end('{"access_token":"t","expires_in":300}');
    });
    stub.on(`POST ${SERVERS}`, { status: 401 });
    const step = (name: string) => () => Promise.resolve(void steps.push(name));
    await order(sessionFor(stub), { sending: step('sending'), unsent: step('unsent') });
    expect(steps).toEqual(['login', 'sending', 'unsent', 'login', 'sending']);
  });

  it('is not created after a second 401', async () => {
    const { outcome, stub } = await create({ status: 401 });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_UNAUTHORIZED' } });
    expect(stub.count('POST', SERVERS)).toBe(2);
    expect(stub.count('POST', '/auth/login')).toBe(2);
  });

  it('is not created if the second login fails', async () => {
    const stub = await startStub();
    stub.on(`POST ${SERVERS}`, (_request, response) => {
      stub.on('POST /auth/login', { status: 503 });
      response.writeHead(401).end();
    });
    const outcome = await order(sessionFor(stub));
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_RESPONSE', status: 503 } });
  });

  it('is unknown if the response to the second request is lost', async () => {
    const stub = await startStub();
    let posts = 0;
    stub.on(`POST ${SERVERS}`, (_request, response) => {
      if (++posts === 1) response.writeHead(401).end();
      else response.destroy();
    });
    expect(await order(sessionFor(stub))).toMatchObject({ kind: 'unknown' });
  });
});

describe('an order whose login fails', () => {
  it.each([
    [{ status: 401, body: { error: 'invalid_client' } }, 'PROVIDER_INVALID_CREDENTIALS'],
    [{ status: 503, body: 'down' }, 'PROVIDER_RESPONSE'],
    [{ status: 429 }, 'PROVIDER_RATE_LIMITED'],
    [{ status: 200, body: 'garbage' }, 'PROVIDER_PROTOCOL'],
    [{ status: 302, headers: { location: '/' } }, 'PROVIDER_PROTOCOL'],
  ])('is not created, and nothing is sent: %j', async (reply, code) => {
    const stub = await startStub();
    stub.on('POST /auth/login', reply);
    const outcome = await order(sessionFor(stub));
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code } });
    expect(stub.count('POST', SERVERS)).toBe(0);
  });

  it('is not created if the login exceeds the create timeout, and nothing is sent later', async () => {
    const stub = await startStub();
    const arrived = Promise.withResolvers<() => void>();
    stub.on('POST /auth/login', (_request, response) => {
      arrived.resolve(() => response.end('{"access_token":"late","expires_in":300}'));
    });
    const provider = providerFor(stub, { createTimeoutMs: 50 });
    const session = provider.account({ keyId: 'key', secret: 'secret' }).session('');
    expect(await order(session)).toMatchObject({
      kind: 'notCreated',
      error: { code: 'PROVIDER_TIMEOUT' },
    });
    // On a busy machine, the order may time out before the login arrives.
    const answer = await arrived.promise;
    answer();
    await session.ensureToken();
    // Read over another connection after the login, so a late order would have time to arrive.
    await session.products().catch(() => undefined);
    expect(stub.count('POST', SERVERS)).toBe(0);
  });
});
