import { describe, expect, it } from 'vitest';
import { FlagError } from '../../../src/config/flag-values.ts';
import { parseConfig } from '../../../src/config/config.ts';
import { parseProxies } from '../../../src/config/proxy.ts';

const PROXY = 'http://proxy.example.org:3128';

/** Whether a URL goes through a proxy despite this NO_PROXY. */
function isProxied(origin: string, noProxy: string): boolean {
  return parseProxies({ HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY, NO_PROXY: noProxy })(origin) !== undefined;
}

function errorOf(env: NodeJS.ProcessEnv): string {
  try {
    parseProxies(env);
    return 'no error';
  } catch (error) {
    if (error instanceof FlagError) return error.message;
    throw error;
  }
}

describe('the proxy for a URL', () => {
  it('is none without variables, or with empty ones', () => {
    expect(parseProxies({})('https://api.example.org')).toBeUndefined();
    expect(parseProxies({ HTTPS_PROXY: '', https_proxy: ' ' })('https://api.example.org')).toBeUndefined();
  });

  it.each([
    ['https://api.example.org', 'HTTPS_PROXY'],
    ['http://api.example.org', 'HTTP_PROXY'],
  ])('for %s comes from %s alone', (origin, variable) => {
    const both = { HTTPS_PROXY: PROXY, HTTP_PROXY: PROXY };
    expect(parseProxies(both)(origin)).toEqual({ origin: PROXY, variable });
    expect(parseProxies({ ...both, [variable]: '' })(origin)).toBeUndefined();
  });

  it('may be given in lower case; the upper case goes first', () => {
    const other = 'http://other.example.org';
    const both = { HTTPS_PROXY: other, https_proxy: PROXY };
    expect(parseProxies(both)('https://a.example')).toEqual({ origin: other, variable: 'HTTPS_PROXY' });
    const lower = { https_proxy: PROXY, no_proxy: 'b.example' };
    expect(parseProxies(lower)('https://a.example')).toEqual({ origin: PROXY, variable: 'https_proxy' });
    expect(parseProxies(lower)('https://b.example')).toBeUndefined();
    expect(parseProxies({ ...lower, NO_PROXY: 'a.example' })('https://b.example')).toBeDefined();
  });

  it.each([
    ['proxy.example.org:3128', 'http://proxy.example.org:3128'],
    ['proxy.example.org', 'http://proxy.example.org'],
    [' HTTPS://Proxy.Example.org:443/ ', 'https://proxy.example.org'],
    ['http://[2001:DB8::1]:3128', 'http://[2001:db8::1]:3128'],
    ['192.0.2.1:8080', 'http://192.0.2.1:8080'],
  ])('given as %s is %s', (text, origin) => {
    expect(parseProxies({ HTTPS_PROXY: text })('https://a.example')?.origin).toBe(origin);
  });

  it.each([
    ['http://user:pass@proxy:3128', 'user:pass'],
    ['user:pass@proxy:3128', 'user:pass'],
    ['http://user@proxy', 'user:'],
    ['http://:pass@proxy', ':pass'],
    ['http://us%20er:p%40ss%3A%2F%25@proxy', 'us er:p@ss:/%'],
    ['http://user:p@ss@proxy', 'user:p@ss'],
    ['http://user:%C3%BC@proxy', 'user:ü'],
  ])('gets the credentials of %s, which its origin does not contain', (text, pair) => {
    const { origin = '', authorization = '' } = parseProxies({ HTTPS_PROXY: text })('https://a.example') ?? {};
    expect(Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()).toBe(pair);
    expect(origin).toMatch(/^http:\/\/proxy(:3128)?$/);
  });
});

describe('an invalid proxy', () => {
  it.each([
    'socks5://user:pa55@proxy:1080',
    'ftp://proxy',
    'http://',
    'http://user:pa55/pa55@proxy:3128',
    'http://user:12/pa55@proxy:3128',
    'http://user:12#pa55@proxy:3128',
    'http://user:12?pa55@proxy:3128',
    'http://user:pa55@proxy:99999',
    'http://user:pa55@proxy:port',
    'http://user:pa55',
    'http://user:pa55@pro xy',
    'http://proxy/path',
    'http://proxy?query',
    'http://user:pa55@proxy%',
  ])('such as %s gets an error that names the variable and a valid form, and quotes nothing', (text) => {
    for (const variable of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) {
      const message = errorOf({ [variable]: text });
      expect(message).toMatch(new RegExp(`^${variable} is not valid: give an http or https URL without path, such as`));
      expect(message).not.toContain('pa55');
    }
  });

  it.each(['http://user:pa55%@proxy', 'http://us%er:pa55@proxy', 'http://user:pa55%E4@proxy'])(
    'such as %s gets an error about its encoding',
    (text) => {
      const message = errorOf({ HTTPS_PROXY: text });
      expect(message).toMatch(/^HTTPS_PROXY is not valid: user and password must be percent-encoded/);
      expect(message).not.toContain('pa55');
    },
  );

  it('ends the start like an invalid flag', () => {
    const argv = ['--base-url=https://a.example', '--auth-url=https://b.example'];
    expect(parseConfig(argv, { HTTPS_PROXY: 'socks5://proxy' })).toMatchObject({
      kind: 'error',
      message: expect.stringMatching(/^HTTPS_PROXY is not valid/) as string,
    });
  });
});

describe('NO_PROXY', () => {
  it.each<[string, string, boolean]>([
    ['*', 'https://api.example.org', false],
    ['*:443', 'https://api.example.org', false],
    ['*:443', 'https://api.example.org:8443', true],
    ['a.example, *', 'https://api.example.org', false],
    ['example.org', 'https://example.org', false],
    ['example.org', 'https://api.example.org', false],
    ['example.org', 'https://myexample.org', true],
    ['example.org', 'https://example.org.example.net', true],
    ['EXAMPLE.org', 'https://API.example.ORG', false],
    ['example.org.', 'https://example.org', false],
    ['example.org', 'https://example.org.', false],
    ['.example.org', 'https://api.example.org', false],
    ['.example.org', 'https://example.org', true],
    ['*.example.org', 'https://a.b.example.org', false],
    ['*.example.org', 'https://example.org', true],
    ['a.example b.example', 'https://b.example', false],
    ['a.example,,b.example,', 'https://b.example', false],
    ['example.org:8443', 'https://api.example.org:8443', false],
    ['example.org:8443', 'https://api.example.org', true],
    ['example.org:443', 'https://api.example.org', false],
    ['example.org:80', 'http://api.example.org', false],
    ['example.org:80', 'https://api.example.org', true],
    ['localhost', 'http://localhost:8080', false],
    ['', 'http://localhost:8080', true],
    ['', 'http://127.0.0.1:8080', true],
    ['192.0.2.7', 'https://192.0.2.7', false],
    ['192.0.2.7', 'https://192.0.2.70', true],
    ['192.0.2.7:443', 'https://192.0.2.7:8443', true],
    ['192.0.2.0/24', 'https://192.0.2.7:8443', false],
    ['192.0.2.0/24', 'https://192.0.3.7', true],
    ['192.0.2.0/24', 'https://api.example.org', true],
    ['0.0.0.0/0', 'https://192.0.3.7', false],
    ['::1', 'https://[::1]:8443', false],
    ['[::1]', 'https://[::1]', false],
    ['[::1]:8443', 'https://[::1]:8443', false],
    ['[::1]:8443', 'https://[::1]', true],
    ['2001:0DB8:0:0::1', 'https://[2001:db8::1]', false],
    ['2001:db8::/32', 'https://[2001:db8:1::1]', false],
    ['2001:db8::/32', 'https://[2001:db9::1]', true],
  ])('%s: the statement that %s is proxied is %s', (noProxy, origin, expected) => {
    expect(isProxied(origin, noProxy)).toBe(expected);
  });

  it.each([
    'http://api.example.org',
    'api.example.org/path',
    'api.example.org:port',
    'api.example.org:0',
    'api.example.org:65536',
    '192.0.2.0/33',
    '192.0.2.0/24/8',
    '192.0.2.0/',
    '2001:db8::/129',
    '[::1',
    '[192.0.2.1]',
    '[localhost]:80',
    '10.*',
    'a..b',
    '<local>',
  ])('with the entry %s gets an error that quotes the entry and names the valid forms', (entry) => {
    const message = errorOf({ HTTPS_PROXY: PROXY, NO_PROXY: `a.example,${entry}` });
    expect(message).toMatch(/^NO_PROXY: "(.*)" is not valid: give a comma-separated list of host names/);
    expect(message).toContain(JSON.stringify(entry));
    expect(errorOf({ HTTPS_PROXY: PROXY, no_proxy: entry })).toMatch(/^no_proxy: /);
  });

  it.each([
    ['http://user:pa55@proxy', 1],
    ['a.example,http://user:pa,55@proxy', 2],
    ['a.example http://user:pa 55@proxy', 2],
  ])('does not quote a password: %s', (noProxy, position) => {
    const message = errorOf({ HTTPS_PROXY: PROXY, NO_PROXY: noProxy });
    expect(message).toMatch(new RegExp(`^NO_PROXY: entry ${position} is not valid`));
    expect(message).not.toMatch(/pa,?55|user:pa/);
  });

  it('is not read without a proxy', () => {
    expect(errorOf({ NO_PROXY: '10.*' })).toBe('no error');
  });
});
