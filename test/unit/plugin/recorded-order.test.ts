import { describe, expect, it } from 'vitest';
import { ADOPT_ANNOTATION, FINALIZER, RECORD_ANNOTATION } from '../../../src/api/names.ts';
import { formatRecord, type StoredRecord } from '../../../src/api/record.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { Condition } from '../../../src/api/meta.ts';
import { reasonPage } from '../../../src/api/documentation.ts';
import type { Context } from '../../../src/plugin/cluster/context.ts';
import { requireOpenOrder, take } from '../../../src/plugin/commands/resolve.ts';
import { planAdoptions } from '../../../src/plugin/decisions/listed.ts';
import { nextSteps } from '../../../src/plugin/state/next-steps.ts';
import { orderOf, unseenServer } from '../../../src/plugin/state/recorded-order.ts';
import { stored, storedWith } from '../../fixtures/virtual-server.ts';

const CLAIMED = '2026-01-01T00:00:00Z';
const SOON = Date.parse(CLAIMED) + 60_000;
const LATER = Date.parse(CLAIMED) + 2 * 3_600_000;

interface State {
  reason: string;
  /** Default: `Stalled`. */
  type?: string;
  record: Partial<StoredRecord>;
  mirror?: Partial<StoredRecord>;
  annotations?: Record<string, string>;
}

/** The object `web` with this record in the annotation and in status. */
function standing({ reason, type = 'Stalled', record, mirror = record, annotations = {} }: State): VirtualServer {
  const own = { owner: 'uid-of-web', mode: 'create' as const, attemptedAt: CLAIMED };
  const condition = (of: string, status: Condition['status']): Condition => ({
    type: of,
    status,
    reason,
    message: 'why',
    ...(reason === 'IdentityUnproven' && { subject: 'vs1@00:00:5e:00:53:ff' }),
    ...(reason === 'IdentifierTaken' && { subject: 'vs2' }),
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

  it.each(reasons)('waits for the user, and the next steps explain it, with the reason %s', (reason) => {
    for (const record of [LOST, TASK]) {
      const object = standing({ reason, record });
      expect(orderOf(object, SOON)).toEqual({ kind: 'open', attempt: 'lost', named: undefined });
      const steps = nextSteps(object, ' -n team', SOON);
      expect(steps[0]).toMatch(/^# look in the provider's control panel, .* was created after \S+ and/);
      expect(steps.slice(1, 3)).toEqual([
        'kubectl vps resolve web -n team --adopt IDENTIFIER   # if there is one',
        'kubectl vps resolve web -n team --not-created   # if you are sure that there is none',
      ]);
      expect(steps).toEqual([...new Set(steps)]);
      expect(steps.filter((step) => RELEASE.test(step))).toEqual([]);
    }
  });

  it('waits for the user while its task is overdue, whatever the reason', () => {
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
  ])('gets one hour while the reason does not contradict its task: %s', (reason) => {
    const object = standing({ reason, type: 'Reconciling', record: TASK });
    expect(orderOf(object, SOON)).toMatchObject({ kind: 'notYet', why: expect.stringContaining('task 7') as string });
    const corrected = standing({ reason, record: TASK, annotations: { [ADOPT_ANNOTATION]: 'vs9' } });
    expect(orderOf(corrected, SOON).kind).toBe('open');
  });

  it('is open without a task, whatever keeps the operator from calling the provider', () => {
    for (const reason of ['SecretNotFound', 'ProviderUnavailable', 'DeletionProtected']) {
      const object = standing({ reason, record: LOST });
      expect(orderOf(object, SOON).kind).toBe('open');
      expect(nextSteps(object, '', SOON).filter((step) => RELEASE.test(step))).toEqual([]);
    }
  });

  it('is not open while the request may be in flight', () => {
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

  it.each(['IdentifierInUse', 'AdoptInvalid', 'CreateOutcomeUnknown', 'TaskInUse'])(
    'offers no answer while the status is older than the order: %s',
    (reason) => {
      for (const record of [LOST, TASK]) {
        const object = standing({ reason, record, mirror: {} });
        expect(orderOf(object, SOON).kind).toBe('notYet');
        expect(nextSteps(object, '', SOON)).toEqual([
          'kubectl vps wait web   # the order may still be answered',
          `# more: ${reasonPage(reason)}`,
        ]);
      }
    },
  );

  it('offers no adoption once its server has an identifier, also under an older status', () => {
    const object = standing({ reason: 'IdentifierTaken', record: { ...TASK, identifier: 'vs1' } });
    expect(nextSteps(object, '', SOON).join('\n')).not.toContain('kubectl vps adopt');
    const unordered = standing({ reason: 'IdentifierTaken', record: {} });
    expect(nextSteps(unordered, '', SOON).join('\n')).toContain('kubectl vps adopt web vs2');
  });

  it('offers the answers again once the status covers it', () => {
    const steps = nextSteps(standing({ reason: 'IdentifierInUse', record: LOST }), '', SOON).join('\n');
    expect(steps).toMatch(/resolve web --adopt IDENTIFIER .*\n.*resolve web --not-created/);
  });

  it('is none if a server is known, or if the record belongs to another object', () => {
    expect(orderOf(standing({ reason: 'ServerMissing', record: { ...TASK, identifier: 'vs1' } }), LATER)).toEqual({
      kind: 'none',
    });
    expect(orderOf(standing({ reason: 'RecordMismatch', record: { ...LOST, owner: 'another' } }), LATER)).toEqual({
      kind: 'none',
    });
    expect(orderOf(stored('web'), LATER)).toEqual({ kind: 'none' });
  });

  it.each(['TaskNotFound', 'TaskFailed', 'TaskOverdue', 'TaskInUse'])(
    'is open only for not-created if a fruitless task has named its server: %s',
    (reason) => {
      const object = standing({ reason, record: { ...TASK, identifier: 'vs1' } });
      expect(orderOf(object, SOON)).toEqual({ kind: 'open', attempt: 'lost', named: 'vs1' });
      expect(nextSteps(object, '', SOON)).toEqual([
        "kubectl vps resolve web --not-created   # if the provider's control panel does not show server vs1",
        `# more: ${reasonPage(reason)}`,
      ]);
    },
  );
});

describe('an order under an identifier', () => {
  const NAMED = { ...LOST, mode: 'named', identifier: 'vs1', sent: { at: CLAIMED, body: '0123' } } as const;
  const context = { cluster: { where: '' }, now: () => SOON } as unknown as Context;

  it.each([
    ['whose server was not shown yet', NAMED, 'has ordered server vs1, which the provider has not shown yet'],
    ['whose server was shown', { ...NAMED, fingerprint: { macs: ['00:00:5e:00:53:01'] } }, 'holds server vs1'],
  ])('%s is named as what it is', async (_, record, holds) => {
    const object = standing({ reason: 'Creating', type: 'Reconciling', record });
    expect(() => requireOpenOrder(object, context)).toThrow(`nothing to resolve: web is Creating and ${holds}`);
    await expect(take(context, object, 'vs2', true)).rejects.toThrow(`web already ${holds}: create another object`);
    const { namespace, name } = object.metadata;
    expect(planAdoptions([{ namespace, name, identifier: 'vs2' }], [object], SOON)).toMatchObject([
      { outcome: 'refused', why: `already ${holds}` },
    ]);
  });
});

describe('a server that the operator cannot see', () => {
  const HELD = { identifier: 'vs1' };

  it.each(['AbsenceUnproven', 'IdentityUnproven', 'ServerNotVisible', 'ServerMissing'])(
    'can be reported as gone: %s',
    (reason) => {
      const object = standing({ reason, record: HELD });
      expect(unseenServer(object)).toBe('vs1');
      const gone = /^kubectl vps resolve web -n team --gone +# (if|you) /;
      expect(nextSteps(object, ' -n team', SOON)).toContainEqual(expect.stringMatching(gone));
      expect(unseenServer(standing({ reason, record: LOST }))).toBeUndefined();
    },
  );

  it.each(['Available', 'SecretNotFound', 'ProviderUnavailable'])('is undefined with the reason %s', (reason) => {
    expect(unseenServer(standing({ reason, record: HELD }))).toBeUndefined();
  });

  it('is reported with the annotation itself where the command refuses: during a deletion without answers', () => {
    const object = standing({ reason: 'ProviderUnavailable', record: HELD });
    const deleting = { ...object, metadata: { ...object.metadata, deletionTimestamp: CLAIMED } };
    const [first] = nextSteps(deleting, ' -n team', SOON);
    expect(first).toMatch(/^kubectl annotate --overwrite vps web -n team vps-operator.dev\/server-gone=vs1 /);
  });

  it('is defined while the object stays Ready', () => {
    const object = standing({ reason: 'AbsenceUnproven', type: 'Reconciling', record: HELD });
    const conditions = (object.status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready' ? { ...condition, status: 'True' as const, reason: 'Available' } : condition,
    );
    expect(unseenServer({ ...object, status: { ...object.status, conditions } })).toBe('vs1');
  });
});

describe('an object with a record from a newer version', () => {
  const format3 = (reason: string): VirtualServer => standing({ reason, record: { ...TASK, format: 3 } });

  it('refuses every answer with the message of the operator', () => {
    expect(orderOf(format3('RecordTooNew'), LATER)).toEqual({ kind: 'notYet', why: 'why' });
    expect(nextSteps(format3('RecordTooNew'), '', LATER)).toEqual([`# more: ${reasonPage('RecordTooNew')}`]);
    expect(unseenServer(format3('RecordTooNew'))).toBeUndefined();
  });

  it('asks for a newer plugin if the operator understands the record', () => {
    const why = 'a newer version of the operator wrote the record, which has format 3: upgrade this plugin';
    expect(orderOf(format3('TaskNotFound'), LATER)).toEqual({ kind: 'notYet', why });
    expect(nextSteps(format3('TaskNotFound'), '', LATER).join('\n')).not.toMatch(RELEASE);
  });
});
