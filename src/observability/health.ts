/**
 * What /livez and /readyz look at.
 *
 * A failed /livez gets the process killed, and one that is killed in mid-create leaves an order of unknown outcome. So it
 * fails for nothing but a process that would never get on by itself: all workers of a loop stuck
 * (controller/progress.ts), or a reflector that has ended or hangs (controller/reflector.ts). A provider or an API server that is
 * away, refuses or hangs, a broken journal, a standby that waits: none of them is mended by a restart. An event loop that
 * is stuck needs no check: it cannot answer, and the kubelet takes the missing answer for a failure.
 *
 * A failed /readyz keeps a rollout from going on, no more: nothing is sent to the operator. Ready is who works on objects,
 * and a standby that sees the Lease, which needs both the API server and the rights.
 */
import type { Page } from './page-server.ts';
import type { Vitals } from './vitals.ts';

/** Undefined: in order; else what is wrong, in one line. */
type HealthCheck = () => string | undefined;

export interface Health {
  vitals: Vitals;
  /** The end has begun. */
  stopping: boolean;
  /** While another process may lead: for how long the API server has not answered for the Lease (ms). */
  standby: { leaseAgeMs: number } | undefined;
}

export interface HealthBounds {
  /** A reflector may show no sign of life for so long (ms). */
  longestSilenceMs: number;
  /** A healthy standby sees the Lease at least this often (ms). */
  longestLeaseAgeMs: number;
}

/** The order is that of the lines of the page. */
export function liveChecks({ vitals }: Health, { longestSilenceMs }: HealthBounds): Record<string, HealthCheck> {
  return {
    workers: () => {
      const { phase, loops, longestStepMs } = vitals;
      if (phase !== 'running') return undefined;
      // A free worker is kept from keys that wait only where their namespace holds its share of the workers.
      const stuck = Object.entries(loops).filter(
        ([, { busyForMs, queued, maxWorkers, progressAgeMs }]) =>
          (busyForMs.length >= maxWorkers || queued > 0) && progressAgeMs > longestStepMs,
      );
      const said = stuck.map(
        ([loop, { busyForMs, queued, maxWorkers, progressAgeMs }]) =>
          `${busyForMs.length} of ${maxWorkers} ${loop} workers are busy, ${queued} objects wait, ` +
          `and none has made progress for ${seconds(progressAgeMs)}`,
      );
      return said.length === 0 ? undefined : said.join('; ');
    },
    informer: () => {
      const { phase, loops } = vitals;
      const silent = Math.max(...Object.values(loops).map(({ informerSilentMs }) => informerSilentMs));
      const expected = phase === 'syncing' || phase === 'running';
      return expected && silent > longestSilenceMs ? `no sign of life for ${seconds(silent)}` : undefined;
    },
  };
}

export function readyChecks(health: Health, { longestLeaseAgeMs }: HealthBounds): Record<string, HealthCheck> {
  const { vitals, stopping, standby } = health;
  return {
    stopping: () => (stopping ? 'the process is about to end' : undefined),
    standby: () => {
      if (standby === undefined || standby.leaseAgeMs <= longestLeaseAgeMs) return undefined;
      const seen = Number.isFinite(standby.leaseAgeMs) ? `for ${seconds(standby.leaseAgeMs)}` : 'yet';
      return `the API server has not answered for the Lease ${seen}`;
    },
    caches: () => {
      if (standby !== undefined || vitals.phase === 'running' || vitals.phase === 'stopping') return undefined;
      return 'not in sync yet';
    },
  };
}

/** 200 `ok`, or 500 and a line for each check that fails, beginning with its name. A check that throws fails. */
export function probePage(checks: Readonly<Record<string, HealthCheck>>): Page {
  const failures = Object.entries(checks).flatMap(([name, check]) => {
    const problem = resultOf(check);
    return problem === undefined ? [] : [`${name}: ${problem}\n`];
  });
  return failures.length === 0 ? { status: 200, body: 'ok\n' } : { status: 500, body: failures.join('') };
}

function resultOf(check: HealthCheck): string | undefined {
  try {
    return check();
  } catch {
    return 'the check itself failed';
  }
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1000)} s`;
}
