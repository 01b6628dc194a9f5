/**
 * Stretches poll and resync intervals when the token bucket is too small for the number of objects, so that repeated
 * calls leave room for all others. A namespace with too many objects stretches only its own intervals.
 */
import type { VirtualServer } from '../../api/virtual-server.ts';
import { callsOf } from '../decision/calls.ts';
import type { Timing } from '../decision/types.ts';

/** Share of the bucket for polling tasks, and for reading Ready servers again; the rest is for everything else. */
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
  /** Called when the largest factor by which an interval is stretched changes by more than a tenth. */
  onStretch: (factors: { poll: number; resync: number }) => void;
}

export class Pace {
  readonly #options: PaceOptions;
  #countedAt = -Infinity;
  /** Namespace -> factor, only if above 1. */
  #poll: ReadonlyMap<string, number> = new Map();
  #resync: ReadonlyMap<string, number> = new Map();
  #told = { poll: 1, resync: 1 };

  constructor(options: PaceOptions) {
    this.#options = options;
  }

  timing(namespace: string, now: number): Timing {
    this.#countNowAndThen(now);
    const { pollMs, resyncMs, takeoverMs, absenceMs } = this.#options;
    return {
      pollMs: pollMs * (this.#poll.get(namespace) ?? 1),
      resyncMs: resyncMs * (this.#resync.get(namespace) ?? 1),
      takeoverMs,
      absenceMs,
    };
  }

  /** The factors of the namespaces whose intervals are stretched most; 1: not at all. */
  factors(now: number): { poll: number; resync: number } {
    this.#countNowAndThen(now);
    return { poll: Math.max(1, ...this.#poll.values()), resync: Math.max(1, ...this.#resync.values()) };
  }

  #countNowAndThen(now: number): void {
    if (now - this.#countedAt < COUNT_EVERY_MS) return;
    this.#countedAt = now;
    this.#count();
    const factors = this.factors(now);
    const moved = (['poll', 'resync'] as const).some((kind) => Math.abs(factors[kind] / this.#told[kind] - 1) > 0.1);
    if (!moved) return;
    this.#told = factors;
    this.#options.onStretch(factors);
  }

  #count(): void {
    const { pollMs, resyncMs, qps, list } = this.#options;
    const counts = { poll: new Map<string, number>(), resync: new Map<string, number>(), none: undefined };
    for (const object of list()) {
      const { namespace } = object.metadata;
      const count = counts[callsOf(object)];
      count?.set(namespace, (count.get(namespace) ?? 0) + 1);
    }
    this.#poll = stretched(counts.poll, (qps * POLL_SHARE * pollMs) / 1000);
    this.#resync = stretched(counts.resync, (qps * RESYNC_SHARE * resyncMs) / 1000);
  }
}

/** The factors of namespaces that make more calls per interval than their fair share of `capacity`. */
function stretched(calls: ReadonlyMap<string, number>, capacity: number): Map<string, number> {
  const share = fairShare([...calls.values()], capacity);
  return new Map(
    [...calls].filter(([, count]) => count > share).map(([namespace, count]) => [namespace, count / share]),
  );
}

/** The maximum for each namespace; namespaces that need less leave their rest to the others. */
function fairShare(needs: number[], capacity: number): number {
  let left = capacity;
  for (const [index, need] of needs.sort((a, b) => a - b).entries()) {
    const share = left / (needs.length - index);
    if (need > share) return share;
    left -= need;
  }
  return Infinity;
}
