/** Helpers for the tests of the checks: a case, and what must hold for the cases of every check. */
import { describe, expect, it } from 'vitest';
import type { Following, Held, ServerRecord } from '../../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../../src/api/virtual-server.ts';
import { CHAINS } from '../../../../../src/virtual-server/decision/decide.ts';
import { inputsOf } from '../../../../../src/virtual-server/decision/inputs.ts';
import type { Memo, Planned } from '../../../../../src/virtual-server/decision/memo.ts';
import type { Operation } from '../../../../../src/virtual-server/decision/types.ts';
import { viewOf, type Circumstances } from '../../../../../src/virtual-server/decision/view.ts';
import { NOW, memo, withKey } from '../../../../fixtures/decision.ts';

/** The case, the object, and the operation that the check answers with; undefined: it has no answer. Default: a valid key. */
export type Row = [reason: string, object: VirtualServer, operation: unknown, given?: Circumstances];

/** The answer of one check alone, ignoring the checks before it; none if no chain with it admits the object. */
export function answer(name: string, object: VirtualServer, given: Circumstances): Operation | undefined {
  const view = viewOf(object, given);
  const asked = Object.values(CHAINS).flatMap(({ admits, checks }) =>
    checks.filter((check) => check.name === name).map((check) => ({ check, admits })),
  );
  if (asked.length === 0) throw new Error(`there is no check ${name}`);
  return asked.find(({ admits }) => admits(view))?.check(view);
}

/** Check -> its cases. */
export function verifyChecks(title: string, checks: Record<string, readonly Row[]>): void {
  describe.each(Object.entries(checks))(`${title}: %s`, (name, rows) => {
    it.each(rows)('%s', (_reason, object, operation, given = withKey()) => {
      expect(answer(name, object, given)).toEqual(operation);
    });

    it('has an answer in one case and none in another', () => {
      const answered = rows.map(([, , operation]) => operation !== undefined);
      // The last check always has an answer.
      expect(new Set(answered)).toEqual(new Set(name === 'serverIsToBeOrdered' ? [true] : [true, false]));
    });
  });
}

export const planned = (object: VirtualServer, operation: Planned, at: number, from = 0): Memo =>
  memo({}, { plan: { operation, from, at, inputs: inputsOf(object) } });

/** A park whose message contains these words. */
export const saying = (words: string): unknown =>
  expect.objectContaining({ type: 'park', verdict: expect.objectContaining({ message: has(words) }) as unknown });

const has = (words: string): string => expect.stringContaining(words) as string;

/** A verdict with a subject. */
export const asking = (reason: string, subject: string | undefined): unknown =>
  expect.objectContaining({ type: 'park', verdict: expect.objectContaining({ reason, subject }) as unknown });

export const park = (reason: string, more: object = {}): unknown =>
  expect.objectContaining({ type: 'park', verdict: expect.objectContaining({ reason }) as unknown, ...more });

export const cancels = (record: Held): Operation => ({ type: 'cancel', record });

export const follows = (record: Following | Held): Operation => ({ type: 'follow', record, task: 7 });
export const looks = (record: Held): Operation => ({ type: 'look', record });
export const releases = (why: string, record?: ServerRecord) => ({ type: 'release', why, record });
export const writes = (why: string, record: ServerRecord) => ({ type: 'record', record, why });

/** The next step of the operation is due in 50 ms. */
export const soon = (object: VirtualServer, operation: Planned): Circumstances =>
  withKey({ memo: planned(object, operation, NOW + 50) });
