/** `kubectl vps start`, `stop`, `suspend` and `reboot`: switch servers on and off through `spec.power`, and restart them. */
import { FORCE_OFF_ANNOTATION, REBOOT_ANNOTATION } from '../../api/names.ts';
import { isPaused, powerStateOf } from '../../api/server-state.ts';
import type { VirtualServer, VirtualServerSpec } from '../../api/virtual-server.ts';
import { agreed, cannotAsk, type Context } from '../cluster/context.ts';
import { CommandError, EXIT, MovedError } from '../terminal/failure.ts';
import { recordOf } from '../state/recorded-order.ts';
import { isInteractive } from '../terminal/terminal.ts';
import { requireNotExpired, requireOwn, type Action, type Chosen } from './everyday.ts';

type Power = NonNullable<VirtualServerSpec['power']>;

export interface StopOptions extends Chosen {
  force: boolean;
}

export interface SuspendOptions extends Chosen {
  yes: boolean;
}

const WORDS: Readonly<Record<Power, { command: string; done: string; unchanged: string }>> = {
  On: { command: 'start', done: 'will be started', unchanged: 'already to be on' },
  Off: { command: 'stop', done: 'will be shut down', unchanged: 'already to be off' },
  Dormant: { command: 'suspend', done: 'will be made dormant', unchanged: 'already to be dormant' },
};

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
      return onceResumed(server, 'will be switched off by force');
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
      if (server.spec.power === 'Dormant') return undefined;
      await ask(context, server.metadata.name, 'Its server is');
      return action.server(context, server);
    },
    set: async (context, set) => {
      await ask(context, `set/${set.metadata.name}`, 'The servers of all its members are');
      return action.set(context, set);
    },
  };
};

export const rebooting = (): Action => ({
  unchanged: 'already asked for',
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
    await annotateNow(context, server, REBOOT_ANNOTATION);
    return onceResumed(server, 'will be restarted');
  },
  set: (_context, set) => {
    throw new CommandError(EXIT.usage, `set/${set.metadata.name}: a set has no server of its own: name its members`);
  },
});

function switching(power: Power): Action {
  const { command, done, unchanged } = WORDS[power];
  return {
    unchanged,
    server: async (context, server) => {
      requireOwn(server, context, command);
      requireNotExpired(server);
      if (server.spec.power === power) return undefined;
      await context.cluster.changeSpec(server, { power });
      return onceResumed(server, done);
    },
    set: async ({ cluster }, set) => {
      if (set.spec.template.spec.power === power) return undefined;
      await cluster.changeSpec(set, { template: { spec: { power } } });
      return `${done}, with its members`;
    },
  };
}

/** The operator makes no calls for a paused object. */
const onceResumed = (server: VirtualServer, done: string): string =>
  isPaused(server) ? `${done} once it is resumed: it is paused` : done;

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
