/**
 * A set in its own namespace of a real API server. The test runs the reconciler of sets step by step, and acts as the
 * operator of single servers.
 */
import { afterAll, beforeAll, inject } from 'vitest';
import { QUESTIONS } from '../../../src/api/open.ts';
import { RECORD_FORMAT } from '../../../src/api/record.ts';
import type { ReadyReason } from '../../../src/api/conditions.ts';
import { API_VERSION, SET_KIND } from '../../../src/api/names.ts';
import type { VirtualServer, VirtualServerStatus } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { withVerdict } from '../../../src/controller/conditions.ts';
import { createClient, MERGE_PATCH } from '../../../src/kube/client.ts';
import type { KubeHttp } from '../../../src/kube/http.ts';
import { collectionOf, pathOf } from '../../../src/kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../../src/virtual-server/resource.ts';
import { createMembers, type Members } from '../../../src/virtual-server-set/members.ts';
import { SetReconciler } from '../../../src/virtual-server-set/reconciler.ts';
import { VIRTUAL_SERVER_SETS } from '../../../src/virtual-server-set/resource.ts';
import { adminHttp, createNamespace, manifest } from '../kube/support.ts';

export interface SetCluster {
  http: KubeHttp;
  /** Of an administrator. */
  kubeconfigPath: string;
}

/** The shared control plane, for the tests of one file. */
export function useSets(): () => SetCluster {
  let http: KubeHttp;
  beforeAll(() => {
    http = adminHttp();
  });
  afterAll(() => http.close());
  return () => ({ http, kubeconfigPath: inject('kubeconfigPath') });
}

export type SetWorld = Awaited<ReturnType<typeof createSetWorld>>;

/** The set `web` in its own namespace; `change` may replace what the reconciler uses of the API server. */
export async function createSetWorld(
  { http }: SetCluster,
  spec: object,
  change: (members: Members) => Members = (members) => members,
) {
  const namespace = await createNamespace(http);
  const stopping = new AbortController().signal;
  const client = createClient(http, VIRTUAL_SERVER_SETS);
  const real = createMembers(http, VIRTUAL_SERVERS);
  let clock = 0;
  const reconciler = new SetReconciler({
    // An empty cache, so that every step has to look live.
    known: () => [],
    sets: client,
    members: change(real),
    saw: () => undefined,
    leads: () => true,
    recorder: { record: () => undefined },
    progress: { mark: () => undefined },
    timers: { now: () => Date.now(), monotonic: () => (clock += 1_000) },
    log: createLogger({ level: 'fatal' }),
    stopping,
  });
  const path = pathOf(VIRTUAL_SERVER_SETS, namespace, 'web');
  const body = {
    apiVersion: API_VERSION,
    kind: SET_KIND,
    metadata: { name: 'web' },
    spec: { template: { spec: manifest('x').spec }, ...spec },
  };
  await http.call({ method: 'POST', path: collectionOf(VIRTUAL_SERVER_SETS, namespace), body });
  const get = async (): Promise<VirtualServerSet> => (await http.call({ path })) as VirtualServerSet;
  const reconcile = async (): Promise<VirtualServerSet> => {
    await reconciler.reconcile(`${namespace}/web`, await client.get(namespace, 'web'));
    return get();
  };
  const names = async (): Promise<string[]> =>
    (await real.list(namespace, stopping)).map(({ metadata }) => metadata.name).sort();
  const pathTo = (name: string): string => (name === 'web' ? path : pathOf(VIRTUAL_SERVERS, namespace, name));
  const patch = (name: string, change: object, subresource = ''): Promise<unknown> =>
    http.call({ method: 'PATCH', path: pathTo(name) + subresource, body: change, contentType: MERGE_PATCH });
  const member = async (name: string): Promise<VirtualServer> =>
    (await http.call({ path: pathTo(name) })) as VirtualServer;
  /** Writes the status of a member as the operator does for this reason. */
  const report = async (name: string, reason: ReadyReason, status: VirtualServerStatus = {}): Promise<void> => {
    const { generation, uid } = (await member(name)).metadata;
    const since = '2026-01-01T00:00:00Z';
    const claimed = { format: RECORD_FORMAT, owner: uid, mode: 'create' as const, attempt: 'a1' };
    const record = QUESTIONS.some((question) => question === reason) ? { ...claimed, open: { reason, since } } : null;
    const verdict = { reason, message: `The test says ${reason}` };
    const conditions = withVerdict([], verdict, generation, Date.parse(since));
    await patch(name, { status: { observedGeneration: generation, conditions, record, ...status } }, '/status');
  };
  const makeReady = async (...members: string[]): Promise<void> => {
    for (const name of members) await report(name, 'Available');
  };
  const remove = async (name: string): Promise<void> => {
    await http.call({ method: 'DELETE', path: pathTo(name) });
  };
  return { namespace, get, reconcile, names, patch, report, makeReady, member, remove };
}
