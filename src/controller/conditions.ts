/** Builds conditions: Ready, Reconciling and Stalled from a verdict (kstatus semantics), and any others. Pure. */
import {
  REASONS,
  SET_REASONS,
  currentReason,
  hasTrait,
  type AnyReason,
  type ConditionType,
  type Meaning,
  type ReadyReason,
  type Reason,
  type SetReason,
} from '../api/conditions.ts';
import { pageOf, pointer, pointerTo, reasonPage, withoutPointer } from '../api/documentation.ts';
import { MAX_MESSAGE, type Condition } from '../api/meta.ts';
import { cut, ended } from '../base/text.ts';
import { timestamp } from '../base/duration.ts';

export { currentReason };

export interface Verdict<R extends ReadyReason | SetReason = ReadyReason> {
  reason: R;
  message: string;
  /** The reason that the message quotes of another object: it points to the page of that reason. */
  quoted?: Reason | undefined;
}

const MEANINGS: Record<ReadyReason | SetReason, Meaning> = { ...REASONS, ...SET_REASONS };

/** The condition types that a verdict sets; all other conditions stay unchanged. */
const OWN = new Set(['Ready', 'Reconciling', 'Stalled']);

/** Adds the verdict to the conditions. `lastTransitionTime` changes only when a status flips. */
export function withVerdict(
  conditions: readonly Condition[],
  verdict: Verdict<ReadyReason | SetReason>,
  generation: number,
  now: number,
): Condition[] {
  const meaning = MEANINGS[verdict.reason];
  const { quoted } = verdict;
  const message = quoted === undefined ? verdict.message : `${ended(verdict.message)} ${pointer(quoted)}`;
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

/** Sets one condition (default status True), or removes it if `value` is undefined. The others keep their order. */
export function withCondition(
  conditions: readonly Condition[],
  type: ConditionType,
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
  const message = explained(next.reason, next.message);
  return { ...next, message, lastTransitionTime: since, observedGeneration: generation };
}

/**
 * The message that a reader meets: one that needs attention ends with the page of its reason. A message that already points
 * to a page keeps it, so the same text always gives the same message.
 */
function explained(reason: string, text: string): string {
  const words = cut(withoutPointer(text), Infinity);
  const page = pageOf(text) ?? (hasTrait(reason, 'calm') ? undefined : reasonPage(reason));
  if (page === undefined) return shortened(words, MAX_MESSAGE);
  const end = pointerTo(page);
  return `${shortened(ended(words), MAX_MESSAGE - end.length - 1)} ${end}`.trimStart();
}

const ELLIPSIS = '...';
const COMMAND = '`kubectl ';

/**
 * Counts bytes, because Events do. Half a command is worse than none, so a sentence is left out whole if its command does
 * not fit.
 */
function shortened(text: string, bound: number): string {
  if (Buffer.byteLength(text) <= bound) return text;
  const head = text.slice(0, new TextEncoder().encodeInto(text, new Uint8Array(bound - ELLIPSIS.length)).read);
  const command = text.lastIndexOf(COMMAND, head.length);
  const isWhole = command < 0 || head.includes('`', command + 1);
  if (isWhole) return head.trimEnd() + ELLIPSIS;
  const before = head.slice(0, command);
  const sentences = before.slice(0, before.lastIndexOf('. ') + 1);
  return sentences === '' ? before.trimEnd() + ELLIPSIS : sentences;
}

/** Made by `eventOf`, which keeps the note printable and short enough for the API server. */
export interface EventNote {
  type: 'Normal' | 'Warning';
  reason: AnyReason;
  note: string;
}

/** One Event for a new current reason that is not silent, and one for each condition in `types` whose reason changes. */
export function transitions(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
  types: readonly string[] = [],
): EventNote[] {
  const events: EventNote[] = [];
  const reason = currentReason(after);
  if (reason !== undefined && reason !== currentReason(before) && !hasTrait(reason, 'silent')) {
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

/** An Event carries the same text as a condition of the same reason. */
export function eventOf({ reason, message }: Pick<Condition, 'reason' | 'message'>): EventNote {
  const type = hasTrait(reason, 'calm') ? 'Normal' : 'Warning';
  return { type, reason: reason as AnyReason, note: explained(reason, message) };
}
