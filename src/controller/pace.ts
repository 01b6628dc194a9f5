/** Stretches poll and resync intervals when the token bucket is too small for the number of objects. */
import type { VirtualServer } from '../api/virtual-server.ts';
import type { Timing } from '../decision/types.ts';

/** Share of the bucket that polling tasks, and reading Ready servers again, may take; the rest is for everything else. */
const POLL_SHARE = 0.6;
const RESYNC_SHARE = 0.2;
const COUNT_EVERY_MS = 5_000;

export interface PaceOptions {
  pollMs: number;
  resyncMs: number;
  takeoverMs: number;
  absenceMs: number;
  qps: number;
  list: () => readonly VirtualServer[];
  /** Told when the factor by which an interval is stretched changes by more than a tenth. */
  onStretch: (factors: { poll: number; resync: number }) => void;
}

export class Pace {
  readonly #options: PaceOptions;
  #timing: Timing;
  #countedAt = -Infinity;
  #factors = { poll: 1, resync: 1 };
  #told = { poll: 1, resync: 1 };

  constructor(options: PaceOptions) {
    this.#options = options;
    const { pollMs, resyncMs, takeoverMs, absenceMs } = options;
    this.#timing = { pollMs, resyncMs, takeoverMs, absenceMs };
  }

  timing(now: number): Timing {
    if (now - this.#countedAt >= COUNT_EVERY_MS) this.#count(now);
    return this.#timing;
  }

  /** By how much the intervals are stretched now; 1: not at all. */
  factors(now: number): { poll: number; resync: number } {
    this.timing(now);
    return this.#factors;
  }

  #count(now: number): void {
    const { pollMs, resyncMs, qps, list, onStretch } = this.#options;
    const objects = list();
    const polled = objects.reduce((sum, object) => sum + (isPolled(object) ? 1 : 0), 0);
    const needed = {
      poll: (polled / (qps * POLL_SHARE)) * 1000,
      resync: ((objects.length - polled) / (qps * RESYNC_SHARE)) * 1000,
    };
    const factors = { poll: Math.max(1, needed.poll / pollMs), resync: Math.max(1, needed.resync / resyncMs) };
    this.#countedAt = now;
    this.#factors = factors;
    this.#timing = { ...this.#timing, pollMs: pollMs * factors.poll, resyncMs: resyncMs * factors.resync };
    const moved = (['poll', 'resync'] as const).some((kind) => Math.abs(factors[kind] / this.#told[kind] - 1) > 0.1);
    if (!moved) return;
    this.#told = factors;
    onStretch(factors);
  }
}

/** A task runs, or what may be wrong for all objects at once: the right to write their connection Secrets is missing. */
function isPolled({ status }: VirtualServer): boolean {
  if (status?.task !== undefined) return true;
  return status?.conditions?.some(({ reason }) => reason === 'ConnectionSecretFailed') === true;
}
