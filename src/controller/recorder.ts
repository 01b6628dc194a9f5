/** Writes Events on the way: never waited for by a step, never repeated within ten minutes. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { EventNote } from '../decision/types.ts';
import type { Kube } from '../kube/types.ts';
import type { Logger } from '../logger.ts';
import type { Timers } from './timers.ts';

const REPEAT_MS = 10 * 60_000;
const REMEMBERED = 10_000;

export class Recorder {
  readonly #kube: Pick<Kube, 'createEvent'>;
  readonly #timers: Timers;
  readonly #log: Logger;
  readonly #sent = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();

  constructor(kube: Pick<Kube, 'createEvent'>, timers: Timers, log: Logger) {
    this.#kube = kube;
    this.#timers = timers;
    this.#log = log;
  }

  record(object: VirtualServer, action: string, notes: readonly EventNote[]): void {
    for (const { type, reason, note } of notes) {
      const { namespace, name, uid, resourceVersion } = object.metadata;
      if (this.#isRepeated(`${uid} ${reason} ${note}`)) continue;
      const sending = this.#kube
        .createEvent({ regarding: { namespace, name, uid, resourceVersion }, type, reason, action, note })
        // In a namespace that is being deleted no Event can be created; the condition and the log say the same.
        .catch((error: unknown) => this.#log.debug({ namespace, name, uid, reason, err: error }, 'event not written'))
        .finally(() => this.#pending.delete(sending));
      this.#pending.add(sending);
    }
  }

  /** Resolves when every Event was answered. */
  async flush(): Promise<void> {
    await Promise.all(this.#pending);
  }

  #isRepeated(text: string): boolean {
    const now = this.#timers.monotonic();
    // Oldest first, since a text is only remembered when it is sent.
    for (const [old, at] of this.#sent) {
      if (now - at < REPEAT_MS && this.#sent.size < REMEMBERED) break;
      this.#sent.delete(old);
    }
    if (this.#sent.has(text)) return true;
    this.#sent.set(text, now);
    return false;
  }
}
