/** The parts that the screens of a server and of a set share. Pure. */
import { hasTrait } from '../api/conditions.ts';
import { timeOf, type EventView } from './cluster.ts';
import { duration } from './progress.ts';
import { conditionOf, inWords, isCurrent, stalled, type Readiness, type Reported } from './readiness.ts';
import { clean, type Paint } from './terminal.ts';

export interface Shown {
  object: Reported;
  readiness: Readiness;
  /** Undefined if the user may not read Events. */
  events: readonly EventView[] | undefined;
  /** ms since the epoch. */
  now: number;
  paint: Paint;
}

/** Omits empty sections. */
export function sectioned(sections: readonly (readonly string[])[]): string[] {
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

export function head({ object, readiness, now, paint }: Shown): string[] {
  const { status, reason } = readiness;
  const { metadata } = object;
  const colour = status === 'True' ? paint.good : stalled(object) ? paint.bad : paint.busy;
  const age = duration(now - Date.parse(metadata.creationTimestamp));
  const deleting = metadata.deletionTimestamp === undefined ? '' : ', being deleted';
  const isStale = conditionOf(object, 'Ready') !== undefined && !isCurrent(object);
  const stale = isStale ? ', the operator has not reported on the last change yet' : '';
  const title = `${paint.strong(metadata.name)} in ${metadata.namespace}, ${age} old${deleting}${stale}`;
  const state = `${status === 'True' ? 'Ready' : 'Not ready'}: ${clean(reason)}`;
  return [title, `${colour(state)}  ${inWords(readiness)}`];
}

export type Row = [label: string, ...values: (string | number | undefined)[]];

/** Omits rows without a value. */
export function facts(rows: readonly Row[], paint: Paint): string[] {
  return rows.flatMap(([label, ...values]) => {
    const words = values.map((value) => clean(String(value ?? ''))).filter((value) => value !== '');
    return words.length === 0 ? [] : [`${paint.faint(label.padEnd(10))} ${words.join('  ')}`];
  });
}

/** Without Ready, which the head shows. */
export function conditions({ object, readiness, now, paint }: Shown): string[] {
  const others = (object.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  if (others.length === 0) return [];
  const lines = others.map((condition) => {
    const { type, status, reason, lastTransitionTime } = condition;
    const since = duration(now - Date.parse(lastTransitionTime));
    const shown = condition.message === readiness.message ? '' : `  ${inWords(condition)}`;
    // The reason may be newer than the status.
    return `  ${clean(type)}=${status} for ${since}, now ${clean(reason)}${shown}`;
  });
  return [paint.strong('Conditions'), ...lines];
}

export function events({ object, readiness, events: list, now, paint }: Shown): string[] {
  if (list === undefined) return [paint.faint('No Events: you are not allowed to read them.')];
  if (list.length === 0) return [];
  const shown = new Set([readiness.message, ...(object.status?.conditions ?? []).map(({ message }) => message)]);
  const lines = list.map((event) => {
    const ago = duration(now - timeOf(event)).padStart(4);
    const { reason = '', message = '' } = event;
    // What an earlier Event told you to do may be wrong by now.
    const words = shown.has(message) || !hasTrait(reason, 'calm') ? '' : `  ${clean(message)}`;
    shown.add(message);
    return `  ${ago} ago  ${clean(reason)}${words}`;
  });
  return [paint.strong('Events'), ...lines];
}

export function next(steps: readonly string[], paint: Paint): string[] {
  return steps.length === 0 ? [] : [paint.strong('What you can do'), ...steps.map((step) => `  ${clean(step)}`)];
}
