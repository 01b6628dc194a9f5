/** The maximum duration of one step of a visit; a longer step counts as stuck (controller/progress.ts). */
import { PROBE_MS } from './virtual-server/ssh/probe.ts';

export interface StepBounds {
  /** Number of workers of all loops that share the token bucket. */
  workers: number;
  providerQps: number;
  createTimeoutMs: number;
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
}

/**
 * Upper bounds for one step. After a 404, a DELETE reads the products list and the server again: three calls. Each may
 * log in, be refused, log in again and be retried: 12 requests, 6 of them through the bucket. A step reads at most 16
 * Secrets (`sshKeysFrom`), or an object, or a Secret and its fallback, and writes twice: at most 20 calls. The visit of
 * a catalog, with its three lists, stays within these bounds.
 */
const MAX_EXCHANGES = 12;
const MAX_TOKENS = 6;
const MAX_KUBE_CALLS = 20;

/**
 * How long (ms) no worker of a loop may finish a step: the longest step, plus the time in which the bucket serves every
 * request that the workers of all loops can make in one step.
 */
export function longestStepMs(bounds: StepBounds): number {
  const { workers, providerQps, createTimeoutMs, providerTimeoutMs, kubeTimeoutMs } = bounds;
  const bucketMs = (workers * MAX_TOKENS * 1000) / providerQps;
  // A probe waits only while other probes run, and each of those finishes a step.
  return createTimeoutMs + MAX_EXCHANGES * providerTimeoutMs + MAX_KUBE_CALLS * kubeTimeoutMs + bucketMs + PROBE_MS;
}
