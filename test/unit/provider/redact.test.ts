/** No credential reaches an error: neither its message nor its cause nor its inspected or JSON form. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { excerpt } from '../../../src/provider/failure.ts';
import { hiding, Redactor } from '../../../src/provider/redact.ts';
import type { ApiKey } from '../../../src/provider/types.ts';
import { errorOf, providerFor, REQUEST, sessionFor, startRaw, startStub, order } from './stub-provider.ts';

const KEY: ApiKey = { keyId: 'key-id-4711', secret: 'hush:+%41/secret "ü"' };
const BASIC = Buffer.from(`${KEY.keyId}:${KEY.secret}`).toString('base64');
const FORBIDDEN = [
  KEY.keyId,
  KEY.secret,
  'hush',
  BASIC,
  encodeURIComponent(KEY.secret),
  Buffer.from(KEY.secret).toString('base64'),
  'token-1',
  'AAAAC3NzaC1lZDI1NTE5AAAAIFirst',
];

/** Everything that a logger could show of an error, including causes. */
function exposed(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    parts.push(at.message, String(at.stack), JSON.stringify(at), JSON.stringify(at, Object.getOwnPropertyNames(at)));
  }
  return [...parts, inspect(error, { depth: 10, showHidden: true })].join('\n');
}

function expectClean(error: unknown): void {
  for (const secret of FORBIDDEN) expect(exposed(error)).not.toContain(secret);
  expect((error as Error).message.length).toBeLessThanOrEqual(512);
}

describe('a text that is hidden', () => {
  const data = '#cloud-config\nusers:\n  - name: deploy\n    passwd: "s3cr3t hash"\n';
  const { clean } = hiding(new Redactor(KEY), data);

  it.each([
    ['whole', data],
    ['in part', 'passwd: "s3cr3t hash"'],
    ['as JSON', JSON.stringify({ user_data_string: data })],
    ['as base64', Buffer.from(data).toString('base64')],
    ['cut in the middle of a word', data.slice(30, 55)],
  ])('is masked where a message quotes it %s', (_how, quoted) => {
    const cleaned = clean(`Invalid user data: ${quoted} in line 1`);
    expect(cleaned).toMatch(/^Invalid user data.*\*\*\*/);
    expect(cleaned).toMatch(/line 1$/);
    for (const part of ['s3cr3t', 'deploy', 'passwd', 'czNjcjN0']) expect(cleaned).not.toContain(part);
  });

  it('leaves other messages as they are, and keeps on masking the key', () => {
    expect(clean('No host has room for this product')).toBe('No host has room for this product');
    expect(clean(KEY.secret)).toBe('***');
    expect(hiding(new Redactor(KEY), undefined).clean('any text')).toBe('***');
    expect(hiding(new Redactor(KEY), undefined).clean('')).toBe('');
    expect(hiding(new Redactor(KEY), '').clean('any text')).toBe('any text');
  });

  it.each(['x', 'hunter2'])('is hidden with all that a message says if it is shorter than a passage: %s', (short) => {
    const { clean } = hiding(new Redactor(KEY), short);
    expect(clean(`the password ${short} is too weak`)).toBe('***');
    expect(clean('')).toBe('');
  });

  it.each([
    ['user_data line 2: weak password hunter2.', 'user_data line 2: weak password ***.'],
    ['is it hunter2? really', 'is it ***? really'],
    ['unknown user "deploy"', 'unknown user "***"'],
    ['unknown group `deploy`, line 3', 'unknown group `***`, line 3'],
    ['deploy has failed: no host in zone lon1', 'deploy has failed: no host in zone lon1'],
    ['the image "debian" is not there', 'the image "debian" is not there'],
  ])('hides short parts that are quoted, or are no words: %s', (said, shown) => {
    const short = '#cloud-config\nusers: [deploy]\nurl: postgres://app:hunter2@db/shop\n';
    expect(hiding(new Redactor(KEY), short).clean(said)).toBe(shown);
  });

  it('does not reach a cause', () => {
    const cause = hiding(new Redactor(KEY), data).cause(new Error(`odd: ${data}`));
    expect(exposed(cause)).not.toContain('s3cr3t');
  });
});

const ECHO = `key ${KEY.keyId} secret ${KEY.secret} basic ${BASIC} Bearer token-1 ${REQUEST['ssh_keys']}`;

describe('a provider error that echoes credentials', () => {
  it.each([
    { error: 'odd', error_description: ECHO },
    { error: ECHO },
    { error: 'invalid_client', error_description: ECHO },
    ECHO,
    { message: encodeURIComponent(KEY.secret) },
    { message: `${KEY.secret.slice(0, 6)}\u0000${KEY.secret.slice(6)}` },
    { message: `${'x'.repeat(190)}${KEY.secret}` },
  ])('shows none of them if it comes from the login: %j', async (body) => {
    const stub = await startStub();
    stub.on('POST /auth/login', { status: 400, body });
    expectClean(await errorOf(sessionFor(stub, {}, KEY).ensureToken()));
  });

  it.each([400, 404, 429, 500, 302])('shows none of them if it comes from a call with status %i', async (status) => {
    const stub = await startStub();
    const location = `${stub.origin}/token-1/${BASIC}`;
    for (const route of ['GET /beta/queue/vps/5', 'GET /beta/vps/products', 'DELETE /beta/vps/servers/a']) {
      stub.on(route, { status, headers: { location }, body: { message: ECHO } });
    }
    stub.on('POST /beta/vps/servers', { status, headers: { location }, body: { message: ECHO } });
    const session = sessionFor(stub, {}, KEY);
    expectClean(await errorOf(session.pollTask(5)));
    expectClean(await errorOf(session.products()));
    expectClean(await errorOf(session.deleteServer('a')));
    const outcome = await order(session);
    expectClean('error' in outcome && outcome.error);
  });

  it('shows none of them if the response is not HTTP or not JSON', async () => {
    const { authUrl } = await startStub();
    const answers = [
      `${ECHO}\r\n\r\n`,
      `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${ECHO}`,
      `HTTP/1.1 200 OK\r\n${BASIC}\r\n\r\n`,
    ];
    for (const answer of answers) {
      const raw = await startRaw((socket) => socket.end(answer));
      const session = sessionFor({ baseUrl: raw.origin, authUrl }, {}, KEY);
      expectClean(await errorOf(session.products()));
      const outcome = await order(session);
      expectClean('error' in outcome && outcome.error);
    }
  });

  it('shows neither the old nor the new token after another login', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', ({ headers }, response) => {
      const [status, body] = headers.authorization === 'Bearer token-1' ? [401, ''] : [500, 'was token-1 is token-2'];
      response.writeHead(status).end(body);
    });
    const error = await errorOf(sessionFor(stub, {}, KEY).products());
    expect(error.message).toContain('was *** is ***');
  });

  it('shows the rest of the text', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', { status: 500, body: { message: `before ${KEY.secret} after` } });
    const error = await errorOf(sessionFor(stub, {}, KEY).products());
    expect(error.message).toContain('before *** after');
  });
});

describe('a key ID that begins with the secret', () => {
  it('is masked completely', () => {
    expect(new Redactor({ keyId: 'hush-4711-key', secret: 'hush-4711' }).clean('hush-4711-key and hush-4711')).toBe(
      '*** and ***',
    );
  });
});

describe('a secret that is an ordinary word', () => {
  const pair = Buffer.from('key-4711:wrong').toString('base64');
  const clean = (text: string) => new Redactor({ keyId: 'key-4711', secret: 'wrong' }).clean(text);

  it.each([
    'Unknown key or wrong secret',
    'invalid_client: wrong secret, or wrong',
    "'wrong secret'",
    'wrongly signed',
    'API key is wrong.',
  ])('is not masked in a phrase: %s', (text) => {
    expect(clean(text)).toBe(text);
  });

  it.each([
    ['secret=wrong', 'secret=***'],
    ['secret: wrong', 'secret: ***'],
    ['the secret "wrong" is not valid', 'the secret "***" is not valid'],
    ["'wrong'", "'***'"],
    ['{"secret":"wrong"}', '{"secret":"***"}'],
    ['https://someone:wrong@api.example.org/', 'https://someone:***@api.example.org/'],
    ['key-4711:wrong is unknown', '*** is unknown'],
    [`got ${pair}`, 'got ***'],
    ['got d3Jvbmc=', 'got ***'],
  ])('is masked where it appears as a value: %s', (text, masked) => {
    expect(clean(text)).toBe(masked);
  });

  it('has at most 7 lowercase letters; any other secret is masked everywhere', () => {
    for (const secret of ['wrongful', 'Wrong', 'wr0ng', 'wr-ong', '秘密', '4711']) {
      expect(new Redactor({ keyId: 'key-4711', secret }).clean(`a ${secret} secret${secret}`)).toBe('a *** secret***');
    }
    expect(new Redactor({ keyId: 'key-4711', secret: ' wrong\n' }).clean('a wrong secret')).toBe('a wrong secret');
  });
});

describe('a key ID', () => {
  it.each([
    ['unknown', 'unknown client', 'unknown client'],
    ['unknown', 'the pair unknown:s3cret-4711', 'the pair ***'],
    ['short', 'a short one', 'a short one'],
    ['unknown-1', 'the key unknown-1', 'the key ***'],
  ])('%s is masked unless it is a word: %s', (keyId, text, masked) => {
    expect(new Redactor({ keyId, secret: 's3cret-4711' }).clean(text)).toBe(masked);
  });
});

describe('sessions and providers', () => {
  it('show no credential when inspected', async () => {
    const stub = await startStub();
    const provider = providerFor(stub);
    const account = provider.account(KEY);
    const session = account.session('');
    await session.ensureToken();
    const all = [provider, account, session];
    const shown = `${inspect(all, { depth: 10 })}${JSON.stringify(all)}`;
    for (const secret of FORBIDDEN) expect(shown).not.toContain(secret);
  });

  it('name the account by a hash of only the base URL and the key ID', async () => {
    const { authUrl } = await startStub();
    const account = (baseUrl: string, key: ApiKey = KEY) => providerFor({ baseUrl, authUrl }).account(key).name;
    const own = account('https://api.example.org/x');
    expect(own).toMatch(/^[0-9a-f]{16}-[0-9a-f]{16}$/);
    expect(account('https://API.example.org:443/x//')).toBe(own);
    expect(account('https://api.example.org/x', { ...KEY, secret: 'rotated' })).toBe(own);
    expect(account('https://api.example.org/y')).not.toBe(own);
    expect(account('https://api.example.org/x', { ...KEY, keyId: 'other' })).not.toBe(own);
  });
});

describe('the excerpt of an error body', () => {
  const of = (body: unknown) => excerpt(typeof body === 'string' ? body : JSON.stringify(body), new Redactor(KEY));

  it.each([
    [{ message: 'm' }, 'm'],
    [{ detail: 'd', title: 't' }, 'd: t'],
    [{ error: 'e', error_description: 'ed' }, 'e: ed'],
    [{ error: { message: 'nested' } }, 'nested'],
    [{ error: 'same', message: 'same' }, 'same'],
    [{ code: 5 }, ''],
    [{ message: 5 }, ''],
    ['short plain text', 'short plain text'],
    ['two\nlines\u0007\u001b[31m', 'two lines[31m'],
    ['<html><body>Bad gateway</body></html>', ''],
    ['Sorry <b>no</b>', ''],
    ['x'.repeat(201), ''],
    ['["list"]', ''],
    ['{"message":"cut', ''],
  ])('of %j is %j', (body, text) => {
    expect(of(body)).toBe(text);
  });

  it('has at most 200 characters, none of them cut in half', () => {
    const text = of({ message: `${'x'.repeat(199)}🔑` });
    expect(text).toHaveLength(200);
    expect(text.isWellFormed()).toBe(true);
  });

  it('is empty for a body that is too large to be a message', () => {
    expect(of({ message: 'm', more: 'x'.repeat(70_000) })).toBe('');
  });
});
