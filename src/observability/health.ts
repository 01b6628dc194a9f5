/**
 * The checks of /livez and /readyz.
 *
 * A failed /livez gets the process killed, and killing it in the middle of an order leaves the outcome unknown. So
 * /livez fails only for faults that a restart fixes: all workers of a loop are stuck (controller/controller.ts), or a
 * reflector has ended or hangs (controller/reflector.ts). A restart does not help if the provider or the API server is
 * down, refuses requests or hangs, if the journal is broken, or if a standby is waiting. A stuck event loop needs no
 * check: it cannot respond, which the kubelet treats as a failure.
 *
 * A failed /readyz only stops a rollout, because no traffic is sent to the operator. A process is ready if it works on
 * objects, or if it is a standby that can read the Lease, which requires both the API server and RBAC. Neither is ready
 * while the API server refuses its credentials.
 */
import type { LoginFailure } from '../kube/http.ts';
import type { Page } from './page-server.ts';
import type { Vitals } from './vitals.ts';

/** Returns undefined if healthy, otherwise the problem in one line. */
type HealthCheck = () => string | undefined;

export interface Health {
  vitals: Vitals;
  /** The process has started to shut down. */
  stopping: boolean;
  /** Set while another process may lead: time since the API server last answered a Lease request (ms). */
  standby: { leaseAgeMs: number } | undefined;
  /** Set while the API server refuses the credentials of the process, or there are none. */
  loginFailure: LoginFailure | undefined;
}

export interface HealthBounds {
  /** How long a reflector may show no sign of life (ms). */
  longestSilenceMs: number;
  /** A healthy standby reads the Lease at least this often (ms). */
  longestLeaseAgeMs: number;
  /** A shorter failure may be a rotation of credentials (ms). */
  longestLoginFailureMs: number;
}

/** The page lists the checks in this order. */
export function liveChecks({ vitals }: Health, { longestSilenceMs }: HealthBounds): Record<string, HealthCheck> {
  return {
    workers: () => {
      const { phase, loops, longestStepMs } = vitals;
      if (phase !== 'running') return undefined;
      // With a free worker, keys wait only if their namespace already holds its share of the workers.
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

export function readyChecks(
  health: Health,
  { longestLeaseAgeMs, longestLoginFailureMs }: HealthBounds,
): Record<string, HealthCheck> {
  const { vitals, stopping, standby, loginFailure } = health;
  return {
    stopping: () => (stopping ? 'the process is about to end' : undefined),
    credentials: () => {
      if (loginFailure === undefined || loginFailure.forMs <= longestLoginFailureMs) return undefined;
      const { kind, forMs } = loginFailure;
      return kind === 'refused'
        ? `the API server has refused the operator's credentials for ${seconds(forMs)}`
        : `the operator has had no credentials for the API server for ${seconds(forMs)}`;
    },
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

/** 200 `ok`, or 500 with one line per failed check, starting with its name. A check that throws counts as failed. */
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
