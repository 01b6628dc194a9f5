/** Which API keys are read ahead, and which are forgotten again. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Logger } from '../base/logger.ts';
import type { Credentials } from './credentials.ts';
import { ownRecord } from '../virtual-server/fleet/objects.ts';
import type { Timers } from '../base/timers.ts';

export interface KeyKeeperOptions {
  credentials: Credentials;
  timers: Timers;
  log: Logger;
  operatorNamespace: string | undefined;
  /** Every object that is known. */
  list: () => readonly VirtualServer[];
  /** Secrets that others need, as `namespace/name`. */
  alsoNeeded: () => readonly string[];
}

const FORGET_KEYS_MS = 60_000;
const PREFETCHES = 8;

export class KeyKeeper {
  readonly #options: KeyKeeperOptions;
  #lookAt = 0;

  constructor(options: KeyKeeperOptions) {
    this.#options = options;
  }

  /** Keys are read before anything else is done: their Secrets may be gone a moment later. */
  async prefetch(objects: readonly VirtualServer[]): Promise<void> {
    const needed = new Map(
      objects
        .filter((object) => ownRecord(object) !== undefined)
        .map(({ metadata, spec }) => [`${metadata.namespace}/${spec.apiKeySecretRef.name}`, { metadata, spec }]),
    );
    const queue = [...needed.values()];
    const take = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const { metadata, spec } = next;
        const use = { held: true, deleting: false };
        await this.#options.credentials
          .get(metadata.namespace, spec.apiKeySecretRef.name, use)
          .catch((error: unknown) => {
            this.#options.log.warn({ namespace: metadata.namespace, err: error }, 'Secret not read at start');
          });
      }
    };
    await Promise.all(Array.from({ length: PREFETCHES }, take));
  }

  /** Now and then, since it looks at every object. */
  forgetUnneeded(): void {
    const now = this.#options.timers.monotonic();
    if (now < this.#lookAt) return;
    this.#lookAt = now + FORGET_KEYS_MS;
    this.#options.credentials.keepOnly(this.#neededSecrets());
  }

  #neededSecrets(): Set<string> {
    const { operatorNamespace, list, alsoNeeded } = this.#options;
    const needed = list().flatMap(({ metadata: { namespace }, spec }) => {
      const own = `${namespace}/${spec.apiKeySecretRef.name}`;
      return [own, `${operatorNamespace ?? ''}/${namespace}.${spec.apiKeySecretRef.name}`];
    });
    return new Set([...needed, ...alsoNeeded()]);
  }
}
