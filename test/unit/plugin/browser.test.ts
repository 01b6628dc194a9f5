/** Which addresses a browser gets, and which program opens them. */
import { describe, expect, it } from 'vitest';
import { openerFor, webAddress } from '../../../src/plugin/terminal/browser.ts';

describe('a web address', () => {
  it.each([
    ['admin.example.com', 'https://admin.example.com/'],
    ['admin.example.com:8443', 'https://admin.example.com:8443/'],
    ['[2001:db8::1]', 'https://[2001:db8::1]/'],
    ['http://admin.example.com/vps', 'http://admin.example.com/vps'],
    ['HTTPS://admin.example.com', 'https://admin.example.com/'],
    ['admin.example.com/ \u001b[31m"', 'https://admin.example.com/%20%1B[31m%22'],
  ])('of %j is %s', (host, url) => {
    expect(webAddress(host)).toBe(url);
  });

  it.each(['javascript:alert(1)', 'file:///etc/passwd', 'ssh://host', 'user:secret@host', '', 'a b'])(
    'does not come from %j',
    (host) => {
      expect(webAddress(host)).toBeUndefined();
    },
  );
});

describe('the program that opens it', () => {
  it.each([
    ['darwin', {}, ['open']],
    ['win32', {}, ['rundll32', 'url.dll,FileProtocolHandler']],
    ['linux', { DISPLAY: ':0' }, ['xdg-open']],
    ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
    ['linux', { DISPLAY: '', WAYLAND_DISPLAY: 'wayland-0' }, ['xdg-open']],
    ['linux', { DISPLAY: '' }, undefined],
    ['linux', {}, undefined],
  ] as const)('on %s with %j', (platform, env, opener) => {
    expect(openerFor(platform, env)).toEqual(opener);
  });
});
