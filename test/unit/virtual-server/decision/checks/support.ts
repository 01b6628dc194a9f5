/** Helpers for the tests of the checks: a case, and what must hold for the cases of every check. */
import { describe, expect, it } from 'vitest';
import type { ServerRecord } from '../../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import { CHAINS } from '../../../../../src/virtual-server/decision/decide.ts';
import { inputsOf } from '../../../../../src/virtual-server/decision/inputs.ts';
import type { Memo, Planned } from '../../../../../src/virtual-server/decision/memo.ts';
import type { Facts, Operation } from '../../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../../src/virtual-server/decision/view.ts';
import { facts, memo } from '../../../../fixtures/decision.ts';

export interface CheckCase {
  check: string;
  reason: string;
  object: VirtualServer;
  given?: Facts;
  /** Undefined: the check has no answer. */
  operation: unknown;
}

/** The answer of one check alone, ignoring the checks before it; none if no chain with it admits the object. */
export function answer(name: string, object: VirtualServer, given: Facts): Operation | undefined {
  const view = viewOf(object, given);
  const asked = Object.values(CHAINS).flatMap(({ admits, checks }) =>
    checks.filter((check) => check.name === name).map((check) => ({ check, admits })),
  );
  if (asked.length === 0) throw new Error(`there is no check ${name}`);
  return asked.find(({ admits }) => admits(view))?.check(view);
}

export function verifyChecks(title: string, cases: readonly CheckCase[]): void {
  describe(title, () => {
    it.each(cases)('$check: $reason', ({ check, object, given = facts(), operation }) => {
      expect(answer(check, object, given)).toEqual(operation);
    });

    it.each([...new Set(cases.map(({ check }) => check))])(
      '%s has an answer in one case and none in another',
      (name) => {
        const answered = cases.filter(({ check }) => check === name).map(({ operation }) => operation !== undefined);
        // The last check always has an answer.
        expect(new Set(answered)).toEqual(new Set(name === 'serverIsToBeOrdered' ? [true] : [true, false]));
      },
    );
  });
}

export const planned = (object: VirtualServer, operation: Planned, at: number, from = 0): Memo =>
  memo({}, { plan: { operation, from, at, inputs: inputsOf(object) } });

/** A park whose message contains these words. */
export const saying = (words: string): unknown =>
  expect.objectContaining({ type: 'park', verdict: expect.objectContaining({ message: has(words) }) as unknown });

const has = (words: string): string => expect.stringContaining(words) as string;

export const park = (reason: string, more: object = {}): unknown =>
  expect.objectContaining({ type: 'park', verdict: expect.objectContaining({ reason }) as unknown, ...more });

export const cancels = (record: ServerRecord): Operation => ({ type: 'cancel', record, identifier: 'srv1' });
