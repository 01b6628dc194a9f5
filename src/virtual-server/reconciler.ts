/**
 * Reconciles VirtualServers, one object at a time: decides which operation is next, and runs it, until nothing is left; and
 * cleans up after objects that are gone.
 */
import { SERVER_KIND } from '../api/names.ts';
import type { VirtualServer } from '../api/virtual-server.ts';
import { decide } from './decision/decide.ts';
import { isNow, untilVisit } from './decision/next.ts';
import { withAsked } from './decision/outcome.ts';
import type { Operation } from './decision/types.ts';
import { recorded } from './operations/write-record.ts';
import { act, observe, type Perform } from './operations/table.ts';
import { Visit, type VisitServices } from './visit.ts';
import { PROVISIONING, writesEverything, writesStatusOnly, type BeginWriting } from './writer.ts';
import type { Reconciler } from '../controller/controller.ts';
import type { Informer } from '../controller/informer.ts';
import type { Observer } from '../controller/observer.ts';
import { keyOf } from '../kube/resource.ts';
import type { Losses } from './shared/losses.ts';
import { withoutFailures, withoutPlan } from './decision/memo.ts';

/** No visit needs more steps than this; exceeding it means a loop, which is a bug. */
const MAX_STEPS = 24;

/** Whether the operator acts or only observes. Chosen once, where the operator is put together. */
export interface Mode {
  perform: Perform;
  beginWriting: BeginWriting;
  /** Called with the key of an object that is gone. */
  onGone: (key: string) => void;
}

export const ACTS: Mode = { perform: act, beginWriting: writesEverything, onGone: () => undefined };

export const observes = (observer: Observer): Mode => ({
  perform: observe,
  beginWriting: writesStatusOnly(observer),
  onGone: (key) => observer.withholds(SERVER_KIND, key),
});

export interface ReconcilerServices extends VisitServices, Mode {
  informer: Pick<Informer<VirtualServer>, 'list'>;
  losses: Losses;
}

export class VirtualServerReconciler implements Reconciler<VirtualServer> {
  readonly #services: ReconcilerServices;
  /** Orders whose answer is not recorded yet. */
  readonly #orders = new Set<Promise<undefined>>();
  #draining = false;

  constructor(services: ReconcilerServices) {
    this.#services = services;
    services.metrics?.begin(PROVISIONING, {});
  }

  async reconcile(key: string, object: VirtualServer | undefined): Promise<{ requeueAfterMs?: number | undefined }> {
    try {
      return { requeueAfterMs: object && (await this.#visit(object)) };
    } finally {
      await this.#endGone(key);
    }
  }

  /** After a Secret was fixed: the keys of the objects that use it and failed, so that all are visited now. */
  wake(namespace: string, secret: string): string[] {
    const { informer, objects } = this.#services;
    return informer.list().flatMap((object) => {
      const { metadata, spec } = object;
      if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== secret) return [];
      const memo = objects.memo(metadata.uid);
      if (memo.failures === 0 && memo.plan?.operation !== 'order') return [];
      objects.remember(metadata.uid, withoutPlan(withoutFailures(memo)));
      return [keyOf(object)];
    });
  }

  /** Lets no order begin from now on; resolves when every order in flight is answered and recorded. */
  async drain(): Promise<void> {
    this.#draining = true;
    await Promise.all(this.#orders);
  }

  /** Records what the journal knows and the object does not have yet; makes no calls to the provider. */
  async restore(object: VirtualServer): Promise<void> {
    const visit = this.#begin(object);
    const at = visit.view();
    const operation = decide(at);
    if (operation.type !== 'record') {
      this.#services.objects.saw(object);
      return;
    }
    const next = recorded(at, operation.record, operation.why);
    await visit.commit({ name: operation.type, next, resolves: resolvesAttempts(operation) });
  }

  /** Resolves with the ms until the next visit; undefined: when something changes. Throws the error of a failed step. */
  async #visit(first: VirtualServer): Promise<number | undefined> {
    const { objects, timers, perform } = this.#services;
    const visit = this.#begin(first);
    // The time in which a DELETE of an earlier process may be in flight starts with the first visit.
    objects.handOvers.ageMs(timers.monotonic());
    try {
      for (let step = 0; step < MAX_STEPS; step++) {
        const view = visit.view();
        const operation = decide(view);
        const done = await perform(visit, view, operation);
        if (done === undefined) return undefined;
        const next = withAsked(view, operation, done);
        await visit.commit({ name: operation.type, next, resolves: resolvesAttempts(operation) });
        if (operation.type === 'order' || operation.type === 'repeat') visit.endsOrder();
        if (!isNow(next.when) && !visit.hasChangedSince(view)) return untilVisit(next.when);
      }
      throw new Error(`no end after ${MAX_STEPS} steps`);
    } finally {
      visit.end();
    }
  }

  #begin(first: VirtualServer): Visit {
    return new Visit(first, this.#services, () => this.#beginOrder());
  }

  /** Returns what to call at the end of the order; undefined while the process drains. */
  #beginOrder(): (() => void) | undefined {
    if (this.#draining) return undefined;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#orders.add(promise);
    return () => {
      this.#orders.delete(promise);
      resolve(undefined);
    };
  }

  /** Cleans up after objects that are gone, and reports those whose finalizer was removed by force. */
  async #endGone(key: string): Promise<void> {
    const { objects, losses, journal, log, onGone } = this.#services;
    for (const { object, released } of objects.takeGone(key)) {
      if (!released) losses.report(object);
      onGone(key);
      const { uid } = object.metadata;
      await journal.drop(uid).catch((error: unknown) => log.error({ uid, err: error }, 'journal entry not dropped'));
    }
  }
}

/** True if every attempt that the new record does not name is resolved, by your annotation or by an expiry. */
function resolvesAttempts(operation: Operation): boolean {
  return operation.type === 'expire' || (operation.type === 'record' && operation.why !== 'restored');
}
