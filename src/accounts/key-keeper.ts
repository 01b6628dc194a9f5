/** Reads the API keys ahead at the start, and forgets keys that no object uses. */
import type { Logger } from '../base/logger.ts';
import type { Timers } from '../base/timers.ts';
import type { Credentials } from './credentials.ts';

/** A Secret with an API key. */
export interface SecretName {
  namespace: string;
  name: string;
}

export interface KeyKeeperOptions {
  credentials: Credentials;
  timers: Timers;
  log: Logger;
  operatorNamespace: string | undefined;
  /** The Secrets that objects refer to now; may repeat. */
  inUse: () => Iterable<SecretName>;
}

const FORGET_EVERY_MS = 60_000;
const PREFETCHES = 8;

export class KeyKeeper {
  readonly #options: KeyKeeperOptions;
  #timer: unknown;

  constructor(options: KeyKeeperOptions) {
    this.#options = options;
  }

  /** Reads the keys before any other work, because their Secrets may be deleted at any moment. */
  async prefetch(secrets: Iterable<SecretName>): Promise<void> {
    const queue = [...new Map([...secrets].map((secret) => [`${secret.namespace}/${secret.name}`, secret])).values()];
    const take = async (): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const { namespace, name } = next;
        await this.#options.credentials
          .get(namespace, name, { held: true, deleting: false })
          .catch((error: unknown) =>
            this.#options.log.warn({ namespace, err: error }, 'failed to read a Secret at startup'),
          );
      }
    };
    await Promise.all(Array.from({ length: PREFETCHES }, take));
  }

  /** Forgets unused keys once a minute; not more often, because each pass goes through every object. */
  start(): void {
    this.#timer = this.#options.timers.set(() => {
      this.#forgetUnneeded();
      this.start();
    }, FORGET_EVERY_MS);
  }

  stop(): void {
    if (this.#timer !== undefined) this.#options.timers.clear(this.#timer);
  }

  #forgetUnneeded(): void {
    const { credentials, operatorNamespace = '', inUse } = this.#options;
    const needed = new Set<string>();
    for (const { namespace, name } of inUse()) {
      needed.add(`${namespace}/${name}`);
      // The fallback Secret.
      needed.add(`${operatorNamespace}/${namespace}.${name}`);
    }
    credentials.keepOnly(needed);
  }
}
