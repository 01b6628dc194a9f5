import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION, START_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { withVerdict } from '../../../../src/controller/conditions.ts';
import { knownRecord, viewRecord, type RecordView } from '../../../../src/virtual-server/decision/record.ts';
import type { AttemptNote } from '../../../../src/virtual-server/decision/types.ts';
import { ACCOUNT, ATTEMPTED, HELD, record, TASKED, UID, web, type Shape } from '../../../fixtures/decision.ts';

const minted: AttemptNote = { attempt: 'a1', state: 'minted', account: ACCOUNT };
const sending: AttemptNote = { attempt: 'a1', state: 'sending', account: ACCOUNT };
const accepted: AttemptNote = { attempt: 'a1', state: 'task', task: 7, account: ACCOUNT };
const foreign = { ...HELD, owner: 'another-uid' };
const adopted = record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' });
const unknown = (keys: object): ServerRecord => ({ ...HELD, ...keys });
const tooNew = (what: string, held: object): RecordView => ({
  kind: 'tooNew',
  unknown: what,
  held: { ...record({ format: 1 }), ...held },
});
const own = (content: ServerRecord, stale: boolean): RecordView => ({ kind: 'own', record: content, stale });
const problem = (text: string, other = 'status.record'): unknown => ({
  kind: 'conflict',
  problem: expect.stringContaining(text) as string,
  other,
});

const because = (reason: ReadyReason): NonNullable<Shape['status']> => ({
  conditions: withVerdict([], { reason, message: 'as of now' }, 1, 0),
});

interface Case {
  reason: string;
  shape: Shape;
  notes?: AttemptNote[];
  view: unknown;
}

const cases: Case[] = [
  { reason: 'nothing anywhere means never attempted', shape: {}, view: { kind: 'none' } },
  { reason: 'an attempt that was only minted sent nothing', shape: {}, notes: [minted], view: { kind: 'none' } },
  {
    reason: "the operator's finalizer without a record is a loss",
    shape: { finalizers: [FINALIZER] },
    view: { kind: 'missing' },
  },
  {
    reason: 'another finalizer means nothing',
    shape: { finalizers: ['example.org/other'] },
    view: { kind: 'none' },
  },
  {
    reason: 'text that is not JSON is invalid, whatever the mirror contains',
    shape: { annotated: '{', mirror: HELD },
    view: { kind: 'invalid', problem: 'it is not JSON', isAlone: false },
  },
  {
    reason: 'a record of another object is foreign',
    shape: { annotated: foreign },
    view: { kind: 'foreign', record: foreign, startOver: false },
  },
  {
    reason: 'start-over names this object',
    shape: { annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } },
    view: { kind: 'foreign', record: foreign, startOver: true },
  },
  {
    reason: 'start-over of another object, as on a copy, has no effect',
    shape: { annotated: foreign, annotations: { [START_OVER_ANNOTATION]: 'another-uid' } },
    view: { kind: 'foreign', record: foreign, startOver: false },
  },
  {
    reason: 'a mirror of another object alone does not count',
    shape: { mirror: foreign, finalizers: [] },
    view: { kind: 'none' },
  },
  {
    reason: 'a lost mirror is no contradiction',
    shape: { annotated: HELD },
    view: own(HELD, false),
  },
  { reason: 'a lost annotation is restored from the mirror', shape: { mirror: HELD }, view: own(HELD, true) },
  {
    reason: 'a mirror of this object replaces the annotation of another object',
    shape: { annotated: foreign, mirror: HELD },
    view: own(HELD, true),
  },
  {
    reason: 'a lost finalizer is restored',
    shape: { annotated: HELD, mirror: HELD, finalizers: [] },
    view: own(HELD, true),
  },
  {
    reason: 'an object that is being deleted gets no new finalizer',
    shape: { annotated: HELD, mirror: HELD, finalizers: ['example.org/other'], deleting: true },
    view: own(HELD, false),
  },
  { reason: 'the mirror may lag', shape: { annotated: HELD, mirror: ATTEMPTED }, view: own(HELD, false) },
  {
    reason: 'an annotation that was rolled back is updated',
    shape: { annotated: ATTEMPTED, mirror: HELD },
    view: own(HELD, true),
  },
  {
    reason: 'an annotation rolled back to before the attempt does not lose it',
    shape: { annotated: record({ account: ACCOUNT }), mirror: TASKED },
    view: own(TASKED, true),
  },
  {
    reason: 'two identifiers contradict each other',
    shape: { annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } },
    view: problem('identifier is srv1 in the annotation and srv2 in status.record'),
  },
  {
    reason: 'two tasks contradict each other',
    shape: { annotated: TASKED, mirror: { ...TASKED, task: 8 } },
    view: problem('task is 7'),
  },
  {
    reason: 'two attempts contradict each other',
    shape: { annotated: ATTEMPTED, mirror: { ...ATTEMPTED, attempt: 'a0' } },
    view: problem('attempt is a1'),
  },
  {
    reason: 'an adoption resolves the attempt that the mirror still has, which is then written',
    shape: { annotated: adopted, mirror: ATTEMPTED },
    view: own(adopted, true),
  },
  {
    reason: 'an adoption outlives an annotation that was rolled back to the attempt',
    shape: { annotated: ATTEMPTED, mirror: adopted },
    view: own(adopted, true),
  },
  {
    reason: 'orphans of both sides are kept, without duplicates',
    shape: {
      annotated: { ...HELD, orphans: [{ task: 1 }] },
      mirror: { ...HELD, orphans: [{ task: 1 }, { task: 2 }] },
    },
    view: own({ ...HELD, orphans: [{ task: 1 }, { task: 2 }] }, true),
  },
  {
    reason: 'an attempt that was sent returns from the journal',
    shape: {},
    notes: [sending],
    view: own(record({ format: 1, attempt: 'a1', account: ACCOUNT }), true),
  },
  {
    reason: 'the time of an order returns from the journal',
    shape: {},
    notes: [{ ...accepted, mintedAt: '2026-01-01T23:59:00.000Z' }],
    view: own({ ...TASKED, format: 1, attemptedAt: '2026-01-01T23:59:00.000Z' }, true),
  },
  {
    reason: 'an accepted task returns from the journal',
    shape: {},
    notes: [accepted],
    view: own(record({ format: 1, attempt: 'a1', account: ACCOUNT, task: 7 }), true),
  },
  {
    reason: 'an attempt that was sent wins over a record of another object',
    shape: { annotated: foreign },
    notes: [sending],
    view: own(record({ format: 1, attempt: 'a1', account: ACCOUNT }), true),
  },
  {
    reason: 'the journal completes the record with its task',
    shape: { annotated: ATTEMPTED },
    notes: [accepted],
    view: own(TASKED, true),
  },
  {
    reason: 'an attempt that was certainly not sent leaves the record',
    shape: { annotated: ATTEMPTED },
    notes: [minted],
    view: own(record({ account: ACCOUNT }), true),
  },
  {
    reason: 'an attempt that was sent stays in the record',
    shape: { annotated: ATTEMPTED },
    notes: [sending],
    view: own(ATTEMPTED, false),
  },
  {
    reason: 'another attempt that was only minted proves nothing about this one',
    shape: { annotated: ATTEMPTED },
    notes: [{ attempt: 'a9', state: 'minted' }],
    view: own(ATTEMPTED, false),
  },
  {
    reason: 'record and journal name different tasks for one attempt',
    shape: { annotated: TASKED },
    notes: [{ ...accepted, task: 8 }],
    view: problem('task is 7 in the record and 8 in the journal', 'the journal'),
  },
  {
    reason: 'a task of an attempt that is no longer in the record becomes an orphan',
    shape: { annotated: HELD },
    notes: [{ attempt: 'a0', state: 'task', task: 3 }],
    view: own({ ...HELD, orphans: [{ attempt: 'a0', task: 3 }] }, true),
  },
  {
    reason: 'an earlier attempt that you have resolved is dropped',
    shape: { annotated: { ...HELD, settled: ['a0'] } },
    notes: [{ attempt: 'a0', state: 'sending' }],
    view: own({ ...HELD, settled: ['a0'] }, false),
  },
  {
    reason: 'a later attempt alone does not resolve an earlier one, which a rolled-back etcd may have lost',
    shape: { annotated: { ...HELD, attemptedAt: '2026-01-01T00:10:00Z' } },
    notes: [{ attempt: 'a0', state: 'sending', mintedAt: '2026-01-01T00:00:00.000Z' }],
    view: own(
      {
        ...HELD,
        attemptedAt: '2026-01-01T00:10:00Z',
        orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00.000Z' }],
      },
      true,
    ),
  },
  {
    reason: 'an accepted task stays unresolved although you have resolved its attempt',
    shape: { annotated: { ...HELD, settled: ['a0'] } },
    notes: [{ attempt: 'a0', state: 'task', task: 3 }],
    view: own({ ...HELD, settled: ['a0'], orphans: [{ attempt: 'a0', task: 3 }] }, true),
  },
  {
    reason: 'an earlier attempt that you have resolved does not return to a record without a server',
    shape: { annotated: record({ settled: ['a0'] }) },
    notes: [{ attempt: 'a0', state: 'sending' }],
    view: own(record({ settled: ['a0'] }), false),
  },
  {
    reason: 'the task of such an attempt becomes an orphan, because its number may be that of another order by now',
    shape: { annotated: record({ settled: ['a0'] }) },
    notes: [{ attempt: 'a0', state: 'task', task: 3 }],
    view: own(record({ settled: ['a0'], orphans: [{ attempt: 'a0', task: 3 }] }), true),
  },
  {
    reason: 'an orphan that the journal knows with fewer fields is not written again',
    shape: { annotated: { ...HELD, orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00Z', task: 3 }] } },
    notes: [{ attempt: 'a0', state: 'task', task: 3 }],
    view: own({ ...HELD, orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00Z', task: 3 }] }, false),
  },
  {
    reason: 'resolved attempts of both sides are kept, without duplicates',
    shape: { annotated: { ...HELD, settled: ['a0', 'b0'] }, mirror: { ...HELD, settled: ['a0', 'c0'] } },
    view: own({ ...HELD, settled: ['a0', 'b0', 'c0'] }, true),
  },
  {
    reason: 'an attempt that was sent and is no longer in the record becomes an orphan',
    shape: { annotated: HELD },
    notes: [{ attempt: 'a0', state: 'sending' }],
    view: own({ ...HELD, orphans: [{ attempt: 'a0' }] }, true),
  },
  {
    reason: 'an adoption resolves a lost answer',
    shape: { annotated: adopted },
    notes: [sending],
    view: own(adopted, false),
  },
  {
    reason: 'while the server is being created, the mirror alone may have the identifier',
    shape: { annotated: TASKED, mirror: HELD, status: because('Creating') },
    view: own(HELD, false),
  },
  {
    reason: 'the annotation gets the identifier as soon as anything else is said of the server',
    shape: { annotated: TASKED, mirror: HELD, status: because('AbsenceUnproven') },
    view: own(HELD, true),
  },
  {
    reason: 'the annotation gets the identifier at once if the object is paused',
    shape: {
      annotated: TASKED,
      mirror: HELD,
      status: because('Creating'),
      annotations: { [PAUSED_ANNOTATION]: 'true' },
    },
    view: own(HELD, true),
  },
  {
    reason: 'the annotation gets the identifier at once if the object is being deleted',
    shape: { annotated: TASKED, mirror: HELD, status: because('Creating'), deleting: true },
    view: own(HELD, true),
  },
  {
    reason: 'the annotation gets the identifier if it has no task that leads there',
    shape: { annotated: ATTEMPTED, mirror: HELD, status: because('Creating') },
    view: own(HELD, true),
  },
  {
    reason: 'the annotation gets whatever else the mirror alone knows',
    shape: { annotated: TASKED, mirror: { ...HELD, hintedTask: 8 }, status: because('Creating') },
    view: own({ ...HELD, hintedTask: 8 }, true),
  },
  {
    reason: 'another key order or white space needs no write',
    shape: { annotated: `{ "zone": "Z1", "mode": "create", "owner": "${UID}" }`, mirror: record() },
    view: own({ ...record(), ...{ zone: 'Z1' } }, false),
  },
  {
    reason: 'a key that this version does not know is kept from either side',
    shape: { annotated: unknown({ zone: 'Z1' }), mirror: unknown({ plan: { of: [1] } }) },
    view: own(unknown({ zone: 'Z1', plan: { of: [1] } }), true),
  },
  {
    reason: "of two values of an unknown key, the annotation's counts, since it is written first",
    shape: { annotated: unknown({ zone: 'Z2' }), mirror: unknown({ zone: 'Z1' }) },
    view: own(unknown({ zone: 'Z2' }), false),
  },
  {
    reason: "of two values of an unknown key, the mirror's counts if the annotation was rolled back",
    shape: { annotated: { ...TASKED, ...{ zone: 'Z1' } }, mirror: unknown({ zone: 'Z2' }) },
    view: own(unknown({ zone: 'Z2' }), true),
  },
  {
    reason: 'an adoption replaces the server that the order had named',
    shape: { annotated: { ...adopted, identifier: 'srv2' }, mirror: HELD },
    view: own({ ...adopted, identifier: 'srv2' }, true),
  },
  {
    reason: 'an adoption that only the mirror still has replaces the server that the order had named',
    shape: { annotated: HELD, mirror: { ...adopted, identifier: 'srv2' } },
    view: own({ ...adopted, identifier: 'srv2' }, true),
  },
  {
    reason: 'an adoption keeps the unknown keys that only the other side has',
    shape: { annotated: { ...ATTEMPTED, ...{ zone: 'Z1', plan: 2 } }, mirror: { ...adopted, ...{ zone: 'Z2' } } },
    view: own({ ...adopted, ...{ zone: 'Z2', plan: 2 } }, true),
  },
  {
    reason: 'unknown keys of an orphan are kept from either side',
    shape: {
      annotated: { ...HELD, orphans: [{ task: 1, ...{ zone: 'Z1' } }] },
      mirror: { ...HELD, orphans: [{ task: 1, ...{ zone: 'Z2', plan: 2 } }] },
    },
    view: own({ ...HELD, orphans: [{ task: 1, ...{ zone: 'Z1', plan: 2 } }] }, true),
  },
  {
    reason: 'a record that loses its attempt keeps unknown keys',
    shape: { annotated: { ...ATTEMPTED, ...{ zone: 'Z1' } } },
    notes: [minted],
    view: own({ ...record({ account: ACCOUNT }), ...{ zone: 'Z1' } }, true),
  },
  {
    reason: 'a newer format is not understood, but still tells what the object holds',
    shape: { annotated: { ...HELD, format: 2, missingAt: '2026-01-01T00:00:00Z' }, mirror: TASKED },
    view: tooNew('format 2', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  },
  {
    reason: 'a newer format in the mirror alone counts too',
    shape: { annotated: TASKED, mirror: { ...HELD, format: 3 } },
    view: tooNew('format 3', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  },
  {
    reason: 'fields of a newer format are read if they have the known form',
    shape: { annotated: JSON.stringify({ owner: UID, format: 2, task: 'T-7', identifier: 'srv1', orphans: {} }) },
    view: tooNew('format 2', { identifier: 'srv1' }),
  },
  {
    reason: 'a mode that this version does not know is not understood',
    shape: { annotated: JSON.stringify({ ...HELD, mode: 'import' }), mirror: HELD },
    view: tooNew('mode "import"', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  },
  {
    reason: 'a newer format is not understood, whatever the journal knows',
    shape: { annotated: record({ format: 2 }) },
    notes: [accepted],
    view: tooNew('format 2', {}),
  },
  {
    reason: 'a newer format is not understood in a copy either, and the copy holds nothing',
    shape: { annotated: { ...foreign, format: 2 } },
    view: tooNew('format 2', {}),
  },
  {
    reason: 'a format that is not a valid number makes the record invalid',
    shape: { annotated: JSON.stringify({ ...HELD, format: '2' }) },
    view: { kind: 'invalid', problem: expect.stringContaining('format') as string, isAlone: true },
  },
  {
    reason: 'an adoption does not resolve an accepted task',
    shape: { annotated: adopted },
    notes: [accepted],
    view: own({ ...adopted, orphans: [{ attempt: 'a1', task: 7 }] }, true),
  },
];

describe('viewRecord', () => {
  it.each(cases)('$reason', ({ shape, notes = [], view }) => {
    expect(viewRecord(web(shape), notes)).toEqual(view);
  });

  it('needs no further write once the merged record is written', () => {
    for (const { shape, notes = [] } of cases) {
      const view = viewRecord(web(shape), notes);
      if (view.kind !== 'own') continue;
      const after = viewRecord(
        web({ ...shape, annotated: view.record, mirror: view.record, finalizers: [FINALIZER] }),
        [],
      );
      expect(after).toEqual(own(view.record, false));
    }
  });
});

describe('knownRecord', () => {
  const refused = record({ account: ACCOUNT });
  it.each<{ reason: string; shape: Shape; is: unknown }>([
    { reason: 'none', shape: {}, is: undefined },
    { reason: 'the annotation alone', shape: { annotated: HELD }, is: HELD },
    { reason: 'the mirror alone', shape: { mirror: HELD }, is: HELD },
    { reason: 'the mirror of a broken annotation', shape: { annotated: '{', mirror: HELD }, is: HELD },
    {
      reason: 'the readable part of a newer format',
      shape: { annotated: JSON.stringify({ ...HELD, format: 2, task: 'T-7' }), mirror: ATTEMPTED },
      is: record({ format: 1, account: ACCOUNT, attempt: 'a1', identifier: 'srv1' }),
    },
    { reason: "nothing of another object's", shape: { annotated: foreign, mirror: foreign }, is: undefined },
    { reason: 'the task that the mirror does not have yet', shape: { annotated: TASKED, mirror: refused }, is: TASKED },
    { reason: 'the facts that a rolled-back annotation lost', shape: { annotated: ATTEMPTED, mirror: HELD }, is: HELD },
    {
      reason: 'the annotation if the two contradict each other',
      shape: { annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } },
      is: HELD,
    },
  ])('is $reason', ({ shape, is }) => {
    expect(knownRecord(web(shape))).toEqual(is);
  });
});
