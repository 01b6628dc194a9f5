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
import { pointer } from '../api/documentation.ts';
import { MAX_MESSAGE, type Condition } from '../api/meta.ts';
import { cut, ended } from '../base/text.ts';
import { timestamp } from '../base/duration.ts';

/** What a condition or an Event tells. */
export interface Finding<R extends AnyReason = Reason> {
  reason: R;
  /** What is the case. */
  message: string;
  /** What you can do, in sentences. */
  advice?: string;
  /** See the schema of conditions. */
  subject?: string;
  /** The reason that the message quotes of another object: it points to the page of that reason. */
  quoted?: Reason;
}

export type Verdict<R extends ReadyReason | SetReason = ReadyReason> = Finding<R>;

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
  const ready = conditions.find((condition) => condition.type === 'Ready');
  let result = conditions.filter((condition) => !OWN.has(condition.type));
  const put = (type: string, status: Condition['status']): void => {
    const next = condition(conditions, { type, status, ...verdict }, generation, now);
    result = type === 'Ready' ? [next, ...result] : [...result, next];
  };
  if (meaning.keepsReady === true && ready?.status === 'True')
    result = [{ ...ready, observedGeneration: generation }, ...result];
  else put('Ready', meaning.ready);
  if (meaning.phase === 'reconciling') put('Reconciling', 'True');
  if (meaning.phase === 'stalled') put('Stalled', 'True');
  return result;
}

/**
 * Sets one condition (default status True), or removes it if `value` is undefined. The others keep their order. Paused comes
 * first, and Ready next: see the column Reason.
 */
export function withCondition(
  conditions: readonly Condition[],
  type: ConditionType,
  value: (Finding & { status?: Condition['status'] }) | undefined,
  generation: number,
  now: number,
): Condition[] {
  const others = conditions.filter((other) => other.type !== type);
  if (value === undefined) return others;
  const set = condition(conditions, { type, status: 'True', ...value }, generation, now);
  return type === 'Paused' ? [set, ...others] : [...others, set];
}

function condition(
  previous: readonly Condition[],
  next: Pick<Condition, 'type' | 'status'> & Finding<AnyReason>,
  generation: number,
  now: number,
): Condition {
  const { type, status, reason, subject } = next;
  const before = previous.find((other) => other.type === type);
  const since = before?.status === status ? before.lastTransitionTime : timestamp(now);
  const message = explained(next);
  const summary = shortened(cut(next.message, Infinity), MAX_MESSAGE);
  return {
    type,
    status,
    reason,
    message,
    ...(summary !== message && { summary }),
    ...(subject !== undefined && { subject: cut(subject, MAX_MESSAGE) }),
    lastTransitionTime: since,
    observedGeneration: generation,
  };
}

/** The text that a reader meets: what is the case, what to do, and the page of the reason if it needs attention. */
function explained({ reason, message, advice = '', quoted }: Finding<AnyReason>): string {
  const words = cut(advice === '' ? message : `${ended(message)} ${advice}`, Infinity);
  if (quoted === undefined && hasTrait(reason, 'calm')) return shortened(words, MAX_MESSAGE);
  const end = pointer(quoted ?? reason);
  return `${shortened(ended(words), MAX_MESSAGE - end.length - 1)} ${end}`.trimStart();
}

/** What you can do, by the condition of another object: its message between the summary and the page. */
export function adviceOf({ reason, message, summary }: Pick<Condition, 'reason' | 'message' | 'summary'>): string {
  if (summary === undefined) return '';
  const page = hasTrait(reason, 'calm') ? '' : pointer(reason);
  return message.slice(ended(summary).length, message.length - page.length).trim();
}

const ELLIPSIS = '...';
const COMMAND = '`kubectl ';

/**
 * Counts bytes, because Events do. Half a command is worse than none, so a sentence is left out whole if its command does
 * not fit. The text is on its way to a reader: nothing is read out of it.
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
  /** The Event before it about the same object: if that one still waits and has this reason, one Event tells both. */
  follows?: AnyReason;
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
    if (condition !== undefined) events.push(noted(condition));
  }
  for (const name of types) {
    const condition = after?.find(({ type }) => type === name);
    const known = before?.some(({ type, reason }) => type === name && reason === condition?.reason);
    if (condition === undefined || known === true) continue;
    events.push(noted(condition));
  }
  return events;
}

/** An Event carries the same text as a condition of the same reason. */
export function eventOf(finding: Finding<AnyReason>): EventNote {
  return noted({ reason: finding.reason, message: explained(finding) });
}

function noted({ reason, message }: Pick<Condition, 'reason' | 'message'>): EventNote {
  const type = hasTrait(reason, 'calm') ? 'Normal' : 'Warning';
  return { type, reason: reason as AnyReason, note: message };
}
