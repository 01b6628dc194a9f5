/** Conditions of any kind: the three that a verdict sets, after kstatus, and others beside them. Pure. */
import { REASONS, hasTrait, type Meaning, type ReadyReason, type Reason } from '../api/conditions.ts';
import { MAX_MESSAGE } from '../api/meta.ts';
import { type Condition } from '../api/meta.ts';
import { cut } from '../base/text.ts';
import { timestamp } from '../base/timestamp.ts';

export interface Verdict {
  reason: ReadyReason;
  message: string;
}

/** The condition types that a verdict sets; the others on the object are kept as they are. */
const OWN = new Set(['Ready', 'Reconciling', 'Stalled']);

/** Conditions with the verdict in them. `lastTransitionTime` moves only when a status flips. */
export function withVerdict(
  conditions: readonly Condition[],
  verdict: Verdict,
  generation: number,
  now: number,
): Condition[] {
  const meaning: Meaning = REASONS[verdict.reason];
  const { message } = verdict;
  const ready = conditions.find((condition) => condition.type === 'Ready');
  const keeps = meaning.keepsReady === true && ready?.status === 'True';
  let result = conditions.filter((condition) => !OWN.has(condition.type));
  const put = (type: string, status: Condition['status'], reason: string, text: string): void => {
    const next = condition(conditions, { type, status, reason, message: text }, generation, now);
    result = type === 'Ready' ? [next, ...result] : [...result, next];
  };
  if (keeps) put('Ready', 'True', ready.reason, ready.message);
  else put('Ready', meaning.ready, verdict.reason, message);
  if (meaning.phase === 'reconciling') put('Reconciling', 'True', verdict.reason, message);
  if (meaning.phase === 'stalled') put('Stalled', 'True', verdict.reason, message);
  return result;
}

/** Sets (to True if nothing else is said) or, with `undefined`, removes one condition; the order of the others is kept. */
export function withCondition(
  conditions: readonly Condition[],
  type: string,
  value: { status?: Condition['status']; reason: Reason; message: string } | undefined,
  generation: number,
  now: number,
): Condition[] {
  const others = conditions.filter((other) => other.type !== type);
  if (value === undefined) return others;
  const { status = 'True', reason, message } = value;
  return [...others, condition(conditions, { type, status, reason, message }, generation, now)];
}

function condition(
  previous: readonly Condition[],
  next: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>,
  generation: number,
  now: number,
): Condition {
  const before = previous.find((other) => other.type === next.type);
  const since = before?.status === next.status ? before.lastTransitionTime : timestamp(now);
  const message = cut(next.message, MAX_MESSAGE);
  return { ...next, message, lastTransitionTime: since, observedGeneration: generation };
}

/** The reason that matters now: of Stalled or Reconciling where one is set, else of Ready. */
export function currentReason(conditions: readonly Condition[] | undefined): string | undefined {
  const of = (type: string): string | undefined => conditions?.find((other) => other.type === type)?.reason;
  return of('Stalled') ?? of('Reconciling') ?? of('Ready');
}

export interface EventNote {
  type: 'Normal' | 'Warning';
  reason: Reason;
  note: string;
}

/** Events on transitions only: one when the reason that matters changes, and one when a condition of `types` does. */
export function transitions(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  types: readonly string[] = [],
): EventNote[] {
  const events: EventNote[] = [];
  const reason = currentReason(after);
  if (reason !== undefined && reason !== currentReason(before)) {
    const condition = after?.find((other) => other.reason === reason);
    events.push(eventOf({ reason, message: condition?.message ?? '' }));
  }
  for (const name of types) {
    const condition = after?.find(({ type }) => type === name);
    const known = before?.some(({ type, reason }) => type === name && reason === condition?.reason);
    if (condition === undefined || known === true) continue;
    events.push(eventOf(condition));
  }
  return events;
}

function eventOf({ reason, message }: Pick<Condition, 'reason' | 'message'>): EventNote {
  return { type: hasTrait(reason, 'calm') ? 'Normal' : 'Warning', reason: reason as Reason, note: message };
}
