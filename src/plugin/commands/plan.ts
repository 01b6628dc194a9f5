/** `kubectl vps plan`: what an apply of manifests would do, by dry runs at the API server and the operator's own decisions. */
import { CATALOG_KIND, CATALOG_PLURAL, GROUP, SERVER_KIND, SET_KIND } from '../../api/names.ts';
import { ORDERED_FIELDS_POLICY } from '../../api/ordered-fields-policy.ts';
import type { ServerCatalog, ServerCatalogStatus } from '../../api/server-catalog.ts';
import { API_VERSION } from '../../api/names.ts';
import { similarTo } from '../../base/similar.ts';
import { publicKeysIn } from '../../api/public-key.ts';
import { userDataSourceOf } from '../../api/user-data.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { Resource } from '../../kube/resource.ts';
import { collectionOf } from '../../kube/resource.ts';
import { pricesIn } from '../../virtual-server/decision/price.ts';
import { VIRTUAL_SERVERS } from '../../virtual-server/resource.ts';
import { VIRTUAL_SERVER_SETS } from '../../virtual-server-set/resource.ts';
import { readObjects, type Loose } from '../cluster/backups.ts';
import type { Applied, ClusterView, Tried } from '../cluster/cluster.ts';
import type { Context } from '../cluster/context.ts';
import { keyOfNamed, lookAtNamed, type NamedObject, type NamedObjects } from '../cluster/named-objects.ts';
import { labelSelector, type ManifestLabels, type LabelSelector } from '../flags/label-selector.ts';
import { ESTIMATE } from '../state/expected-price.ts';
import { CommandError, EXIT } from '../terminal/failure.ts';
import { wasApplied } from '../cluster/merge-patch.ts';
import { described, lacksNamespace } from '../plan/plan-manifests.ts';
import { render, totalAfter, type PlanFormat, type PlanReport } from '../plan/plan-report.ts';
import {
  atLimit,
  changedFields,
  endingOf,
  endingsOf,
  insteadOf,
  stillWaits,
  outcomeOf,
  totalOf,
  type PlannedChange,
  type Scene,
} from '../plan/plan-servers.ts';
import { outcomeOfSet } from '../plan/plan-sets.ts';
import { wrongUserDataIn } from '../plan/plan-user-data.ts';
import { conditionOf } from '../state/readiness.ts';
import { plural } from '../state/totals.ts';

export interface PlanOptions {
  filename: string[];
  recursive: boolean;
  prune: boolean;
  selector?: string;
  output: PlanFormat;
}

const CATALOGS: Resource<unknown> = {
  apiVersion: API_VERSION,
  kind: CATALOG_KIND,
  plural: CATALOG_PLURAL,
  parse: (value) => value,
};
const KINDS: Readonly<Record<string, Resource<unknown>>> = {
  [SERVER_KIND]: VIRTUAL_SERVERS,
  [SET_KIND]: VIRTUAL_SERVER_SETS,
  [CATALOG_KIND]: CATALOGS,
};

/** One manifest of ours. */
interface Item {
  kind: string;
  namespace: string;
  manifest: Applied;
}

interface Try {
  item: Item;
  tried: Tried;
}

/** True if there is something to do. Rejects with CommandError, also if the API server or the operator would refuse something. */
export async function showPlan(context: Context, options: PlanOptions): Promise<boolean> {
  const { cluster, terminal } = context;
  const { filename, prune, selector, output } = options;
  if (filename.length === 0)
    throw new CommandError(EXIT.usage, 'pass --filename FILE, a folder, or - for standard input');
  if (prune && selector === undefined)
    throw new CommandError(EXIT.usage, '--prune needs --selector, as for kubectl apply');
  const { items, unknown, created, provided, others, leftOut, ignored } = await manifests(context, options);
  const pruning = prune ? await namespacesOf(others, cluster) : [];
  const namespaces = [...new Set([...[...items, ...unknown].map(({ namespace }) => namespace), ...pruning])];
  const around = await surroundings(cluster, namespaces.length === 0 ? [cluster.namespace] : namespaces, context.now());
  const tries: Try[] = [];
  const missing = new Set<string>();
  for (const item of items) {
    const { namespace, manifest } = item;
    let tried = await cluster.tryToApply(KINDS[item.kind] ?? CATALOGS, namespace, manifest);
    if (created.has(namespace) && lacksNamespace(tried, namespace)) {
      tried = described(manifest, namespace, context.now());
      missing.add(namespace);
    }
    tries.push({ item, tried });
  }
  // Nobody can have put a Secret or a ConfigMap into a namespace that does not exist.
  const present = tries.filter(({ item }) => !missing.has(item.namespace));
  const named = await lookAtNamed(cluster, present.flatMap(namedIn), provided);
  const scene: Scene = { ...around.scene, ...knownOf(named) };
  const changes = [...tries.map(({ item, tried }) => changeOf(item, tried, scene)), ...unknown];
  if (prune && selector !== undefined) changes.push(...(await pruned(cluster, { items, namespaces, selector }, scene)));
  const prices = new Map(
    [...new Set(changes.map(({ namespace }) => namespace))].map((namespace) => {
      const before = totalOf(namespace, scene);
      const after = totalAfter(
        before,
        changes.filter((change) => change.namespace === namespace),
      );
      return [namespace, { before, after }] as const;
    }),
  );
  const unchecked = [...missing].map(
    (namespace) => `namespace ${namespace} does not exist yet, so the API server has not checked its objects`,
  );
  const isEstimated = [...prices.values()].some(({ before, after }) => before.estimated ?? after.estimated);
  const about = isEstimated ? [`about: ${ESTIMATE}`] : [];
  const notes = [
    ...leftOut,
    ...around.notes,
    ...unchecked,
    ...named.notes,
    ...about,
    ...limitNotes(changes, scene),
    ...ignored,
  ];
  const report: PlanReport = { changes, prices, notes };
  terminal.out.write(render(report, output, terminal.paint));
  const refused = changes.filter(({ verb }) => verb === 'refuse').length;
  if (refused > 0)
    throw new CommandError(EXIT.failed, `${refused} of ${plural(changes.length, 'object')} would be refused`);
  return changes.some(({ verb }) => verb !== 'none');
}

async function manifests(
  { cluster, terminal }: Context,
  { filename, recursive, selector }: PlanOptions,
): Promise<{
  items: Item[];
  unknown: PlannedChange[];
  created: Set<unknown>;
  provided: Set<string>;
  others: Loose[];
  /** Lines about what the selector leaves out, and about what the plan does not look at. */
  leftOut: string[];
  ignored: string[];
}> {
  const isSelected = selector === undefined ? undefined : labelSelector(selector);
  const read: [Loose, string][] = [];
  for (const file of filename) read.push(...(await readObjects(file, terminal.input, recursive)));
  if (read.length === 0) throw new CommandError(EXIT.usage, `--filename ${filename.join(', ')} contains no object`);
  const { applied: found = [], left = [] } = Object.groupBy(read, ([object]) =>
    isSelected === undefined || isApplied(object, isSelected) ? 'applied' : 'left',
  );
  if (found.length === 0)
    throw new CommandError(
      EXIT.usage,
      `--selector ${selector} leaves out all manifests (${kindsOf(read.map(([object]) => object))}): kubectl apply would apply and prune nothing`,
    );
  const items: Item[] = [];
  /** Of our group, with a mistyped kind or version: kubectl apply would stop, and no server would be ordered. */
  const unknown: PlannedChange[] = [];
  /** Names of the namespaces among the manifests. */
  const created = new Set<unknown>();
  /** Keys of the Secrets and ConfigMaps that the manifests lead to, also by way of another kind, such as SealedSecret. */
  const provided = new Set<string>();
  const others: Loose[] = [];
  for (const [object, file] of found) {
    const { apiVersion, kind, metadata } = object;
    const word = kindOf(object);
    const isOurs = isOfGroup(object);
    const isKnown = Object.hasOwn(KINDS, word);
    if (isOurs && (!isKnown || apiVersion !== API_VERSION)) {
      const name = typeof metadata?.name === 'string' ? metadata.name : '';
      const place = { namespace: namespaceOf(metadata ?? {}, cluster), name };
      const detail = isKnown ? `no version "${String(apiVersion)}": use ${API_VERSION}` : unknownKind(word);
      unknown.push({ kind: word, ...place, ordered: [], cancelled: [], verb: 'refuse', detail });
      continue;
    }
    if (!isOurs) {
      others.push(object);
      if (apiVersion === 'v1' && kind === 'Namespace') created.add(metadata?.name);
      const made = (['Secret', 'ConfigMap'] as const).find((one) => word.endsWith(one));
      if (made !== undefined && typeof metadata?.name === 'string')
        provided.add(keyOfNamed({ kind: made, namespace: namespaceOf(metadata, cluster), name: metadata.name }));
      continue;
    }
    if (typeof metadata?.name !== 'string')
      throw new CommandError(EXIT.usage, `--filename ${file}: a ${word} has no metadata.name`);
    items.push({ kind: word, namespace: namespaceOf(metadata, cluster), manifest: object as Applied });
  }
  return {
    items,
    unknown,
    created,
    provided,
    others,
    leftOut:
      left.length === 0
        ? []
        : [`left out by --selector ${selector}, as by kubectl apply: ${kindsOf(left.map(([object]) => object))}`],
    ignored: others.length === 0 ? [] : [`not examined: ${kindsOf(others)}`],
  };
}

const kindOf = ({ kind }: Loose): string => (typeof kind === 'string' ? kind : 'without a kind');

/** Such as `2 VirtualServer, 1 Secret`. */
function kindsOf(objects: readonly Loose[]): string {
  const counts = new Map<string, number>();
  for (const kind of objects.map(kindOf)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(', ');
}

const isOfGroup = ({ apiVersion }: Loose): boolean =>
  typeof apiVersion === 'string' && apiVersion.startsWith(`${GROUP}/`);

/** Whether `kubectl apply --selector` applies the manifest, or stops at it: at a kind that it does not know, and at a label that is no text. */
function isApplied(object: Loose, isSelected: LabelSelector): boolean {
  if (isOfGroup(object) && !(Object.hasOwn(KINDS, kindOf(object)) && object.apiVersion === API_VERSION)) return true;
  const labels = Object.entries(object.metadata?.labels ?? {}).filter(([, value]) => value !== null);
  if (labels.some(([, value]) => typeof value !== 'string')) return true;
  return isSelected(Object.fromEntries(labels) as ManifestLabels);
}

/** The namespaces of these objects, in which `kubectl apply --prune` looks for objects of every kind; none for a Namespace itself. */
async function namespacesOf(objects: readonly Loose[], cluster: ClusterView): Promise<string[]> {
  const found: string[] = [];
  const kinds = Map.groupBy(objects, ({ apiVersion, kind }) => JSON.stringify([apiVersion, kind]));
  for (const [first, ...others] of kinds.values()) {
    if (first === undefined || !(await isNamespaced(first, cluster))) continue;
    found.push(...[first, ...others].map(({ metadata }) => namespaceOf(metadata ?? {}, cluster)));
  }
  return found;
}

/** True if the API server cannot tell: a plan may show too many deletions, and never too few. */
async function isNamespaced({ apiVersion, kind }: Loose, cluster: ClusterView): Promise<boolean> {
  if (typeof apiVersion !== 'string') return true;
  const [group = '', version] = apiVersion.split('/').map(encodeURIComponent);
  const path = version === undefined ? `/api/${group}` : `/apis/${group}/${version}`;
  const { resources = [] } = (await cluster.ask({ path }).catch(() => ({}))) as {
    resources?: { kind: string; namespaced: boolean }[];
  };
  return resources.find((one) => one.kind === kind)?.namespaced ?? true;
}

function unknownKind(word: string): string {
  const kinds = Object.keys(KINDS);
  const meant = similarTo(word, kinds);
  const advice = meant === undefined ? `use ${kinds.join(', ')}` : `did you mean ${meant}?`;
  return `no kind "${word}" in ${API_VERSION}: ${advice}`;
}

const namespaceOf = (metadata: { namespace?: unknown }, { namespace }: ClusterView): string =>
  typeof metadata.namespace === 'string' ? metadata.namespace : namespace;

/** The Secrets and ConfigMaps that an order needs. */
function namedIn({ item: { kind, namespace }, tried: { after } }: Try): NamedObject[] {
  if (after === undefined || (kind !== SERVER_KIND && kind !== SET_KIND)) return [];
  const { spec } = after as VirtualServer | VirtualServerSet;
  const { apiKeySecretRef, sshKeysFrom = [], userDataFrom } = 'template' in spec ? spec.template.spec : spec;
  const userData = userDataFrom === undefined ? [] : [userDataSourceOf(userDataFrom)];
  return [
    { kind: 'Secret', namespace, name: apiKeySecretRef.name, isRead: false },
    ...sshKeysFrom.map(({ name }) => ({ kind: 'Secret' as const, namespace, name, isRead: true })),
    ...userData.map(({ kind: source, name }) => ({ kind: source, namespace, name, isRead: true })),
  ];
}

/** What the scene knows of Secrets and ConfigMaps. */
function knownOf({ absent, contents }: NamedObjects): Pick<Scene, 'missing' | 'wrongKeys' | 'wrongUserData'> {
  return {
    missing: (namespace, names) =>
      names
        .filter((name) => absent.has(keyOfNamed({ kind: 'Secret', namespace, name })))
        .map((name) => `${namespace}/${name}`)[0],
    wrongKeys: (namespace, { name, key }) => {
      const content = contents.get(keyOfNamed({ kind: 'Secret', namespace, name }));
      if (content === undefined) return undefined;
      const text = (content.data[key] ?? '').trim();
      if (text === '') return `has no key "${key}"`;
      const found = publicKeysIn(text);
      return found.ok ? undefined : `key "${key}": ${found.error}`;
    },
    wrongUserData: (namespace, source) => {
      const { kind, name } = source;
      const named = keyOfNamed({ kind, namespace, name });
      if (absent.has(named)) return `UserDataNotFound: ${named}, named in spec.userDataFrom, does not exist`;
      const content = contents.get(named);
      return content && wrongUserDataIn(namespace, source, content);
    },
  };
}

/** What the user may see beside the manifests. */
async function surroundings(
  cluster: ClusterView,
  namespaces: readonly string[],
  now: number,
): Promise<{ scene: Omit<Scene, 'missing' | 'wrongKeys' | 'wrongUserData'>; notes: string[] }> {
  const everywhere = await cluster.list(true).catch(() => undefined);
  const servers = everywhere ?? (await Promise.all(namespaces.map((namespace) => cluster.listIn(namespace)))).flat();
  const catalogs = new Map<string, ServerCatalog[]>();
  for (const namespace of namespaces) {
    const path = collectionOf(CATALOGS, namespace);
    const list = (await cluster.ask({ path }).catch(() => ({}))) as { items?: ServerCatalog[] };
    catalogs.set(namespace, list.items ?? []);
  }
  const lists = (namespace: string, secret: string): ServerCatalogStatus | undefined =>
    catalogs
      .get(namespace)
      ?.map(({ spec, status }) => (spec.apiKeySecretRef.name === secret ? status : undefined))
      .find((status) => status?.products !== undefined);
  const notes = everywhere === undefined ? ['prices are those of these namespaces: you may not list all servers'] : [];
  return { scene: { servers, prices: pricesIn(servers), lists, now }, notes };
}

/** How the API server names the policy that locks the fields of an order, if that refuses a change. */
const LOCK = `ValidatingAdmissionPolicy '${ORDERED_FIELDS_POLICY}'`;

function changeOf({ kind, namespace, manifest }: Item, { before, after, refusal }: Tried, scene: Scene): PlannedChange {
  const { name } = manifest.metadata;
  const change = { kind, namespace, name, ordered: [], cancelled: [] };
  if (refusal !== undefined) {
    // Only the lock leaves the way over a new server. The API server checks the schema first.
    const file = refusal.includes(LOCK) ? described(manifest, namespace, scene.now).after : undefined;
    const hint = file === undefined ? '' : `; ${insteadOf(file as VirtualServer, scene)}`;
    return { ...change, verb: 'refuse', detail: `${refusal}${hint}` };
  }
  switch (kind) {
    case SERVER_KIND: {
      const [was, is] = [before as VirtualServer | undefined, stored(after) as VirtualServer];
      return { ...change, ...outcomeOf(was, is, scene) };
    }
    case SET_KIND:
      return {
        ...change,
        ...outcomeOfSet(before as VirtualServerSet | undefined, stored(after) as VirtualServerSet, scene),
      };
    default: {
      const fields = before === undefined ? '' : changedFields(before as ServerCatalog, after as ServerCatalog);
      if (before === undefined || fields !== '')
        return { ...change, verb: 'change', detail: fields || 'reads the lists' };
      const ready = conditionOf(before as ServerCatalog, 'Ready');
      return { ...change, verb: 'none', detail: ready?.status === 'False' ? stillWaits(ready.reason) : '' };
    }
  }
}

/** A dry run gives a new object no version. */
function stored(value: unknown): unknown {
  const object = value as { metadata: object };
  return { ...object, metadata: { resourceVersion: '0', ...object.metadata } };
}

interface Pruning {
  items: readonly Item[];
  namespaces: readonly string[];
  selector: string;
}

/** What `kubectl apply --prune -l` would delete: objects that kubectl has applied, and that no manifest has. */
async function pruned(
  cluster: ClusterView,
  { items, namespaces, selector }: Pruning,
  scene: Scene,
): Promise<PlannedChange[]> {
  const kept = new Set(items.map(({ kind, namespace, manifest }) => `${kind} ${namespace}/${manifest.metadata.name}`));
  const changes: PlannedChange[] = [];
  for (const [kind, resource] of Object.entries(KINDS)) {
    for (const namespace of namespaces) {
      const path = collectionOf(resource, namespace);
      const { items: found = [] } = (await cluster.ask({ path, query: { labelSelector: selector } })) as {
        items?: VirtualServer[];
      };
      const doomed = found.filter((object) => {
        const isListed = kept.has(`${kind} ${namespace}/${object.metadata.name}`);
        return !isListed && wasApplied(object) && object.metadata.deletionTimestamp === undefined;
      });
      for (const object of doomed) {
        const { name } = object.metadata;
        const change = { kind, namespace, name, ordered: [], cancelled: [] };
        const refusal = await cluster.tryToDelete(resource, { namespace, name });
        if (refusal !== undefined) changes.push({ ...change, verb: 'refuse', detail: refusal });
        else if (kind === SERVER_KIND) changes.push({ ...change, ...endingOf(object, scene) });
        else changes.push({ ...change, ...endingOfAll(object, scene) });
      }
    }
  }
  return changes;
}

/** The deletion of a set, which the garbage collector continues with its members; of a catalog, which has none. */
function endingOfAll({ metadata }: Pick<VirtualServer, 'metadata'>, scene: Scene) {
  const members = scene.servers.filter(({ metadata: { ownerReferences = [] } }) =>
    ownerReferences.some(({ uid }) => uid === metadata.uid),
  );
  const { cancelled, stays } = endingsOf(members, scene);
  const details = [
    ...(cancelled.length > 0 ? [`cancels ${cancelled.map(({ name }) => name).join(', ')}`] : []),
    ...(stays.length > 0 ? [`not cancelled: ${stays.join(', ')}`] : []),
  ];
  return {
    verb: cancelled.length > 0 ? ('cancel' as const) : ('delete' as const),
    detail: details.join('; '),
    cancelled,
  };
}

function limitNotes(changes: readonly PlannedChange[], { servers }: Scene): string[] {
  const ordering = new Set(changes.filter(({ ordered }) => ordered.length > 0).map(({ namespace }) => namespace));
  return [...ordering].flatMap((namespace) => {
    const [first] = atLimit(namespace, servers);
    if (first === undefined) return [];
    const { name, waits } = first;
    const what = `${name} (${waits.reason}: ${waits.summary ?? waits.message})`;
    return [`${namespace} is at a limit, so new orders wait too: ${what}`];
  });
}
