/** Reads and writes the coordination.k8s.io/v1 Lease for leader election. */
import type { KubeHttp } from './http.ts';

export interface LeaseState {
  resourceVersion: string;
  /** Identity of the holder; empty if the lease was released. */
  holder: string;
  /** Changes with every renewal. */
  renewTime: string;
  /** How long the holder may lead without renewing (ms). */
  durationMs: number;
  /** Number of times the holder has changed. */
  transitions: number;
  /** When the current holder acquired the lease. */
  acquireTime: string;
}

/** Calls throw KubeError: `Conflict` if another process wrote in between. */
export interface Leases {
  get(): Promise<LeaseState | undefined>;
  create(state: Omit<LeaseState, 'resourceVersion'>): Promise<LeaseState>;
  /** Succeeds only for the resourceVersion in `state`. */
  update(state: LeaseState): Promise<LeaseState>;
}

interface Lease {
  metadata: { resourceVersion?: string };
  spec?: {
    holderIdentity?: string;
    renewTime?: string;
    acquireTime?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
  };
}

export function createLeases(http: KubeHttp, namespace: string, name: string): Leases {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const path = `${collection}/${encodeURIComponent(name)}`;
  const object = (state: Omit<LeaseState, 'resourceVersion'>, resourceVersion?: string): object => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: {
      holderIdentity: state.holder,
      renewTime: micro(state.renewTime),
      acquireTime: micro(state.acquireTime),
      leaseDurationSeconds: Math.max(1, Math.ceil(state.durationMs / 1000)),
      leaseTransitions: state.transitions,
    } satisfies Lease['spec'],
  });
  return {
    async get() {
      const lease = await http.call({ path, absent: name });
      return lease === undefined ? undefined : stateOf(lease as Lease);
    },
    create: async (state) =>
      stateOf((await http.call({ method: 'POST', path: collection, body: object(state) })) as Lease),
    update: async (state) =>
      stateOf((await http.call({ method: 'PUT', path, body: object(state, state.resourceVersion) })) as Lease),
  };
}

function stateOf({ metadata, spec = {} }: Lease): LeaseState {
  return {
    resourceVersion: metadata.resourceVersion ?? '',
    holder: spec.holderIdentity ?? '',
    renewTime: spec.renewTime ?? '',
    acquireTime: spec.acquireTime ?? '',
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
  };
}

/** metav1.MicroTime has six fractional digits, a JavaScript date three. */
function micro(time: string): string {
  return time.replace(/\.(\d{3})Z$/, '.$1000Z');
}
