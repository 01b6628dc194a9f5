/** Reads and writes the cluster for the commands, with the rights of the user who runs them. */
import { readFileSync } from 'node:fs';
import { API_VERSION, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import { loadCluster, type Overrides } from '../../kube/config.ts';
import { KubeError, networkError, type KubeErrorCode } from '../../kube/error.ts';
import { createKubeHttp, type CallOptions, type KubeHttp } from '../../kube/http.ts';
import { collectionOf, pathOf, type KubeObject, type ObjectVersion, type Resource } from '../../kube/resource.ts';
import { VIRTUAL_SERVERS } from '../../virtual-server/resource.ts';
import { VIRTUAL_SERVER_SETS } from '../../virtual-server-set/resource.ts';
import { MERGE_PATCH } from '../../kube/client.ts';
import { CommandError, EXIT, ExistsError, MovedError, TerminatingError, TransientError } from '../terminal/failure.ts';
import { grantFor, REFUSAL } from './grants.ts';
import { applyPatch } from './merge-patch.ts';
import { fileProblem } from '../../base/file-problem.ts';
import { similarTo } from '../../base/similar.ts';
import { quoted } from '../../base/text.ts';

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

interface ClusterOptions extends ClusterFlags {
  /** Called with each warning of the API server. */
  onWarning?: ((text: string) => void) | undefined;
}

export const FIELD_MANAGER = 'kubectl-vps';
/** How long a user may take to log in where a credential plugin asks for it (ms). */
const LOGIN_MS = 300_000;
/** Otherwise the API server drops a field that only a newer CRD has, such as `ttl`, and the user would count on it. */
const STRICT = { fieldValidation: 'Strict' };
/** The API server checks everything, and stores nothing. */
const DRY_RUN = { dryRun: 'All' };
/** The API server understood the request, and does not accept it. A namespace may be missing. */
const REFUSALS: ReadonlySet<KubeErrorCode> = new Set(['Invalid', 'Forbidden', 'Rejected', 'Conflict', 'NotFound']);
/** How many of the newest Events the plugin shows. */
const EVENTS = 10;
/** How often a change of a spec is sent while only the status changes. */
const ATTEMPTS = 5;

/** What a manifest says of an object. */
export interface Applied {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> | null; annotations?: Record<string, string> | null };
  spec?: unknown;
  status?: unknown;
}

type Place = Pick<ObjectVersion, 'namespace' | 'name'>;

export interface Tried {
  /** As the API server has it; undefined if there is none. */
  before: unknown;
  after?: unknown;
  /** The API server's words. */
  refusal?: string;
}

/** Calls reject with CommandError. */
export class ClusterView {
  readonly namespace: string;
  /** Flags that select the same cluster, namespace and user in kubectl, without a token: quoted for a shell, each after a space. */
  readonly where: string;
  readonly #http: KubeHttp;

  /** Throws CommandError if the kubeconfig is invalid. */
  constructor({ kubeconfig, namespace, timeoutMs, onWarning, ...overrides }: ClusterOptions) {
    const terminal = { isInteractive: isAtTerminal() };
    const { certificateAuthority, clientCertificate, clientKey } = overrides;
    const files = {
      'certificate-authority': certificateAuthority,
      'client-certificate': clientCertificate,
      'client-key': clientKey,
    };
    for (const [flag, file] of Object.entries(files))
      if (file)
        failing(
          () => readFileSync(file),
          () => flag,
        );
    const { context, cluster: entry, user, server } = overrides;
    const chosen = Object.entries({ context, cluster: entry, user, server });
    const cluster = failing(
      () => loadCluster(kubeconfig, { ...overrides, environmentProxy: true }, { terminal }),
      // The kubeconfig may hold the mistake as well as a flag.
      ({ message }) => chosen.find(([, value]) => value && message.includes(`"${value}"`))?.[0],
    );
    this.namespace = namespace || (cluster.namespace ?? 'default');
    const { asGroup = [] } = overrides;
    const flags: readonly (readonly [flag: string, value: string | undefined])[] = [
      ['kubeconfig', kubeconfig],
      ['context', overrides.context],
      ['as', overrides.as],
      ['as-uid', overrides.asUid],
      ...asGroup.map((group) => ['as-group', group] as const),
      ['cluster', overrides.cluster],
      ['user', overrides.user],
      ['server', overrides.server],
      ['tls-server-name', overrides.tlsServerName],
      ['certificate-authority', overrides.certificateAuthority],
      ['client-certificate', overrides.clientCertificate],
      ['client-key', overrides.clientKey],
      ['namespace', namespace],
    ];
    const unchecked = overrides.insecureSkipTlsVerify ? ' --insecure-skip-tls-verify' : '';
    this.where = unchecked + flags.map(([flag, value]) => (value ? ` --${flag}=${quoted(value)}` : '')).join('');
    const loginMs = timeoutMs === undefined && isAtTerminal() ? LOGIN_MS : undefined;
    this.#http = failing(() => createKubeHttp({ cluster, timeoutMs, loginMs, onWarning }));
  }

  async get(name: string): Promise<VirtualServer> {
    const object = await this.find(name);
    if (object !== undefined) return object;
    throw await this.noServer(name, 'status');
  }

  find(name: string, signal?: AbortSignal): Promise<VirtualServer | undefined> {
    return this.#find(VIRTUAL_SERVERS, name, signal);
  }

  /** The error for a server that does not exist. `command`: what to run if the user meant a set of this name. */
  async noServer(name: string, command: string): Promise<CommandError> {
    // The user may have no right to read sets.
    const set = await this.findSet(name).catch(() => undefined);
    const hint = `there is a ${SET_KIND} of this name: kubectl vps ${command} set/${name}${this.where}`;
    const hints = set === undefined ? await this.#meant(name, () => this.list(false)) : [hint];
    return absent(SERVER_KIND, name, this.namespace, hints);
  }

  async getSet(name: string, signal?: AbortSignal): Promise<VirtualServerSet> {
    const set = await this.findSet(name, signal);
    if (set !== undefined) return set;
    // The user may have no right to read servers.
    const server = await this.find(name, signal).catch(() => undefined);
    const hint = `there is a ${SERVER_KIND} of this name: kubectl vps status ${name}${this.where}`;
    const hints = server === undefined ? await this.#meant(name, () => this.listSets()) : [hint];
    throw absent(SET_KIND, name, this.namespace, hints);
  }

  findSet(name: string, signal?: AbortSignal): Promise<VirtualServerSet | undefined> {
    return this.#find(VIRTUAL_SERVER_SETS, name, signal);
  }

  async listSets(): Promise<VirtualServerSet[]> {
    return (await this.#items(collectionOf(VIRTUAL_SERVER_SETS, this.namespace))).map(VIRTUAL_SERVER_SETS.parse);
  }

  /**
   * Merges the change into the spec of a server or a set. Rejects with CommandError if its spec changed since it was read; a change
   * of its status does not count, because the operator may write it every second.
   */
  async changeSpec({ kind, metadata }: VirtualServer | VirtualServerSet, spec: object): Promise<void> {
    const { namespace, name, uid, generation } = metadata;
    const resource = kind === SET_KIND ? VIRTUAL_SERVER_SETS : VIRTUAL_SERVERS;
    const path = pathOf(resource, namespace, name);
    const query = { fieldManager: FIELD_MANAGER, ...STRICT };
    let { resourceVersion } = metadata;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const body = { metadata: { resourceVersion }, spec };
        await this.#http.call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH });
        return;
      } catch (error) {
        if (error instanceof KubeError && error.message.trimStart().startsWith(UNKNOWN_FIELD)) {
          const fields = Object.entries(spec).flatMap(([field, value]) => (value === null ? [] : [`spec.${field}`]));
          throw new CommandError(EXIT.failed, `the API server does not know ${fields.join(' or ')}`, [OLD_CRD]);
        }
        const isConflict = error instanceof KubeError && error.code === 'Conflict';
        const now =
          isConflict && attempt < ATTEMPTS ? (await this.#find<KubeObject>(resource, name))?.metadata : undefined;
        if (now?.uid !== uid || now.generation !== generation) throw explained(error, this.where);
        ({ resourceVersion } = now);
      }
    }
  }

  async list(allNamespaces: boolean, labelSelector?: string, signal?: AbortSignal): Promise<VirtualServer[]> {
    const path = collectionOf(VIRTUAL_SERVERS, allNamespaces ? undefined : this.namespace);
    return (await this.#items(path, { labelSelector }, signal)).map(VIRTUAL_SERVERS.parse);
  }

  async listIn(namespace: string): Promise<VirtualServer[]> {
    return (await this.#items(collectionOf(VIRTUAL_SERVERS, namespace))).map(VIRTUAL_SERVERS.parse);
  }

  /** Lists objects of a kind in the operator's API group, whole, as the API server shows them. */
  async listOf(
    plural: string,
    { allNamespaces = false, labelSelector }: { allNamespaces?: boolean; labelSelector?: string | undefined } = {},
    signal?: AbortSignal,
  ): Promise<unknown[]> {
    const path = collectionOf({ apiVersion: API_VERSION, plural }, allNamespaces ? undefined : this.namespace);
    return this.#items(path, { labelSelector }, signal);
  }

  /** The names of all namespaces; few users may list them. */
  async namespaces(): Promise<string[]> {
    const found = (await this.#items('/api/v1/namespaces')) as { metadata: { name: string } }[];
    return found.map(({ metadata }) => metadata.name);
  }

  /** Any object of the namespace, whole; undefined if there is none. */
  async findObject(apiVersion: string, plural: string, name: string, signal?: AbortSignal): Promise<unknown> {
    requireName(name, plural);
    const path = pathOf({ apiVersion, plural }, this.namespace, name);
    return this.#call({ path, absent: name, ...(signal !== undefined && { signal }) });
  }

  /** `dryRun`: only asks whether the API server would accept the object. */
  async createObject(apiVersion: string, plural: string, object: object, { dryRun = false } = {}): Promise<void> {
    const path = collectionOf({ apiVersion, plural }, this.namespace);
    const query = { fieldManager: FIELD_MANAGER, ...STRICT, ...(dryRun && { dryRun: 'All' }) };
    await this.#call({ method: 'POST', path, query, body: { apiVersion, ...object } });
  }

  /** Merges the changes into the object. */
  async changeObject(apiVersion: string, plural: string, name: string, changes: object): Promise<void> {
    const path = pathOf({ apiVersion, plural }, this.namespace, name);
    const query = { fieldManager: FIELD_MANAGER };
    await this.#call({ method: 'PATCH', path, query, body: changes, contentType: MERGE_PATCH });
  }

  /** False if there is no such object. `dryRun`: only asks whether it could be deleted. */
  async deleteObject(apiVersion: string, plural: string, name: string, { dryRun = false } = {}): Promise<boolean> {
    const path = pathOf({ apiVersion, plural }, this.namespace, name);
    const query = dryRun ? DRY_RUN : {};
    return (await this.#call({ method: 'DELETE', path, query, absent: name })) !== undefined;
  }

  /** Deletes exactly this version of the server; false if the object has changed, or is another one or gone. */
  async deleteVersion({ metadata }: VirtualServer): Promise<boolean> {
    const { namespace, name, uid, resourceVersion } = metadata;
    const body = { preconditions: { uid, resourceVersion } };
    try {
      const path = pathOf(VIRTUAL_SERVERS, namespace, name);
      return (await this.#http.call({ method: 'DELETE', path, body, absent: name })) !== undefined;
    } catch (error) {
      if (error instanceof KubeError && error.code === 'Conflict') return false;
      throw explained(error, this.where);
    }
  }

  /** Sets annotations, and removes null ones. Rejects with CommandError if the object changed since it was read. */
  annotate(object: VirtualServer, annotations: Record<string, string | null>): Promise<VirtualServer> {
    return this.#annotate(object, { resourceVersion: object.metadata.resourceVersion, annotations });
  }

  /** The same for what may be asked in any state: the operator may write the object every second. */
  annotateAnyway(object: VirtualServer, annotations: Record<string, string | null>): Promise<VirtualServer> {
    return this.#annotate(object, { annotations });
  }

  async #annotate({ metadata: { namespace, name, uid } }: VirtualServer, changes: object): Promise<VirtualServer> {
    const path = pathOf(VIRTUAL_SERVERS, namespace, name);
    const body = { metadata: { uid, ...changes } };
    const query = { fieldManager: FIELD_MANAGER };
    return VIRTUAL_SERVERS.parse(await this.#call({ method: 'PATCH', path, query, body, contentType: MERGE_PATCH }));
  }

  /** The newest Events of the object with this uid, oldest first; undefined if the user may not read Events. */
  async events({ metadata }: KubeObject, newest = EVENTS): Promise<EventView[] | undefined> {
    const query = { fieldSelector: `involvedObject.uid=${metadata.uid}` };
    const path = `/api/v1/namespaces/${encodeURIComponent(metadata.namespace)}/events`;
    try {
      const list = (await this.#http.call({ path, query })) as { items?: EventView[] };
      return (list.items ?? []).sort((a, b) => timeOfEvent(a) - timeOfEvent(b)).slice(-newest);
    } catch (error) {
      if (error instanceof KubeError && error.code === 'Forbidden') return undefined;
      throw explained(error, this.where);
    }
  }

  /**
   * What the API server would store for the manifest, or why it would refuse it; stores nothing. Client-side
   * like `kubectl apply`: fields that the last apply set and the manifest leaves out are removed. Rejects with CommandError
   * if the API server cannot be asked, or if you may not.
   */
  async tryToApply(resource: Resource<unknown>, namespace: string, manifest: Applied): Promise<Tried> {
    const { name } = manifest.metadata;
    requireName(name, resource.kind);
    const path = pathOf(resource, namespace, name);
    const before = await this.#call({ path, absent: name });
    const query = { fieldManager: FIELD_MANAGER, ...STRICT, ...DRY_RUN };
    const { status: _status, ...rest } = manifest;
    const { labels, annotations } = manifest.metadata;
    // The last apply always has both, and a manifest without them must not remove those of others.
    const metadata = { ...manifest.metadata, namespace, labels: labels ?? {}, annotations: annotations ?? {} };
    const body = { ...rest, metadata };
    const call: CallOptions =
      before === undefined
        ? { method: 'POST', path: collectionOf(resource, namespace), query, body }
        : { method: 'PATCH', path, query, body: applyPatch(before, body), contentType: MERGE_PATCH };
    return { before, ...(await this.#tryTo(call)) };
  }

  /** Why the API server would refuse to delete the object; deletes nothing. Rejects like `tryToApply`. */
  async tryToDelete(resource: Resource<unknown>, { namespace, name }: Place): Promise<string | undefined> {
    return (await this.#tryTo({ method: 'DELETE', path: pathOf(resource, namespace, name), query: DRY_RUN })).refusal;
  }

  async #tryTo(options: CallOptions): Promise<Pick<Tried, 'after' | 'refusal'>> {
    try {
      return { after: await this.#http.call(options) };
    } catch (error) {
      const isRefusal = error instanceof KubeError && REFUSALS.has(error.code) && !REFUSAL.test(error.message);
      // The API server quotes the whole object before some mistakes.
      if (isRefusal) return { refusal: inOurWords(STRICT_MISTAKE.exec(error.message)?.[0] ?? error.message) };
      throw explained(error, this.where);
    }
  }

  /** Any other call. */
  ask(options: CallOptions): Promise<unknown> {
    return this.#call(options);
  }

  /** A body that arrives in pieces, such as a log. */
  async *stream(options: Pick<CallOptions, 'path' | 'query'>): AsyncGenerator<Buffer> {
    const stopping = new AbortController();
    try {
      yield* await this.#http.stream({ ...options, signal: stopping.signal });
    } catch (error) {
      throw explained(error instanceof KubeError ? error : networkError(`GET ${options.path}`, error), this.where);
    } finally {
      stopping.abort();
    }
  }

  /** The API server's clock (ms since the epoch); undefined before its first answer. */
  serverTime(): number | undefined {
    return this.#http.serverTime();
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** The object that a mistyped name or an identifier means, as a hint. */
  async #meant(name: string, list: () => Promise<(VirtualServer | VirtualServerSet)[]>): Promise<string[]> {
    // The user may have no right to list.
    const objects = await list().catch(() => []);
    const holder = objects.find(
      ({ status }) => status !== undefined && 'identifier' in status && status.identifier === name,
    );
    if (holder !== undefined) return [`${holder.metadata.name} holds the server with this identifier`];
    const meant = similarTo(
      name,
      objects.map(({ metadata }) => metadata.name),
    );
    return meant === undefined ? [] : [`did you mean ${meant}?`];
  }

  async #find<T extends KubeObject>(resource: Resource<T>, name: string, signal?: AbortSignal): Promise<T | undefined> {
    requireName(name, resource.kind);
    const path = pathOf(resource, this.namespace, name);
    const object = await this.#call({ path, absent: name, ...(signal !== undefined && { signal }) });
    return object === undefined ? undefined : resource.parse(object);
  }

  async #items(path: string, query: NonNullable<CallOptions['query']> = {}, signal?: AbortSignal): Promise<unknown[]> {
    const list = (await this.#call({ path, query, ...(signal !== undefined && { signal }) })) as { items?: unknown[] };
    return list.items ?? [];
  }

  async #call(options: CallOptions): Promise<unknown> {
    const selector = options.query?.labelSelector;
    if (typeof selector === 'string') requireSelector(selector);
    try {
      return await this.#http.call(options);
    } catch (error) {
      if (selector !== undefined && error instanceof KubeError && error.status === BAD_REQUEST)
        throw new CommandError(EXIT.usage, `--selector ${JSON.stringify(selector)}: ${error.message}`);
      throw explained(error, this.where);
    }
  }
}

/** Throws CommandError if it is empty: an empty variable of a script would select everything. */
export function requireSelector(selector: string): void {
  if (selector.trim() === '') throw new CommandError(EXIT.usage, '--selector is empty: pass labels such as app=shop');
}

/** Names that the API server accepts (RFC 1123). */
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const MAX_NAME = 253;

/** Throws CommandError. The API server would take a slash as part of the path: a kind or a subresource. */
export function requireName(name: string, kind = SERVER_KIND): void {
  const problem = nameProblem(name, kind);
  if (problem !== undefined) throw new CommandError(EXIT.usage, problem);
}

/** Why no object can have this name; undefined if one can. */
export function nameProblem(name: string, kind = SERVER_KIND): string | undefined {
  if (name.length > MAX_NAME)
    return `invalid ${kind} name ${JSON.stringify(`${name.slice(0, 20)}...`)}: it has ${name.length} characters, and ${MAX_NAME} is the maximum`;
  if (NAME.test(name)) return undefined;
  const form = 'use only lowercase letters, digits, "-" and ".", and no kind in front of it';
  return `invalid ${kind} name ${JSON.stringify(name)}: ${form}`;
}

function absent(kind: string, name: string, namespace: string, hints: readonly string[] = []): CommandError {
  return new CommandError(EXIT.notFound, `no ${kind} "${name}" in namespace "${namespace}"`, hints);
}

/** ms since the epoch; 0 if the Event has no time. */
export function timeOfEvent({ lastTimestamp, eventTime }: EventView): number {
  return Date.parse(lastTimestamp ?? eventTime ?? '') || 0;
}

/** How the API server says after the mistakes of a new object that it has not checked our rules, as if it were another mistake. */
const UNCHECKED = /, <nil>: Invalid value: null: some validation rules were not checked[^\]]*/;
const LATER = '; the other rules are checked once this is correct';
/** How the API server refuses a value of another type; it shows the type in place of the value. */
const OTHER_TYPE = /(\S+): Invalid value: "(\w+)": \1 in body must be of type (\w+): "\2"/g;
const inOurWords = (refusal: string): string =>
  refusal.replace(UNCHECKED, LATER).replace(OTHER_TYPE, '$1: must be of type $3, and is of type $2');
const STRICT_MISTAKE = /strict decoding error: .*/s;
/** How the API server refuses unknown fields of a new object; it names them. */
const UNKNOWN_IN_CREATE = 'strict decoding error: unknown field';
/** The same for a patch; then it quotes the whole object, and names the fields after it. */
const UNKNOWN_FIELD = '"" is invalid: patch: Invalid value';
const OLD_CRD = 'the CustomResourceDefinition is older than this plugin: upgrade the operator and its CRDs to use it';

/** The command that installs the CRDs, or upgrades them. */
export const applyDefinitions = (where: string): string => `kubectl apply${where} --server-side -k deploy/crds`;

/** How the API server refuses a new object in a namespace that is being deleted. */
const TERMINATING = 'because it is being terminated';

const BAD_REQUEST = 400;
const UNAUTHORIZED = 401;

const TRANSIENT: ReadonlySet<KubeErrorCode> = new Set(['Unreachable', 'ServerError', 'TooManyRequests']);

/** Without the path of the call, which does not help the user. */
const causeOf = ({ cause, message }: KubeError): string =>
  cause instanceof Error && cause.message !== '' ? cause.message : message;

function explained(error: unknown, where: string): Error {
  if (!(error instanceof KubeError)) return error instanceof Error ? error : new Error(String(error));
  if (error.reason === 'AlreadyExists') return new ExistsError(error.message);
  if (error.code === 'Forbidden' && error.message.includes(TERMINATING)) return new TerminatingError(error.message);
  if (error.code === 'Conflict') {
    return new MovedError('the object changed after it was shown: check it, then run the same command again');
  }
  if (error.code === 'Unreachable') return new TransientError(`cannot reach the API server: ${causeOf(error)}`);
  if (TRANSIENT.has(error.code)) return new TransientError(error.message);
  if (error.status === UNAUTHORIZED) {
    const what = `the API server does not accept your credentials: ${error.message}`;
    return new CommandError(EXIT.failed, what, [
      'log in to the cluster again, or pass another --context: kubectl config get-contexts',
    ]);
  }
  if (error.message.includes(UNKNOWN_IN_CREATE)) return new CommandError(EXIT.failed, error.message, [OLD_CRD]);
  if (error.code === 'Forbidden') return new CommandError(EXIT.failed, error.message, grantFor(error.message));
  if (error.code !== 'NotFound') return new CommandError(EXIT.failed, error.message);
  if (error.reason === 'NotFound') return new CommandError(EXIT.notFound, error.message);
  return new CommandError(
    EXIT.failed,
    `the CustomResourceDefinition for this kind of ${API_VERSION} is not installed`,
    [`install the operator, or only its CRDs: ${applyDefinitions(where)}`],
  );
}

/** A credential plugin may ask the user there. */
const isAtTerminal = (): boolean => process.stdin.isTTY && process.stderr.isTTY;

/** A kubeconfig that cannot be used is a mistake in the command or its environment. */
function failing<T>(work: () => T, flagIn: (error: Error) => string | undefined = () => undefined): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const flag = flagIn(error);
    throw new CommandError(EXIT.usage, flag === undefined ? error.message : `--${flag}: ${fileProblem(error)}`);
  }
}
