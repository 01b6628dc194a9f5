/** A cancellation as the operator performs it: the real one, with a provider and an API server that answer as they are told. */
import { ProviderError } from '../../../../src/provider/errors/provider-error.ts';
import { choose, type Choice } from '../../../../src/virtual-server/visit/choose.ts';
import type { GatherRooms, VisitFacts } from '../../../../src/virtual-server/visit/gather.ts';
import { perform, type PerformRooms } from '../../../../src/virtual-server/visit/perform.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { Facts, Outcome } from '../../../../src/virtual-server/decision/types.ts';
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

/**
 * The journal and all else that a cancellation has no use for is left out. Resolves with what was chosen after a look at all
 * that it needs, and with what came of that; undefined: the object is gone.
 */
export async function cancel(scene: Scene): Promise<(Choice & { outcome: Outcome }) | undefined> {
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
  const room: Partial<PerformRooms & GatherRooms> = {
    kube: {
      getVirtualServer: () => Promise.resolve(live),
      getDefinition: () => Promise.resolve('kept'),
      getSecret: () => Promise.reject(new Error('no key is asked for')),
    },
    objects: { saw: () => undefined },
    leads: () => true,
    timers: new FakeTimers(),
  };
  const into: VisitFacts = { session: session as Session };
  const known = (): Facts => ({ ...facts, ...(into.cancellation && { cancellation: into.cancellation }) });
  const choice = await choose(object, into, known, room as GatherRooms);
  if (choice === undefined) return undefined;
  const target = { view: choice.view, session: session as Session };
  return { ...choice, outcome: await perform(choice.action, target, room as PerformRooms) };
}

function serverOf(shown: Outcome): Promise<Server> {
  return shown.type === 'server' ? Promise.resolve(shown.server) : Promise.reject(errorOf(shown));
}

function errorOf(outcome: Outcome): Error {
  if (outcome.type === 'serverNotFound') return new ProviderError('PROVIDER_NOT_FOUND', '404');
  if (outcome.type === 'failed' && outcome.error instanceof Error) return outcome.error;
  throw new Error(`a provider does not answer with ${outcome.type}`);
}
