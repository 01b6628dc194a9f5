import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION, START_OVER_ANNOTATION } from '../../../../src/api/names.ts';
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import type { ServerRecord } from '../../../../src/api/record.ts';
import { withVerdict } from '../../../../src/controller/conditions.ts';
import { knownRecord, viewRecord, type RecordView } from '../../../../src/virtual-server/decision/known-record.ts';
import type { AttemptNote } from '../../../../src/virtual-server/decision/types.ts';
import { ACCOUNT, ATTEMPTED, HELD, doubted, record, TASKED, UID, web, type Shape } from '../../../fixtures/decision.ts';

const minted: AttemptNote = { attempt: 'a1', state: 'minted', account: ACCOUNT };
const sending: AttemptNote = { attempt: 'a1', state: 'sending', account: ACCOUNT };
const accepted: AttemptNote = { attempt: 'a1', state: 'task', task: 7, account: ACCOUNT };
const foreign = { ...HELD, owner: 'another-uid' };
const adopted = record({ mode: 'adopt', account: ACCOUNT, identifier: 'srv1' });
const DOUBT = { identifier: 'srv1', reason: 'AbsenceUnproven', since: '2026-01-02T00:00:00Z' };
const unknown = (keys: object): ServerRecord => ({ ...HELD, ...keys });
const tooNew = (what: string, held: object): RecordView => ({
  kind: 'tooNew',
  unknown: what,
  held: { ...record(), ...held },
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

/** What the object carries, and what is seen of it next to the notes of the journal. */
type Case = [reason: string, shape: Shape, view: unknown, notes?: AttemptNote[]];

const cases: Case[] = [
  [
    'a mirror with the attempt that an adoption has resolved must be written again',
    { annotated: adopted, mirror: ATTEMPTED },
    own(adopted, true),
  ],
  ['nothing anywhere means never attempted', {}, { kind: 'none' }],
  ['an attempt that was only minted sent nothing', {}, { kind: 'none' }, [minted]],
  ["the operator's finalizer without a record is a loss", { finalizers: [FINALIZER] }, { kind: 'missing' }],
  ['another finalizer means nothing', { finalizers: ['example.org/other'] }, { kind: 'none' }],
  [
    'text that is not JSON is invalid, whatever the mirror contains',
    { annotated: '{', mirror: HELD },
    { kind: 'invalid', problem: 'it is not JSON', isAlone: false },
  ],
  [
    'a record of another object is foreign',
    { annotated: foreign },
    { kind: 'foreign', record: foreign, startOver: false },
  ],
  [
    'start-over names this object',
    { annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } },
    { kind: 'foreign', record: foreign, startOver: true },
  ],
  [
    'start-over of another object, as on a copy, has no effect',
    { annotated: foreign, annotations: { [START_OVER_ANNOTATION]: 'another-uid' } },
    { kind: 'foreign', record: foreign, startOver: false },
  ],
  ['a mirror of another object alone does not count', { mirror: foreign, finalizers: [] }, { kind: 'none' }],
  ['a lost mirror is no contradiction', { annotated: HELD }, own(HELD, false)],
  ['a lost annotation is restored from the mirror', { mirror: HELD }, own(HELD, true)],
  [
    'a mirror of this object replaces the annotation of another object',
    { annotated: foreign, mirror: HELD },
    own(HELD, true),
  ],
  ['a lost finalizer is restored', { annotated: HELD, mirror: HELD, finalizers: [] }, own(HELD, true)],
  [
    'an object that is being deleted gets no new finalizer',
    { annotated: HELD, mirror: HELD, finalizers: ['example.org/other'], deleting: true },
    own(HELD, false),
  ],
  ['the mirror may lag', { annotated: HELD, mirror: ATTEMPTED }, own(HELD, false)],
  ['an annotation that was rolled back is updated', { annotated: ATTEMPTED, mirror: HELD }, own(HELD, true)],
  [
    'an annotation rolled back to before the attempt does not lose it',
    { annotated: record({ account: ACCOUNT }), mirror: TASKED },
    own(TASKED, true),
  ],
  [
    'two identifiers contradict each other',
    { annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } },
    problem('identifier is srv1 in the annotation and srv2 in status.record'),
  ],
  ['two tasks contradict each other', { annotated: TASKED, mirror: { ...TASKED, task: 8 } }, problem('task is 7')],
  [
    'two attempts contradict each other',
    { annotated: ATTEMPTED, mirror: { ...ATTEMPTED, attempt: 'a0' } },
    problem('attempt is a1'),
  ],
  [
    'an adoption resolves the attempt that the mirror still has, which is then written',
    { annotated: adopted, mirror: ATTEMPTED },
    own(adopted, true),
  ],
  [
    'an adoption outlives an annotation that was rolled back to the attempt',
    { annotated: ATTEMPTED, mirror: adopted },
    own(adopted, true),
  ],
  [
    'orphans of both sides are kept, without duplicates',
    {
      annotated: { ...HELD, orphans: [{ task: 1 }] },
      mirror: { ...HELD, orphans: [{ task: 1 }, { task: 2 }] },
    },
    own({ ...HELD, orphans: [{ task: 1 }, { task: 2 }] }, true),
  ],
  [
    'an attempt that was sent returns from the journal',
    {},
    own(record({ attempt: 'a1', account: ACCOUNT }), true),
    [sending],
  ],
  [
    'the time of an order returns from the journal',
    {},
    own({ ...TASKED, attemptedAt: '2026-01-01T23:59:00.000Z' }, true),
    [{ ...accepted, mintedAt: '2026-01-01T23:59:00.000Z' }],
  ],
  [
    'an accepted task returns from the journal',
    {},
    own(record({ attempt: 'a1', account: ACCOUNT, task: 7 }), true),
    [accepted],
  ],
  [
    'an attempt that was sent wins over a record of another object',
    { annotated: foreign },
    own(record({ attempt: 'a1', account: ACCOUNT }), true),
    [sending],
  ],
  ['the journal completes the record with its task', { annotated: ATTEMPTED }, own(TASKED, true), [accepted]],
  [
    'an attempt that was certainly not sent leaves the record',
    { annotated: ATTEMPTED },
    own(record({ account: ACCOUNT }), true),
    [minted],
  ],
  ['an attempt that was sent stays in the record', { annotated: ATTEMPTED }, own(ATTEMPTED, false), [sending]],
  [
    'another attempt that was only minted proves nothing about this one',
    { annotated: ATTEMPTED },
    own(ATTEMPTED, false),
    [{ attempt: 'a9', state: 'minted' }],
  ],
  [
    'record and journal name different tasks for one attempt',
    { annotated: TASKED },
    problem('task is 7 in the record and 8 in the journal', 'the journal'),
    [{ ...accepted, task: 8 }],
  ],
  [
    'a task of an attempt that is no longer in the record becomes an orphan',
    { annotated: HELD },
    own({ ...HELD, orphans: [{ attempt: 'a0', task: 3 }] }, true),
    [{ attempt: 'a0', state: 'task', task: 3 }],
  ],
  [
    'an earlier attempt that you have resolved is dropped',
    { annotated: { ...HELD, settled: ['a0'] } },
    own({ ...HELD, settled: ['a0'] }, false),
    [{ attempt: 'a0', state: 'sending' }],
  ],
  [
    'a later attempt alone does not resolve an earlier one, which a rolled-back etcd may have lost',
    { annotated: { ...HELD, attemptedAt: '2026-01-01T00:10:00Z' } },
    own(
      {
        ...HELD,
        attemptedAt: '2026-01-01T00:10:00Z',
        orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00.000Z' }],
      },
      true,
    ),
    [{ attempt: 'a0', state: 'sending', mintedAt: '2026-01-01T00:00:00.000Z' }],
  ],
  [
    'an accepted task stays unresolved although you have resolved its attempt',
    { annotated: { ...HELD, settled: ['a0'] } },
    own({ ...HELD, settled: ['a0'], orphans: [{ attempt: 'a0', task: 3 }] }, true),
    [{ attempt: 'a0', state: 'task', task: 3 }],
  ],
  [
    'an earlier attempt that you have resolved does not return to a record without a server',
    { annotated: record({ settled: ['a0'] }) },
    own(record({ settled: ['a0'] }), false),
    [{ attempt: 'a0', state: 'sending' }],
  ],
  [
    'the task of such an attempt becomes an orphan, because its number may be that of another order by now',
    { annotated: record({ settled: ['a0'] }) },
    own(record({ settled: ['a0'], orphans: [{ attempt: 'a0', task: 3 }] }), true),
    [{ attempt: 'a0', state: 'task', task: 3 }],
  ],
  [
    'an orphan that the journal knows with fewer fields is not written again',
    { annotated: { ...HELD, orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00Z', task: 3 }] } },
    own({ ...HELD, orphans: [{ attempt: 'a0', attemptedAt: '2026-01-01T00:00:00Z', task: 3 }] }, false),
    [{ attempt: 'a0', state: 'task', task: 3 }],
  ],
  [
    'resolved attempts of both sides are kept, without duplicates',
    { annotated: { ...HELD, settled: ['a0', 'b0'] }, mirror: { ...HELD, settled: ['a0', 'c0'] } },
    own({ ...HELD, settled: ['a0', 'b0', 'c0'] }, true),
  ],
  [
    'an attempt that was sent and is no longer in the record becomes an orphan',
    { annotated: HELD },
    own({ ...HELD, orphans: [{ attempt: 'a0' }] }, true),
    [{ attempt: 'a0', state: 'sending' }],
  ],
  ['an adoption resolves a lost answer', { annotated: adopted }, own(adopted, false), [sending]],
  [
    'while the server is being created, the mirror alone may have the identifier',
    { annotated: TASKED, mirror: HELD, status: because('Creating') },
    own(HELD, false),
  ],
  [
    'the annotation gets the identifier as soon as anything else is said of the server',
    { annotated: TASKED, mirror: doubted(HELD, 'AbsenceUnproven') },
    own(doubted(HELD, 'AbsenceUnproven'), true),
  ],
  [
    'the annotation gets the identifier at once if the object is paused',
    {
      annotated: TASKED,
      mirror: HELD,
      status: because('Creating'),
      annotations: { [PAUSED_ANNOTATION]: 'true' },
    },
    own(HELD, true),
  ],
  [
    'the annotation gets the identifier at once if the object is being deleted',
    { annotated: TASKED, mirror: HELD, status: because('Creating'), deleting: true },
    own(HELD, true),
  ],
  [
    'the annotation gets the identifier if it has no task that leads there',
    { annotated: ATTEMPTED, mirror: HELD, status: because('Creating') },
    own(HELD, true),
  ],
  [
    'the annotation gets whatever else the mirror alone knows',
    { annotated: TASKED, mirror: { ...HELD, hintedTask: 8 }, status: because('Creating') },
    own({ ...HELD, hintedTask: 8 }, true),
  ],
  [
    'another key order or white space needs no write',
    { annotated: `{ "zone": "Z1", "mode": "create", "owner": "${UID}" }`, mirror: record() },
    own({ ...record(), ...{ zone: 'Z1' } }, false),
  ],
  [
    'a key that this version does not know is kept from either side',
    { annotated: unknown({ zone: 'Z1' }), mirror: unknown({ plan: { of: [1] } }) },
    own(unknown({ zone: 'Z1', plan: { of: [1] } }), true),
  ],
  [
    "of two values of an unknown key, the annotation's counts, since it is written first",
    { annotated: unknown({ zone: 'Z2' }), mirror: unknown({ zone: 'Z1' }) },
    own(unknown({ zone: 'Z2' }), false),
  ],
  [
    "of two values of an unknown key, the mirror's counts if the annotation was rolled back",
    { annotated: { ...TASKED, ...{ zone: 'Z1' } }, mirror: unknown({ zone: 'Z2' }) },
    own(unknown({ zone: 'Z2' }), true),
  ],
  [
    'an adoption replaces the server that the order had named',
    { annotated: { ...adopted, identifier: 'srv2' }, mirror: HELD },
    own({ ...adopted, identifier: 'srv2' }, true),
  ],
  [
    'an adoption that only the mirror still has replaces the server that the order had named',
    { annotated: HELD, mirror: { ...adopted, identifier: 'srv2' } },
    own({ ...adopted, identifier: 'srv2' }, true),
  ],
  [
    'a doubt about an adopted server that only the mirror has, after a write of the annotation that was refused',
    { annotated: adopted, mirror: { ...adopted, doubt: DOUBT } },
    own({ ...adopted, doubt: DOUBT }, false),
  ],
  [
    'an adoption keeps the unknown keys that only the other side has',
    { annotated: { ...ATTEMPTED, ...{ zone: 'Z1', plan: 2 } }, mirror: { ...adopted, ...{ zone: 'Z2' } } },
    own({ ...adopted, ...{ zone: 'Z2', plan: 2 } }, true),
  ],
  [
    'unknown keys of an orphan are kept from either side',
    {
      annotated: { ...HELD, orphans: [{ task: 1, ...{ zone: 'Z1' } }] },
      mirror: { ...HELD, orphans: [{ task: 1, ...{ zone: 'Z2', plan: 2 } }] },
    },
    own({ ...HELD, orphans: [{ task: 1, ...{ zone: 'Z1', plan: 2 } }] }, true),
  ],
  [
    'a record that loses its attempt keeps unknown keys',
    { annotated: { ...ATTEMPTED, ...{ zone: 'Z1' } } },
    own({ ...record({ account: ACCOUNT }), ...{ zone: 'Z1' } }, true),
    [minted],
  ],
  [
    'a newer format is not understood, but still tells what the object holds',
    { annotated: { ...HELD, format: 3, missingAt: '2026-01-01T00:00:00Z' }, mirror: TASKED },
    tooNew('format 3', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  ],
  [
    'a newer format in the mirror alone counts too',
    { annotated: TASKED, mirror: { ...HELD, format: 3 } },
    tooNew('format 3', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  ],
  [
    'fields of a newer format are read if they have the known form',
    { annotated: JSON.stringify({ owner: UID, format: 3, task: 'T-7', identifier: 'srv1', orphans: {} }) },
    tooNew('format 3', { identifier: 'srv1' }),
  ],
  [
    'a mode that this version does not know is not understood',
    { annotated: JSON.stringify({ ...HELD, mode: 'import' }), mirror: HELD },
    tooNew('mode "import"', { account: ACCOUNT, attempt: 'a1', task: 7, identifier: 'srv1' }),
  ],
  [
    'a newer format is not understood, whatever the journal knows',
    { annotated: record({ format: 3 }) },
    tooNew('format 3', {}),
    [accepted],
  ],
  [
    'a newer format is not understood in a copy either, and the copy holds nothing',
    { annotated: { ...foreign, format: 3 } },
    tooNew('format 3', {}),
  ],
  [
    'a format that is not a valid number makes the record invalid',
    { annotated: JSON.stringify({ ...HELD, format: '2' }) },
    { kind: 'invalid', problem: expect.stringContaining('format') as string, isAlone: true },
  ],
  [
    'an adoption does not resolve an accepted task',
    { annotated: adopted },
    own({ ...adopted, orphans: [{ attempt: 'a1', task: 7 }] }, true),
    [accepted],
  ],
];

describe('viewRecord', () => {
  it.each(cases)('%s', (_reason, shape, view, notes = []) => {
    expect(viewRecord(web(shape), notes)).toEqual(view);
  });

  it('needs no further write once the merged record is written', () => {
    for (const [, shape, , notes = []] of cases) {
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
  it.each<[reason: string, shape: Shape, is: unknown]>([
    ['none', {}, undefined],
    ['the annotation alone', { annotated: HELD }, HELD],
    ['the mirror alone', { mirror: HELD }, HELD],
    ['the mirror of a broken annotation', { annotated: '{', mirror: HELD }, HELD],
    [
      'the readable part of a newer format',
      { annotated: JSON.stringify({ ...HELD, format: 3, task: 'T-7' }), mirror: ATTEMPTED },
      record({ account: ACCOUNT, attempt: 'a1', identifier: 'srv1' }),
    ],
    ["nothing of another object's", { annotated: foreign, mirror: foreign }, undefined],
    ['the task that the mirror does not have yet', { annotated: TASKED, mirror: refused }, TASKED],
    ['the facts that a rolled-back annotation lost', { annotated: ATTEMPTED, mirror: HELD }, HELD],
    [
      'the annotation if the two contradict each other',
      { annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } },
      HELD,
    ],
  ])('is %s', (_reason, shape, is) => {
    expect(knownRecord(web(shape))).toEqual(is);
  });
});
