/** A cancellation as the operator performs it: the real code, with a scripted provider and API server. */
import { ProviderError } from '../../../../src/provider/error.ts';
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
  /** The outcome of reading the server. */
  shown: Outcome;
  /** Called when a DELETE is sent; returns its outcome. */
  remove: () => Outcome;
}

/**
 * Leaves out the journal and everything else that a cancellation does not use. Resolves with the choice, made after all
 * reads that it needs, and with its outcome; undefined if the object is gone.
 */
export async function cancel(scene: Scene): Promise<(Choice & { outcome: Outcome }) | undefined> {
  const { object, live, facts, account, shown, remove } = scene;
  let isCancelled = false;
  const session: Partial<Session> = {
    account,
    readServer: () => (isCancelled ? Promise.reject(new ProviderError('PROVIDER_NOT_FOUND', '404')) : serverOf(shown)),
    products: () => Promise.resolve(shown.type === 'serverNotFound' && !shown.counts ? [] : CATALOG.products),
    deleteServer: () => {
      const removed = remove();
      isCancelled = removed.type === 'cancelled';
      const isAnswered = isCancelled || removed.type === 'unconfirmed';
      return isAnswered ? Promise.resolve('done') : Promise.reject(errorOf(removed));
    },
  };
  const room: Partial<PerformRooms & GatherRooms> = {
    kube: {
      getVirtualServer: () => Promise.resolve(live),
      getDefinition: () => Promise.resolve('kept'),
      getSetDefinition: () => Promise.resolve('kept'),
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
