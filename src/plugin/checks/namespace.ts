/** Checks of what is in the namespace: API keys, servers and sets. */
import { CATALOG_PLURAL, DEFAULT_API_KEY_SECRET, SERVER_PLURAL, SET_PLURAL } from '../../api/names.ts';
import type { ServerCatalog } from '../../api/server-catalog.ts';
import type { VirtualServerSet } from '../../api/virtual-server-set.ts';
import type { VirtualServer } from '../../api/virtual-server.ts';
import { ONLY_METADATA } from '../../kube/kinds.ts';
import { pathOf } from '../../kube/resource.ts';
import { fine, cannotSee, unknown, wrong, type CheckFinding } from './checkup.ts';
import type { ClusterView } from '../cluster/cluster.ts';
import { CommandError } from '../terminal/failure.ts';
import { loginCommand } from '../state/login-command.ts';
import {
  asides,
  conditionOf,
  heldChange,
  isCurrent,
  NOT_REPORTED,
  paused,
  stalled,
  type Reported,
} from '../state/readiness.ts';
import { keptBy, upToDate } from '../state/let-go.ts';
import { plural } from '../state/totals.ts';

/** The operator reports on a new object within seconds. */
const REPORT_MS = 60_000;
/** How many objects the screen names. */
const NAMED = 5;

/** Every writer, with the time of its last write. */
type ManagedMeta = Reported['metadata'] & { managedFields?: { time?: string; fieldsV1?: object }[] };

/** Each kind, or why it cannot be read. */
export interface NamespaceObjects {
  catalogs: ServerCatalog[] | CommandError;
  servers: VirtualServer[] | CommandError;
  sets: VirtualServerSet[] | CommandError;
}

export async function readNamespace(cluster: ClusterView): Promise<NamespaceObjects> {
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

/** The Secrets with API keys that the objects name, each once; the default one if there are no objects. */
export function secretsOf({ catalogs, servers, sets }: NamespaceObjects): string[] {
  const named = [
    ...[...seen(catalogs), ...seen(servers)].map(({ spec }) => spec.apiKeySecretRef.name),
    ...seen(sets).map(({ spec }) => spec.template.spec.apiKeySecretRef.name),
  ];
  return named.length === 0 ? [DEFAULT_API_KEY_SECRET] : [...new Set(named)].sort();
}

/** The Secrets with API keys that objects name and that do not exist. Rejects with CommandError. */
export async function missingKeys(cluster: ClusterView, held: NamespaceObjects): Promise<ReadonlySet<string>> {
  const found = await Promise.all(
    secretsOf(held).map(async (name) => {
      const path = pathOf({ apiVersion: 'v1', plural: 'secrets' }, cluster.namespace, name);
      // The API server then sends no data of the Secret.
      const secret = await cluster.ask({ path, accept: ONLY_METADATA, absent: name });
      return secret === undefined ? [name] : [];
    }),
  );
  return new Set(found.flat());
}

/** Pure. */
export function checkKeys(where: string, held: NamespaceObjects, missing: ReadonlySet<string>): CheckFinding[] {
  return secretsOf(held).map((name) => {
    if (!missing.has(name)) return fine('key', `Secret ${name} exists`);
    const users = seen(held.servers).filter(({ spec }) => spec.apiKeySecretRef.name === name).length;
    const use = users === 1 ? '1 server uses' : `${users} servers use`;
    const effect =
      users === 0
        ? ''
        : `, which ${use}: the operator has at most the key of before, and loses it when it restarts. It then cannot read or cancel them`;
    return wrong('key', `there is no Secret ${name}${effect}`, loginCommand(where, name));
  });
}

/** `now`: ms since the epoch. */
export function checkObjects({ where }: ClusterView, { servers, sets }: NamespaceObjects, now: number): CheckFinding[] {
  if (servers instanceof CommandError) return [cannotSee('objects', servers)];
  const all = [
    ...servers.map((object) => ({ name: object.metadata.name, object, kept: keptBy(object) })),
    ...seen(sets).map((object) => ({ name: `set/${object.metadata.name}`, object, kept: undefined })),
  ];
  const waiting = all.flatMap(({ name, object, kept }) => {
    const reason = kept === undefined ? needs(object, now) : keptFor(object, kept, now);
    return reason === undefined ? [] : [{ name, reason }];
  });
  const counts = `${plural(servers.length, 'server')}, ${plural(seen(sets).length, 'set')}`;
  const others = [
    ...toLookAt(
      servers.map(upToDate).filter((object) => needs(object, now) === undefined),
      where,
    ),
    ...(sets instanceof CommandError ? [cannotSee('objects', sets)] : []),
  ];
  if (waiting.length === 0) return [fine('objects', `${counts}; none needs you`), ...others];
  const { list, steps } = named(waiting, where);
  return [wrong('objects', `${counts}; ${waiting.length} need you: ${list}`, ...steps), ...others];
}

/** No failed check: some servers are meant to differ, and what an orphan is, only you know. */
function toLookAt(servers: readonly VirtualServer[], where: string): CheckFinding[] {
  const found = servers.flatMap((object) => {
    const reasons = asides(object).map(({ reason }) => reason);
    return reasons.length === 0 ? [] : [{ name: object.metadata.name, reasons }];
  });
  if (found.length === 0) return [];
  const { list, steps } = named(
    found.map(({ name, reasons }) => ({ name, reason: reasons.join(', ') })),
    where,
  );
  return [unknown('objects', `look at ${plural(found.length, 'server')}: ${list}`, ...steps)];
}

/** The first objects with their reasons, and the commands that show them. */
function named(found: readonly { name: string; reason: string }[], where: string): { list: string; steps: string[] } {
  const first = found.slice(0, NAMED);
  const more = found.length > first.length ? `, and ${found.length - first.length} more` : '';
  const list = first.map(({ name, reason }) => `${name} (${reason})`).join(', ');
  return { list: `${list}${more}`, steps: first.map(({ name }) => `kubectl vps status ${name}${where}`) };
}

/** The reason for which the object waits for the user. */
function needs(object: Reported, now: number): string | undefined {
  const cause = stalled(object) ?? heldChange(object);
  if (cause !== undefined) return cause.reason;
  // The operator looks at no change of spec while the object is paused.
  const isSeen = isCurrent(object) || paused(object) !== undefined;
  if (isSeen && conditionOf(object, 'Ready') !== undefined) return undefined;
  return now - changedAt(object) > REPORT_MS ? NOT_REPORTED : undefined;
}

/** The operator is done with the object. Most controllers remove their finalizers within seconds. */
function keptFor({ metadata: { deletionTimestamp = '' } }: Reported, kept: string, now: number): string | undefined {
  return now - Date.parse(deletionTimestamp) > REPORT_MS ? `being deleted, ${kept}` : undefined;
}

/** The last write that may have changed spec (ms since the epoch). */
function changedAt({ metadata }: Reported): number {
  const { managedFields = [], creationTimestamp, deletionTimestamp } = metadata as ManagedMeta;
  const writes = managedFields.filter(({ fieldsV1 = {} }) => 'f:spec' in fieldsV1).map(({ time }) => time);
  const times = [creationTimestamp, deletionTimestamp, ...writes].filter((time) => time !== undefined);
  return Math.max(...times.map((time) => Date.parse(time)));
}
