/** `kubectl vps start`, `stop`, `suspend` and `reboot`: switch servers on and off through `spec.power`, and restart them. */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../api/names.ts';
import { isPaused, powerStateOf } from '../../api/server-state.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { agreed, cannotAsk, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, MovedError } from '../terminal/failure.ts';
import { recordOf } from '../state/recorded-order.ts';
import { isInteractive } from '../terminal/terminal.ts';
import { needsCall, withoutCall, type PowerRequest } from '../decisions/power-calls.ts';
import { requireNotExpired, requireOwn, type Action, type Chosen } from './everyday.ts';

type Power = NonNullable<VirtualServerSpec['power']>;

export interface StopOptions extends Chosen {
  force: boolean;
}

export interface SuspendOptions extends Chosen {
  yes: boolean;
}

const WORDS: Readonly<Record<Power, { command: string; asks: string; unchanged: string }>> = {
  On: { command: 'start', asks: 'start it', unchanged: 'already to be on' },
  Off: { command: 'stop', asks: 'shut it down', unchanged: 'already to be off' },
  Dormant: { command: 'suspend', asks: 'make it dormant', unchanged: 'already to be dormant' },
};

/** The provider may refuse, or have no such call: only the object tells what came of it. */
const asking = (what: string): string => `the operator asks the provider to ${what}`;

export const starting = (): Action => switching('On');

/** With `force`, the operator does not wait for the system of the server. */
export const stopping = ({ force }: StopOptions): Action => {
  const action = switching('Off');
  if (!force) return action;
  return {
    ...action,
    server: async (context, server) => {
      await action.server(context, server);
      await annotateNow(context, server, FORCE_OFF_ANNOTATION);
      return onceResumed(server, `is to be off: ${asking('switch it off by force')}`);
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
      await requireCall(context, 'Dormant', server);
      if (server.spec.power === 'Dormant') return undefined;
      requireOwn(server, context, 'suspend');
      requireNotExpired(server);
      await ask(context, server.metadata.name, 'Its server is');
      return action.server(context, server);
    },
    set: async (context, set) => {
      await requireCallForSet(context, 'Dormant', set);
      if (set.spec.template.spec.power === 'Dormant') return undefined;
      await ask(context, `set/${set.metadata.name}`, 'The servers of all its members are');
      return action.set(context, set);
    },
  };
};

export const rebooting = (): Action => ({
  unchanged: 'already asked for',
  follow: 'status',
  server: async (context, server) => {
    const { metadata, status } = server;
    requireNotExpired(server);
    const state = powerStateOf(status?.serverStatus);
    if (state === 'off') {
      const hint = `kubectl vps start ${metadata.name}${context.cluster.where}`;
      throw new CommandError(EXIT.failed, `the server of ${metadata.name} is off: it cannot be restarted`, [hint]);
    }
    if (recordOf(server)?.identifier === undefined)
      throw new CommandError(EXIT.failed, `${metadata.name} has no server that could be restarted`);
    await requireCall(context, 'reboot', server);
    await annotateNow(context, server, REBOOT_ANNOTATION);
    return onceResumed(server, `is to be restarted: ${asking('restart it, once')}`);
  },
  set: (_context, set) => {
    throw new CommandError(EXIT.usage, `set/${set.metadata.name}: a set has no server of its own: name its members`);
  },
});

function switching(power: Power): Action {
  const { command, asks, unchanged } = WORDS[power];
  const done = `is ${unchanged.replace('already ', '')}: ${asking(asks)}`;
  return {
    unchanged,
    follow: 'wait',
    server: async (context, server) => {
      requireOwn(server, context, command);
      requireNotExpired(server);
      await requireCall(context, power, server);
      if (server.spec.power === power) return undefined;
      await context.cluster.changeSpec(server, { power });
      return onceResumed(server, done);
    },
    set: async (context, set) => {
      await requireCallForSet(context, power, set);
      if (set.spec.template.spec.power === power) return undefined;
      await context.cluster.changeSpec(set, { template: { spec: { power } } });
      return `${done}, member by member`;
    },
  };
}

/** The operator makes no calls for a paused object. */
const onceResumed = (server: VirtualServer, done: string): string =>
  isPaused(server) ? `${done} when the object is resumed` : done;

const LACKS: Readonly<Record<PowerRequest, { what: string; inside?: string }>> = {
  On: { what: 'start a server' },
  Off: { what: 'shut a server down', inside: 'poweroff' },
  Dormant: { what: 'make a server dormant' },
  reboot: { what: 'restart a server', inside: 'reboot' },
};

/** Throws CommandError if an object with the same API key has found that the provider has no call for this. */
async function requireCall(context: Context, wanted: PowerRequest, server: VirtualServer): Promise<void> {
  if (!needsCall(wanted, server)) return;
  const { name } = server.metadata;
  const known = withoutCall(wanted, [server, ...(await othersWith(context, server.spec))]);
  if (known === undefined) return;
  const { what, inside } = LACKS[wanted];
  const { where } = context.cluster;
  const isOwn = known.metadata.name === name;
  throw new CommandError(EXIT.failed, noCall(what, known, where), [
    inside === undefined
      ? "# use the provider's control panel"
      : `kubectl vps ssh ${name}${where} -- ${inside}   # from inside; or use the provider's control panel`,
    ...(isOwn && wanted === server.spec.power && wanted !== 'On'
      ? [`kubectl vps start ${name}${where}   # takes the request back`]
      : []),
  ]);
}

async function requireCallForSet(context: Context, wanted: Power, { spec }: VirtualServerSet): Promise<void> {
  if (wanted === 'On') return;
  const known = withoutCall(wanted, await othersWith(context, spec.template.spec));
  if (known === undefined) return;
  throw new CommandError(EXIT.failed, noCall(LACKS[wanted].what, known, context.cluster.where), [
    "# use the provider's control panel",
  ]);
}

const noCall = (what: string, { metadata: { name } }: VirtualServer, where: string): string =>
  `the provider API has no call to ${what}, as the operator has found out: kubectl vps status ${name}${where}`;

/** The objects with the same API key; none if the user may not list them. */
async function othersWith(
  { cluster }: Context,
  { apiKeySecretRef }: Pick<VirtualServerSpec, 'apiKeySecretRef'>,
): Promise<VirtualServer[]> {
  const servers = await cluster.list(false).catch(() => []);
  return servers.filter(({ spec }) => spec.apiKeySecretRef.name === apiKeySecretRef.name);
}

/** How often the annotation is tried while the operator changes the object. */
const ATTEMPTS = 5;

/** The operator acts once for each time. */
async function annotateNow({ cluster, now }: Context, { metadata }: VirtualServer, annotation: string): Promise<void> {
  const value = new Date(now()).toISOString();
  for (let attempt = 1; ; attempt += 1) {
    const seen = await cluster.get(metadata.name);
    try {
      await cluster.annotate(seen, { [annotation]: value });
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof MovedError)) throw error;
    }
  }
}
