/** The parts that the screens of a server and of a set share. Pure. */
import { timeOfEvent, type EventView } from '../cluster/cluster.ts';
import { duration } from './progress.ts';
import type { Said } from '../terminal/said.ts';
import { inWords, outdated, stalled, type Readiness, type Reported } from '../state/readiness.ts';
import { clean, type Paint } from '../terminal/terminal.ts';

export interface Shown {
  object: Reported;
  readiness: Readiness;
  /** Undefined if the user may not read Events. */
  events: readonly EventView[] | undefined;
  /** ms since the epoch. */
  now: number;
  paint: Paint;
  /** By the parts before. */
  said: Said;
}

/** Omits empty sections. */
export function sectioned(sections: readonly (readonly string[])[]): string[] {
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

/** `name`: what the object is called on its screen. */
export function head({ object, readiness, now, paint, said }: Shown, name: string): string[] {
  const { status, reason } = readiness;
  const { metadata } = object;
  const color = status === 'True' ? paint.good : stalled(object) ? paint.bad : paint.busy;
  const age = duration(now - Date.parse(metadata.creationTimestamp));
  const deleting = metadata.deletionTimestamp === undefined ? '' : ', being deleted';
  const stale = outdated(object);
  const title = `${paint.strong(name)} in ${metadata.namespace}, ${age} old${deleting}${stale === undefined ? '' : `, ${stale}`}`;
  const state = `${status === 'True' ? 'Ready' : 'Not ready'}: ${clean(reason)}`;
  const words = said.say(inWords(readiness));
  // Events repeat the whole message.
  said.add(readiness.message);
  return [title, `${color(state)}  ${words}`];
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
export function conditions({ object, now, paint, said }: Shown): string[] {
  const others = (object.status?.conditions ?? []).filter(({ type }) => type !== 'Ready');
  if (others.length === 0) return [];
  const lines = others.map((condition) => {
    const { type, status, reason, message, lastTransitionTime } = condition;
    const since = duration(now - Date.parse(lastTransitionTime));
    const words = said.say(inWords(condition));
    said.add(message);
    // The reason may be newer than the status.
    return `  ${clean(type)}=${status} for ${since}, now ${clean(reason)}  ${words}`.trimEnd();
  });
  return [paint.strong('Conditions'), ...lines];
}

export function events({ events: list, now, paint, said }: Shown): string[] {
  if (list === undefined) return [paint.faint('No Events: you are not allowed to read them.')];
  if (list.length === 0) return [];
  const lines = list.map((event) => {
    const ago = duration(now - timeOfEvent(event)).padStart(4);
    const { reason = '', message = '' } = event;
    return `  ${ago} ago  ${clean(reason)}  ${said.say(message)}`.trimEnd();
  });
  return [paint.strong('Events'), ...lines];
}

export function next(steps: readonly string[], paint: Paint): string[] {
  return steps.length === 0 ? [] : [paint.strong('What you can do'), ...steps.map((step) => `  ${clean(step)}`)];
}
