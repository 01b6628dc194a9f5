/** How long one step of a visit may last; what is longer is stuck (controller/progress.ts). */
import { PROBE_MS } from './virtual-server/ssh/probe.ts';

export interface StepBounds {
  /** Of all loops that share the token bucket. */
  workers: number;
  providerQps: number;
  createTimeoutMs: number;
  providerTimeoutMs: number;
  kubeTimeoutMs: number;
}

/**
 * The most that one step does. A DELETE that meets a 404 asks for the list of products and for the server again: three
 * calls, of which each may log in, be refused, log in again and be repeated: 12 exchanges, 6 of them through the bucket.
 * A step reads 16 Secrets at most (`sshKeysFrom`), or an object, or a Secret and its fallback, and writes twice: 20.
 * The visit of a catalog, with its three lists, does no more than that.
 */
const MAX_EXCHANGES = 12;
const MAX_TOKENS = 6;
const MAX_KUBE_CALLS = 20;

/**
 * How long (ms) all workers of a loop together may be without one that ends a step: the sum of all that may happen in
 * one, and of the time in which the bucket serves all that the workers of all loops can ask of it, since by then it has
 * served each of them fully.
 */
export function longestStepMs(bounds: StepBounds): number {
  const { workers, providerQps, createTimeoutMs, providerTimeoutMs, kubeTimeoutMs } = bounds;
  const bucketMs = (workers * MAX_TOKENS * 1000) / providerQps;
  // A probe waits for its turn only while others run, and each of these ends a step.
  return createTimeoutMs + MAX_EXCHANGES * providerTimeoutMs + MAX_KUBE_CALLS * kubeTimeoutMs + bucketMs + PROBE_MS;
}
