import {
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  PAUSED_ANNOTATION,
  START_ANEW_ANNOTATION,
} from '../../../src/api/names.ts';
import {
  adopting,
  ACCOUNT,
  ATTEMPTED,
  HELD,
  TASKED,
  TIMING,
  UID,
  facts,
  record,
  web,
  webWith,
} from '../../gen/decision.ts';
import { park, verifyChecks, type CheckCase } from './checks-support.ts';

const READY = { serverStatus: 'running' };
const foreign = { ...HELD, owner: 'another-uid' };
const orphaned = { ...HELD, orphans: [{ task: 3 }] };
const busy = others({ withServer: (identifier) => (identifier === 'srv1' ? ['default/other'] : []) });
const note = { attempt: 'a1', state: 'sending' } as const;
const ready = webWith(HELD, { status: READY });
const deletingReady = webWith(HELD, { status: READY, deleting: true });
const credentials = { ok: true, account: ACCOUNT } as const;

const VANISHED = {
  type: 'Ready',
  status: 'Unknown',
  reason: 'TaskNotFound',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const;

const cases: CheckCase[] = [
  {
    check: 'recordIsInvalid',
    reason: 'nobody guesses what broken text meant',
    object: web({ annotated: '{', mirror: HELD }),
    action: park('RecordInvalid'),
  },
  { check: 'recordIsInvalid', reason: 'the record is in order', object: ready, action: undefined },
  {
    check: 'recordIsForeign',
    reason: 'a copy orders nothing',
    object: web({ annotated: foreign }),
    action: park('RecordMismatch'),
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy that is deleted owes nothing',
    object: web({ annotated: foreign, deleting: true }),
    action: { type: 'release', why: 'foreign', record: foreign },
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy that is deleted owes nothing, whatever it was told to adopt',
    object: web({ annotated: foreign, deleting: true, ...adopting('srv1') }),
    action: { type: 'release', why: 'foreign', record: foreign },
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy may be told to start anew',
    object: web({ annotated: foreign, annotations: { [START_ANEW_ANNOTATION]: UID } }),
    action: undefined,
  },
  {
    check: 'recordIsForeign',
    reason: 'a copy may be told to adopt',
    object: web({ annotated: foreign, ...adopting('srv1') }),
    action: undefined,
  },
  {
    check: 'recordIsMissing',
    reason: 'a finalizer without a record may stand for a server',
    object: web({ finalizers: [FINALIZER] }),
    action: park('RecordMissing'),
  },
  {
    check: 'recordIsMissing',
    reason: 'somebody names the server',
    object: web({ finalizers: [FINALIZER], ...adopting('srv1') }),
    action: undefined,
  },
  {
    check: 'recordIsInConflict',
    reason: 'two identifiers are for a person to settle',
    object: web({ annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } }),
    action: park('RecordConflict'),
  },
  { check: 'recordIsInConflict', reason: 'both say the same', object: ready, action: undefined },
  {
    check: 'recordIsStale',
    reason: 'what the mirror knows is written to the annotation',
    object: web({ mirror: HELD }),
    action: { type: 'record', record: HELD, why: 'restored' },
  },
  { check: 'recordIsStale', reason: 'the annotation says it all', object: ready, action: undefined },
  {
    check: 'objectIsPaused',
    reason: 'any value but false pauses',
    object: webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: '' }, deleting: true }),
    action: { type: 'wait' },
  },
  {
    check: 'objectIsPaused',
    reason: 'false does not pause',
    object: webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' } }),
    action: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a person looked and found nothing',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    given: facts({ notes: [note] }),
    action: { type: 'record', record: record({ account: ACCOUNT }), why: 'notCreated' },
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'the time of a server that has vanished is over with it',
    object: webWith(
      { ...HELD, readyAt: '2026-01-01T00:00:00Z' },
      { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' }, status: { conditions: [VANISHED] } },
    ),
    action: { type: 'record', record: record({ account: ACCOUNT }), why: 'notCreated' },
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'the word is for another attempt',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a0' } }),
    given: facts({ notes: [note] }),
    action: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'another process may still be sending it',
    object: webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    action: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a task that runs belies it',
    object: webWith(TASKED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
    given: facts({ notes: [note] }),
    action: undefined,
  },
  {
    check: 'attemptCreatedNothing',
    reason: 'a server that is there belies it',
    object: webWith(HELD, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' }, status: READY }),
    given: facts({ notes: [note] }),
    action: undefined,
  },
  {
    check: 'orphanIsHandled',
    reason: 'a person dealt with it',
    object: webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9, 3' } }),
    action: { type: 'record', record: HELD, why: 'orphanHandled' },
  },
  {
    check: 'orphanIsHandled',
    reason: 'a person dealt with another one',
    object: webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9' } }),
    action: undefined,
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'both park, and look again by themselves',
    object: ready,
    given: facts({ others: busy }),
    action: park('IdentifierInUse', { afterMs: TIMING.pollMs }),
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'no DELETE while another object holds it',
    object: deletingReady,
    given: facts({ others: busy, credentials }),
    action: park('IdentifierInUse', { afterMs: TIMING.pollMs }),
  },
  {
    check: 'identifierIsHeldTwice',
    reason: 'Retain is the way out',
    object: webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
    given: facts({ others: busy }),
    action: undefined,
  },
  { check: 'identifierIsHeldTwice', reason: 'nobody else holds it', object: ready, action: undefined },
];

verifyChecks('checks on record and annotations', cases);
