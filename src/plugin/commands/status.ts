/** `kubectl vps status`: shows one server or one set on one screen. */
import { groupsOf, situationOf } from '../../virtual-server-set/decision/situation.ts';
import { print, type Context } from '../context.ts';
import { screen } from '../screen.ts';
import { setScreen } from '../set-screen.ts';
import { data } from '../table.ts';
import type { Target } from '../target.ts';

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
