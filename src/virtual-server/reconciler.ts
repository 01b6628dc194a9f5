/** Reconciles a key of the VirtualServer controller: visits the object, and cleans up after objects that are gone. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Logger } from '../base/logger.ts';
import type { Reconciler } from '../controller/controller.ts';
import type { Informer } from '../controller/informer.ts';
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

  /** After a Secret was fixed: the keys of the objects that use it and failed, so that all are visited now. */
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

  /** Cleans up after objects that are gone, and reports those whose finalizer was removed by force. */
  async #endGone(key: string): Promise<void> {
    const { objects, losses, journal, log } = this.#options;
    for (const { object, released } of objects.takeGone(key)) {
      if (!released) losses.report(object);
      const { uid } = object.metadata;
      await journal.drop(uid).catch((error: unknown) => log.error({ uid, err: error }, 'journal entry not dropped'));
    }
  }
}
