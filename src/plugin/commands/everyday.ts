/** `kubectl vps pause`, `resume`, `reconcile`, `protect`, `unprotect` and `extend`: small changes to servers and sets. */
import { PAUSED_ANNOTATION, RECONCILE_AT_ANNOTATION } from '../../api/names.ts';
import { isPaused } from '../../api/server-state.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { timestamp } from '../../base/duration.ts';
import { cancelIsForbidden } from '../../virtual-server/decision/view.ts';
import { print, tell, type Context } from '../cluster/context.ts';
import { endTimeOf, unless } from '../state/ends.ts';
import { undeletionHints } from '../decisions/undeletion.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { duration } from '../screens/progress.ts';
import { requireAlive } from './rollout.ts';
import { endOfObject } from '../state/let-go.ts';
import { recordOf } from '../state/recorded-order.ts';
import { setArgument, setOf } from '../state/set-members.ts';
import { targetOf } from '../flags/target.ts';
import { clean } from '../terminal/terminal.ts';

/** How a command changes one object. Each resolves with what to say after the name; undefined: nothing was to change. */
export interface Action {
  /** What an object is without any change, such as `already paused`. */
  unchanged: string;
  /** The command that shows the result. */
  follow?: 'wait' | 'status';
  server: (context: Context, server: VirtualServer) => Promise<string | undefined>;
  set: (context: Context, set: VirtualServerSet) => Promise<string | undefined>;
}

export interface Chosen {
  selector?: string | undefined;
}

/** Runs the action on each named or selected object. Throws CommandError after the last one if any failed. */
export async function actOnEach(
  context: Context,
  names: readonly string[],
  { selector }: Chosen,
  action: Action,
): Promise<void> {
  const chosen = await chosenBy(context, names, selector);
  const changed: string[] = [];
  let worst: CommandError | undefined;
  for (const { name, run } of chosen) {
    try {
      const done = await run(action);
      print(context, [`${name} ${done ?? `is ${action.unchanged}`}`]);
      if (done !== undefined) changed.push(name);
    } catch (error) {
      if (!(error instanceof CommandError) || chosen.length === 1) throw error;
      worst ??= error;
      tell(context, [
        clean(`${name} is not changed: ${error.message}`),
        ...error.hints.map((hint) => `  ${clean(hint)}`),
      ]);
    }
  }
  // `status` takes one name.
  const followed = action.follow === 'status' ? changed.slice(0, 1) : changed;
  if (action.follow !== undefined && followed.length > 0)
    tell(context, [`follow the progress: kubectl vps ${action.follow} ${followed.join(' ')}${context.cluster.where}`]);
  if (worst !== undefined) throw new CommandError(worst.exitCode, 'not every object was changed');
}

interface ChosenObject {
  /** As the user names it. */
  name: string;
  run: (action: Action) => Promise<string | undefined>;
}

async function chosenBy(
  context: Context,
  names: readonly string[],
  selector: string | undefined,
): Promise<ChosenObject[]> {
  const { cluster } = context;
  if (names.length > 0 === (selector !== undefined))
    throw new CommandError(EXIT.usage, 'pass either names or --selector');
  if (selector === undefined) {
    return names.map((text) => {
      const { kind, name } = targetOf(text);
      if (kind === 'set') return { name: text, run: async ({ set }) => set(context, await cluster.getSet(name)) };
      return { name: text, run: async ({ server }) => server(context, await cluster.get(name)) };
    });
  }
  const servers = await cluster.list(false, selector);
  if (servers.length === 0) throw new CommandError(EXIT.notFound, `no VirtualServer has the labels ${selector}`);
  return servers.map((object) => ({ name: object.metadata.name, run: ({ server }) => server(context, object) }));
}

const SET_DECIDES = 'is a member of a set, which decides this for all its members';

/** Throws CommandError for the member of a set: the set would change it back. */
export function requireOwn(server: VirtualServer, { cluster }: Context, command: string): void {
  const set = setOf(server);
  if (set === undefined) return;
  throw new CommandError(EXIT.failed, `${server.metadata.name} ${SET_DECIDES}`, [
    `kubectl vps ${command} ${setArgument(set)}${cluster.where}`,
  ]);
}

/** Throws CommandError for an object whose server was cancelled when its time was up: nothing brings it back. */
export function requireNotExpired(object: VirtualServer): void {
  const { name } = object.metadata;
  const expiredAt = recordOf(object)?.expiredAt;
  if (expiredAt === undefined) return;
  const why = `the server of ${name} expired at ${expiredAt}, and is gone`;
  throw new CommandError(EXIT.failed, `${why}: delete the object, and create another one`);
}

/** Throws CommandError for an object that is being deleted: until it is gone, the operator only cancels, keeps or hands over its server. */
export function requireNotDeleted(object: VirtualServer, { cluster, now }: Context): void {
  const { name, deletionTimestamp } = object.metadata;
  if (deletionTimestamp === undefined) return;
  const hints = undeletionHints(object, cluster.where, now());
  throw new CommandError(EXIT.failed, `not while ${name} is being deleted`, hints);
}

export const pausing = (paused: boolean): Action => ({
  unchanged: paused ? 'already paused' : 'not paused',
  server: async ({ cluster }, server) => {
    if (isPaused(server) === paused) return undefined;
    await cluster.annotateAnyway(server, { [PAUSED_ANNOTATION]: paused ? 'true' : null });
    return paused ? 'is paused: the operator makes no calls for it' : 'is resumed';
  },
  set: async ({ cluster }, set) => {
    if (requireAlive(set).spec.paused === paused) return undefined;
    await cluster.changeSpec(set, { paused });
    return paused ? 'is paused: it creates, changes and deletes no member' : 'is resumed';
  },
});

/** `now`: ms since the epoch. */
export const reconciling = (now: number): Action => ({
  unchanged: 'already asked for',
  server: async ({ cluster }, server) => {
    await cluster.annotateAnyway(server, { [RECONCILE_AT_ANNOTATION]: timestamp(now) });
    return 'will be reconciled at once';
  },
  set: (_context, set) => {
    throw new CommandError(
      EXIT.usage,
      `set/${set.metadata.name}: a set is not a server, and is not read again: name its members`,
    );
  },
});

export const protecting = (deletionProtection: boolean): Action => {
  const done = deletionProtection ? 'is protected: its server is never cancelled' : 'is no longer protected';
  return {
    unchanged: deletionProtection ? 'already protected' : 'not protected',
    server: async (context, server) => {
      // The set does not change a member back that is being deleted.
      if (server.metadata.deletionTimestamp === undefined)
        requireOwn(server, context, deletionProtection ? 'protect' : 'unprotect');
      if (deletionProtection) requireNotExpired(server);
      const end = deletionProtection ? endOfObject(server) : undefined;
      if (end !== undefined)
        throw new CommandError(EXIT.failed, `too late for ${server.metadata.name}: ${end.message}`);
      if (server.spec.deletionProtection === deletionProtection) return undefined;
      await context.cluster.changeSpec(server, { deletionProtection });
      const isTooLate = deletionProtection && server.status?.cancelRequestedAt !== undefined;
      return isTooLate ? 'is protected, but too late: the provider may already be cancelling its server' : done;
    },
    set: async ({ cluster }, set) => {
      if (requireAlive(set).spec.template.spec.deletionProtection === deletionProtection) return undefined;
      await cluster.changeSpec(set, { template: { spec: { deletionProtection } } });
      const changed = deletionProtection
        ? 'is protected, with its members'
        : 'is no longer protected, and neither are its members';
      return set.spec.paused ? `${changed} once the set is resumed` : changed;
    },
  };
};

/** Exactly one of `ttl` and `expiresAt`, as in spec. */
export interface Extension {
  ttl?: string | undefined;
  expiresAt?: string | undefined;
}

/** `ttl` counts from the past: a ttl that is too short for an old server would cancel it at once, without a question. */
function requireFuture(end: number | undefined, { metadata }: VirtualServer, { cluster, now }: Context): void {
  if (end === undefined || end > now()) return;
  const why = `would have ended at ${timestamp(end)}, ${duration(now() - end)} ago`;
  throw new CommandError(EXIT.failed, `${metadata.name} ${why}, so nothing was changed. To cancel its server, run:`, [
    `kubectl vps cancel ${metadata.name}${cluster.where}`,
  ]);
}

export const extending = ({ ttl, expiresAt }: Extension): Action => {
  if ((ttl === undefined) === (expiresAt === undefined)) {
    throw new CommandError(EXIT.usage, 'pass exactly one of --ttl DURATION and --expires-at TIME');
  }
  return {
    unchanged: 'unchanged: it already ends then',
    server: async (context, server) => {
      requireNotDeleted(server, context);
      requireOwn(server, context, 'status');
      requireNotExpired(server);
      if (server.spec.ttl === ttl && server.spec.expiresAt === expiresAt) return undefined;
      const end = endTimeOf({ ...server, spec: { ...server.spec, ttl, expiresAt } }, context.now());
      requireFuture(end, server, context);
      await context.cluster.changeSpec(server, { ttl: ttl ?? null, expiresAt: expiresAt ?? null });
      const keeps = unless(cancelIsForbidden(server));
      if (ttl === undefined) return `ends at ${expiresAt}${keeps}`;
      return end === undefined
        ? `ends ${ttl} after it is first ready${keeps}`
        : `ends ${ttl} after it was first ready, at ${timestamp(end)}${keeps}`;
    },
    set: (_context, set) => {
      throw new CommandError(EXIT.usage, `set/${set.metadata.name}: change the ttl in the template of the set`);
    },
  };
};
