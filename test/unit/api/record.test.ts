import { describe, expect, it } from 'vitest';
import {
  attemptedText,
  formatRecord,
  mirrorIn,
  newerRecord,
  parseRecord,
  type ServerRecord,
} from '../../../src/api/record.ts';
import { without } from '../../../src/base/without.ts';
import { ATTEMPTED, HELD, KNOWN } from '../../fixtures/decision.ts';

function parsed(text: string): ServerRecord {
  const result = parseRecord(text);
  if (!result.ok || result.value === undefined) throw new Error(`${text} is not read`);
  return result.value;
}

describe('the text of a record', () => {
  it.each([
    ['of a version that wrote no format', HELD],
    ['of this version', { format: 1, ...KNOWN }],
    [
      'with keys of a newer version',
      { ...HELD, aZone: { name: 'Z1', codes: [1, { a: null }] }, 'x-y': null, zone: '' },
    ],
    [
      'with keys of a newer version in an orphan and in the fingerprint',
      { ...HELD, fingerprint: { macs: ['a'], serial: 7 }, orphans: [{ task: 1, since: '2026' }] },
    ],
    [
      'with a key of a newer version in what was ordered',
      { ...ATTEMPTED, ordered: { attempt: 'a1', product: 'VPSX4', userDataDigest: '1f3c', later: 7 }, task: 7 },
    ],
  ])('%s is the same after reading and writing it', (_, record) => {
    const text = JSON.stringify(record);
    expect(formatRecord(parsed(text))).toBe(text);
  });

  it('keeps every digit of a task beyond 2^53, and takes no other text for a task', () => {
    const record = { ...HELD, task: '9007199254740993', orphans: [{ task: '18446744073709551615' }] };
    expect(parsed(JSON.stringify(record))).toEqual(record);
    expect(formatRecord(parsed(JSON.stringify(record)))).toBe(JSON.stringify(record));
    for (const task of ['7', '09007199254740993', 'x', '', 1.5, -1]) {
      expect(parseRecord(JSON.stringify({ ...HELD, task }))).toMatchObject({ ok: false });
    }
  });

  it.each([ATTEMPTED, HELD, KNOWN, { ...HELD, attempt: undefined, failed: [{ attempt: 'a0', identifier: 's' }] }])(
    'shows by a pattern whether the record has an attempt: %j',
    (record) => {
      for (const each of [record, { ...record, format: 2, account: 'some account' }]) {
        const isAttempted = (owner: string): boolean => new RegExp(attemptedText(owner)).test(formatRecord(each));
        expect([isAttempted(record.owner), isAttempted('another')]).toEqual([each.attempt !== undefined, false]);
      }
    },
  );

  it('is the same for any order of the keys', () => {
    const { owner, mode, ...rest } = HELD;
    const text = JSON.stringify({ zone: 1, plan: 2, ...rest, mode, owner });
    expect(formatRecord(parsed(text))).toBe(JSON.stringify({ ...HELD, plan: 2, zone: 1 }));
  });
});

describe('a record of a newer version', () => {
  it.each([
    ['format 3', { ...HELD, format: 3 }],
    ['format 3', { format: 3 }],
    ['mode "import"', { ...HELD, mode: 'import' }],
    ['format 1000', { ...HELD, format: 1000, mode: 'import' }],
  ])('is recognized by %s', (unknown, record) => {
    expect(newerRecord(record)).toMatchObject({ unknown });
    expect(parseRecord(JSON.stringify(record))).toMatchObject({ ok: false, error: { newer: { unknown } } });
  });

  it.each([undefined, null, 7, 'format 3', [3], {}, HELD, { ...HELD, format: 1 }, { ...HELD, zone: { format: 3 } }])(
    'is not %j',
    (record) => expect(newerRecord(record)).toBeUndefined(),
  );

  it.each([0, -1, 1.5, '2', null, [2]])('is not recognized by the invalid format %j', (format) => {
    const result = parseRecord(JSON.stringify({ ...HELD, format }));
    expect(result).toMatchObject({ ok: false, error: { problem: expect.stringContaining('format') as string } });
    expect(result).not.toHaveProperty('error.newer');
  });
});

describe('the mirror of a record', () => {
  const mirror = (record: object | undefined) => mirrorIn({ record });

  it.each([HELD, KNOWN, { ...HELD, zone: { a: null } }, { ...HELD, format: 3, task: 'seven' }, { format: 3 }])(
    'is used unchanged: %j',
    (record) => expect(mirror(record)).toBe(record),
  );

  it('has only the valid fields of a spoiled one', () => {
    const spoiled = { ...HELD, zone: 1, task: -1, fingerprint: 7, readyAt: 'yesterday', orphans: {}, settled: [1] };
    const { task: _task, fingerprint: _fingerprint, ...valid } = HELD as ServerRecord;
    expect(mirror(spoiled)).toEqual({ ...valid, zone: 1 });
    expect(mirror({ ...HELD, format: '1' })).toEqual(without(HELD, 'format'));
  });

  it.each([undefined, {}, [], { ...HELD, owner: 7 }, { ...HELD, mode: undefined }, { ...HELD, mode: [] }])(
    'is none: %j',
    (record) => expect(mirror(record)).toBeUndefined(),
  );
});
