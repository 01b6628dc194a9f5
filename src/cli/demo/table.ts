/** What `kubectl get vps` would show of one object, as text. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';

const BAR_WIDTH = 30;
/** Enough for what the columns usually hold, so that the table does not jump when they fill. */
const WIDTHS = [6, 7, 14, 9, 20, 22, 12, 4];
const HEADER = ['NAME', 'READY', 'REASON', 'PRODUCT', 'IPV6', 'SSH', 'IDENTIFIER', 'AGE'];

export const header = (): string => columns(HEADER);

/** The row of the object; `now` in ms since the epoch. */
export function row(object: VirtualServer, now: number): string {
  const { metadata, spec, status } = object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return columns([
    metadata.name,
    ready?.status ?? '',
    ready?.reason ?? '',
    spec.product,
    status?.ipv6?.[0] ?? '',
    status?.ssh ?? '',
    status?.identifier ?? '',
    age(now - Date.parse(metadata.creationTimestamp)),
  ]);
}

/** The progress of the object as a bar and a message. */
export function progress(object: VirtualServer): string {
  const { status } = object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const done = ready?.status === 'True' ? 100 : (status?.task?.percent ?? 0);
  const filled = Math.round((BAR_WIDTH * done) / 100);
  const bar = `[${'#'.repeat(filled)}${'-'.repeat(BAR_WIDTH - filled)}]`;
  return `${bar} ${String(done).padStart(3)}%  ${status?.task?.message ?? ready?.message ?? 'not seen by the operator yet'}`;
}

/** What happened to the object, in one line for a log. */
export function line(object: VirtualServer): string {
  const { metadata, status } = object;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const facts = [
    `vps/${metadata.name}`,
    `Ready=${ready?.status ?? ''}`,
    ready?.reason,
    status?.identifier,
    ready?.message,
  ];
  return facts.filter((fact) => fact !== undefined && fact !== '').join('  ');
}

function columns(cells: readonly string[]): string {
  return cells
    .map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0))
    .join('  ')
    .trimEnd();
}

/** As kubectl shows it for the few minutes that a demo can run. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 120 ? `${seconds}s` : `${Math.floor(seconds / 60)}m`;
}
