import { describe, expect, it } from 'vitest';
import { ACCEPT_SERVER_ANNOTATION } from '../../../../src/api/names.ts';
import { MAX_FINGERPRINT, recordSchema, type Fingerprint, type ServerRecord } from '../../../../src/api/record.ts';
import {
  compare,
  fingerprintOf,
  isSameFingerprint,
  recognize,
  type Purpose,
} from '../../../../src/virtual-server/decision/identity.ts';
import { ACCOUNT, ELSEWHERE, HELD, KNOWN, OTHER_KEY, SERVER, record, web } from '../../../gen/decision.ts';

const MAC = '00:00:5e:00:53:01';
const OTHER_MAC = '00:00:5e:00:53:ff';
const IPV6 = '2001:db8::1';
const shown = (macs: string[], ipv6: string[] = []) => ({ macs, ipv6 });

describe('the fingerprint', () => {
  it.each<{ reason: string; of: ReturnType<typeof shown>; is: Fingerprint }>([
    { reason: 'hardware addresses if there are any', of: shown([MAC], [IPV6]), is: { macs: [MAC] } },
    { reason: 'IPv6 addresses otherwise', of: shown([], [IPV6]), is: { ipv6: [IPV6] } },
    { reason: 'empty if nothing is shown', of: shown([]), is: {} },
    { reason: 'the same for every spelling', of: shown([' 00-00-5E-00-53-01', MAC, '']), is: { macs: [MAC] } },
    { reason: 'the same in any order', of: shown([OTHER_MAC, MAC]), is: { macs: [MAC, OTHER_MAC] } },
    {
      reason: 'without values that no field could hold',
      of: shown(['x'.repeat(65), '\ud800'], [IPV6]),
      is: { ipv6: [IPV6] },
    },
  ])('is $reason', ({ of, is }) => {
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
  const accepts = (word: string) => web({ annotations: { [ACCEPT_SERVER_ANNOTATION]: word } });
  const known = (
    own: ServerRecord,
    changes: object,
    account = ACCOUNT,
    object = web(),
    purpose: Purpose = 'look',
  ): ReturnType<typeof recognize> => recognize(object, own, { ...SERVER, ...changes }, account, purpose);

  it.each<{ reason: string; own: ServerRecord; changes?: object; account?: string; becomes: ServerRecord }>([
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
      becomes: record({ identifier: 'srv1', fingerprint: { macs: [MAC] }, account: OTHER_KEY }),
    },
  ])('accepts $reason', ({ own, changes = {}, account, becomes }) => {
    expect(known(own, changes, account)).toEqual({ ok: true, record: becomes });
  });

  it.each([
    { reason: 'unchanged', changes: {} },
    { reason: 'shown with a second hardware address', changes: { macs: [OTHER_MAC, MAC] } },
    { reason: 'shown with other IPv6 addresses', changes: { ipv6: ['2001:db8::2'] } },
  ])('leaves the record of a server $reason unchanged', ({ changes }) => {
    for (const purpose of ['look', 'doubt', 'cancel'] as const) {
      const result = known(KNOWN, changes, ACCOUNT, web(), purpose);
      expect(result.ok && result.record).toBe(KNOWN);
    }
  });

  const bare = { ...HELD, fingerprint: {} };
  const addressed = { ...HELD, fingerprint: { ipv6: [IPV6] } };
  const moved = { macs: [], ipv6: ['2001:db8::2'] };
  it.each<{ reason: string; own: ServerRecord; changes: object; enoughFor: Purpose[] }>([
    { reason: 'no earlier read', own: HELD, changes: {}, enoughFor: ['look', 'doubt', 'cancel'] },
    { reason: 'a first read that showed nothing', own: bare, changes: {}, enoughFor: ['look', 'cancel'] },
    { reason: 'no read that showed anything', own: bare, changes: blank, enoughFor: ['look', 'cancel'] },
    { reason: 'a known hardware address that is not shown', own: KNOWN, changes: blank, enoughFor: ['look'] },
    { reason: 'known IPv6 addresses, while others are shown', own: addressed, changes: moved, enoughFor: ['look'] },
    { reason: 'known IPv6 addresses that are not shown', own: addressed, changes: blank, enoughFor: ['look'] },
    { reason: 'another hardware address', own: KNOWN, changes: other, enoughFor: [] },
  ])('accepts identifier and account with $reason for: $enoughFor', ({ own, changes, enoughFor }) => {
    const purposes: Purpose[] = ['look', 'doubt', 'cancel'];
    const enough = purposes.filter((purpose) => known(own, changes, ACCOUNT, web(), purpose).ok);
    expect(enough).toEqual(enoughFor);
  });

  it.each<{ reason: string; own: ServerRecord; changes?: object; account?: string; isOther: boolean }>([
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
    expect(refused).toMatchObject({ ok: false, isOther });
    const word = refused.ok ? '' : refused.word;
    const accepted = known(own, changes, account, accepts(word));
    expect(accepted.ok && accepted.record).toEqual({
      ...HELD,
      account: account ?? ACCOUNT,
      fingerprint: fingerprintOf({ ...SERVER, ...changes }),
    });
    expect(known(own, changes, account, accepts('srv1')).ok).toBe(false);
  });

  it('gives an annotation value that accepts only one server', () => {
    const refused = known(KNOWN, other);
    const word = refused.ok ? '' : refused.word;
    expect(word).toBe(`srv1@${OTHER_MAC}`);
    expect(known(KNOWN, { macs: ['00:00:5e:00:53:fe'] }, ACCOUNT, accepts(word)).ok).toBe(false);
  });
});
