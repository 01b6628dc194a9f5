/** What must hold in every run, whatever happened. Each violation is a sentence. */
import { currentReason } from '../../src/controller/conditions.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { expiryOf } from '../../src/virtual-server/decision/expiry.ts';
import type { EventInput } from '../../src/kube/events.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { Exchange } from '../../src/provider/transport.ts';
import type { ServerLife, Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { ELSEWHERE } from './misfortunes.ts';
import { identifierOf, isAlive, type Ownership } from './ownership.ts';
import { recordOf } from '../gen/records.ts';
import { keyOf } from './object-store.ts';
import type { People } from './people.ts';
import type { SimProcess } from './process.ts';

/** Reasons that nobody can do anything about but by a new object, or that a wrong spec deserves. */
const FINAL = new Set(['Available', 'ServerMissing', 'InvalidSpec', 'Expired']);

/** No object may have had two creates accepted: people here say `not-created` only where nothing was created. */
export function orderedTwice(simulation: Simulation, { truth }: People): string[] {
  const byKey = new Map<unknown, number>();
  const ours = simulation.ledger.creates().filter(({ body }) => body.ssh_keys !== ELSEWHERE);
  for (const { body } of ours) byKey.set(body.ssh_keys, (byKey.get(body.ssh_keys) ?? 0) + 1);
  const excess = [...byKey].filter(([key, count]) => count > 1 + (truth.again.get(key)?.size ?? 0));
  return excess.map(([key, count]) => `${String(key)} was ordered ${count} times`);
}

/** How long a DELETE may be under way: the age of the live read, and the network. */
const UNDER_WAY_MS = 75_000;

/** Called when the provider has just cancelled a server: the one object that owns and holds it must ask for that. */
export function wronglyCancelled(
  { serial, identifier }: { serial: number; identifier: string },
  api: ApiServer,
  { truth, ownership }: People,
  now: number,
): string | undefined {
  if (api.definition === 'deleting' && now - truth.definitionDeletedAt >= UNDER_WAY_MS)
    return `server ${identifier} (serial ${serial}) was cancelled while the definition of VirtualServers is being deleted`;
  const named = api.servers.list().filter((object) => ownership.serverOf(object)?.serial === serial);
  // A record may have been rolled back just now to a state in which its task had not named the server yet.
  const holders = named.length > 0 ? named : api.servers.list().filter((object) => follows(object, serial, ownership));
  const asking = holders.filter((object) => {
    const { metadata, spec } = object;
    const guarded = spec.deletionPolicy !== 'Delete' || spec.deletionProtection;
    const justNow = now - (truth.guardedAt.get(metadata.uid) ?? -Infinity) < UNDER_WAY_MS;
    const end = expiryOf(object, recordOf(object));
    const over = end !== undefined && now >= end;
    const extended = now - (truth.extendedAt.get(metadata.uid) ?? -Infinity) < UNDER_WAY_MS;
    return (metadata.deletionTimestamp !== undefined || over || extended) && (!guarded || justNow);
  });
  if (asking.length === 1 && holders.length === 1) return undefined;
  // The object may have been released while its DELETE was under way.
  if (holders.length === 0 && releasedJustNow(serial, api, ownership, truth, now)) return undefined;
  return `server ${identifier} (serial ${serial}) was cancelled while it was held by [${holders.map(describe).join(', ')}]`;
}

function follows(object: VirtualServer, serial: number, ownership: Ownership): boolean {
  const record = recordOf(object);
  return record?.task !== undefined && record.identifier === undefined && ownership.orderedFor(object).has(serial);
}

function releasedJustNow(
  serial: number,
  api: ApiServer,
  ownership: Ownership,
  { guardedAt, abandonedServers }: People['truth'],
  now: number,
): boolean {
  return api.servers.changes.some(({ object, deleted }) => {
    if (!deleted || ownership.serverOf(object)?.serial !== serial) return false;
    const isSetToRetain = now - (guardedAt.get(object.metadata.uid) ?? -Infinity) < UNDER_WAY_MS;
    // A person said falsely that the server was gone.
    const isAsked = object.spec.deletionPolicy === 'Delete' && !object.spec.deletionProtection;
    return isSetToRetain || (isAsked && abandonedServers.has(serial));
  });
}

/** An order or a cancellation that leaves a process while another one holds the lease. A restore of etcd changes the holder. */
export function sentByAnother({ operation }: Exchange, identity: string, { lease, restores }: ApiServer): string[] {
  const holder = lease?.spec.holderIdentity;
  const isActed = operation === 'createServer' || operation === 'deleteServer';
  return isActed && holder !== identity && restores === 0
    ? [`${operation} left ${identity} while ${holder ?? 'nobody'} held the lease`]
    : [];
}

/** An Event that says a server was cancelled, while the provider still has it. */
export function falselyReported(
  event: EventInput,
  api: ApiServer,
  { truth, ownership }: People,
  simulation: Simulation,
): string[] {
  if (event.reason !== 'ServerCancelled' && event.reason !== 'ServerGone') return [];
  const object = api.servers.changes.findLast(
    ({ object: { metadata } }) => metadata.uid === event.regarding.uid,
  )?.object;
  if (object === undefined || truth.abandoned.has(object.spec.sshKeys?.[0])) return [];
  const own = ownership.ownedBy(object);
  const alive = simulation
    .aliveServers()
    .filter(({ serial, identifier }) => own.has(serial) && names(event.note, identifier));
  return alive.map(({ identifier }) => `an Event says "${event.note}", and server ${identifier} lives`);
}

const names = (note: string, identifier: string): boolean =>
  note
    .toLowerCase()
    .split(/[^a-z0-9-]+/)
    .includes(identifier.toLowerCase());

function describe(object: VirtualServer): string {
  const { deletionTimestamp } = object.metadata;
  return `${keyOf(object)} ${deletionTimestamp === undefined ? 'living' : 'deleting'} ${object.spec.deletionPolicy}`;
}

/** When faults have stopped and people have resolved what they can. */
export function notAtRest(api: ApiServer, ownership: Ownership, maxServersPerNamespace: number): string[] {
  return api.servers.list().flatMap((object) => {
    const reason = currentReason(object.status?.conditions);
    const deleting = object.metadata.deletionTimestamp !== undefined;
    if (!deleting && reason !== undefined && FINAL.has(reason)) return [];
    const isFull = maxServersPerNamespace > 0 && placesTaken(object, api, ownership) >= maxServersPerNamespace;
    if (!deleting && reason === 'ServerLimit' && isFull) return [];
    const message = object.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    return [
      `${keyOf(object)} does not come to rest: ${deleting ? 'deleting, ' : ''}${reason ?? 'no reason'}: ${message}`,
    ];
  });
}

/** Places taken by other objects of the namespace and by servers that outlived their objects. */
function placesTaken({ metadata: { namespace, uid } }: VirtualServer, api: ApiServer, ownership: Ownership): number {
  const isOther = ({ metadata }: VirtualServer): boolean => metadata.namespace === namespace && metadata.uid !== uid;
  const holders = api.servers.list().filter((other) => isOther(other) && recordOf(other)?.expiredAt === undefined);
  const holding = holders.filter(
    (other) => recordOf(other)?.attempt !== undefined || identifierOf(other) !== undefined,
  );
  const left = api.servers.changes.filter(({ object, deleted }) => deleted && isOther(object));
  return holding.length + new Set(left.flatMap(({ object }) => [...ownership.ownedBy(object)])).size;
}

/** Every server that lives is held by exactly one object, or was to be retained; of one that is gone its object says so. */
export function unaccounted(api: ApiServer, simulation: Simulation, { truth, ownership }: People): string[] {
  const held = new Map<number, VirtualServer>();
  const violations: string[] = [];
  for (const object of api.servers.list()) {
    const identifier = identifierOf(object);
    if (identifier === undefined) continue;
    const life = ownership.serverOf(object);
    if (life === undefined) {
      violations.push(`${keyOf(object)} holds server ${identifier}, which it neither ordered nor adopted`);
      continue;
    }
    const other = held.get(life.serial);
    if (other !== undefined) violations.push(`server ${identifier} is held by ${keyOf(other)} and ${keyOf(object)}`);
    held.set(life.serial, object);
    if (isAlive(life)) continue;
    const reason = currentReason(object.status?.conditions);
    if (reason !== 'ServerMissing')
      violations.push(`${keyOf(object)} says ${reason ?? 'nothing'} of server ${identifier}, which is gone`);
    const isExplained = life.state === 'removed' || life.state === 'failed' || ownership.adoptedTooLate(object, life);
    if (!isExplained && !extendedTooLate(object, life, truth))
      violations.push(`${keyOf(object)} holds server ${identifier}, which is gone`);
  }
  const retained = serversLeft(api, ownership);
  const keys = new Set<unknown>(api.servers.changes.map(({ object }) => object.spec.sshKeys?.[0]));
  const keyOfOrder = new Map(simulation.ledger.creates().map(({ serial, body }) => [serial, body.ssh_keys]));
  for (const { serial, identifier } of simulation.aliveServers()) {
    const key = keyOfOrder.get(serial);
    const isStranger = !keys.has(key) && !ownership.isAdopted(serial);
    const isGivenUp = truth.abandoned.has(key) || truth.abandonedServers.has(serial) || ownership.misled.has(key);
    if (!held.has(serial) && !retained.has(serial) && !isGivenUp && !isStranger)
      violations.push(`server ${identifier} (serial ${serial}, ordered for ${String(key)}) lives and nobody holds it`);
  }
  return violations;
}

/** Its end, or what guards it, was changed when the provider had cancelled it, or the DELETE was under way. */
function extendedTooLate(
  { metadata }: VirtualServer,
  { state, endedAt = Infinity }: ServerLife,
  { extendedAt, guardedAt }: People['truth'],
): boolean {
  const changedAt = Math.max(...[extendedAt, guardedAt].map((times) => times.get(metadata.uid) ?? -Infinity));
  return state === 'cancelled' && endedAt < changedAt + UNDER_WAY_MS;
}

/** Servers whose objects were deleted with `Retain`. */
function serversLeft(api: ApiServer, ownership: Ownership): Set<number> {
  const kept = api.servers.changes.filter(({ object, deleted }) => deleted && object.spec.deletionPolicy === 'Retain');
  return new Set(kept.flatMap(({ object }) => [...ownership.ownedBy(object)]));
}

/** Without faults, the caches of the active process match the API server. */
export function wronglyCached({ caches }: Pick<SimProcess, 'caches'>, api: ApiServer): string[] {
  if (caches === undefined) return [];
  return (['servers', 'catalogs'] as const).flatMap((kind) => {
    const version = (object: KubeObject): string => `${keyOf(object)} ${object.metadata.resourceVersion}`;
    const [cached, there] = [caches[kind].map(version), api[kind].list().map(version)];
    return [
      ...cached.filter((one) => !there.includes(one)).map((one) => `${one} is in the cache of ${kind} alone`),
      ...there.filter((one) => !cached.includes(one)).map((one) => `${one} is not in the cache of ${kind}`),
    ];
  });
}

/** Keys, tokens, SSH keys and VNC passwords of the simulation; those also in base64. */
const SECRET = /secret-\d|simulated-token-\d|ssh-ed25519|vnc-password|dm5jLXBhc3N3b3Jk/;

export interface LogLine extends Record<string, unknown> {
  err?: { name?: string; message?: string };
  msg?: string;
  level?: string;
}

/** Errors of the API server and of a full disk. */
const FAULTS = new Set<string | undefined>(['KubeError', 'JournalError']);

/** Errors that only a bug can cause, and words that belong in no log. A restore of etcd takes objects with their finalizers. */
export function wronglySaid(line: LogLine, isRestored: boolean): string[] {
  const { err, msg = '' } = line;
  return [
    ...(SECRET.test(JSON.stringify(line)) ? ['a secret stands in the log'] : []),
    ...(msg === 'reconcile failed' && !FAULTS.has(err?.name) ? [`a visit threw ${err?.message ?? ''}`] : []),
    ...(msg.startsWith('finalizer was removed by force') && !isRestored
      ? ['a finalizer was reported as removed by force']
      : []),
  ];
}

/** What everybody may read must not say how to log in. */
export function tellsPasswords({ servers: { changes }, events }: ApiServer): string[] {
  const told = JSON.stringify([
    events,
    changes.map(({ object: { status, metadata } }) => [status, metadata.annotations]),
  ]);
  return told.includes('vnc-password') ? ['a VNC password stands in a status, a record or an Event'] : [];
}
