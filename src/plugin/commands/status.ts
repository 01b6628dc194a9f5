/** `kubectl vps status` and `timeline`: show one server or one set on one screen, once or whenever it changes, or what happened to a server. */
import { groupsOf, situationOf } from '../../virtual-server-set/decision/situation.ts';
import { isDeepEqual } from '../../base/deep-equal.ts';
import { print, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { screen } from '../screens/screen.ts';
import { setScreen } from '../screens/set-screen.ts';
import { data } from '../terminal/table.ts';
import type { Target } from '../flags/target.ts';
import { timeline } from '../screens/timeline.ts';
import { watch } from '../screens/watch.ts';

/** `watch`: until Ctrl-C, again after each change. */
export function showStatus(context: Context, { kind, name }: Target, watch: boolean): Promise<void> {
  if (watch && context.format !== 'table')
    throw new CommandError(EXIT.usage, '--watch shows a screen: leave --output out');
  return kind === 'set' ? showSet(context, name, watch) : showServer(context, name, watch);
}

async function showServer(context: Context, name: string, watch: boolean): Promise<void> {
  const { cluster, format, now, terminal } = context;
  if (format !== 'table') return void terminal.out.write(data(await cluster.get(name), format));
  const look = async () => {
    const object = await cluster.get(name);
    return { object, events: await cluster.events(object) };
  };
  await show(context, watch, look, (seen) =>
    screen({ ...seen, now: now(), where: cluster.where, paint: terminal.paint }),
  );
}

async function showSet(context: Context, name: string, watch: boolean): Promise<void> {
  const { cluster, format, now, terminal } = context;
  const read = async () => {
    const set = await cluster.getSet(name);
    return { set, groups: groupsOf(set, await cluster.list(false)) };
  };
  if (format !== 'table') {
    const { set, groups } = await read();
    const members = groups.members.map(({ object }) => object);
    return void terminal.out.write(data({ set, members }, format));
  }
  const look = async () => {
    const seen = await read();
    return { ...seen, events: await cluster.events(seen.set) };
  };
  await show(context, watch, look, ({ set, groups, events }) =>
    setScreen({ situation: situationOf(set, groups, now()), events, where: cluster.where, paint: terminal.paint }),
  );
}

async function show<T>(
  context: Context,
  isWatched: boolean,
  look: () => Promise<T>,
  shown: (seen: T) => string[],
): Promise<void> {
  if (!isWatched) print(context, shown(await look()));
  else
    await watch(context, {
      look,
      screen: shown,
      news(seen, before) {
        const lines = shown(seen);
        if (before === undefined) return lines;
        // Most writes of an object change nothing that the screen shows.
        return isDeepEqual(shown(before), lines) ? [] : ['', ...lines];
      },
    });
}

/** Prints what happened to a server, in the order of time. */
export async function showTimeline(context: Context, name: string): Promise<void> {
  const { cluster, terminal } = context;
  const object = await cluster.get(name);
  print(context, timeline(object, await cluster.events(object, ALL_EVENTS), terminal.paint));
}

/** More than Kubernetes keeps of one object. */
const ALL_EVENTS = 1000;
