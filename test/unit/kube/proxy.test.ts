import { describe, expect, it } from 'vitest';
import { environmentProxy } from '../../../src/kube/proxy.ts';

const PROXY = 'http://proxy.example.org:3128/';

describe('the proxy of the environment', () => {
  // Each row is the answer of http.ProxyFromEnvironment in Go 1.26.
  it.each<[exceptions: string, server: string, isProxied: boolean]>([
    ['', 'https://api.example', true],
    ['', 'https://localhost:6443', false],
    ['', 'https://127.1.2.3:6443', false],
    ['', 'https://[::1]:6443', false],
    ['', 'https://[::ffff:127.0.0.1]:6443', false],
    ['', 'https://api.localhost', true],
    ['', 'https://0.0.0.0:6443', true],
    ['*', 'https://a.example', false],
    ['*:443', 'https://a.example', true],
    ['a.example, *', 'https://b.example', false],
    ['example.org', 'https://example.org', false],
    ['example.org', 'https://api.example.org', false],
    ['example.org', 'https://myexample.org', true],
    ['EXAMPLE.org', 'https://API.example.ORG', false],
    ['example.org', 'https://example.org.', true],
    ['.example.org', 'https://api.example.org', false],
    ['.example.org', 'https://example.org', true],
    ['*.example.org', 'https://a.b.example.org', false],
    ['*.example.org', 'https://example.org', true],
    ['a.example b.example', 'https://b.example', true],
    ['a.example,,b.example,', 'https://b.example', false],
    ['example.org:8443', 'https://api.example.org:8443', false],
    ['example.org:8443', 'https://api.example.org', true],
    ['example.org:443', 'https://api.example.org', false],
    ['example.org:', 'https://api.example.org', false],
    ['münchen.example', 'https://münchen.example', false],
    ['192.0.2.7', 'https://192.0.2.7', false],
    ['192.0.2.7', 'https://192.0.2.70', true],
    ['192.0.2.7:443', 'https://192.0.2.7:8443', true],
    ['192.0.2.7', 'https://[::ffff:192.0.2.7]', false],
    ['::ffff:192.0.2.7', 'https://192.0.2.7', false],
    ['192.0.2.0/24', 'https://192.0.2.7:8443', false],
    ['192.0.2.0/24:8443', 'https://192.0.2.7:8443', true],
    ['192.0.2.0/33', 'https://192.0.2.1', true],
    ['::/0', 'https://192.0.2.1', true],
    ['0.0.0.0/0', 'https://[2001:db8::1]', true],
    ['2001:db8::/32', 'https://[2001:db8:1::1]', false],
    ['2001:0DB8:0:0::1', 'https://[2001:db8::1]', false],
    ['2001:db8::1%eth0', 'https://[2001:db8::1]', true],
    ['[2001:db8::1]', 'https://[2001:db8::1]', true],
    ['[2001:db8::1]:443', 'https://[2001:db8::1]', false],
    ['.1', 'https://10.0.0.1', false],
    ['10.*', 'https://10.1.1.1', true],
    ['http://a.example', 'https://a.example', true],
  ])('except %s, for %s: the statement that it is used is %s', (exceptions, server, isProxied) => {
    expect(environmentProxy(server, { HTTPS_PROXY: PROXY, NO_PROXY: exceptions })).toBe(isProxied ? PROXY : undefined);
  });

  it.each<[env: NodeJS.ProcessEnv, server: string, proxy: string | undefined]>([
    [{ HTTPS_PROXY: 'http://one', HTTP_PROXY: 'http://two' }, 'https://a.example', 'http://one/'],
    [{ HTTPS_PROXY: 'http://one', HTTP_PROXY: 'http://two' }, 'http://a.example', 'http://two/'],
    [{ HTTP_PROXY: 'http://two' }, 'https://a.example', undefined],
    [{ HTTPS_PROXY: '', https_proxy: 'http://three' }, 'https://a.example', 'http://three/'],
    [{ HTTPS_PROXY: 'http://one', https_proxy: 'http://three' }, 'https://a.example', 'http://one/'],
    [{ HTTPS_PROXY: 'http://one', no_proxy: 'b.example' }, 'https://b.example', undefined],
    [{ HTTPS_PROXY: 'http://one', no_proxy: 'b.example', NO_PROXY: 'c' }, 'https://b.example', 'http://one/'],
    [{ ALL_PROXY: 'http://one' }, 'https://a.example', undefined],
    [{ HTTPS_PROXY: 'proxy:3128' }, 'https://a.example', 'http://proxy:3128/'],
    [{ HTTPS_PROXY: 'user:pass@proxy.example:3128' }, 'https://a.example', 'http://user:pass@proxy.example:3128/'],
    [{ HTTPS_PROXY: '[::1]:3128' }, 'https://a.example', 'http://[::1]:3128/'],
    [{ HTTPS_PROXY: 'socks5h://proxy' }, 'https://a.example', 'socks5h://proxy'],
  ])('%j for %s is %s', (env, server, proxy) => {
    expect(environmentProxy(server, env)).toBe(proxy);
  });

  it.each(['ftp://u:pa55@proxy', 'http://u:pa55@', 'http://u:pa55%zz@proxy', 'http://u:pa55@proxy:99999'])(
    'such as %s gets an error that names the variable and quotes nothing',
    (text) => {
      const message = (() => {
        try {
          return environmentProxy('https://a.example', { https_proxy: text });
        } catch (error) {
          return (error as Error).message;
        }
      })();
      expect(message).toMatch(/^https_proxy is not valid: give an http, https or socks5 URL/);
      expect(message).not.toContain('pa55');
    },
  );
});
