/** When a create that made no server is due again, with a clock that the test sets. */
import { ProviderError, ResponseError } from '../../../../../src/provider/error.ts';
import { describe, expect, it } from 'vitest';
import type { Action, Facts, Memo } from '../../../../../src/virtual-server/decision/types.ts';
import type { CreateOutcome } from '../../../../../src/provider/types.ts';
import { others, decide, settle } from '../../../../gen/decision.ts';
import { stored, storedWith } from '../../../../gen/virtual-server.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const RECORD = { owner: 'uid-of-web', mode: 'create', attempt: 'a1', attemptedAt: '2026-01-01T00:00:00Z' } as const;
const REQUEST = { product: 'vps-1gb', image: 'debian-13.qcow2/minimal', diskSize: 20, sshKeys: 'ssh-ed25519 AAAA' };
const CREATE: Action = { type: 'create', record: RECORD, attempt: 'a1', request: REQUEST };

function facts(now: number, memo: Memo): Facts {
  const timing = { pollMs: MINUTE, resyncMs: 10 * MINUTE, takeoverMs: 3 * MINUTE, absenceMs: 5 * MINUTE };
  return { now, monotonic: now - START, memo, notes: [], others: others(), timing, jitter: 0.5 };
}

/** The memo of the object after this answer at START. */
function memoAfter(result: CreateOutcome, failures = 0): Memo {
  return settle(stored('web'), CREATE, { type: 'sent', result }, facts(START, { failures })).memo;
}

/** Whether a visit this many ms later continues towards another create. */
function isDue(memo: Memo, ms: number, generation = 1): boolean {
  const object = storedWith({ metadata: { generation } })(stored('web'));
  return decide(object, facts(START + ms, memo)).type !== 'wait';
}

function refused(status: number): CreateOutcome {
  return { kind: 'refused', status, error: new ResponseError(status, 'no') };
}

function rateLimited(retryAfterMs?: number): CreateOutcome {
  return { kind: 'notCreated', error: new ProviderError('PROVIDER_RATE_LIMITED', 'slow down', { retryAfterMs }) };
}

describe('a create that was refused', () => {
  it.each([402, 403])('is due again within an hour, but not before 54 minutes, after a %i', (status) => {
    const memo = memoAfter(refused(status));
    expect(isDue(memo, 54 * MINUTE - 1)).toBe(false);
    expect(isDue(memo, 60 * MINUTE)).toBe(true);
  });

  it.each([400, 404, 405, 413, 415, 422])('is never due again for the same spec after a %i', (status) => {
    const memo = memoAfter(refused(status));
    expect(isDue(memo, 365 * 24 * 60 * MINUTE)).toBe(false);
  });

  it.each([400, 402, 403, 422])('is due at once for a changed spec after a %i', (status) => {
    expect(isDue(memoAfter(refused(status)), 1, 2)).toBe(true);
  });
});

describe('a create that was answered with 429', () => {
  it('is due once Retry-After has passed, and not before', () => {
    const memo = memoAfter(rateLimited(7 * MINUTE));
    expect(isDue(memo, 7 * MINUTE - 1)).toBe(false);
    expect(isDue(memo, 7 * MINUTE)).toBe(true);
  });

  it.each([0, undefined])('is due after a pause that doubles if Retry-After is %s', (retryAfterMs) => {
    for (const [failures, seconds] of [
      [0, 1],
      [1, 2],
      [4, 16],
      [30, 600],
    ] as const) {
      const memo = memoAfter(rateLimited(retryAfterMs), failures);
      expect(isDue(memo, seconds * 1000 - 1)).toBe(false);
      expect(isDue(memo, seconds * 1000)).toBe(true);
    }
  });
});
