/** The three ways a step ends: wait until a time, continue with the next step, or retry later. Pure. */
import { hasTrait } from '../../../api/conditions.ts';
import type { ServerRecord } from '../../../api/record.ts';
import { compose, eventsOf, type Parts } from '../compose.ts';
import { backoffMs, keyPauseMs } from '../../../accounts/decision/failure.ts';
import { untilExpiry } from '../expiry.ts';
import { inputsOf } from '../inputs.ts';
import type { Action, Facts, Memo, Next } from '../types.ts';
import { ended } from '../../../base/text.ts';
import type { View } from '../view.ts';

/**
 * Ends the visit: the status shows `verdict`, and the next call of this kind is due after `afterMs`. The next visit
 * comes then, or when the server expires.
 */
export function rest(
  { object, facts }: View,
  parts: Parts,
  plan: { action: Action['type']; afterMs: number } | undefined,
  memo: Memo = facts.memo,
  record?: ServerRecord,
): Next {
  const status = compose(object, withKeyNote(parts, facts), facts.now);
  const { next: _next, ...remembered } = memo;
  const inputs = inputsOf(object);
  const requeueAfterMs = Math.min(plan?.afterMs ?? Infinity, untilExpiry(object, parts.record, facts));
  return {
    ...(record !== undefined && { record }),
    status,
    memo:
      plan === undefined
        ? remembered
        : { ...remembered, next: { action: plan.action, from: facts.now, at: facts.now + plan.afterMs, inputs } },
    events: eventsOf(object.status, status),
    again: false,
    ...(Number.isFinite(requeueAfterMs) && { requeueAfterMs }),
  };
}

/** Adds a note to the verdict while a key other than the Secret's is in use, since that cannot last. */
function withKeyNote(parts: Parts, { credentials }: Facts): Parts {
  if (parts.verdict === undefined || credentials?.ok !== true || credentials.note === undefined) return parts;
  return { ...parts, verdict: { ...parts.verdict, message: `${ended(parts.verdict.message)} ${credentials.note}` } };
}

/** Spreads a pause over its last tenth, so that objects created together do not stay in step. */
export function jittered(ms: number, { jitter }: Facts): number {
  return Math.round(ms * (0.9 + 0.1 * jitter));
}

/** Continues with another step at once; the status does not change yet. */
export function goOn(memo: Memo, more: Pick<Next, 'record' | 'claimed'> = {}): Next {
  return { memo, events: [], again: true, ...more };
}

/** Retries a failed step after a growing pause, or after the time that the provider asks for. */
export function retryLater(at: View, action: Action['type'], parts: Parts, atLeastMs = 0, record?: ServerRecord): Next {
  const { memo, jitter, timing } = at.facts;
  const failures = memo.failures + 1;
  // After you fix a Secret, the operator should not wait for the longest pause.
  const afterMs = hasTrait(parts.verdict?.reason, 'aboutKey')
    ? Math.min(timing.pollMs, keyPauseMs(failures, jitter, atLeastMs))
    : backoffMs(failures, jitter, atLeastMs);
  return rest(at, parts, { action, afterMs }, { ...memo, failures }, record);
}
