/** A cancellation as the operator performs it: the real one, with a provider and an API server that answer as they are told. */
import { perform, type Performing, type Target } from '../../../../src/virtual-server/visit/perform.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Action, Facts, Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { NotFoundError } from '../../../../src/provider/errors/not-found-error.ts';
import type { Server, Session } from '../../../../src/provider/types.ts';
import { CATALOG } from '../../../gen/decision.ts';
import { FakeTimers } from '../../../gen/timers.ts';

export interface Scene {
  object: VirtualServer;
  /** What a live read returns; undefined: nothing. */
  live: VirtualServer | undefined;
  facts: Facts;
  account: string;
  /** What a read of the server comes to. */
  shown: Outcome;
  /** Called when a DELETE is sent; what the DELETE comes to. */
  remove: () => Outcome;
}

/** The journal and all else that a cancellation has no use for is left out. */
export function cancel(action: Extract<Action, { type: 'deleteServer' }>, scene: Scene): Promise<Outcome> {
  const { object, live, facts, account, shown, remove } = scene;
  const session: Partial<Session> = {
    account,
    readServer: () => serverOf(shown),
    products: () => Promise.resolve(shown.type === 'serverNotFound' && !shown.counts ? [] : CATALOG.products),
    deleteServer: () => {
      const removed = remove();
      return removed.type === 'cancelled' ? Promise.resolve() : Promise.reject(errorOf(removed));
    },
  };
  const room: Partial<Performing> = {
    kube: { getVirtualServer: () => Promise.resolve(live), getDefinition: () => Promise.resolve('kept') },
    leads: () => true,
    timers: new FakeTimers(),
  };
  const target: Target = { object, session: session as Session, facts: () => facts, saw: () => undefined };
  return perform(action, target, room as Performing);
}

function serverOf(shown: Outcome): Promise<Server> {
  return shown.type === 'server' ? Promise.resolve(shown.server) : Promise.reject(errorOf(shown));
}

function errorOf(outcome: Outcome): Error {
  if (outcome.type === 'serverNotFound') return new NotFoundError('404');
  if (outcome.type === 'failed' && outcome.error instanceof Error) return outcome.error;
  throw new Error(`a provider does not answer with ${outcome.type}`);
}
