/** What must hold in every run, whatever happened. Each violation is a sentence. */
import { parseRecord, type ServerRecord } from '../../src/api/record.ts';
import { RECORD_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { expiryOf } from '../../src/decision/expiry.ts';
import { currentReason } from '../../src/decision/verdict.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { keyOf, type ApiServer } from './api-server.ts';
import type { People } from './people.ts';

/** Reasons that nobody can do anything about but by a new object, or that a wrong spec deserves. */
const FINAL = new Set(['Available', 'ServerMissing', 'InvalidSpec', 'Expired']);

/** The server that the object holds; one that was cancelled at its end is held no more. */
export function identifierOf(object: VirtualServer): string | undefined {
  const record = recordOf(object);
  return record?.expiredAt === undefined ? record?.identifier : undefined;
}

function recordOf(object: VirtualServer): ServerRecord | undefined {
  const parsed = parseRecord(object.metadata.annotations?.[RECORD_ANNOTATION]);
  const own = parsed.ok && parsed.record?.owner === object.metadata.uid ? parsed.record : undefined;
  const mirror = object.status?.record?.owner === object.metadata.uid ? object.status.record : undefined;
  if (own === undefined || mirror === undefined) return own ?? mirror;
  return { ...mirror, ...own };
}

/** No object may have had two creates accepted: people here say `not-created` only where nothing was created. */
export function orderedTwice(service: Simulation, { truth }: People): string[] {
  const byKey = new Map<unknown, number>();
  for (const { body } of service.ledger.creates()) byKey.set(body.ssh_keys, (byKey.get(body.ssh_keys) ?? 0) + 1);
  const excess = [...byKey].filter(([key, count]) => count > 1 + (truth.again.get(key)?.size ?? 0));
  return excess.map(([key, count]) => `${String(key)} was ordered ${count} times`);
}

/** How long a DELETE may be under way: the age of the live read, and the network. */
const UNDER_WAY_MS = 75_000;

/** Called when the service has just cancelled a server: some object that holds it must ask for that. */
export function wronglyCancelled(
  identifier: string,
  api: ApiServer,
  { truth }: People,
  now: number,
): string | undefined {
  const holders = api.list().filter((object) => identifierOf(object) === identifier);
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
  // An object that was set to Retain just now may have been let go while the DELETE was under way.
  if (holders.length === 0 && releasedJustNow(identifier, api, truth, now)) return undefined;
  return `server ${identifier} was cancelled while it was held by [${holders.map(describe).join(', ')}]`;
}

function releasedJustNow(identifier: string, api: ApiServer, { guardedAt }: People['truth'], now: number): boolean {
  return api.changes.some(
    ({ object, deleted }) =>
      deleted &&
      identifierOf(object) === identifier &&
      now - (guardedAt.get(object.metadata.uid) ?? -Infinity) < UNDER_WAY_MS,
  );
}

function describe(object: VirtualServer): string {
  const { deletionTimestamp } = object.metadata;
  return `${keyOf(object)} ${deletionTimestamp === undefined ? 'living' : 'deleting'} ${object.spec.deletionPolicy}`;
}

/** When faults have stopped and people have resolved what they can. */
export function notAtRest(api: ApiServer): string[] {
  return api.list().flatMap((object) => {
    const reason = currentReason(object.status?.conditions);
    const deleting = object.metadata.deletionTimestamp !== undefined;
    if (!deleting && reason !== undefined && FINAL.has(reason)) return [];
    const message = object.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    return [
      `${keyOf(object)} does not come to rest: ${deleting ? 'deleting, ' : ''}${reason ?? 'no reason'}: ${message}`,
    ];
  });
}

/** Every server that lives is held by exactly one object, or was to be retained; of one that is gone its object says so. */
export function unaccounted(api: ApiServer, service: Simulation, { truth }: People): string[] {
  const held = new Map<string, VirtualServer>();
  const violations: string[] = [];
  for (const object of api.list()) {
    const identifier = identifierOf(object);
    if (identifier === undefined) continue;
    const other = held.get(identifier);
    if (other !== undefined) violations.push(`server ${identifier} is held by ${keyOf(other)} and ${keyOf(object)}`);
    held.set(identifier, object);
  }
  const alive = new Set(service.aliveServers().map(({ identifier }) => identifier));
  const retained = serversLeft(api, service);
  const everHeld = new Set(api.changes.map(({ object }) => identifierOf(object)));
  const strangers = service.aliveServers().filter((one) => one.task === undefined && !everHeld.has(one.identifier));
  for (const { identifier } of strangers) retained.add(identifier);
  for (const identifier of alive) {
    if (!held.has(identifier) && !retained.has(identifier))
      violations.push(`server ${identifier} lives and nobody holds it`);
  }
  for (const [identifier, object] of held) {
    if (alive.has(identifier)) continue;
    const reason = currentReason(object.status?.conditions);
    if (reason !== 'ServerMissing')
      violations.push(`${keyOf(object)} says ${reason ?? 'nothing'} of server ${identifier}, which is gone`);
    if (!truth.removed.has(identifier) && !extendedTooLate(object, identifier, service, truth))
      violations.push(`${keyOf(object)} holds server ${identifier}, which is gone`);
  }
  return violations;
}

/** Its end was changed after the service had cancelled it, while the answer to that was lost. */
function extendedTooLate(
  { metadata }: VirtualServer,
  identifier: string,
  { ledger }: Simulation,
  { extendedAt }: People['truth'],
): boolean {
  const changed = extendedAt.get(metadata.uid) ?? -Infinity;
  return ledger.cancels({ identifier }).some(({ at }) => at <= changed);
}

/** Servers whose objects were deleted with `Retain`. */
function serversLeft(api: ApiServer, service: Simulation): Set<string> {
  const kept = api.changes.filter(({ object, deleted }) => deleted && object.spec.deletionPolicy === 'Retain');
  const keys = new Set<unknown>(kept.map(({ object }) => object.spec.sshKeys?.[0]));
  const ordered = service.ledger.creates().filter(({ body }) => keys.has(body.ssh_keys));
  // Of an object that is let go nothing but its uid need be left.
  const uids = new Set(kept.map(({ object }) => object.metadata.uid));
  const adopted = api.changes
    .filter(({ object }) => uids.has(object.metadata.uid))
    .map(({ object }) => identifierOf(object))
    .filter((identifier) => identifier !== undefined);
  return new Set([...ordered.map(({ identifier }) => identifier), ...adopted]);
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

/** Errors that only a bug can cause, and words that belong in no log. */
export function wronglySaid(line: LogLine): string[] {
  const { err, msg = '' } = line;
  return [
    ...(SECRET.test(JSON.stringify(line)) ? ['a secret stands in the log'] : []),
    ...(msg === 'visit failed' && !FAULTS.has(err?.name) ? [`a visit threw ${err?.message ?? ''}`] : []),
    ...(msg.startsWith('finalizer was removed by force') ? ['a finalizer was reported as removed by force'] : []),
  ];
}

/** What everybody may read must not say how to log in. */
export function tellsPasswords({ changes, events }: ApiServer): string[] {
  const told = JSON.stringify([
    events,
    changes.map(({ object: { status, metadata } }) => [status, metadata.annotations]),
  ]);
  return told.includes('vnc-password') ? ['a VNC password stands in a status, a record or an Event'] : [];
}
