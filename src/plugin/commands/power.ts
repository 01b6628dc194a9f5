/** `kubectl vps start`, `stop`, `suspend` and `reboot`: switch servers on and off through `spec.power`, and restart them. */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../api/names.ts';
import { isPaused, powerStateOf } from '../../api/server-state.ts';
import type { PowerCall } from '../../virtual-server/decision/memo.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { agreed, cannotAsk, tell, type Context } from '../cluster/context.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { recordOf } from '../state/recorded-order.ts';
import { isInteractive } from '../terminal/terminal.ts';
import { callFor, lackTold, type PowerRequest } from '../decisions/power-calls.ts';
import { requireAlive } from './rollout.ts';
import { requireNotDeleted, requireNotExpired, requireOwn, type Action, type Chosen } from './everyday.ts';

type Power = NonNullable<VirtualServerSpec['power']>;

export interface StopOptions extends Chosen {
  force: boolean;
}

export interface SuspendOptions extends Chosen {
  yes: boolean;
}

const WORDS: Readonly<Record<Power, { command: string; asks: string; state: string }>> = {
  On: { command: 'start', asks: 'start it', state: 'on' },
  Off: { command: 'stop', asks: 'shut it down', state: 'off' },
  Dormant: { command: 'suspend', asks: 'make it dormant', state: 'dormant' },
};

/** The provider may refuse, or have no such call: only the object tells what came of it. */
const asking = (what: string): string => `the operator asks the provider to ${what}`;

export const starting = (): Action => switching('On');

/** With `force`, the operator does not wait for the system of the server. */
export const stopping = ({ force }: StopOptions): Action => {
  if (!force) return switching('Off');
  const switches = switching('Off');
  return {
    ...switches,
    server: async (context, server) => {
      await switches.server(context, server);
      await annotateNow(context, server, FORCE_OFF_ANNOTATION);
      return onceResumed(server, `will be off: ${asking('switch it off by force')}`);
    },
    set: (_context, set) => {
      throw new CommandError(EXIT.usage, `set/${set.metadata.name}: --force is for single servers: name its members`);
    },
  };
};

export const suspending = ({ yes }: SuspendOptions): Action => {
  const action = switching('Dormant');
  const ask = async (context: Context, name: string, whose: string): Promise<void> => {
    if (yes) return;
    if (!isInteractive(context.terminal)) throw cannotAsk();
    const question = `Suspend ${name}? ${whose} switched off by force, which may lose data.`;
    if (!(await agreed(context, question))) throw new CommandError(EXIT.failed, `nothing was changed: ${name} runs on`);
  };
  return {
    ...action,
    server: async (context, server) => {
      requireNotDeleted(server, context);
      if (server.spec.power === 'Dormant') return undefined;
      requireOwn(server, context, 'suspend');
      requireNotExpired(server);
      await ask(context, server.metadata.name, 'Its server is');
      return action.server(context, server);
    },
    set: async (context, set) => {
      if (requireAlive(set).spec.template.spec.power === 'Dormant') return undefined;
      await ask(context, `set/${set.metadata.name}`, 'The servers of all its members are');
      return action.set(context, set);
    },
  };
};

export const rebooting = (): Action => {
  const noteLack = lackNotes();
  return {
    unchanged: 'already asked for',
    follow: 'status',
    server: async (context, server) => {
      const { metadata, status } = server;
      requireNotDeleted(server, context);
      requireNotExpired(server);
      const state = powerStateOf(status?.serverStatus);
      if (state === 'off') {
        const hint = `kubectl vps start ${metadata.name}${context.cluster.where}`;
        throw new CommandError(EXIT.failed, `the server of ${metadata.name} is off: it cannot be restarted`, [hint]);
      }
      if (recordOf(server)?.identifier === undefined)
        throw new CommandError(EXIT.failed, `${metadata.name} has no server that could be restarted`);
      await annotateNow(context, server, REBOOT_ANNOTATION);
      await noteLack(context, 'reboot', server, helpFor('reboot', server, context.cluster.where));
      return onceResumed(server, `will be restarted: ${asking('restart it, once')}`);
    },
    set: (_context, set) => {
      throw new CommandError(EXIT.usage, `set/${set.metadata.name}: a set is not a server: name its members`);
    },
  };
};

function switching(power: Power): Action {
  const { command, asks, state } = WORDS[power];
  const done = `will be ${state}: ${asking(asks)}`;
  const noteLack = lackNotes();
  return {
    unchanged: `already set to be ${state}`,
    follow: 'wait',
    server: async (context, server) => {
      requireNotDeleted(server, context);
      requireOwn(server, context, command);
      requireNotExpired(server);
      const isAsked = server.spec.power === power;
      if (!isAsked) await context.cluster.changeSpec(server, { power });
      await noteLack(context, callFor(power, server), server, helpFor(power, server, context.cluster.where));
      return isAsked ? undefined : onceResumed(server, done);
    },
    set: async (context, set) => {
      const { spec } = requireAlive(set).spec.template;
      if (spec.power === power) return undefined;
      await context.cluster.changeSpec(set, { template: { spec: { power } } });
      await noteLack(context, MEMBERS_NEED[power], { spec }, []);
      return `${done}, member by member${set.spec.paused ? ', once the set is resumed' : ''}`;
    },
  };
}

/** The operator makes no calls for a paused object. */
const onceResumed = (server: VirtualServer, done: string): string =>
  isPaused(server) ? `${done} when the object is resumed` : done;

/** What most members need, whose servers run until they are asked to be off. */
const MEMBERS_NEED: Readonly<Record<Power, PowerCall>> = { On: 'power-on', Off: 'shutdown', Dormant: 'dormant' };

type NoteLack = (
  context: Context,
  call: PowerCall | undefined,
  from: VirtualServer | { metadata?: undefined; spec: Pick<VirtualServerSpec, 'apiKeySecretRef'> },
  help: readonly string[],
) => Promise<void>;

/**
 * Tells what an object with the same API key has found out about a call that the provider does not have. The request is made all the
 * same: one 404 does not prove that the call is missing, and the operator asks again.
 */
function lackNotes(): NoteLack {
  // For many servers, one list is enough, and one note about each finding.
  let all: Promise<VirtualServer[]> | undefined;
  const told = new Set<string>();
  return async (context, call, from, help) => {
    if (call === undefined) return;
    const { where } = context.cluster;
    // The user may have no right to list.
    all ??= context.cluster.list(false).catch(() => []);
    const others = (await all).filter(({ spec }) => spec.apiKeySecretRef.name === from.spec.apiKeySecretRef.name);
    for (const known of from.metadata === undefined ? others : [from, ...others]) {
      const lack = lackTold(call, known);
      if (lack === undefined) continue;
      const { name } = known.metadata;
      const note = `note: ${lack}, as the operator found for ${name}: kubectl vps status ${name}${where}`;
      if (!told.has(note)) tell(context, [note, ...help.map((line) => `  ${line}`)]);
      told.add(note);
      return;
    }
  };
}

/** The ways that need no call of the provider. */
function helpFor(wanted: PowerRequest, { metadata: { name }, spec }: VirtualServer, where: string): string[] {
  const inside = INSIDE[wanted];
  return [
    ...(inside === undefined ? [] : [`kubectl vps ssh ${name}${where} -- ${inside}   # from inside`]),
    ...(wanted === spec.power && wanted !== 'On'
      ? [`kubectl vps start ${name}${where}   # takes the request back`]
      : []),
  ];
}

const INSIDE: Readonly<Partial<Record<PowerRequest, string>>> = {
  Off: 'poweroff',
  reboot: 'reboot',
};

/** The operator acts once for each time. */
async function annotateNow({ cluster, now }: Context, object: VirtualServer, annotation: string): Promise<void> {
  await cluster.annotateAnyway(object, { [annotation]: new Date(now()).toISOString() });
}
