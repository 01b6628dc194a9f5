/** Checks of what is in the namespace: API keys, catalogs, servers and sets. */
import {
  CATALOG_PLURAL,
  CATALOG_SHORT_NAME,
  DEFAULT_API_KEY_SECRET,
  SERVER_PLURAL,
  SET_PLURAL,
} from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { ONLY_METADATA } from '../../kube/kinds.ts';
import { pathOf } from '../../kube/resource.ts';
import { ok, unknown, unseen, wrong, type Finding } from '../checkup.ts';
import type { ClusterView } from '../cluster.ts';
import { CommandError } from '../failure.ts';
import { conditionOf, inWords, NOT_REPORTED, stalled, type Reported } from '../readiness.ts';
import { plural } from '../totals.ts';

/** The operator reports on a new object within seconds. */
const REPORT_MS = 60_000;
/** How many objects the screen names. */
const NAMED = 5;

/** Each kind, or why it cannot be read. */
interface Held {
  catalogs: ServerCatalog[] | CommandError;
  servers: VirtualServer[] | CommandError;
  sets: VirtualServerSet[] | CommandError;
}

export async function readNamespace(cluster: ClusterView): Promise<Held> {
  const read = async <T>(plural: string): Promise<T[] | CommandError> => {
    try {
      return (await cluster.listOf(plural)) as T[];
    } catch (error) {
      if (error instanceof CommandError) return error;
      throw error;
    }
  };
  const [catalogs, servers, sets] = await Promise.all([
    read<ServerCatalog>(CATALOG_PLURAL),
    read<VirtualServer>(SERVER_PLURAL),
    read<VirtualServerSet>(SET_PLURAL),
  ]);
  return { catalogs, servers, sets };
}

const seen = <T>(read: readonly T[] | CommandError): readonly T[] => (read instanceof CommandError ? [] : read);

/** Whether each Secret that an object names exists. Rejects with CommandError. */
export async function checkKeys(cluster: ClusterView, { catalogs, servers, sets }: Held): Promise<Finding[]> {
  const named = [
    ...[...seen(catalogs), ...seen(servers)].map(({ spec }) => spec.apiKeySecretRef.name),
    ...seen(sets).map(({ spec }) => spec.template.spec.apiKeySecretRef.name),
  ];
  const names = named.length === 0 ? [DEFAULT_API_KEY_SECRET] : [...new Set(named)].sort();
  return Promise.all(
    names.map(async (name) => {
      const path = pathOf({ apiVersion: 'v1', plural: 'secrets' }, cluster.namespace, name);
      // The API server then sends no data of the Secret.
      const secret = await cluster.ask({ path, accept: ONLY_METADATA, absent: name });
      if (secret !== undefined) return ok('key', `Secret ${name} exists`);
      const flag = name === DEFAULT_API_KEY_SECRET ? '' : ` --secret ${name}`;
      return wrong('key', `there is no Secret ${name}`, `kubectl vps login${cluster.where}${flag}`);
    }),
  );
}

/** What the provider last said about each key. */
export function checkCatalogs({ where }: ClusterView, { catalogs }: Held): Finding[] {
  if (catalogs instanceof CommandError) return [unseen('catalog', catalogs)];
  if (catalogs.length === 0) {
    const what = 'there is none, so nothing shows whether the provider accepts the key';
    return [unknown('catalog', what, `kubectl vps login${where}   # makes one`)];
  }
  return catalogs.map((catalog) => {
    const { metadata, spec, status } = catalog;
    const who = `${metadata.name} (Secret ${spec.apiKeySecretRef.name})`;
    const trouble = [conditionOf(catalog, 'Stalled'), conditionOf(catalog, 'Reconciling')].find(
      (condition) => condition?.status === 'True',
    );
    const ready = conditionOf(catalog, 'Ready');
    if (trouble !== undefined || ready?.status !== 'True') {
      const why = trouble ?? ready;
      const words = why === undefined ? NOT_REPORTED : `${why.reason}: ${inWords(why)}`;
      return wrong('catalog', `${who} ${words}`, `kubectl describe ${CATALOG_SHORT_NAME} ${metadata.name}${where}`);
    }
    const { products = 0, images = 0 } = status?.counts ?? {};
    return ok('catalog', `${who}: the provider accepts the key; ${products} products, ${images} images`);
  });
}

/** `now`: ms since the epoch. */
export function checkObjects({ where }: ClusterView, { servers, sets }: Held, now: number): Finding[] {
  if (servers instanceof CommandError) return [unseen('objects', servers)];
  const all = [
    ...servers.map((object) => ({ name: object.metadata.name, object })),
    ...seen(sets).map((object) => ({ name: `set/${object.metadata.name}`, object })),
  ];
  const waiting = all.flatMap(({ name, object }) => {
    const reason = needs(object, now);
    return reason === undefined ? [] : [{ name, reason }];
  });
  const counts = `${plural(servers.length, 'server')}, ${plural(seen(sets).length, 'set')}`;
  const others = sets instanceof CommandError ? [unseen('objects', sets)] : [];
  if (waiting.length === 0) return [ok('objects', `${counts}; none needs you`), ...others];
  const named = waiting.slice(0, NAMED);
  const more = waiting.length > named.length ? `, and ${waiting.length - named.length} more` : '';
  const list = named.map(({ name, reason }) => `${name} (${reason})`).join(', ');
  const steps = named.map(({ name }) => `kubectl vps status ${name}${where}`);
  return [wrong('objects', `${counts}; ${waiting.length} need you: ${list}${more}`, ...steps), ...others];
}

/** The reason for which the object waits for the user. */
function needs(object: Reported, now: number): string | undefined {
  const cause = stalled(object);
  if (cause !== undefined) return cause.reason;
  const isOld = now - Date.parse(object.metadata.creationTimestamp) > REPORT_MS;
  return isOld && conditionOf(object, 'Ready') === undefined ? NOT_REPORTED : undefined;
}
