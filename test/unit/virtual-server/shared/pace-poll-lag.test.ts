import { describe, expect, it } from 'vitest';
import { FINALIZER, PAUSED_ANNOTATION } from '../../../../src/api/names.ts';
import { pollLagMs } from '../../../../src/virtual-server/shared/pace.ts';
import { NEW_MEMO, type Memo, type Planned } from '../../../../src/virtual-server/decision/memo.ts';
import { stored, storedWith } from '../../../fixtures/virtual-server.ts';

const NOW = 1_000_000;
const due =
  (at: number, operation: Planned = 'follow') =>
  (): Memo => ({
    ...NEW_MEMO,
    plan: { operation, from: 0, at, inputs: '' },
  });

describe('poll lag', () => {
  it('is the lag of the most overdue object', () => {
    const memos: Record<string, Memo> = {
      'uid-of-a': due(NOW - 200)(),
      'uid-of-b': due(NOW - 700, 'look')(),
      'uid-of-c': due(NOW + 900)(),
    };
    const objects = ['a', 'b', 'c', 'd'].map((name) => stored(name));
    expect(pollLagMs(objects, (uid) => memos[uid] ?? NEW_MEMO, NOW)).toBe(700);
  });

  it('does not count objects that are skipped on purpose', () => {
    const paused = stored('a', storedWith({ metadata: { annotations: { [PAUSED_ANNOTATION]: 'true' } } }));
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    const letGo = stored('b', storedWith({ metadata: { deletionTimestamp, finalizers: ['other/finalizer'] } }));
    const held = stored('c', storedWith({ metadata: { deletionTimestamp, finalizers: [FINALIZER] } }));
    expect(pollLagMs([paused, letGo], due(NOW - 700), NOW)).toBe(0);
    expect(pollLagMs([held], due(NOW - 700), NOW)).toBe(700);
  });
});
