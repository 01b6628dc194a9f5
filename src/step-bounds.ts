/** The maximum duration of one step of a visit; a longer step counts as stuck (controller/controller.ts). */
import { CALLS_SHARE } from './provider/line.ts';
import { PROBE_MS } from './virtual-server/ssh-check.ts';

export interface StepBounds {
  /** Number of workers of all loops that share the token bucket. */
  workers: number;
  providerQps: number;
  createTimeoutMs: number;
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
}

/**
 * Upper bounds for one step. If the provider denies a server, a step reads the products, the list of servers and the server
 * again, and may send a DELETE: five calls. Each may log in, be refused, log in again and be retried: 10 calls and 10 logins,
 * each with a token of the bucket. A step reads at most 17
 * Secrets (`sshKeysFrom`, `userDataFrom`), or an object, or a Secret and its fallback, and writes twice: at most 20 calls. The visit of
 * a catalog, with its six lists, stays within these bounds. Not counted: an order after failed ones reads their servers, at most 16; a loop
 * counts as stuck only if all its workers are.
 */
const MAX_CALLS = 10;
const MAX_LOGINS = 10;
const MAX_KUBE_CALLS = 20;

/**
 * How long (ms) no worker of a loop may finish a step: the longest step, plus the time in which the bucket serves every
 * request that the workers of all loops can make in one step.
 */
export function longestStepMs(bounds: StepBounds): number {
  const { workers, providerQps, createTimeoutMs, providerTimeoutMs, kubeTimeoutMs } = bounds;
  const bucketMs = (workers * (MAX_CALLS + MAX_LOGINS) * 1000) / providerQps;
  // A probe waits only while other probes run, and each of those finishes a step.
  // A call waits for those before it, which may all take their whole time. All calls of an account share one login.
  const requests = MAX_CALLS * Math.ceil(workers / CALLS_SHARE) + MAX_LOGINS;
  return createTimeoutMs + requests * providerTimeoutMs + MAX_KUBE_CALLS * kubeTimeoutMs + bucketMs + PROBE_MS;
}
