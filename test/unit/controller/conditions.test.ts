import { describe, expect, it } from 'vitest';
import { REASONS, hasTrait, type ReadyReason, type Reason } from '../../../src/api/conditions.ts';
import { pointer, reasonPage } from '../../../src/api/documentation.ts';
import { MAX_MESSAGE, type Condition } from '../../../src/api/meta.ts';
import { timestamp } from '../../../src/base/duration.ts';
import {
  adviceOf,
  currentReason,
  eventOf,
  transitions,
  withCondition,
  withVerdict,
} from '../../../src/controller/conditions.ts';
import { NOW } from '../../fixtures/decision.ts';

const LATER = NOW + 5_000;
const since = (conditions: readonly Condition[], type: string): string | undefined =>
  conditions.find((condition) => condition.type === type)?.lastTransitionTime;
const ready = withVerdict([], { reason: 'Available', message: 'runs' }, 1, NOW);
const messageOf = (reason: Reason, message: string): string =>
  withCondition([], 'Drifted', { reason, message }, 1, NOW)[0]?.message ?? '';

describe('withVerdict', () => {
  it('moves lastTransitionTime only when a status flips', () => {
    const pending = withVerdict([], { reason: 'Pending', message: 'soon' }, 1, NOW);
    const creating = withVerdict(pending, { reason: 'Creating', message: 'now' }, 1, LATER);
    expect(since(creating, 'Ready')).toBe(timestamp(NOW));
    expect(since(creating, 'Reconciling')).toBe(timestamp(NOW));
    const available = withVerdict(creating, { reason: 'Available', message: 'runs' }, 1, LATER);
    expect(since(available, 'Ready')).toBe(timestamp(LATER));
    expect(available).toHaveLength(1);
  });

  it('returns equal conditions, in the same order, when nothing changes', () => {
    const drifted = withCondition(ready, 'Drifted', { reason: 'Drifted', message: 'x' }, 1, NOW);
    for (const reason of ['Available', 'ProviderUnavailable', 'IdentifierInUse', 'ServerMissing'] as const) {
      const put = (conditions: readonly Condition[], now: number): Condition[] =>
        withCondition(
          withVerdict(conditions, { reason, message: 'm' }, 1, now),
          'Drifted',
          { reason: 'Drifted', message: 'x' },
          1,
          now,
        );
      const once = put(drifted, NOW);
      expect(put(once, LATER)).toEqual(once);
    }
  });

  it('keeps a Ready server Ready while the operator cannot observe it', () => {
    const troubled = withVerdict(ready, { reason: 'InvalidCredentials', message: 'no' }, 1, LATER);
    expect(troubled.map(({ type, status, reason }) => `${type} ${status} ${reason}`)).toEqual([
      'Ready True Available',
      'Stalled True InvalidCredentials',
    ]);
    const never = withVerdict([], { reason: 'InvalidCredentials', message: 'no' }, 1, LATER);
    expect(never[0]).toMatchObject({ type: 'Ready', status: 'False', reason: 'InvalidCredentials' });
  });

  it('sets Ready to False for a missing server', () => {
    expect(withVerdict(ready, { reason: 'ServerMissing', message: 'gone' }, 1, LATER)[0]).toMatchObject({
      status: 'False',
      lastTransitionTime: timestamp(LATER),
    });
  });

  it('keeps conditions of other types', () => {
    const other: Condition = { ...(ready[0] as Condition), type: 'AnotherControllers' };
    expect(withVerdict([other], { reason: 'Pending', message: '' }, 1, NOW)).toContainEqual(other);
  });

  it('cuts a message to the length that the schema allows', () => {
    const message = `${'x'.repeat(MAX_MESSAGE - 5)}😀😀`;
    expect(messageOf('Pending', message)).toBe(`${'x'.repeat(MAX_MESSAGE - 5)}...`);
  });

  it('writes times in whole seconds, like metav1.Time', () => {
    expect(timestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe('2026-01-02T03:04:05Z');
  });
});

describe('the message of a condition', () => {
  it.each((Object.keys(REASONS) as Reason[]).filter((reason) => hasTrait(reason, 'calm')))(
    'is only what is the case while the reason is %s, which needs no attention',
    (reason) => expect(messageOf(reason, 'It runs')).toBe('It runs'),
  );

  it.each((Object.keys(REASONS) as Reason[]).filter((reason) => !hasTrait(reason, 'calm')))(
    'ends with the page of %s',
    (reason) => expect(messageOf(reason, 'Why')).toBe(`Why. See ${reasonPage(reason)}`),
  );

  it.each([
    ['a sentence', 'Set a later time', 'Set a later time. See'],
    ['a sentence that has its full stop', 'Set a later time.', 'Set a later time. See'],
    ['an ellipsis', 'The provider said: no...', 'The provider said: no... See'],
    ['a command', 'Run `kubectl get vps`', 'Run `kubectl get vps`. See'],
    ['a colon', 'The provider said:', 'The provider said. See'],
    ['nothing', '', 'See'],
  ])('has one full stop after %s', (_what, text, start) => {
    expect(messageOf('InvalidSpec', text)).toBe(`${start} ${reasonPage('InvalidSpec')}`);
  });

  it('stays the same while a server stays Ready in spite of a failure', () => {
    const notice = withVerdict(
      [],
      { reason: 'Available', message: 'It runs', advice: 'Run `kubectl get vps`' },
      1,
      NOW,
    );
    expect(notice[0]).toMatchObject({ message: 'It runs. Run `kubectl get vps`', summary: 'It runs' });
    const failing = withVerdict(notice, { reason: 'ProviderUnavailable', message: 'no' }, 2, LATER);
    expect(failing[0]).toEqual({ ...notice[0], observedGeneration: 2 });
  });

  it('has its parts apart: what is the case, and what to do', () => {
    for (const reason of ['InvalidSpec', 'Available'] as const) {
      const finding = { reason, message: 'Why.', advice: 'To correct it, run `kubectl edit vps web`' };
      const [condition] = withVerdict([], finding, 1, NOW);
      expect(condition?.message).toMatch(/^Why\. To correct it, run `kubectl edit vps web`(\. See \S+)?$/);
      expect(condition?.summary).toBe('Why.');
      expect(adviceOf(condition as Condition).replace(/\.$/, '')).toBe(finding.advice);
    }
    expect(adviceOf(withVerdict([], { reason: 'InvalidSpec', message: 'Why' }, 1, NOW)[0] as Condition)).toBe('');
    expect(ready[0]).not.toHaveProperty('summary');
  });

  it('comes with the subject, for programs', () => {
    const [condition] = withVerdict([], { reason: 'IdentityUnproven', message: 'Why', subject: 'srv1@mac' }, 1, NOW);
    expect(condition).toMatchObject({ subject: 'srv1@mac' });
    expect(ready[0]).not.toHaveProperty('subject');
  });

  it.each(['MemberBlocked', 'RollingOut'] as const)(
    'of %s points to the page of the reason that it quotes',
    (reason) => {
      const message = 'web-3 is InvalidSpec: why';
      const conditions = withVerdict([], { reason, message, quoted: 'InvalidSpec' }, 1, NOW);
      const said = `web-3 is InvalidSpec: why. See ${reasonPage('InvalidSpec')}`;
      expect(conditions.map((condition) => condition.message)).toEqual([said, said]);
      expect(transitions([], conditions)[0]?.note).toBe(said);
    },
  );

  it('is the text of its Event, which keeps the page too', () => {
    const conditions = withVerdict([], { reason: 'InvalidSpec', message: '😀 Größe'.repeat(300) }, 1, NOW);
    const [event] = transitions([], conditions);
    expect(event?.note).toBe(conditions[0]?.message);
    expect(event?.note).toMatch(/\.\.\. See https:\S+#invalidspec$/);
    // The API server counts the bytes of an Event.
    expect(Buffer.byteLength(event?.note ?? '')).toBeLessThanOrEqual(1024);
  });

  it.each([0, 1, 2, 5, 9, 10, 11, 40, 70, 90, 120, 150, 400])(
    'keeps its page and no half command when it is too long (%i characters more)',
    (more) => {
      const command = '`kubectl annotate --overwrite vps web -n default vps-operator.dev/adopt=IDENTIFIER`';
      const room = MAX_MESSAGE - pointer('InvalidSpec').length - 1;
      const end = ` If so, run ${command}. If not, run ${command}.`;
      const message = messageOf('InvalidSpec', `${'x'.repeat(room - end.length - 1 + more)}.${end}`);
      expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
      expect(message).toMatch(/(\.|`\.|\.\.\.) See https:\S+#invalidspec$/);
      expect(message.replaceAll(command, '')).not.toContain('`');
    },
  );
});

describe('the note of an Event', () => {
  it('is a printable line, whatever it quotes', () => {
    const { note } = eventOf({ reason: 'ServerAdopted', message: 'a\u001b[2J\nb\u202ec' });
    expect(note).toBe('a [2J b c');
  });
});

describe('transitions', () => {
  const conditionsWith = (reason: ReadyReason): Condition[] => withVerdict([], { reason, message: '' }, 1, NOW);
  const told = (from: ReadyReason, to: ReadyReason): string[] =>
    transitions(conditionsWith(from), conditionsWith(to)).map(({ reason }) => reason);

  it('has no Event for a new order, whose next reason has one', () => {
    expect(told('Pending', 'Creating')).toEqual([]);
    expect(told('Creating', 'Available')).toEqual(['Available']);
    expect(told('Creating', 'TaskFailed')).toEqual(['TaskFailed']);
  });
});

describe('currentReason', () => {
  it.each([
    {
      reason: 'Stalled comes first',
      of: withVerdict(ready, { reason: 'InvalidCredentials', message: '' }, 1, NOW),
      is: 'InvalidCredentials',
    },
    {
      reason: 'then Reconciling',
      of: withVerdict(ready, { reason: 'ProviderUnavailable', message: '' }, 1, NOW),
      is: 'ProviderUnavailable',
    },
    { reason: 'then Ready', of: ready, is: 'Available' },
    { reason: 'no conditions yet', of: undefined, is: undefined },
  ])('is $is: $reason', ({ of, is }) => {
    expect(currentReason(of)).toBe(is);
  });
});
