/** Shows how far a server is, as a bar and in words. Pure. */
import type { VirtualServer } from '../api/virtual-server.ts';
import { inWords, readiness } from './readiness.ts';
import { clean } from './terminal.ts';

const WIDTH = 24;

/** `[######----]  40 %`; a dotted bar without a percentage, which the provider omits most of the time. */
export function bar(percent: number | undefined): string {
  if (percent === undefined) return `[${'·'.repeat(WIDTH)}]`;
  const filled = Math.round((WIDTH * Math.min(100, Math.max(0, percent))) / 100);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(percent).padStart(3)} %`;
}

export function percentOf(object: VirtualServer): number | undefined {
  return readiness(object).status === 'True' ? 100 : object.status?.task?.percent;
}

/** One line: bar, reason, the provider's text for the task or else the message of Ready, time left. `now` in ms. */
export function progressLine(object: VirtualServer, now: number): string {
  const { task } = object.status ?? {};
  const ready = readiness(object);
  const words = clean(task?.message ?? (ready.reason === 'Available' ? 'ready' : inWords(ready)));
  const left = timeLeft(task, now);
  return `${bar(percentOf(object))}  ${clean(ready.reason)}: ${words}${left === undefined ? '' : `, ${left}`}`;
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

/** `45s`, `12m`, `3h`, `9d`, as kubectl shows ages. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 120 * 60) return `${Math.floor(seconds / 60)}m`;
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
