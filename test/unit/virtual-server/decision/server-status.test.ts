import { describe, expect, it } from 'vitest';
import { statusSchema } from '../../../../src/api/virtual-server.ts';
import { parked } from '../../../../src/virtual-server/decision/outcome.ts';
import { drift, readProgress, serverFields } from '../../../../src/virtual-server/decision/server-status.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { afterPoll } from '../../../../src/virtual-server/operations/follow.ts';
import { cut } from '../../../../src/base/text.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { ACCOUNT, HELD, KNOWN, SERVER, TASKED, facts, shown, web, webWith } from '../../../fixtures/decision.ts';
import { afterLook } from '../../../fixtures/looks.ts';

describe('the fields of a server', () => {
  it('show what the provider shows, and how to reach the server', () => {
    expect(serverFields(SERVER)).toEqual({
      identifier: 'srv1',
      ipv6: ['2001:db8::1'],
      ipv4: [],
      sshProxy: { hostname: 'proxy.example.com', port: 20001 },
      ssh: 'root@proxy.example.com -p 20001',
      serverStatus: 'running',
      name: 'web',
      zone: { name: 'Zone One', code: 'Z1' },
      hostServer: 'host1',
      product: 'VPSX4',
      specs: { cores: 1, ram: 1024, diskSize: 10240, diskType: 'ssd' },
      price: 9.5,
      macs: ['00:00:5e:00:53:01'],
      adminConsole: { hostname: 'admin.srv1.vs.example.com', username: 'srv1' },
    });
  });

  it.each<{ reason: string; changes: Partial<Server>; ssh: string | undefined }>([
    { reason: 'by its address if there is no proxy', changes: { sshProxy: undefined }, ssh: 'root@2001:db8::1' },
    { reason: 'not at all if there is neither', changes: { sshProxy: undefined, ipv6: [] }, ssh: undefined },
    {
      reason: 'never by a name that ssh or a shell would misread',
      changes: { sshProxy: { hostname: '-oProxyCommand=x', port: 22 }, ipv6: ['$(x)'] },
      ssh: undefined,
    },
    {
      reason: 'not by an invalid port',
      changes: { sshProxy: { hostname: 'h', port: 0 }, ipv6: [] },
      ssh: undefined,
    },
  ])('show how to reach the server: $reason', ({ changes, ssh }) => {
    expect(serverFields({ ...SERVER, ...changes }).ssh).toBe(ssh);
  });

  it.each([0, -1, 65_536, 22.5, NaN])('leave out a proxy whose port is %d', (port) => {
    const fields = serverFields({ ...SERVER, sshProxy: { hostname: 'proxy.example.com', port } });
    expect(fields.sshProxy).toBeUndefined();
    expect(fields.ssh).toMatch(/^root@\S+$/);
  });
});

describe('the price of a server', () => {
  const priced = { identifier: 'srv1', price: 1018 };
  it.each([undefined, -5, 1e300, Infinity])('stays the last known one while the provider states %j', (price) => {
    expect(serverFields({ ...SERVER, price }, 1018).price).toBe(1018);
    expect(serverFields({ ...SERVER, price }).price).toBeUndefined();
  });

  it('is the one that the provider states', () => {
    expect(serverFields({ ...SERVER, price: 0 }, 1018).price).toBe(0);
  });

  it('is reported as an old one while it is', () => {
    const object = webWith(KNOWN, { status: { ...priced, serverStatus: 'running' } });
    const given = facts({ key: { ok: true, value: { account: ACCOUNT } } });
    const told = afterLook(viewOf(object, given), KNOWN, shown({ price: undefined }));
    const { message } = told.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    expect(message).toContain('The provider states no price for it; the last known price, 1018.00, counts');
    const fresh = afterLook(viewOf(object, given), KNOWN, shown());
    expect(JSON.stringify(fresh.status?.conditions)).not.toContain('states no price');
  });
});

describe('cutting a text', () => {
  it.each([
    { text: 'abc', bound: 3, result: 'abc' },
    { text: 'abcd', bound: 3, result: 'abc' },
    { text: 'ab😀', bound: 3, result: 'ab' },
    { text: 'ab😀', bound: 4, result: 'ab😀' },
    { text: 'a\ud83db', bound: 3, result: 'a\ufffdb' },
    { text: 'a\u001b[2J\r\n\u2028\u202e\u200bb', bound: 7, result: 'a [2J b' },
  ])('cuts $text at $bound to $result: only whole, printable characters', ({ text, bound, result }) => {
    expect(cut(text, bound)).toBe(result);
  });
});

describe('a status from random answers of the provider', () => {
  const PIECES = [
    '',
    'a',
    '😀',
    '\ud83d',
    '\u0000',
    '"\\',
    'é',
    ' ',
    '%',
    'x'.repeat(300),
    '😀'.repeat(200),
    '12 % 9 seconds',
  ];

  it('fits the schema and survives JSON unchanged', () => {
    for (let seed = 1; seed <= 1_000; seed++) {
      const { server, message } = anything(seed, PIECES);
      const read = afterLook(viewOf(webWith(HELD), facts()), HELD, { ...shown(), server });
      const pending = { type: 'pending', identifier: undefined, status: message } as const;
      const polled = afterPoll(viewOf(webWith(TASKED), facts()), TASKED, pending);
      const refused = parked(viewOf(web(), facts()), { verdict: { reason: 'InvalidSpec', message } });
      for (const { status } of [read, polled, refused]) {
        expect(statusSchema.safeParse(status).error, `seed ${seed}`).toBeUndefined();
        const text = JSON.stringify(status);
        expect(Buffer.from(text).toString(), `seed ${seed}`).toBe(text);
        expect(JSON.parse(text), `seed ${seed}`).toEqual(status);
        expect(/\\ud[89a-f]/i.test(text), `seed ${seed}: a lone surrogate`).toBe(false);
      }
    }
  });
});

/** A server whose fields may each be missing, huge or strange. */
function anything(seed: number, pieces: readonly string[]): { server: Server; message: string } {
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = (): string => Array.from({ length: random(8) }, () => pieces[random(pieces.length)] ?? '').join('');
  const some = <T>(make: () => T): T | undefined => (random(3) === 0 ? undefined : make());
  const number = (): number => [0, 1, -1, 0.5, 2 ** 60, Infinity, -Infinity, NaN, 1e300, 65536][random(10)] ?? 0;
  const texts = (): string[] => Array.from({ length: random(40) }, () => [text(), '2001:db8::1'][random(2)] ?? '');
  const server: Server = {
    identifier: 'srv1',
    name: some(text),
    status: some(text),
    product: some(text),
    price: some(number),
    zone: some(() => ({ name: some(text), code: some(text) })),
    hostServer: some(text),
    specs: some(() => ({ cores: some(number), ram: some(number), diskSize: some(number), diskType: some(text) })),
    ipv4: texts(),
    ipv6: texts(),
    macs: texts(),
    adminConsole: some(() => ({ hostname: text(), username: text() })),
    sshProxy: some(() => ({ hostname: text(), port: number() })),
  };
  return { server, message: text() };
}

describe('readProgress', () => {
  it.each([
    { text: undefined, progress: {} },
    { text: '', progress: {} },
    { text: 'something never seen', progress: {} },
    { text: 'Installing OS, 45% complete', progress: { percent: 45 } },
    { text: 'installing: 12.5 percent', progress: { percent: 12 } },
    { text: 'waiting for DNS and DHCP updates, 30 seconds remaining', progress: { secondsRemaining: 30 } },
    { text: '7s', progress: { secondsRemaining: 7 } },
    { text: '10 % done, 90 secs left', progress: { percent: 10, secondsRemaining: 90 } },
    { text: '250 %', progress: {} },
    { text: '1100%', progress: {} },
    { text: '1.5 seconds', progress: {} },
    { text: '12345678901 seconds', progress: {} },
    { text: 'sda1s4 of 3 steps', progress: {} },
  ])('reads $text as $progress', ({ text, progress }) => {
    expect(readProgress(text)).toEqual(progress);
  });
});

describe('drift', () => {
  const { spec } = web();
  it.each([
    {
      reason: 'the server matches the spec',
      status: { product: 'VPSX4', specs: { diskSize: 10240, diskType: 'ssd' } },
      words: undefined,
    },
    { reason: 'what the provider does not show cannot differ', status: {}, words: undefined },
    { reason: 'the product', status: { product: 'VPSX8' }, words: 'product is VPSX8 instead of VPSX4' },
    {
      reason: 'disk size and type',
      status: { specs: { diskSize: 20480, diskType: 'hdd' } },
      words: 'disk size is 20480 instead of 10240; disk type is hdd instead of ssd',
    },
  ])('names each difference: $reason', ({ status, words }) => {
    expect(drift(spec, status)).toBe(words);
  });
});
