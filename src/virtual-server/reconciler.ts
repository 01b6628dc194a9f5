/** What the controller of VirtualServers does with a key: a visit to the object, and the end of those that are gone. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Logger } from '../base/logger.ts';
import type { Reconciler } from '../controller/controller.ts';
import type { Informer } from '../kube/types.ts';
import { keyOf } from '../kube/resource.ts';
import type { Losses } from './fleet/losses.ts';
import type { Objects } from './fleet/objects.ts';
import type { Journal } from './journal/journal.ts';
import type { Visits } from './visit/visits.ts';

export interface VirtualServerReconcilerOptions {
  informer: Pick<Informer<VirtualServer>, 'list'>;
  objects: Objects;
  visits: Visits;
  losses: Losses;
  journal: Journal;
  log: Logger;
}

export class VirtualServerReconciler implements Reconciler<VirtualServer> {
  readonly #options: VirtualServerReconcilerOptions;

  constructor(options: VirtualServerReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string, object: VirtualServer | undefined): Promise<{ requeueAfterMs?: number | undefined }> {
    try {
      return { requeueAfterMs: object && (await this.#options.visits.visit(object)) };
    } finally {
      await this.#endGone(key);
    }
  }

  /** A Secret was mended: the keys of the objects that use it and failed, all to be looked at now. */
  wake(namespace: string, secret: string): string[] {
    const { informer, objects } = this.#options;
    return informer.list().flatMap((object) => {
      const { metadata, spec } = object;
      if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== secret) return [];
      const { failures, next, ...memo } = objects.memo(metadata.uid);
      if (failures === 0 && next?.action !== 'gather') return [];
      objects.remember(metadata.uid, { ...memo, failures: 0 });
      return [keyOf(object)];
    });
  }

  /** What is left of objects that are gone: nothing, or the trace of a finalizer that was taken off by force. */
  async #endGone(key: string): Promise<void> {
    const { objects, losses, journal, log } = this.#options;
    for (const { object, released } of objects.takeGone(key)) {
      if (!released) losses.report(object);
      const { uid } = object.metadata;
      await journal.drop(uid).catch((error: unknown) => log.error({ uid, err: error }, 'journal entry not dropped'));
    }
  }
}
