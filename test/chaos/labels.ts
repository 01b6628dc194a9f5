/**
 * Labels of requests. Two requests of the same kind in the same state of the object get the same label, so a plan that
 * names a label finds the request again in another run. Labels contain no blanks and no quotes.
 */
import { currentReason } from '../../src/api/conditions.ts';
import {
  ADOPT_ANNOTATION,
  CATALOG_KIND,
  CATALOG_PLURAL,
  DEFAULT_API_KEY_SECRET,
  FINALIZER,
  NOT_CREATED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
  RECORD_ANNOTATION,
  SET_KIND,
} from '../../src/api/names.ts';
import { parseRecord } from '../../src/api/record.ts';
import type { ServerCatalog, ServerCatalogStatus } from '../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { toTask, type TaskNumber } from '../../src/base/exact-numbers.ts';
import { isInOrder } from '../oracles/catalogs.ts';
import { connectionLabel, connectionOf } from './secret-calls.ts';
import { setLabel } from './sets.ts';

export interface Request {
  method: string;
  /** Includes the query. */
  path: string;
  body: string;
}

/** An order, with or without an identifier of the operator in its path. */
export const isOrder = ({ method, path }: Pick<Request, 'method' | 'path'>): boolean =>
  method === 'POST' && /\/vps\/servers(\/[^/]+)?$/.test(path);

/** Whether the label has the state of an object. Those of Events have a reason in its place. */
export function isAboutState(label: string): boolean {
  return label.split(':').length > 2 && !label.startsWith('kube:POST-event:');
}

/** What is needed to label a request. */
export interface World {
  /** The namespace's catalog, if there is one. */
  readonly catalog: ServerCatalog | undefined;
  /** The namespace's set, if there is one. */
  readonly set: VirtualServerSet | undefined;
  object(name: string): VirtualServer | undefined;
  /** The object that holds this identifier or task. */
  holder(what: { identifier: string } | { task: TaskNumber }): VirtualServer | undefined;
  /** The object that orders, or has ordered, a server with these SSH keys. */
  ordering(sshKeys: unknown): VirtualServer | undefined;
}

/** The object's state in a few words: the parts of its record, then what people have asked for. */
export function stateOf(object: VirtualServer | undefined): string {
  if (object === undefined) return 'none';
  const { annotations = {}, deletionTimestamp, generation } = object.metadata;
  const parsed = parseRecord(annotations[RECORD_ANNOTATION]);
  const record = parsed.ok ? parsed.value : undefined;
  const words = [
    ...(['attempt', 'task', 'identifier', 'orphans'] as const).filter((field) => record?.[field] !== undefined),
    ...(record?.mode === 'adopt' ? ['adopted'] : []),
    ...(annotations[ADOPT_ANNOTATION] === undefined ? [] : ['toAdopt']),
    ...(annotations[NOT_CREATED_ANNOTATION] === undefined ? [] : ['notCreated']),
    ...(object.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ? ['ready'] : []),
    ...(object.status?.sshHostKeys === undefined ? [] : ['pinned']),
    ...(generation > 1 && deletionTimestamp === undefined ? ['edited'] : []),
    ...(deletionTimestamp === undefined ? [] : ['deleting']),
    ...(currentReason(object.status?.conditions) === 'Deleting' ? ['shown'] : []),
  ];
  return words.length === 0 ? 'fresh' : words.join('+');
}

/** The catalog's state in a few words for labels, each after a plus sign; empty if the catalog was never read. */
function stateOfCatalog(catalog: ServerCatalog): string {
  const { metadata, status } = catalog;
  if (status?.conditions === undefined) return '';
  const words = [
    ...(isInOrder(catalog) ? ['ready'] : ['behind']),
    ...(metadata.annotations?.[RECONCILE_AT_ANNOTATION] === undefined ? [] : ['asked']),
    ...(metadata.generation === 1 ? [] : ['edited']),
  ];
  return words.map((word) => `+${word}`).join('');
}

/** Suffix for requests that may concern a catalog as well as a server. */
function beside({ catalog }: World): string {
  return catalog === undefined ? '' : `:catalog${stateOfCatalog(catalog)}`;
}

export function kubeLabel(request: Request, world: World): string {
  const connected = connectionOf(request);
  if (connected !== undefined) return connectionLabel(request, stateOf(world.object(connected)));
  const { method, path, body } = request;
  const [route = '', query = ''] = path.split('?');
  const parts = route.split('/');
  if (route.includes('/leases')) return `kube:${method}-lease`;
  if (route.includes('/secrets/')) {
    // Excludes the state, because when the operator rereads a working key depends on timing.
    const name = parts.at(-1) ?? '';
    return name === DEFAULT_API_KEY_SECRET ? 'kube:GET-secret' : `kube:GET-secret:${name}`;
  }
  if (route.endsWith('/events')) return `kube:POST-event:${eventReason(body)}`;
  const ofSet = setLabel(request, world.set, stateOf(world.object(parts.at(-1) ?? '')));
  if (ofSet !== undefined) return ofSet;
  if (route.endsWith('/virtualservers')) return query.includes('watch=true') ? 'kube:WATCH' : 'kube:LIST';
  if (route.endsWith(`/${CATALOG_PLURAL}`)) {
    // Without a catalog, lists and watches of catalogs are equivalent.
    if (world.catalog === undefined) return 'kube:READ-catalogs';
    return query.includes('watch=true') ? 'kube:WATCH-catalogs' : 'kube:LIST-catalogs';
  }
  if (route.includes(`/${CATALOG_PLURAL}/`)) return `kube:${method}-status${beside(world)}:${reasonWritten(body)}`;
  const isStatus = parts.at(-1) === 'status';
  const state = stateOf(world.object(parts.at(isStatus ? -2 : -1) ?? ''));
  if (method === 'GET') return `kube:GET-object:${state}`;
  return isStatus ? `kube:PUT-status:${state}:${reasonWritten(body)}` : `kube:PATCH-object:${state}:${written(body)}`;
}

/** `isAsked`: the provider was already asked to cancel the server in the path. */
export function providerLabel({ method, path, body }: Request, world: World, isAsked: boolean): string {
  const [, kind, id] = /^\/beta\/(?:queue\/vps|vps\/(servers))\/(.+)$/.exec(path) ?? [];
  if (id === undefined) {
    const name = path.split('/').at(-1) ?? '';
    if (method === 'POST' && name === 'servers') {
      const { ssh_keys } = JSON.parse(body) as { ssh_keys?: unknown };
      return `provider:POST-servers:${stateOf(world.ordering(ssh_keys))}`;
    }
    return `provider:${method}-${name}${beside(world)}`;
  }
  if (kind === undefined) return `provider:GET-task:${stateOf(world.holder({ task: toTask(id) ?? id }))}`;
  const [, server = id, call] = /^([^/]+)\/(power|reboot|dormant)$/.exec(id) ?? [];
  if (call !== undefined)
    return `provider:${method}-${call}:${stateOf(world.holder({ identifier: decodeURIComponent(server) }))}`;
  const again = isAsked ? ':asked' : '';
  return `provider:${method}-server:${stateOf(world.holder({ identifier: decodeURIComponent(id) }))}${again}`;
}

function eventReason(body: string): string {
  const { reason = '', regarding } = JSON.parse(body) as { reason?: string; regarding?: { kind?: string } };
  if (regarding?.kind === SET_KIND) return `set:${reason}`;
  return regarding?.kind === CATALOG_KIND ? `catalog:${reason}` : reason;
}

function reasonWritten(body: string): string {
  const { status } = JSON.parse(body) as { status?: Pick<ServerCatalogStatus, 'conditions'> };
  return currentReason(status?.conditions) ?? 'same';
}

/** The parts of the record and of the finalizers that remain after a write. */
function written(body: string): string {
  const { metadata } = JSON.parse(body) as {
    metadata: { finalizers?: string[]; annotations?: Record<string, string | null> };
  };
  const text = metadata.annotations?.[RECORD_ANNOTATION];
  if (text === null) return 'release';
  const parsed = parseRecord(text);
  const record = parsed.ok ? parsed.value : undefined;
  const fields = (['attempt', 'task', 'identifier', 'orphans'] as const).filter((name) => record?.[name] !== undefined);
  const finalizer = metadata.finalizers?.includes(FINALIZER) === true ? ['finalizer'] : [];
  return [...finalizer, ...fields].join('+') || 'record';
}
