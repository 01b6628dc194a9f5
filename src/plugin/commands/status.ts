/** `kubectl vps status`: shows one server or one set on one screen, or all servers in a table. */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { groupsOf, situationOf } from '../../virtual-server-set/decision/situation.ts';
import { print, type Context } from '../context.ts';
import { duration, percentOf } from '../progress.ts';
import { readiness } from '../readiness.ts';
import { screen } from '../screen.ts';
import { setScreen } from '../set-screen.ts';
import { columns, data } from '../table.ts';
import type { Target } from '../target.ts';

const HEADER = ['NAME', 'READY', 'REASON', 'PROGRESS', 'IPV6', 'SSH', 'AGE'];

export function showStatus(context: Context, { kind, name }: Target): Promise<void> {
  return kind === 'set' ? showSet(context, name) : showServer(context, name);
}

async function showServer(context: Context, name: string): Promise<void> {
  const { cluster, format, now, terminal } = context;
  const object = await cluster.get(name);
  if (format !== 'table') return void terminal.out.write(data(object, format));
  const events = await cluster.events(object);
  print(context, screen({ object, events, now: now(), where: cluster.where, paint: terminal.paint }));
}

async function showSet(context: Context, name: string): Promise<void> {
  const { cluster, format, now, terminal } = context;
  const set = await cluster.getSet(name);
  const groups = groupsOf(set, await cluster.list(false));
  const members = groups.members.map(({ object }) => object);
  if (format !== 'table') return void terminal.out.write(data({ set, members }, format));
  const events = await cluster.events(set);
  const situation = situationOf(set, groups, now());
  print(context, setScreen({ situation, events, where: cluster.where, paint: terminal.paint }));
}

export async function listStatus(context: Context, allNamespaces: boolean): Promise<void> {
  const { cluster, format, now, terminal } = context;
  const objects = await cluster.list(allNamespaces);
  if (format !== 'table') return void terminal.out.write(data(objects, format));
  if (objects.length === 0) {
    terminal.err.write(
      allNamespaces ? 'no VirtualServers\n' : `no VirtualServers in namespace ${JSON.stringify(cluster.namespace)}\n`,
    );
    return;
  }
  const rows = objects.map((object) => row(object, now()));
  const header = allNamespaces ? ['NAMESPACE', ...HEADER] : HEADER;
  print(context, columns(header, allNamespaces ? rows : rows.map(([, ...cells]) => cells)));
}

function row(object: VirtualServer, now: number): string[] {
  const { metadata, status } = object;
  const ready = readiness(object);
  const percent = ready.status === 'True' ? undefined : percentOf(object);
  return [
    metadata.namespace,
    metadata.name,
    ready.status,
    ready.reason,
    percent === undefined ? '' : `${percent} %`,
    status?.ipv6?.[0] ?? '',
    status?.ssh ?? '',
    duration(now - Date.parse(metadata.creationTimestamp)),
  ];
}
