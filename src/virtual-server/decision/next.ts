/** When the operator comes back to an object. Pure. */
import type { Verdict } from '../../controller/conditions.ts';
import { withoutPlan, type Memo, type Planned, type LastRead } from './memo.ts';

/** `now`: at once in the same visit, with the object that the write returned. */
export type Next = { now: true } | Pause;

export interface Pause {
  /** ms; Infinity: until something changes. */
  afterMs: number;
  /** This operation does not begin before, unless the inputs change (inputs.ts). */
  operation?: Planned;
  /** ms; an earlier visit, for another operation. */
  visitAfterMs?: number;
  /** For `look`: if the list still shows this, the read is left out. */
  ifListed?: LastRead | undefined;
}

/** A pause that grows with each failure in a row, before `operation`. */
export interface GrowingPause {
  operation: Planned;
  atLeastMs?: number | undefined;
}

/** When to look at another object again if no change of it triggers a visit (ms). */
export const RECHECK_MS = 5_000;

export const NOW: Next = { now: true };
export const ON_CHANGE: Pause = { afterMs: Infinity };

export const isNow = (when: Next): when is { now: true } => 'now' in when;

/** ms until the next visit, 0 if the present one continues; undefined: when something changes. */
export function untilVisit(when: Next): number | undefined {
  if (isNow(when)) return 0;
  const ms = Math.min(when.afterMs, when.visitAfterMs ?? Infinity);
  return Number.isFinite(ms) ? ms : undefined;
}

/** With a visit at the latest after this time (ms; Infinity: no such time). */
export function atLatest(when: Pause, ms: number): Pause {
  const visitAfterMs = Math.min(ms, when.visitAfterMs ?? Infinity);
  return visitAfterMs < when.afterMs ? { ...when, visitAfterMs } : when;
}

/** With a visit at the earliest after this time (ms). */
export function atEarliest(when: Next, ms: number): Next {
  if (isNow(when)) return when;
  const { afterMs, visitAfterMs } = when;
  const later = visitAfterMs === undefined ? {} : { visitAfterMs: Math.max(ms, visitAfterMs) };
  return { ...when, afterMs: Math.max(ms, afterMs), ...later };
}

/**
 * The memo with the operation that is planned, if any. `now`: ms since the epoch; `inputs`: the present ones; `verdict`: what the
 * object shows until then.
 */
export function withPlan(memo: Memo, when: Next, now: number, inputs: string, verdict?: Verdict): Memo {
  if (isNow(when) || when.operation === undefined) return memo;
  const { operation, afterMs, ifListed } = when;
  const isFirm = operation === 'order' || memo.failures > 0 ? true : undefined;
  return { ...withoutPlan(memo), plan: { operation, from: now, at: now + afterMs, inputs, isFirm, verdict, ifListed } };
}
