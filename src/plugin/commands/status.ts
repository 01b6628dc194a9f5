/** `kubectl vps status` and `timeline`: show one server or one set on one screen, or what happened to a server. */
import { groupsOf, situationOf } from '../../virtual-server-set/decision/situation.ts';
import { print, type Context } from '../context.ts';
import { screen } from '../screen.ts';
import { setScreen } from '../set-screen.ts';
import { data } from '../table.ts';
import type { Target } from '../target.ts';
import { timeline } from '../timeline.ts';

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

/** Prints what happened to a server, in the order of time. */
export async function showTimeline(context: Context, name: string): Promise<void> {
  const { cluster, terminal } = context;
  const object = await cluster.get(name);
  print(context, timeline(object, await cluster.events(object, ALL_EVENTS), terminal.paint));
}

/** More than Kubernetes keeps of one object. */
const ALL_EVENTS = 1000;

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
