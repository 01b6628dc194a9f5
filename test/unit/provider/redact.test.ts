/** No credential reaches an error: neither its message nor its cause nor its inspected or JSON form. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { excerpt } from '../../../src/provider/failure.ts';
import { passwordsIn } from '../../../src/provider/passwords.ts';
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
    ['unknown code ab12cd, line 4', 'unknown code ***, line 4'],
    ['unknown user "deploy"', 'unknown user "***"'],
    ['unknown group `deploy`, line 3', 'unknown group `***`, line 3'],
    ['deploy has failed: no host in zone lon1', 'deploy has failed: no host in zone lon1'],
    ['the image "debian" is not there', 'the image "debian" is not there'],
  ])('hides short parts that are quoted, or are no words: %s', (said, shown) => {
    const short = '#cloud-config\nusers: [deploy]\nurl: postgres://app:hunter2@db/shop\nruncmd: [join ab12cd]\n';
    expect(hiding(new Redactor(KEY), short).clean(said)).toBe(shown);
  });

  it.each([
    { field: 'password: 482913', said: 'weak one (482913)', shown: 'weak one (***)' },
    { field: 'password: p@ss1', said: 'p@ss1 is too short', shown: '*** is too short' },
    { field: 'password: a:1b/2', said: 'a:1b/2 is too short', shown: '*** is too short' },
    { field: 'pwd: Hunter', said: 'password Hunter is too short', shown: 'password *** is too short' },
    { field: 'pwd: hunter', said: 'weak password: hunter', shown: 'weak password: ***' },
    { field: 'password: xKqTv', said: 'xKqTv is no good', shown: '*** is no good' },
    { field: 'password: "x1 y2 z"', said: 'one x1 y2 z is too short', shown: 'one *** is too short' },
    { field: `password: "ab'1c"`, said: `"ab'1c" is too short`, shown: '"***" is too short' },
    { field: `passwd: 'ab''1c'`, said: `one ab'1c is too short`, shown: 'one *** is too short' },
    { field: 'password: "a\\"1c"', said: 'one a"1c is too short', shown: 'one *** is too short' },
    { field: 'password: ab1-c!', said: 'one ab1-c! is too short', shown: 'one *** is too short' },
    { field: 'password: Zé1ü', said: 'one Zé1ü is too short', shown: 'one *** is too short' },
    { field: 'pwd: a+1%c', said: 'value=a%2B1%25c', shown: 'value=***' },
    { field: 'password: ab12 # for now', said: 'one ab12 is weak', shown: 'one *** is weak' },
    { field: 'users: [{passwd: ab12, token: 5533}]', said: 'ab12 and 5533', shown: '*** and ***' },
    { field: 'password: |\n  77881', said: 'one 77881 is weak', shown: 'one *** is weak' },
    { field: 'DB_PASSWORD=7788 run', said: 'one 7788 is weak', shown: 'one *** is weak' },
    { field: 'rootPassword=7788', said: 'one 7788 is weak', shown: 'one *** is weak' },
    { field: '--db-pass=7788', said: 'one 7788 is weak', shown: 'one *** is weak' },
    { field: '{"api_key": "77-88"}', said: 'one 77-88 is unknown', shown: 'one *** is unknown' },
    { field: 'url: redis://:7788@cache', said: 'cannot use 7788', shown: 'cannot use ***' },
    { field: 'chpasswd:\n  list: |\n    root:7788', said: 'of root, 7788', shown: 'of root, ***' },
    { field: 'runcmd:\n  - echo "root:7788" | chpasswd', said: 'of root, 7788', shown: 'of root, ***' },
  ])('hides a short password because its field is called so: $field', ({ field, said, shown }) => {
    expect(hiding(new Redactor(KEY), `#cloud-config\n${field}\n`).clean(said)).toBe(shown);
  });

  it.each([
    { field: 'pwd: host', said: 'No host has room, and no other host either' },
    { field: 'pwd: Error', said: 'Error: no room' },
    { field: 'pwd: no', said: 'no host has room' },
    { field: 'pwd: 20', said: 'a quota of 20 servers, 200 GB' },
    { field: 'pwd: 4829', said: 'task 14829 has failed' },
    { field: 'lock_passwd: true', said: 'the name must be true' },
    { field: 'ssh_pwauth: 5022', said: 'port 5022' },
    { field: 'bypass: 5022\ncompass=5022', said: 'port 5022' },
    { field: 'passwordless: 5022', said: 'port 5022' },
    { field: 'at: root:5022', said: 'port 5022' },
    { field: 'chpasswd: {expire: false}\ntime: 10:30', said: 'false, at 10:30' },
  ])('leaves the words of the provider where they are no password: $field', ({ field, said }) => {
    expect(hiding(new Redactor(KEY), `#cloud-config\n${field}\n`).clean(said)).toBe(said);
  });

  /**
   * How many times as long `work` takes for one text as for 32 texts of a 32nd of its length, at best; with the square of the length, 32
   * times. Both take about as long, so a busy machine interrupts both as often.
   */
  const growth = (part: string, work: (text: string) => void): number => {
    const textOf = (length: number): string => `- echo root:Xy | chpasswd\n${part.repeat(length / part.length)}x`;
    const tookMs = (text: string, times: number): number => {
      const started = performance.now();
      for (let done = 0; done < times; done++) work(text);
      return performance.now() - started;
    };
    const [long, short] = [textOf(131_072), textOf(4_096)];
    const rounds = Array.from({ length: 5 }, () => ({ one: tookMs(long, 1), many: tookMs(short, 32) }));
    return Math.min(...rounds.map(({ one }) => one)) / Math.min(...rounds.map(({ many }) => many));
  };

  it.each([
    ...['a', 'a1', 'password=', 'pass', 'pass-', '-', '://', '://a:b', 'x:', 'x:y |', ' ', 'token: "'],
    ...['pass="a\\"', "psk=''", 'x:y | chpasswd'],
  ])('is searched in a time that grows no faster than the text: %j', (part) => {
    expect(growth(part, passwordsIn)).toBeLessThan(12);
  });

  it('is hidden however many and long the passwords in it are, in the words of the provider and of no error', () => {
    const long = Array.from({ length: 900 }, (_, at) => `password: "${'+'.repeat(200)}${at}"`).join('\n');
    const url = `x://user:${'+'.repeat(30_000)}@host`;
    for (const text of [long, url, `x:${'+'.repeat(60_000)}\nchpasswd`])
      expect(hiding(new Redactor(KEY), text).clean(`bad text: ${text.slice(0, 4_000)}`)).not.toContain('+++++++');
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
