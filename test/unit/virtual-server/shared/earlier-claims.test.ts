/** The orders that a process finds claimed when it starts. */
import { describe, expect, it } from 'vitest';
import { NEW_MEMO, type Memo } from '../../../../src/virtual-server/decision/memo.ts';
import { untilSent, viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { isClaimed, isNamed, type ServerRecord } from '../../../../src/api/record.ts';
import { recallClaims } from '../../../../src/virtual-server/shared/earlier-claims.ts';
import { ATTEMPTED, HELD, TIMING, facts, webWith, type Shape } from '../../../fixtures/decision.ts';

const NAMED: ServerRecord = {
  ...ATTEMPTED,
  identifier: 'srv1',
  mode: 'named',
  sent: { at: '2026-01-01T23:59:00Z', body: 'b1' },
};

/** What the process remembers of an object with this record, if no process has led since -5000 ms. */
function recalled(own: ServerRecord, shape: Shape = {}): Memo {
  const object = webWith(own, shape);
  let memo: Memo = NEW_MEMO;
  recallClaims([object], { memo: () => memo, remember: (_uid, next) => (memo = next) }, -5_000);
  return memo;
}

describe('an order of an earlier process', () => {
  it.each([
    ['under an identifier', NAMED],
    ['without an identifier', ATTEMPTED],
  ])('%s can be on its way only so long after that process has ended', (_how, own) => {
    const view = viewOf(webWith(own), { ...facts(), monotonic: 0, memo: recalled(own) });
    const record = view.own;
    if (record === undefined || !(isClaimed(record) || isNamed(record))) throw new Error('no claim');
    expect(untilSent(record, view)).toBe(TIMING.takeoverMs - 5_000);
    // A later request of this process.
    const later = isNamed(record)
      ? { ...record, sent: { ...record.sent, at: '2026-01-02T00:00:00.000Z' } }
      : { ...record, attempt: 'a2' };
    expect(untilSent(later, view)).toBe(TIMING.takeoverMs);
  });

  it('is of no interest once its server was read', () => {
    expect(recalled(HELD, { status: { serverStatus: 'running' } })).toBe(NEW_MEMO);
  });
});
