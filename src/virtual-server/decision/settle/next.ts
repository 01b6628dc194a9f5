/** The three ways in which a step ends: at rest until a time, on to the next step, or tried again later. Pure. */
import { hasTrait } from '../../../api/conditions.ts';
import type { ServerRecord } from '../../../api/record.ts';
import { compose, eventsOf, type Parts } from '../compose.ts';
import { backoffMs, keyPauseMs } from '../../../accounts/decision/pause.ts';
import { untilExpiry } from '../expiry.ts';
import { inputsOf } from '../inputs.ts';
import type { Action, Facts, Memo, Next } from '../types.ts';
import type { View } from '../view.ts';

/**
 * A visit that ends here: the status says `verdict`, the next call of this kind is due after `afterMs`. The next visit is
 * then, or at the end of the server's time.
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

/** That another key than the Secret's is in use has to be known: it will not do for long. */
function withKeyNote(parts: Parts, { credentials }: Facts): Parts {
  if (parts.verdict === undefined || credentials?.ok !== true || credentials.note === undefined) return parts;
  return { ...parts, verdict: { ...parts.verdict, message: `${parts.verdict.message}; ${credentials.note}` } };
}

/** Spreads a pause over its last tenth, so that objects that were made together are not visited together for ever. */
export function jittered(ms: number, { jitter }: Facts): number {
  return Math.round(ms * (0.9 + 0.1 * jitter));
}

/** Another step follows at once; nothing is said in status yet. */
export function goOn(memo: Memo, more: Pick<Next, 'record' | 'claimed'> = {}): Next {
  return { memo, events: [], again: true, ...more };
}

/** A step that failed is tried again after a growing pause, or after what the provider asks for. */
export function retryLater(at: View, action: Action['type'], parts: Parts, atLeastMs = 0, record?: ServerRecord): Next {
  const { memo, jitter, timing } = at.facts;
  const failures = memo.failures + 1;
  // A Secret that was mended should not have to wait for the longest pause.
  const afterMs = hasTrait(parts.verdict?.reason, 'aboutKey')
    ? Math.min(timing.pollMs, keyPauseMs(failures, jitter, atLeastMs))
    : backoffMs(failures, jitter, atLeastMs);
  return rest(at, parts, { action, afterMs }, { ...memo, failures }, record);
}
