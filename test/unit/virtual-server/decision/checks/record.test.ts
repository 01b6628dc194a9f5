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
import type { Circumstances } from '../../../../../src/virtual-server/decision/view.ts';
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
  opened,
  others,
  record,
  web,
  webWith,
  withKey,
} from '../../../../fixtures/decision.ts';
import { asking, park, releases, saying, type Row, verifyChecks, writes } from './support.ts';

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
const released = releases('nothingCreated');
/** The provider was asked after the annotation was set, and has denied `of`. */
const asked = (object: VirtualServer, of?: string): Circumstances =>
  facts({
    memo: memo({ asked: inputsOf(object), ...(of !== undefined && { denials: denials(of, inputsOf(object)) }) }),
  });
const vanished = webWith({ ...opened(HELD, 'TaskNotFound'), goneRefuted: true, readyAt: TIME }, said);
const read = webWith(opened(KNOWN, 'TaskNotFound'), said);
const missing = webWith({ ...opened(KNOWN, 'TaskNotFound'), missingAt: TIME }, said);
const nothing = writes('notCreated', record({ account: ACCOUNT, settled: ['a1'] }));

const FRUITLESS = [
  'TaskNotFound',
  'TaskFailed',
  'TaskOverdue',
  'TaskInUse',
  'IdentityUnproven',
  'IdentifierInUse',
  'ServerNotVisible',
] as const;

verifyChecks('checks on record and annotations', {
  recordIsTooNew: [
    [
      'a format that this version does not know',
      webWith({ ...HELD, format: 3 }),
      saying(
        'it has format 3. This version understands formats up to 2 with mode create, adopt or named. The operator orders, cancels and ' +
          'changes nothing, and a deletion waits. Run the newer version again',
      ),
    ],
    [
      'a mode that this version does not know, while the object is deleted',
      web({ annotated: JSON.stringify({ ...HELD, mode: 'import' }), deleting: true }),
      park('RecordTooNew'),
    ],
    ['the format of this version', webWith({ ...HELD, format: 1 }), undefined],
  ],
  recordIsInvalid: [
    [
      'the operator does not guess what broken text meant',
      web({ annotated: '{', mirror: HELD }),
      park('RecordInvalid'),
    ],
    ['the record is valid', ready, undefined],
    [
      'no copy is left, so only the word of the user can release the object',
      web({ annotated: '{' }),
      asking('RecordInvalid', UID),
    ],
    ['no copy is left, and you say that there is no server', web({ annotated: '{', ...saidNothing }), released],
    [
      'the mirror contradicts the annotation that there is no server',
      web({ annotated: '{', mirror: HELD, ...saidNothing }),
      park('RecordInvalid'),
    ],
    [
      'the journal contradicts the annotation that there is no server',
      web({ annotated: '{', ...saidNothing }),
      park('RecordInvalid'),
      facts({ notes: [note] }),
    ],
  ],
  recordIsForeign: [
    ['a copy orders nothing', web({ annotated: foreign }), park('RecordMismatch')],
    ['a deleted copy is released', web({ annotated: foreign, deleting: true }), releases('foreign', foreign)],
    [
      'a deleted copy is released, whatever it was told to adopt',
      web({ annotated: foreign, deleting: true, ...adopting('srv1') }),
      releases('foreign', foreign),
    ],
    [
      'a copy may be told to start with a new record',
      web({ annotated: foreign, annotations: { [START_OVER_ANNOTATION]: UID } }),
      undefined,
    ],
    ['a copy may be told to adopt', web({ annotated: foreign, ...adopting('srv1') }), undefined],
  ],
  recordIsMissing: [
    ['a finalizer without a record may mean a server', web({ finalizers: [FINALIZER] }), park('RecordMissing')],
    ['you say that there is no server', web({ finalizers: [FINALIZER], ...saidNothing }), released],
    [
      'on a living object, the annotation would still be there when the next record is lost',
      web({ finalizers: [FINALIZER], ...saidNothing, deleting: false }),
      park('RecordMissing'),
    ],
    [
      'the annotation names the object that this one is a copy of',
      web({ finalizers: [FINALIZER], annotations: { [NOT_CREATED_ANNOTATION]: 'another-uid' }, deleting: true }),
      park('RecordMissing'),
    ],
    [
      'an old start-over annotation of a copy releases nothing and orders nothing',
      web({ finalizers: [FINALIZER], annotations: { [START_OVER_ANNOTATION]: UID }, deleting: true }),
      park('RecordMissing'),
    ],
    [
      'of two annotations, the one that names a server counts',
      web({
        finalizers: [FINALIZER],
        annotations: { ...saidNothing.annotations, ...adopting('srv1').annotations },
        deleting: true,
      }),
      undefined,
    ],
    ['you name the server', web({ finalizers: [FINALIZER], ...adopting('srv1') }), undefined],
  ],
  recordIsInConflict: [
    [
      'two identifiers are yours to resolve',
      web({ annotated: HELD, mirror: { ...HELD, identifier: 'srv2' } }),
      park('RecordConflict'),
    ],
    ['both agree', ready, undefined],
  ],
  recordIsStale: [
    ['facts in the mirror are written to the annotation', web({ mirror: HELD }), writes('restored', HELD)],
    ['the annotation is complete', ready, undefined],
  ],
  objectIsPaused: [
    [
      'any value but false pauses',
      webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: '' }, deleting: true }),
      { type: 'wait', when: { afterMs: Infinity } },
    ],
    ['false does not pause', webWith(HELD, { annotations: { [PAUSED_ANNOTATION]: 'false' } }), undefined],
  ],
  attemptCreatedNothing: [
    [
      'you checked and found nothing',
      webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
      nothing,
      facts({ notes: [note] }),
    ],
    ['everything about a vanished server is removed with it', vanished, nothing, asked(vanished, 'server srv1')],
    [
      'a server that was read did exist, so its order did create something',
      read,
      undefined,
      asked(read, 'server srv1'),
    ],
    [
      'a server that counts as gone is missing, so its order did create something',
      missing,
      undefined,
      asked(missing, 'server srv1'),
    ],
    ...FRUITLESS.flatMap((reason): Row[] => {
      const tasked = webWith(opened(TASKED, reason), said);
      const held = webWith(opened(HELD, reason), said);
      const unsaid = webWith(opened(TASKED, reason));
      return [
        [`${reason}: the task has not named a server`, tasked, nothing, asked(tasked)],
        [`${reason}: the server that the task named was denied`, held, nothing, asked(held, 'server srv1')],
        [
          `${reason}: the operator has not called the provider since you set the annotation`,
          tasked,
          undefined,
          asked(unsaid),
        ],
        [`${reason}: this process has not read the server that the task named`, held, undefined, asked(held)],
        [`${reason}: another server was denied`, held, undefined, asked(held, 'server srv0')],
      ];
    }),
    ...(['Creating', 'AbsenceUnproven', 'ProviderUnavailable'] as const).flatMap((reason): Row[] => {
      const object = webWith(TASKED, { ...said, status: stalled(reason) });
      const late = { ...asked(object), now: NOW + 3_600_000 };
      return [
        [`${reason}: the task may still create a server`, object, undefined, asked(object, 'task 7')],
        [`${reason}: the order is older than an hour`, object, nothing, late],
      ];
    }),
    [
      'another object follows the task too, and no condition reports it yet',
      webWith(TASKED, { ...said, status: stalled('Creating') }),
      undefined,
      facts({ others: others({ withTask: () => ['default/other'] }) }),
    ],
    [
      'earlier attempts stay resolved',
      webWith({ ...ATTEMPTED, hintedTask: 9, settled: ['a0'] }, said),
      { ...nothing, record: record({ account: ACCOUNT, settled: ['a0', 'a1'] }) },
      facts({ notes: [note] }),
    ],
    [
      'the annotation names another attempt',
      webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a0' } }),
      undefined,
      facts({ notes: [note] }),
    ],
    [
      'another process may still be sending it',
      webWith(ATTEMPTED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
      undefined,
    ],
    [
      'a running task contradicts it',
      webWith(TASKED, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' } }),
      undefined,
      facts({ notes: [note] }),
    ],
    [
      'an existing server contradicts it',
      webWith(HELD, { annotations: { [NOT_CREATED_ANNOTATION]: 'a1' }, status: READY }),
      undefined,
      facts({ notes: [note] }),
    ],
  ],
  orphanIsHandled: [
    [
      'you have handled it',
      webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9, 3' } }),
      writes('orphanHandled', HELD),
    ],
    [
      'you have handled another one',
      webWith(orphaned, { annotations: { [ORPHAN_HANDLED_ANNOTATION]: '9' } }),
      undefined,
    ],
  ],
  identifierIsHeldTwice: [
    [
      'each of the two objects parks, and checks again later',
      ready,
      park('IdentifierInUse', { when: { afterMs: TIMING.pollMs } }),
      facts({ others: busy }),
    ],
    [
      'the operator sends no DELETE while another object holds the server',
      deletingReady,
      park('IdentifierInUse', { when: { afterMs: TIMING.pollMs } }),
      withKey({ others: busy }),
    ],
    [
      'deletionPolicy Retain releases the object without a DELETE',
      webWith(HELD, { deleting: true, spec: { deletionPolicy: 'Retain' } }),
      undefined,
      facts({ others: busy }),
    ],
    [
      'the message does not name holders in other namespaces',
      ready,
      saying('is also held by default/other, an object in another namespace'),
      facts({ others: others({ withServer: () => ['default/other', 'secret-project/db'] }) }),
    ],
    ['no other object holds it', ready, undefined],
  ],
});
