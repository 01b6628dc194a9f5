import { describe, expect, it } from 'vitest';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Others } from '../../../../src/virtual-server/decision/types.ts';
import { ACCEPT_SERVER_ANNOTATION } from '../../../../src/api/names.ts';
import { MAX_FINGERPRINT, recordSchema, type Fingerprint, type Held } from '../../../../src/api/record.ts';
import {
  compare,
  fingerprintOf,
  isSameFingerprint,
  recognize,
  type Purpose,
} from '../../../../src/virtual-server/decision/identity.ts';
import { ACCOUNT, ELSEWHERE, HELD, KNOWN, OTHER_KEY, SERVER, others, record, web } from '../../../fixtures/decision.ts';

const MAC = '00:00:5e:00:53:01';
const OTHER_MAC = '00:00:5e:00:53:ff';
const IPV6 = '2001:db8::1';
const ZERO = '00:00:00:00:00:00';
const LINK_LOCAL = 'fe80::1';
const shown = (macs: string[], ipv6: string[] = []) => ({ macs, ipv6 });

describe('an address that identifies nothing', () => {
  it.each([
    ZERO,
    '00-00-00-00-00-00',
    '0:0:0:0:0:0',
    '0000.0000.0000',
    '000000000000',
    'FF:FF:FF:FF:FF:FF',
    '01:00:5e:00:00:fb',
    '1:0:5e:0:0:fb',
    '0100.5e00.00fb',
    '33:33:00:00:00:01',
    '-',
    '',
  ])('is the hardware address "%s"', (mac) => {
    expect(fingerprintOf(shown([mac, MAC]))).toEqual({ macs: [MAC] });
    expect(fingerprintOf(shown([mac], [IPV6]))).toEqual({ ipv6: [IPV6] });
    expect(compare({ macs: [mac] }, shown([mac]))).toBe('unknown');
    expect(compare({ macs: [mac] }, shown([MAC]))).toBe('unknown');
    expect(compare({ macs: [MAC] }, shown([mac]))).toBe('unknown');
    expect(compare({ macs: [MAC, mac] }, shown([OTHER_MAC, mac]))).toBe('different');
  });

  it.each([
    '::',
    '0:0:0:0:0:0:0:0',
    '::/0',
    '::1',
    '0:0:0:0:0:0:0:1/128',
    LINK_LOCAL,
    'FE80:0000::0001',
    'fe80::1%eth0',
    'fe80::1/64',
    'febf::1',
    'ff02::1',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
    '::ffff:0.0.0.0',
    '::ffff:127.0.0.1',
    '::FFFF:7F00:1',
    '::ffff:169.254.0.1',
    '::ffff:224.0.0.1',
    '127.0.0.1',
    '255.255.255.255',
  ])('is the IPv6 address %s', (address) => {
    expect(fingerprintOf(shown([], [address, IPV6]))).toEqual({ ipv6: [IPV6] });
    expect(compare({ ipv6: [address] }, shown([], [address]))).toBe('unknown');
  });

  it.each(['2001:db8::1', 'fd00::1', 'fec0::1', '::ffff:192.0.2.1', '192.0.2.1', 'host-17'])(
    'is not the IPv6 address %s',
    (address) => expect(compare({ ipv6: [address] }, shown([], [address.toUpperCase()]))).toBe('same'),
  );
});

describe('the fingerprint', () => {
  it.each<[reason: string, of: ReturnType<typeof shown>, is: Fingerprint]>([
    ['hardware and IPv6 addresses', shown([MAC], [IPV6]), { macs: [MAC], ipv6: [IPV6] }],
    ['IPv6 addresses otherwise', shown([], [IPV6]), { ipv6: [IPV6] }],
    ['IPv6 addresses if the hardware address is a placeholder', shown([ZERO], [IPV6]), { ipv6: [IPV6] }],
    ['empty if nothing is shown', shown([]), {}],
    ['what is shown if it identifies nothing', shown([ZERO], [LINK_LOCAL]), { macs: [ZERO], ipv6: [LINK_LOCAL] }],
    ['what is shown of IPv6 if it identifies nothing', shown([], [LINK_LOCAL]), { ipv6: [LINK_LOCAL] }],
    [
      'the same for every spelling of an IPv6 address',
      shown([], ['2001:DB8:0:0::1', '2001:db8::1/64', IPV6]),
      { ipv6: [IPV6] },
    ],
    ['the same for every spelling', shown([' 00-00-5E-00-53-01', MAC, '']), { macs: [MAC] }],
    ['the same in any order', shown([OTHER_MAC, MAC]), { macs: [MAC, OTHER_MAC] }],
    ['without values that no field could hold', shown(['x'.repeat(65), '\ud800'], [IPV6]), { ipv6: [IPV6] }],
  ])('is %s', (_reason, of, is) => {
    expect(fingerprintOf(of)).toEqual(is);
  });

  it('fits into a record, however much the server shows', () => {
    const many = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(64, '0'));
    for (const of of [shown(many), shown([], many)]) {
      const fingerprint = fingerprintOf(of);
      expect(Object.values(fingerprint).flat()).toHaveLength(MAX_FINGERPRINT);
      expect(recordSchema.safeParse(record({ fingerprint })).success).toBe(true);
    }
  });
});

describe('comparing fingerprints', () => {
  it.each<{ known: Fingerprint | undefined; of: ReturnType<typeof shown>; is: string }>([
    { known: { macs: [MAC] }, of: shown([MAC]), is: 'same' },
    { known: { macs: [MAC] }, of: shown(['00-00-5E-00-53-01']), is: 'same' },
    { known: { macs: [MAC] }, of: shown([OTHER_MAC, MAC]), is: 'same' },
    { known: { macs: [MAC] }, of: shown([OTHER_MAC]), is: 'different' },
    { known: { macs: [MAC] }, of: shown([OTHER_MAC], [IPV6]), is: 'different' },
    { known: { macs: [MAC] }, of: shown([]), is: 'unknown' },
    { known: { ipv6: [IPV6] }, of: shown([], [IPV6]), is: 'same' },
    { known: { ipv6: [IPV6] }, of: shown([OTHER_MAC], [IPV6]), is: 'same' },
    { known: { ipv6: [IPV6] }, of: shown([], ['2001:db8::2']), is: 'unknown' },
    { known: { ipv6: ['2001:DB8:0:0::1'] }, of: shown([], [`${IPV6}/64`]), is: 'same' },
    { known: { macs: [ZERO] }, of: shown([ZERO], [IPV6]), is: 'unknown' },
    { known: {}, of: shown([MAC]), is: 'unknown' },
    { known: undefined, of: shown([MAC]), is: 'unknown' },
  ])('finds $known and $of to be $is', ({ known, of, is }) => {
    expect(compare(known, of)).toBe(is);
  });

  it('of two records matches them only by a value that both contain', () => {
    expect(isSameFingerprint({ macs: [MAC] }, { macs: [MAC] })).toBe(true);
    expect(isSameFingerprint({ macs: [MAC] }, { macs: [OTHER_MAC] })).toBe(false);
    expect(isSameFingerprint({}, {})).toBe(false);
    expect(isSameFingerprint({ macs: [MAC] }, undefined)).toBe(false);
    expect(isSameFingerprint(undefined, { macs: [MAC] })).toBe(false);
  });
});

describe('recognizing a server', () => {
  const missingAt = '2026-01-01T12:00:00Z';
  const blank = { macs: [], ipv6: [] };
  const other = { macs: [OTHER_MAC] };
  const accepts = (value: string) => web({ annotations: { [ACCEPT_SERVER_ANNOTATION]: value } });
  const known = (
    own: Held,
    changes: object,
    account = ACCOUNT,
    object = web(),
    purpose: Purpose = 'look',
  ): ReturnType<typeof recognize> => recognize(object, own, { ...SERVER, ...changes }, account, purpose, others());

  it.each<{ reason: string; own: Held; changes?: object; account?: string; becomes: Held }>([
    { reason: 'the first server that it sees', own: HELD, becomes: KNOWN },
    {
      reason: 'a server without any addresses',
      own: HELD,
      changes: blank,
      becomes: { ...HELD, fingerprint: {} },
    },
    {
      reason: 'the same hardware address under another key',
      own: KNOWN,
      account: OTHER_KEY,
      becomes: { ...KNOWN, account: OTHER_KEY },
    },
    {
      reason: 'the same hardware address at another base URL',
      own: KNOWN,
      account: ELSEWHERE,
      becomes: { ...KNOWN, account: ELSEWHERE },
    },
    {
      reason: 'the same hardware address after the server had counted as gone',
      own: { ...KNOWN, missingAt },
      becomes: KNOWN,
    },
    {
      reason: 'a server whose hardware address appears later than its IPv6 address',
      own: { ...HELD, fingerprint: { ipv6: [IPV6] } },
      becomes: KNOWN,
    },
    {
      reason: 'a record of an earlier version, which names no account',
      own: record({ identifier: 'srv1' }),
      account: OTHER_KEY,
      becomes: record({ identifier: 'srv1', fingerprint: { macs: [MAC], ipv6: [IPV6] }, account: OTHER_KEY }),
    },
  ])('accepts $reason', ({ own, changes = {}, account, becomes }) => {
    expect(known(own, changes, account)).toEqual({ ok: true, value: becomes });
  });

  const bare = { ...HELD, fingerprint: {} };
  const addressed = { ...HELD, fingerprint: { ipv6: [IPV6] } };
  const moved = { macs: [], ipv6: ['2001:db8::2'] };
  const zero = { ...HELD, fingerprint: { macs: [ZERO] } };
  const zeros = { macs: [ZERO], ipv6: [] };
  const local = { ...HELD, fingerprint: { ipv6: [LINK_LOCAL] } };
  const locals = { macs: [], ipv6: [LINK_LOCAL] };
  it.each<[reason: string, enoughFor: Purpose[], own: Held, changes: object]>([
    ['no earlier read', ['look', 'doubt', 'cancel'], HELD, {}],
    ['a first read that showed nothing', ['look', 'cancel'], bare, {}],
    ['no read that showed anything', ['look', 'cancel'], bare, blank],
    ['a known hardware address that is not shown', ['look'], KNOWN, blank],
    ['known IPv6 addresses, while others are shown', ['look'], addressed, moved],
    ['known IPv6 addresses that are not shown', ['look'], addressed, blank],
    ['a first read that showed a placeholder', ['look'], zero, zeros],
    ['a first read that showed a placeholder, now an address', ['look'], zero, {}],
    ['a first read that showed only a link-local address', ['look'], local, locals],
    ['a known hardware address, while a placeholder is shown', ['look'], KNOWN, zeros],
    ['another hardware address', [], KNOWN, other],
  ])('accepts identifier and account with %s for: %s', (_reason, enoughFor, own, changes) => {
    const purposes: Purpose[] = ['look', 'doubt', 'cancel'];
    const enough = purposes.filter((purpose) => known(own, changes, ACCOUNT, web(), purpose).ok);
    expect(enough).toEqual(enoughFor);
  });

  it.each<{ reason: string; own: Held; changes?: object; account?: string; isOther: boolean }>([
    { reason: 'another hardware address', own: KNOWN, changes: other, isOther: true },
    {
      reason: 'another hardware address under another key',
      own: KNOWN,
      changes: other,
      account: OTHER_KEY,
      isOther: true,
    },
    { reason: 'no hardware address under another key', own: KNOWN, changes: blank, account: OTHER_KEY, isOther: false },
    { reason: 'a server never read, under another key', own: HELD, account: OTHER_KEY, isOther: false },
    { reason: 'a server never read, at another base URL', own: HELD, account: ELSEWHERE, isOther: false },
    {
      reason: 'other IPv6 addresses under another key',
      own: { ...HELD, fingerprint: { ipv6: [IPV6] } },
      changes: { macs: [], ipv6: ['2001:db8::2'] },
      account: OTHER_KEY,
      isOther: false,
    },
    { reason: 'no proof after it had counted as gone', own: { ...HELD, missingAt }, isOther: false },
    {
      reason: 'another hardware address after it had counted as gone',
      own: { ...KNOWN, missingAt },
      changes: other,
      isOther: true,
    },
  ])('rejects $reason until you set the annotation value that it gives', ({ own, changes = {}, account, isOther }) => {
    const refused = known(own, changes, account);
    expect(refused).toMatchObject({ ok: false, error: { isOther } });
    const value = refused.ok ? '' : refused.error.accepts;
    const accepted = known(own, changes, account, accepts(value));
    expect(accepted.ok && accepted.value).toEqual({
      ...HELD,
      account: account ?? ACCOUNT,
      fingerprint: fingerprintOf({ ...SERVER, ...changes }),
    });
    expect(known(own, changes, account, accepts('srv1')).ok).toBe(false);
  });

  it.each<{ reason: string; own: Held; changes?: object }>([
    { reason: 'only placeholders before', own: zero },
    { reason: 'only placeholders, then and now', own: local, changes: locals },
    { reason: 'other IPv6 addresses before', own: addressed, changes: { ipv6: ['2001:db8::2'] } },
  ])('does not learn the addresses of a server that showed $reason', ({ own, changes = {} }) => {
    const result = known(own, changes);
    expect(result.ok && result.value).toBe(own);
  });

  it('rejects the own address of a server that has the mark of another order, if this order had named its own', () => {
    const name = 'default/web (99999999)';
    const sent = { at: '2026-01-01T00:00:00Z', body: 'x' };
    const ordered: Held = { ...KNOWN, mode: 'named', attempt: 'a1', sent };
    expect(known(ordered, { name })).toMatchObject({ ok: false, error: { isOther: false } });
    expect(known(ordered, { name: 'default/web' }).ok).toBe(true);
    // It was handed over, with the name that its giver's order sent.
    expect(known({ ...ordered, mode: 'adopt' }, { name }).ok).toBe(true);
  });

  it('learns the addresses of a server that had shown none', () => {
    const result = known(bare, {});
    expect(result.ok && result.value).toEqual(KNOWN);
  });
});

describe('an address that another server shows too', () => {
  const SHARED: Record<string, string[]> = { [MAC]: ['default/other'], [IPV6]: ['default/other'] };
  const missing = { ...KNOWN, missingAt: '2026-01-01T12:00:00Z' };
  const asked = (
    own: Held,
    purpose: Purpose,
    given: { object?: VirtualServer; changes?: object; account?: string; holders?: Record<string, string[]> } = {},
  ): ReturnType<typeof recognize> => {
    const { object = web(), changes = {}, account = ACCOUNT, holders = SHARED } = given;
    const withAddress: Others['withAddress'] = (address, asker) =>
      asker.identifier === 'srv1' && asker.account === account ? (holders[address] ?? []) : [];
    return recognize(object, own, { ...SERVER, ...changes }, account, purpose, others({ withAddress }));
  };

  it.each<{ reason: string; own: Held; purpose: Purpose; account?: string }>([
    { reason: 'to cancel it', own: KNOWN, purpose: 'cancel' },
    { reason: 'after a 404', own: KNOWN, purpose: 'doubt' },
    { reason: 'under another key', own: KNOWN, purpose: 'look', account: OTHER_KEY },
    { reason: 'after the server had counted as gone', own: missing, purpose: 'look' },
  ])('does not prove the identity $reason, until you accept the server', ({ own, purpose, account = ACCOUNT }) => {
    const refused = asked(own, purpose, { account });
    expect(refused).toMatchObject({ ok: false, error: { isOther: false, accepts: `srv1@${MAC}` } });
    expect(refused).toHaveProperty(
      'error.why',
      expect.stringContaining(`address ${MAC}, but the server of default/other`),
    );
    const object = web({ annotations: { [ACCEPT_SERVER_ANNOTATION]: `srv1@${MAC}` } });
    expect(asked(own, purpose, { account, object })).toEqual({ ok: true, value: { ...KNOWN, account } });
  });

  it.each<{ own: string; holders: Record<string, string[]> }>([
    { own: 'IPv6 address', holders: { [MAC]: ['default/other'] } },
    { own: 'hardware address', holders: { [IPV6]: ['default/other'] } },
  ])('does not matter if the $own is only its own', ({ holders }) => {
    expect(asked(KNOWN, 'cancel', { holders }).ok).toBe(true);
    // All addresses of the record may be shared, or gone.
    expect(asked(KNOWN, 'cancel', { holders, changes: { macs: [MAC], ipv6: ['2001:db8::2'] } }).ok).toBe(
      holders[MAC] === undefined,
    );
  });

  it('does not matter if the server shows another known address that is only its own', () => {
    const own = { ...HELD, fingerprint: { macs: [MAC, OTHER_MAC] } };
    expect(asked(own, 'cancel', { changes: { macs: [MAC, OTHER_MAC] } }).ok).toBe(true);
  });

  it('teaches no hardware address', () => {
    const own = { ...HELD, fingerprint: { ipv6: [IPV6] } };
    const result = asked(own, 'look', { holders: { [IPV6]: ['default/other'] } });
    expect(result.ok && result.value).toBe(own);
  });

  it('names an object of the same namespace, and none of another one', () => {
    const names = (holders: string[]) => asked(KNOWN, 'cancel', { holders: { [MAC]: holders, [IPV6]: holders } });
    expect(names(['a/first', 'default/other'])).toHaveProperty('error.why', expect.stringContaining('default/other'));
    const hidden = names(['a/first', 'b/second']);
    expect(hidden).toHaveProperty('error.why', expect.stringContaining('an object in another namespace'));
    expect(JSON.stringify(hidden)).not.toContain('first');
  });
});
