import {
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  START_OVER_ANNOTATION,
} from '../../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import type { Condition } from '../../../../../src/api/meta.ts';
import { inputsOf } from '../../../../../src/virtual-server/decision/inputs.ts';
import type { Facts } from '../../../../../src/virtual-server/decision/types.ts';
import {
  adopting,
  ACCOUNT,
  ATTEMPTED,
  HELD,
  KNOWN,
  NOW,
  TASKED,
  TIMING,
  UID,
  denials,
  facts,
  memo,
  others,
  record,
  web,
  webWith,
  withKey,
} from '../../../../fixtures/decision.ts';
import { asking, park, saying, verifyChecks, type CheckCase } from './support.ts';

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const orphaned = { ...HELD, orphans: [{ task: 3 }] };
const busy = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });
const note = { attempt: 'a1', state: 'sending' } as const;
const ready = webWith(HELD, { status: READY });
const deletingReady = webWith(HELD, { status: READY, deleting: true });

const stalled = (reason: Condition['reason']): { conditions: Condition[] } => ({
  conditions: [{ type: 'Stalled', status: 'True', reason, message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }],
});
const TIME = '2026-01-01T00:00:00Z';
const said = { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } };
const saidNothing = { annotations: { [NOT_CREATED_ANNOTATION]: UID }, deleting: true };
const released = { type: 'release', why: 'nothingCreated', record: undefined };
/** The provider was asked after the annotation was set, and has denied `of`. */
const asked = (object: VirtualServer, of?: string): Facts =>
  facts({ memo: memo({ asked: inputsOf(object), ...(of !== undefined && { denials: denials(of) }) }) });
const vanished = webWith({ ...HELD, goneRefuted: true, readyAt: TIME }, { ...said, status: stalled('TaskNotFound') });
const read = webWith(KNOWN, { ...said, status: stalled('TaskNotFound') });
const missing = webWith({ ...KNOWN, missingAt: TIME }, { ...said, status: stalled('TaskNotFound') });
const nothing = { type: 'record', record: record({ account: ACCOUNT, settled: ['a1'] }), why: 'notCreated' };

const FRUITLESS = [
  'TaskNotFound',
  'TaskFailed',
  'TaskOverdue',
  'TaskInUse',
  'IdentityUnproven',
  'IdentifierInUse',
  'ServerNotVisible',
] as const;

const cases: CheckCase[] = [
  {
    check: 'recordIsTooNew',
    reason: 'a format that this version does not know',
    object: webWith({ ...HELD, format: 2 }),
    operation: saying(
      'it has format 2. This version understands format 1 with mode create or adopt. The operator orders, cancels and ' +
        'changes nothing, and a deletion waits. Run the newer version again',
    ),
  },
  {
    check: 'recordIsTooNew',
    reason: 'a mode that this version does not know, while the object is deleted',
    object: web({ annotated: JSON.stringify({ ...HELD, mode: 'import' }), deleting: true }),
    operation: park('RecordTooNew'),
  },
  {
    check: 'recordIsTooNew',
    reason: 'the format of this version',
    object: webWith({ ...HELD, format: 1 }),
    operation: undefined,
  },
  {
    check: 'recordIsInvalid',
    reason: 'the operator does not guess what broken text meant',
    object: web({ annotated: '{', mirror: HELD }),
    operation: park('RecordInvalid'),
  },
  { check: 'recordIsInvalid', reason: 'the record is valid', object: ready, operation: undefined },
  {
    check: 'recordIsInvalid',
    reason: 'no copy is left, so only the word of the user can release the object',
    object: web({ annotated: '{' }),
    operation: asking('RecordInvalid', UID),
  },
  {
    check: 'recordIsInvalid',
    reason: 'no copy is left, and you say that there is no server',
    object: web({ annotated: '{', ...saidNothing }),
    operation: released,
  },
  {
    check: 'recordIsInvalid',
    reason: 'the mirror contradicts the annotation that there is no server',
    object: web({ annotated: '{', mirror: HELD, ...saidNothing }),
    operation: park('RecordInvalid'),
  },
  {
    check: 'recordIsInvalid',
    reason: 'the journal contradicts the annotation that there is no server',
    object: web({ annotated: '{', ...saidNothing }),
    given: facts({ notes: [note] }),
    operation: park('RecordInvalid'),
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy orders nothing',
    object: web({ annotated: foreign }),
    operation: park('RecordMismatch'),
  },
  {
    check: 'recordIsForeign',
    reason: 'a deleted copy is released',
    object: web({ annotated: foreign, deleting: true }),
    operation: { type: 'release', why: 'foreign', record: foreign },
  },
  {
    check: 'recordIsForeign',
    reason: 'a deleted copy is released, whatever it was told to adopt',
    object: web({ annotated: foreign, deleting: true, ...adopting('srv1') }),
    operation: { type: 'release', why: 'foreign', record: foreign },
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy may be told to start with a new record',
    object: web({ annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } }),
    operation: undefined,
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy may be told to adopt',
    object: web({ annotated: foreign, ...adopting('srv1') }),
    operation: undefined,
  },
  {
    check: 'recordIsMissing',
    reason: 'a finalizer without a record may mean a server',
    object: web({ finalizers: [FINALIZER] }),
    operation: park('RecordMissing'),
  },
  {
    check: 'recordIsMissing',
    reason: 'you say that there is no server',
    object: web({ finalizers: [FINALIZER], ...saidNothing }),
    operation: released,
  },
  {
    check: 'recordIsMissing',
    reason: 'on a living object, the annotation would still be there when the next record is lost',
    object: web({ finalizers: [FINALIZER], ...saidNothing, deleting: false }),
    operation: park('RecordMissing'),
  },
  {
    check: 'recordIsMissing',
    reason: 'the annotation names the object that this one is a copy of',
    object: web({ finalizers: [FINALIZER], annotations: { [NOT_CREATED_ANNOTATION]: 'another-uid' }, deleting: true }),
    operation: park('RecordMissing'),
  },
  {
    check: 'recordIsMissing',
    reason: 'an old start-over annotation of a copy releases nothing and orders nothing',
    object: web({ finalizers: [FINALIZER], annotations: { [START_OVER_ANNOTATION]: UID }, deleting: true }),
    operation: park('RecordMissing'),
  },
  {
    check: 'recordIsMissing',
    reason: 'of two annotations, the one that names a server counts',
    object: web({
      finalizers: [FINALIZER],
      annotations: { ...saidNothing.annotations, ...adopting('srv1').annotations },
      deleting: true,
    }),
    operation: undefined,
  },
  {
    check: 'recordIsMissing',
    reason: 'you name the server',
    object: web({ finalizers: [FINALIZER], ...adopting('srv1') }),
    operation: undefined,
  },
  {
    check: 'recordIsInConflict',
    reason: 'two identifiers are yours to resolve',
    object: web({ annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } }),
    operation: park('RecordConflict'),
  },
  { check: 'recordIsInConflict', reason: 'both agree', object: ready, operation: undefined },
  {
    check: 'recordIsStale',
    reason: 'facts in the mirror are written to the annotation',
    object: web({ mirror: HELD }),
    operation: { type: 'record', record: HELD, why: 'restored' },
  },
  { check: 'recordIsStale', reason: 'the annotation is complete', object: ready, operation: undefined },
  {
    check: 'objectIsPaused',
    reason: 'any value but false pauses',
    object: webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: '' }, deleting: true }),
    operation: { type: 'wait' },
  },
  {
    check: 'objectIsPaused',
    reason: 'false does not pause',
    object: webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' } }),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'you checked and found nothing',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    given: facts({ notes: [note] }),
    operation: nothing,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'everything about a vanished server is removed with it',
    object: vanished,
    given: asked(vanished, 'server srv1'),
    operation: nothing,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a server that was read did exist, so its order did create something',
    object: read,
    given: asked(read, 'server srv1'),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a server that counts as gone is missing, so its order did create something',
    object: missing,
    given: asked(missing, 'server srv1'),
    operation: undefined,
  },
  ...FRUITLESS.flatMap((reason): CheckCase[] => {
    const check = 'attemptCreatedNothing';
    const tasked = webWith(TASKED, { ...said, status: stalled(reason) });
    const held = webWith(HELD, { ...said, status: stalled(reason) });
    const unsaid = webWith(TASKED, { status: stalled(reason) });
    return [
      {
        check,
        reason: `${reason}: the task has not named a server`,
        object: tasked,
        given: asked(tasked),
        operation: nothing,
      },
      {
        check,
        reason: `${reason}: the server that the task named was denied`,
        object: held,
        given: asked(held, 'server srv1'),
        operation: nothing,
      },
      {
        check,
        reason: `${reason}: the operator has not called the provider since you set the annotation`,
        object: tasked,
        given: asked(unsaid),
        operation: undefined,
      },
      {
        check,
        reason: `${reason}: this process has not read the server that the task named`,
        object: held,
        given: asked(held),
        operation: undefined,
      },
      {
        check,
        reason: `${reason}: another server was denied`,
        object: held,
        given: asked(held, 'server srv0'),
        operation: undefined,
      },
    ];
  }),
  ...(['Creating', 'AbsenceUnproven', 'ProviderUnavailable'] as const).flatMap((reason): CheckCase[] => {
    const check = 'attemptCreatedNothing';
    const object = webWith(TASKED, { ...said, status: stalled(reason) });
    const late = { ...asked(object), now: NOW + 3_600_000 };
    return [
      {
        check,
        reason: `${reason}: the task may still create a server`,
        object,
        given: asked(object, 'task 7'),
        operation: undefined,
      },
      { check, reason: `${reason}: the order is older than an hour`, object, given: late, operation: nothing },
    ];
  }),
  {
    check: 'attemptCreatedNothing',
    reason: 'another object follows the task too, and no condition reports it yet',
    object: webWith(TASKED, { ...said, status: stalled('Creating') }),
    given: facts({ others: others({ withTask: () => ['default/other'] }) }),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'earlier attempts stay resolved',
    object: webWith({ ...ATTEMPTED, hintedTask: 9, settled: ['a0'] }, said),
    given: facts({ notes: [note] }),
    operation: { ...nothing, record: record({ account: ACCOUNT, settled: ['a0', 'a1'] }) },
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'the annotation names another attempt',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a0' } }),
    given: facts({ notes: [note] }),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'another process may still be sending it',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a running task contradicts it',
    object: webWith(TASKED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    given: facts({ notes: [note] }),
    operation: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'an existing server contradicts it',
    object: webWith(HELD, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' }, status: READY }),
    given: facts({ notes: [note] }),
    operation: undefined,
  },
  {
    check: 'orphanIsHandled',
    reason: 'you have handled it',
    object: webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9, 3' } }),
    operation: { type: 'record', record: HELD, why: 'orphanHandled' },
  },
  {
    check: 'orphanIsHandled',
    reason: 'you have handled another one',
    object: webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9' } }),
    operation: undefined,
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'each of the two objects parks, and checks again later',
    object: ready,
    given: facts({ others: busy }),
    operation: park('IdentifierInUse', { afterMs: TIMING.pollMs }),
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'the operator sends no DELETE while another object holds the server',
    object: deletingReady,
    given: withKey({ others: busy }),
    operation: park('IdentifierInUse', { afterMs: TIMING.pollMs }),
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'deletionPolicy Retain releases the object without a DELETE',
    object: webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    given: facts({ others: busy }),
    operation: undefined,
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'the message does not name holders in other namespaces',
    object: ready,
    given: facts({ others: others({ withServer: () => ['default/other', 'secret-project/db'] }) }),
    operation: saying('is also held by default/other, an object in another namespace'),
  },
  { check: 'identifierIsHeldTwice', reason: 'no other object holds it', object: ready, operation: undefined },
];

verifyChecks('checks on record and annotations', cases);
