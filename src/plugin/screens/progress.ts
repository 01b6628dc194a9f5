/** Shows how far a server is, as a bar and in words. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { inWords, outdated, serverReadiness } from '../state/readiness.ts';
import { clean } from '../terminal/terminal.ts';

const WIDTH = 24;

/** `[######----]  40 %`; a dotted bar without a percentage, which the provider omits most of the time. */
export function bar(percent: number | undefined): string {
  if (percent === undefined) return `[${'·'.repeat(WIDTH)}]`;
  const filled = Math.round((WIDTH * Math.min(100, Math.max(0, percent))) / 100);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(percent).padStart(3)} %`;
}

export function percentOf(object: VirtualServer): number | undefined {
  if (outdated(object) !== undefined) return undefined;
  return serverReadiness(object).status === 'True' ? 100 : object.status?.task?.percent;
}

/** One line: bar, reason, the provider's text for the task or else the message of Ready. `isNarrow`: without the bar. */
export function progressLine(object: VirtualServer, isNarrow = false): string {
  const { task } = object.status ?? {};
  const ready = serverReadiness(object);
  const words = outdated(object) ?? clean(task?.message ?? (ready.reason === 'Available' ? 'ready' : inWords(ready)));
  return `${isNarrow ? '' : `${bar(percentOf(object))}  `}${clean(ready.reason)}: ${words}`;
}

type Task = NonNullable<VirtualServer['status']>['task'];

/** Until the task is expected to end; undefined: unknown. `now` in ms since the epoch. */
export function timeLeft(task: Task, now: number): string | undefined {
  const { expectedAt, secondsRemaining } = task ?? {};
  if (expectedAt === undefined)
    return secondsRemaining === undefined ? undefined : `about ${duration(secondsRemaining * 1000)} left`;
  const ms = Date.parse(expectedAt) - now;
  return ms > 0 ? `about ${duration(ms)} left` : 'expected to end now';
}

/** `45s`, `2m30s`, `12m`, `3h5m`, `2d3h`, as kubectl shows ages. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const years = Math.floor(days / 365);
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return `${minutes}m${rest(seconds % 60, 's')}`;
  if (hours < 3) return `${minutes}m`;
  if (hours < 8) return `${hours}h${rest(minutes % 60, 'm')}`;
  if (days < 2) return `${hours}h`;
  if (days < 8) return `${days}d${rest(hours % 24, 'h')}`;
  if (years < 2) return `${days}d`;
  return years < 8 ? `${years}y${rest(days % 365, 'd')}` : `${years}y`;
}

const rest = (count: number, unit: string): string => (count === 0 ? '' : `${count}${unit}`);

/** `in 3h5m`; `now` for a time in the past. */
export const inTime = (ms: number): string => (ms > 0 ? `in ${duration(ms)}` : 'now');
