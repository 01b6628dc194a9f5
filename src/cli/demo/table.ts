/** What `kubectl get vps` would show of one object, as text. Pure. */
import type { VirtualServer } from '../../api/virtual-server.ts';

const BAR_WIDTH = 30;
const HEADER = ['NAME', 'READY', 'REASON', 'PRODUCT', 'IPV6', 'SSH', 'IDENTIFIER', 'AGE'];

/** Header and row; `now` in ms since the epoch. */
export function table({ metadata, spec, status }: VirtualServer, now: number): string[] {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const row = [
    metadata.name,
    ready?.status ?? '',
    ready?.reason ?? '',
    spec.product,
    status?.ipv6?.[0] ?? '',
    status?.ssh ?? '',
    status?.identifier ?? '',
    age(now - Date.parse(metadata.creationTimestamp)),
  ];
  const widths = HEADER.map((title, index) => Math.max(title.length, row[index]?.length ?? 0));
  return [HEADER, row].map((cells) => cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('   '));
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

/** As kubectl shows it for the few minutes that a demo can run. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 120 ? `${seconds}s` : `${Math.floor(seconds / 60)}m`;
}
