import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord, type ServerRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { Condition } from '../../../src/api/meta.ts';
import { nextSteps } from '../../../src/cli/vps/next-steps.ts';
import { orderOf, unseenServer } from '../../../src/cli/vps/order.ts';
import { stored, storedWith } from '../../gen/virtual-server.ts';

const CLAIMED = '2026-01-01T00:00:00Z';
const SOON = Date.parse(CLAIMED) + 60_000;
const LATER = Date.parse(CLAIMED) + 2 * 3_600_000;

interface State {
  reason: string;
  /** `Stalled` unless it is said. */
  type?: string;
  record: Partial<ServerRecord>;
  mirror?: Partial<ServerRecord>;
  annotations?: Record<string, string>;
}

/** `web`, whose record this is, as it stands in an annotation and in status. */
function standing({ reason, type = 'Stalled', record, mirror = record, annotations = {} }: State): VirtualServer {
  const own = { owner: 'uid-of-web', mode: 'create' as const, attemptedAt: CLAIMED };
  const condition = (of: string, status: Condition['status']): Condition => ({
    type: of,
    status,
    reason,
    message: 'why',
    lastTransitionTime: CLAIMED,
    observedGeneration: 1,
  });
  return stored(
    'web',
    storedWith({
      metadata: {
        finalizers: [FINALIZER],
        annotations: { [RECORD_ANNOTATION]: formatRecord({ ...own, ...record }), ...annotations },
      },
      status: {
        observedGeneration: 1,
        record: { ...own, ...mirror },
        conditions: [condition('Ready', 'False'), condition(type, 'True')],
      },
    }),
  );
}

const LOST = { attempt: 'lost' };
const TASK = { attempt: 'lost', task: 7 };
const RELEASE = /Retain|kubectl delete/;

describe('an order without a server', () => {
  const reasons = [
    'CreateOutcomeUnknown',
    'TaskNotFound',
    'TaskFailed',
    'TaskInUse',
    'IdentityUnproven',
    'IdentifierInUse',
    'ServerNotVisible',
    'AdoptInvalid',
    'ProviderProtocolError',
    'AReasonOfALaterVersion',
  ];

  it.each(reasons)('waits for your word, which the next steps ask for, with the reason %s', (reason) => {
    for (const record of [LOST, TASK]) {
      const object = standing({ reason, record });
      expect(orderOf(object, SOON)).toEqual({ kind: 'open', attempt: 'lost', named: undefined });
      const steps = nextSteps(object, ' -n team', SOON);
      expect(steps.slice(0, 2)).toEqual([
        'kubectl vps resolve web -n team --adopt IDENTIFIER   # there is a server',
        'kubectl vps resolve web -n team --not-created        # there is none',
      ]);
      expect(steps.filter((step) => RELEASE.test(step))).toEqual([]);
    }
  });

  it('waits for your word while its task is overdue, whatever else is wrong', () => {
    expect(orderOf(standing({ reason: 'TaskOverdue', type: 'Reconciling', record: TASK }), LATER).kind).toBe('open');
    expect(orderOf(standing({ reason: 'ProviderUnavailable', type: 'Reconciling', record: TASK }), LATER).kind).toBe(
      'open',
    );
  });

  it.each([
    'Pending',
    'Creating',
    'Deleting',
    'ProviderUnavailable',
    'InvalidCredentials',
    'DeletionProtected',
    'AbsenceUnproven',
  ])('has its hour while nothing is said against its task: %s', (reason) => {
    const object = standing({ reason, type: 'Reconciling', record: TASK });
    expect(orderOf(object, SOON)).toMatchObject({ kind: 'notYet', why: expect.stringContaining('task 7') as string });
    const corrected = standing({ reason, record: TASK, annotations: { [ADOPT_ANNOTATION]: 'vs9' } });
    expect(orderOf(corrected, SOON).kind).toBe('open');
  });

  it('is open without a task whatever keeps the operator from a call', () => {
    for (const reason of ['SecretNotFound', 'ProviderUnavailable', 'DeletionProtected']) {
      const object = standing({ reason, record: LOST });
      expect(orderOf(object, SOON).kind).toBe('open');
      expect(nextSteps(object, '', SOON).filter((step) => RELEASE.test(step))).toEqual([]);
    }
  });

  it('may be on its way', () => {
    expect(orderOf(standing({ reason: 'CreateInFlight', record: LOST }), LATER).kind).toBe('notYet');
    expect(orderOf(standing({ reason: 'Pending', record: LOST }), LATER).kind).toBe('notYet');
    const mirrors = [{}, { attempt: 'earlier' }];
    for (const mirror of mirrors) {
      const object = standing({ reason: 'CreateOutcomeUnknown', record: LOST, mirror });
      expect(orderOf(object, LATER)).toMatchObject({
        kind: 'notYet',
        why: expect.stringMatching(/again in a moment/) as string,
      });
    }
  });

  it('is none where a server is known, or where the record is of another object', () => {
    expect(orderOf(standing({ reason: 'ServerMissing', record: { ...TASK, identifier: 'vs1' } }), LATER)).toEqual({
      kind: 'none',
    });
    expect(orderOf(standing({ reason: 'RecordMismatch', record: { ...LOST, owner: 'another' } }), LATER)).toEqual({
      kind: 'none',
    });
    expect(orderOf(stored('web'), LATER)).toEqual({ kind: 'none' });
  });

  it.each(['TaskNotFound', 'TaskFailed', 'TaskOverdue', 'TaskInUse'])(
    'is open for not-created alone where a fruitless task has named its server: %s',
    (reason) => {
      const object = standing({ reason, record: { ...TASK, identifier: 'vs1' } });
      expect(orderOf(object, SOON)).toEqual({ kind: 'open', attempt: 'lost', named: 'vs1' });
      expect(nextSteps(object, '', SOON)).toEqual(['kubectl vps resolve web --not-created        # there is none']);
    },
  );
});

describe('a server that the operator does not see', () => {
  const HELD = { identifier: 'vs1' };

  it.each(['AbsenceUnproven', 'IdentityUnproven', 'ServerNotVisible', 'ServerMissing'])(
    'can be called gone: %s',
    (reason) => {
      const object = standing({ reason, record: HELD });
      expect(unseenServer(object)).toBe('vs1');
      expect(nextSteps(object, ' -n team', SOON).at(-1)).toMatch(/^kubectl vps resolve web -n team --gone +# /);
      expect(unseenServer(standing({ reason, record: LOST }))).toBeUndefined();
    },
  );

  it.each(['Available', 'SecretNotFound', 'ProviderUnavailable'])('is not one with the reason %s', (reason) => {
    expect(unseenServer(standing({ reason, record: HELD }))).toBeUndefined();
  });

  it('counts where the object stays Ready', () => {
    const object = standing({ reason: 'AbsenceUnproven', type: 'Reconciling', record: HELD });
    const conditions = (object.status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready' ? { ...condition, status: 'True' as const, reason: 'Available' } : condition,
    );
    expect(unseenServer({ ...object, status: { ...object.status, conditions } })).toBe('vs1');
  });
});

describe('an object whose record a newer version has written', () => {
  const format2 = (reason: string): VirtualServer => standing({ reason, record: { ...TASK, format: 2 } });

  it('refuses every word with what the operator says of it', () => {
    expect(orderOf(format2('RecordTooNew'), LATER)).toEqual({ kind: 'notYet', why: 'why' });
    expect(nextSteps(format2('RecordTooNew'), '', LATER)).toEqual([
      '# run the newer version of the operator again: docs/operations.md#recordtoonew',
    ]);
    expect(unseenServer(format2('RecordTooNew'))).toBeUndefined();
  });

  it('asks for a newer plugin where the operator understands it', () => {
    const why = 'a newer version of the operator wrote the record, which has format 2: upgrade this plugin';
    expect(orderOf(format2('TaskNotFound'), LATER)).toEqual({ kind: 'notYet', why });
    expect(nextSteps(format2('TaskNotFound'), '', LATER).join('\n')).not.toMatch(RELEASE);
  });
});
