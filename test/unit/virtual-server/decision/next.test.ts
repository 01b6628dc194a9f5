/** When the operator comes back to an object, and which operation it has planned. */
import { describe, expect, it } from 'vitest';
import type { Memo } from '../../../../src/virtual-server/decision/memo.ts';
import {
  NOW as AT_ONCE,
  ON_CHANGE,
  atEarliest,
  atLatest,
  untilVisit,
  withPlan,
} from '../../../../src/virtual-server/decision/next.ts';
import { NOW, memo } from '../../../fixtures/decision.ts';

const LATER = { operation: 'look', afterMs: 600_000 } as const;

describe('the next visit', () => {
  it('comes when the planned operation is due, or earlier for another one', () => {
    expect(untilVisit(LATER)).toBe(600_000);
    expect(untilVisit(atLatest(LATER, 5_000))).toBe(5_000);
    expect(untilVisit(atLatest(atLatest(LATER, 5_000), 9_000))).toBe(5_000);
    expect(untilVisit(atLatest(LATER, Infinity))).toBe(600_000);
  });

  it('comes when something changes, or earlier when time alone has an effect', () => {
    expect(untilVisit(ON_CHANGE)).toBeUndefined();
    expect(untilVisit(atLatest(ON_CHANGE, 5_000))).toBe(5_000);
  });

  it('can be put off, but not the rest of the present one', () => {
    expect(untilVisit(atEarliest({ ...LATER, visitAfterMs: 0 }, 2_000))).toBe(2_000);
    expect(untilVisit(atEarliest({ afterMs: 500 }, 2_000))).toBe(2_000);
    expect(untilVisit(atEarliest(LATER, 2_000))).toBe(600_000);
    expect(atEarliest(AT_ONCE, 2_000)).toEqual(AT_ONCE);
  });
});

describe('a plan', () => {
  const planned = memo({}, { plan: { operation: 'order', from: 0, at: Infinity, inputs: 'before' } });
  const plan = (when: Parameters<typeof withPlan>[1]): Memo['plan'] => withPlan(planned, when, NOW, 'now').plan;

  it('is for the operation that is due later, and for the present inputs', () => {
    const expected = { operation: 'look', from: NOW, at: NOW + 600_000, inputs: 'now' };
    expect(plan(LATER)).toEqual(expected);
    expect(plan(atLatest(LATER, 5_000))).toEqual(expected);
    expect(plan({ operation: 'look', afterMs: Infinity })).toEqual({ ...expected, at: Infinity });
  });

  it('stays if no operation is planned', () => {
    for (const when of [AT_ONCE, ON_CHANGE, { afterMs: 50 }]) expect(plan(when)).toEqual(planned.plan);
  });
});
