/** Reads and writes the cluster for the commands, with the rights of the user who runs them. */
import { API_VERSION } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { loadCluster, type Overrides } from '../../kube/config.ts';
import { KubeError } from '../../kube/error.ts';
import { createKubeHttp, type CallOptions, type KubeHttp } from '../../kube/http.ts';
import type { KubeErrorCode } from '../../kube/types.ts';
import { collectionOf, pathOf } from '../../kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../virtual-server/resource.ts';
import { MERGE_PATCH } from '../../kube/client.ts';
import { CommandError, EXIT, TransientError } from './failure.ts';
import { quoted } from '../../base/shell.ts';

/** The fields of core/v1 Event that the plugin shows. */
export interface EventView {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  /** RFC 3339; null for an Event created through events.k8s.io. */
  lastTimestamp?: string | null;
  eventTime?: string | null;
}

/** Values of the flags with these names. As in kubectl, an empty value counts as not given. */
export interface ClusterFlags extends Overrides {
  kubeconfig?: string | undefined;
  namespace?: string | undefined;
  /** Timeout of a call in milliseconds; default 15 s. */
  timeoutMs?: number;
}

const FIELD_MANAGER = 'kubectl-vps';
/** How many of the newest Events the plugin shows. */
const EVENTS = 10;

/** Calls reject with CommandError. */
export class ClusterView {
  readonly namespace: string;
  /** Flags that select the same cluster, namespace and user in kubectl: quoted for a shell, each after a space. */
  readonly where: string;
  readonly #http: KubeHttp;

  /** Throws CommandError if the kubeconfig is invalid. */
  constructor({ kubeconfig, namespace, timeoutMs, ...overrides }: ClusterFlags) {
    const cluster = failing(() => loadCluster(kubeconfig, overrides));
    this.namespace = namespace || (cluster.namespace ?? 'default');
    const { context, as, asUid, asGroup = [] } = overrides;
    const groups = asGroup.map((group) => ['as-group', group] as const);
    const flags = [['kubeconfig', kubeconfig], ['context', context], ['as', as], ['as-uid', asUid], ...groups] as const;
    this.where = [...flags, ['namespace', namespace] as const]
      .map(([flag, value]) => (value ? ` --${flag}=${quoted(value)}` : ''))
      .join('');
    this.#http = failing(() => createKubeHttp({ cluster, timeoutMs }));
  }

  async get(name: string): Promise<VirtualServer> {
    const object = await this.find(name);
    if (object !== undefined) return object;
    throw new CommandError(EXIT.notFound, `no VirtualServer "${name}" in namespace "${this.namespace}"`);
  }

  async find(name: string, signal?: AbortSignal): Promise<VirtualServer | undefined> {
    requireName(name);
    const path = pathOf(VIRTUAL_SERVERS, this.namespace, name);
    const object = await this.#call({ path, absent: name, ...(signal !== undefined && { signal }) });
    return object === undefined ? undefined : VIRTUAL_SERVERS.parse(object);
  }

  async list(allNamespaces: boolean, labelSelector?: string): Promise<VirtualServer[]> {
    const path = collectionOf(VIRTUAL_SERVERS, allNamespaces ? undefined : this.namespace);
    return (await this.#items(path, { labelSelector })).map(VIRTUAL_SERVERS.parse);
  }

  async listIn(namespace: string): Promise<VirtualServer[]> {
    return (await this.#items(collectionOf(VIRTUAL_SERVERS, namespace))).map(VIRTUAL_SERVERS.parse);
  }

  /** Lists objects of another kind in the operator's API group, in the namespace. */
  async listOf(plural: string): Promise<unknown[]> {
    return this.#items(`/apis/${API_VERSION}/namespaces/${encodeURIComponent(this.namespace)}/${plural}`);
  }

  /** Sets annotations, and removes null ones. Rejects with CommandError if the object changed since it was read. */
  async annotate({ metadata }: VirtualServer, annotations: Record<string, string | null>): Promise<VirtualServer> {
    const { namespace, name, uid, resourceVersion } = metadata;
    const path = pathOf(VIRTUAL_SERVERS, namespace, name);
    const body = { metadata: { uid, resourceVersion, annotations } };
    const query = { fieldManager: FIELD_MANAGER };
    return VIRTUAL_SERVERS.parse(await this.#call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH }));
  }

  /** The newest Events of the object with this uid, oldest first; undefined if the user may not read Events. */
  async events({ metadata }: VirtualServer): Promise<EventView[] | undefined> {
    const query = { fieldSelector: `involvedObject.uid=${metadata.uid}` };
    const path = `/api/v1/namespaces/${encodeURIComponent(metadata.namespace)}/events`;
    try {
      const list = (await this.#http.call({ path, query })) as { items?: EventView[] };
      return (list.items ?? []).sort((a, b) => timeOf(a) - timeOf(b)).slice(-EVENTS);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'Forbidden') return undefined;
      throw explained(error, this.where);
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #items(path: string, query: NonNullable<CallOptions['query']> = {}): Promise<unknown[]> {
    const list = (await this.#call({ path, query })) as { items?: unknown[] };
    return list.items ?? [];
  }

  async #call(options: CallOptions): Promise<unknown> {
    try {
      return await this.#http.call(options);
    } catch (error) {
      throw explained(error, this.where);
    }
  }
}

/** Names that the API server accepts (RFC 1123). */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Throws CommandError. The API server would take a slash as part of the path: a kind or a subresource. */
export function requireName(name: string): void {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new CommandError(EXIT.usage, problem);
}

/** Why no VirtualServer can have this name; undefined if one can. */
export function nameProblem(name: string): string | undefined {
  if (NAME.test(name) && name.length <= 253) return undefined;
  const form = 'use only lowercase letters, digits, "-" and ".", and no kind in front of it';
  return `invalid VirtualServer name ${JSON.stringify(name)}: ${form}`;
}

/** ms since the epoch; 0 if the Event has no time. */
export function timeOf({ lastTimestamp, eventTime }: EventView): number {
  return Date.parse(lastTimestamp ?? eventTime ?? '') || 0;
}

const TRANSIENT: ReadonlySet<KubeErrorCode> = new Set(['Unreachable', 'ServerError', 'TooManyRequests']);

function explained(error: unknown, where: string): Error {
  if (!(error instanceof KubeError)) return error instanceof Error ? error : new Error(String(error));
  if (error.code === 'Conflict') {
    return new CommandError(
      EXIT.failed,
      'the object changed after it was shown: check it, then run the same command again',
    );
  }
  if (TRANSIENT.has(error.code)) return new TransientError(error.message);
  if (error.code !== 'NotFound') return new CommandError(EXIT.failed, error.message);
  if (error.reason === 'NotFound') return new CommandError(EXIT.notFound, error.message);
  return new CommandError(
    EXIT.failed,
    `the CustomResourceDefinition for this kind of ${API_VERSION} is not installed`,
    [`install the operator, or only its CRDs: kubectl apply${where} --server-side -k deploy/crds`],
  );
}

function failing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new CommandError(EXIT.failed, error instanceof Error ? error.message : String(error));
  }
}
