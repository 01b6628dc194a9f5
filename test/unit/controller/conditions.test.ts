import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE, type Condition } from '../../../src/api/meta.ts';
import { timestamp } from '../../../src/base/timestamp.ts';
import { currentReason, withCondition, withVerdict } from '../../../src/controller/conditions.ts';
import { NOW } from '../../gen/decision.ts';

const LATER = NOW + 5_000;
const since = (conditions: readonly Condition[], type: string): string | undefined =>
  conditions.find((condition) => condition.type === type)?.lastTransitionTime;
const ready = withVerdict([], { reason: 'Available', message: 'runs' }, 1, NOW);

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
    const [condition] = withVerdict([], { reason: 'Pending', message: `${'x'.repeat(MAX_MESSAGE - 1)}😀` }, 1, NOW);
    expect(condition?.message).toBe('x'.repeat(MAX_MESSAGE - 1));
  });

  it('writes times in whole seconds, like metav1.Time', () => {
    expect(timestamp(Date.UTC(2026, 0, 2, 3, 4, 5, 678))).toBe('2026-01-02T03:04:05Z');
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
