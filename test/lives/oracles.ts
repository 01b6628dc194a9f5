/** Invariants of every simulated run. Each violation is one sentence. */
import { currentReason } from '../../src/api/conditions.ts';
import { ADOPT_ANNOTATION, NOT_CREATED_ANNOTATION } from '../../src/api/names.ts';
import { mirrorIn } from '../../src/api/record.ts';
import type { OrderedField } from '../../src/api/ordered-fields.ts';
import type { VirtualServer, VirtualServerSpec } from '../../src/api/virtual-server.ts';
import { unknownAnnotations } from '../../src/virtual-server/decision/inputs.ts';
import type { Event } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { CallOptions } from '../../src/kube/http.ts';
import type { Exchange } from '../../src/provider/transport.ts';
import type { ServerLife, Simulation } from '../../src/simulator/index.ts';
import { CUT_SSH_KEY } from '../fixtures/virtual-server.ts';
import type { ApiServer, ServerChange } from './api-server.ts';
import { identifierOf, isAlive, isSame, type Ownership } from './ownership.ts';
import { annotatedRecordOf, recordOf } from '../fixtures/records.ts';
import { asksToCancel, orderedTooOften, unaccounted, wronglyCancelled } from '../oracles/servers.ts';
import { isHandedOver, leftByTaker } from './hand-overs.ts';
import { keyOf } from './object-store.ts';
import { USER_DATA_MARK, isUserDataOf } from './further-fields.ts';
import type { Orders } from './orders.ts';
import type { PriceWatch } from './price-watch.ts';
import type { People } from './people.ts';
import type { SimProcess } from './process.ts';
import { isSettled, isUpdated, membersOf } from './set-members.ts';

/** Reasons that may remain at the end: only a new object helps, or the spec is wrong. */
const FINAL = new Set([
  'Available',
  'PoweredOff',
  'Dormant',
  'PowerUnavailable',
  'ServerMissing',
  'InvalidSpec',
  'Expired',
]);

/**
 * No object may have two accepted creates: users set `not-created` here only if nothing was created. If the provider lists its
 * servers, the operator finds out that an order has failed, or that its server is gone before it was seen, and orders again without
 * a user.
 */
export function orderedTwice(
  api: ApiServer,
  simulation: Simulation,
  orders: Orders,
  { truth, ownership }: People,
  hasList: boolean,
): string[] {
  const objects = new Map(api.servers.changes.map(({ object }) => [object.metadata.uid, object]));
  const failed = new Set(
    simulation.fleet
      .history()
      .filter(
        ({ state, serial }) =>
          hasList && (state === 'failed' || truth.late.has(serial) || truth.removedUnseen.has(serial)),
      )
      .map(({ serial }) => serial),
  );
  return [...objects].flatMap(([uid, object]) => {
    const again = truth.again.get(uid) ?? new Set();
    const found = [...ownership.orderedFor(object)].filter(
      (serial) => failed.has(serial) && !again.has(orders.attemptOf(serial) ?? ''),
    );
    const allowed = 1 + again.size + found.length;
    // What was sent again under one identifier is one order.
    const sent = new Set(
      [...ownership.orderedFor(object)].map((serial) => (orders.isNamed(serial) ? orders.attemptOf(serial) : serial)),
    );
    return orderedTooOften(`${keyOf(object)} (${uid})`, sent.size, allowed);
  });
}

/** The operator claims no order for a version of an object with an annotation that it does not know. */
export function orderedUnasked({ servers: { changes } }: ApiServer): string[] {
  const seen = new Set<string>();
  return changes.flatMap(({ object }) => {
    const { attempt } = recordOf(object) ?? {};
    if (attempt === undefined || seen.has(attempt)) return [];
    seen.add(attempt);
    const [unknown] = unknownAnnotations(object.metadata);
    return unknown === undefined ? [] : [`${keyOf(object)} with annotation ${unknown} claimed order ${attempt}`];
  });
}

/** No order has a key that sshd does not accept. */
export function orderedUnusable({ ledger }: Simulation): string[] {
  const unusable = ledger.creates().filter(({ body }) => String(body.ssh_keys).split('\n').includes(CUT_SSH_KEY));
  return unusable.map(({ serial }) => `server ${serial} was ordered with an SSH key that is cut off`);
}

type IsSent = (body: Readonly<Record<string, unknown>>, spec: VirtualServerSpec, identifier: string) => boolean;

/** The fields of the order, by the provider's specification. The lives have no SSH keys in Secrets. */
const SENT: { [F in OrderedField]-?: IsSent } = {
  product: (body, { product }) => body['product'] === product,
  image: (body, { image }) => body['image'] === image,
  diskSize: (body, { diskSize }) => body['disk_size'] === diskSize,
  identifier: (_body, spec, identifier) => spec.identifier === undefined || spec.identifier === identifier,
  sshKeys: (body, { sshKeys }) => body['ssh_keys'] === sshKeys?.join('\n'),
  sshKeysFrom: (_body, { sshKeysFrom }) => sshKeysFrom === undefined,
  ipv4: (body, { ipv4 }) => body['ipv4'] === ipv4,
  zone: (body, { zone }) => body['zone'] === zone,
  hostname: (body, { hostname }) => body['hostname'] === hostname,
  // Without one, an order under a chosen identifier names its object.
  serverName: (body, { serverName, identifier }) =>
    serverName === undefined ||
    (identifier === undefined ? body['name'] === serverName : String(body['name']).startsWith(`${serverName} (`)),
  diskType: (body, { diskType }) => body['disk_type'] === diskType,
  forwardDNS: (body, { forwardDNS }) => body['set_forward_dns'] === forwardDNS,
  reverseDNS: (body, { reverseDNS }) => body['set_reverse_dns'] === reverseDNS,
  advanced: (body, { advanced = {} }) =>
    body['host_server'] === advanced.hostServer &&
    body['extra_cores'] === advanced.extraCores &&
    body['extra_ram'] === advanced.extraMemory &&
    body['cpu_mode'] === advanced.cpuMode?.toLowerCase() &&
    body['net_device'] === advanced.netDevice &&
    body['disk_bus'] === advanced.diskBus &&
    body['tablet'] === advanced.tablet,
  userDataFrom: (body, spec) => isUserDataOf(spec, body['user_data_string']),
  userData: (body, spec) => isUserDataOf(spec, body['user_data_string']),
  storedUserData: (body, { storedUserData }) => body['user_data'] === storedUserData,
};

/** Every order has the fields of the object that it was sent for. */
export function orderedOtherwise(simulation: Simulation, orders: Orders, api: ApiServer): string[] {
  return simulation.ledger.creates().flatMap(({ serial, body, identifier }) => {
    const uid = orders.uidOf(serial);
    if (uid === undefined) return [];
    const versions = api.servers.changes.filter(({ object }) => object.metadata.uid === uid);
    const isRight = ({ object: { spec } }: ServerChange): boolean =>
      Object.values(SENT).every((isSent) => isSent(body, spec, identifier));
    return versions.some(isRight) ? [] : [`the order of server ${serial} does not match its object ${uid}`];
  });
}

/** How long a call of an operator may be in flight: the age of the live read plus network delays. */
export const UNDER_WAY_MS = 75_000;

/** Called right after the provider cancels a server. */
export function cancelledWrongly(
  { serial, identifier }: { serial: number; identifier: string },
  api: ApiServer,
  { truth, ownership }: People,
  now: number,
): string[] {
  const server = `server ${identifier} (serial ${serial})`;
  const isNew = (since: number | undefined): boolean => now - (since ?? -Infinity) < UNDER_WAY_MS;
  if (api.definition === 'deleting' && !isNew(truth.definitionDeletedAt))
    return [`${server} was cancelled while the CRD was being deleted`];
  const objects = api.servers.list();
  const naming = objects.filter((object) => ownership.serverOf(object)?.serial === serial);
  // From the hand-over on, the record of the taker counts alone.
  const named = naming.filter((object) => !isHandedOver(object, naming));
  // A record may just have been rolled back to a state in which its task had not named the server yet.
  const holders = named.length > 0 ? named : api.servers.list().filter((object) => follows(object, serial, ownership));
  const taker = holders.map((object) => leftByTaker(object, api)).find((name) => name !== undefined);
  if (taker !== undefined) return [`${server} was cancelled although ${taker} had taken it over, and was to leave it`];
  const isOfSet = holders.some(({ metadata }) => metadata.ownerReferences !== undefined);
  if (isOfSet && !api.hasSets && !isNew(truth.setDefinitionDeletedAt) && api.definition === 'kept')
    return [`${server} of a member was cancelled while the CRD of sets was missing`];
  if (holders.length === 0) {
    // The object may have been released while its DELETE was in flight.
    if (releasedJustNow(serial, api, ownership, truth, now)) return [];
    if (ownership.tookOver(serial, now - UNDER_WAY_MS)) return [];
    const sameName = api.servers.list().filter((object) => isSame(identifier, identifierOf(object)));
    if (sameName.some((object) => ownership.seemsUnique(object))) return [];
  }
  return wronglyCancelled(server, holders, (object) => {
    const isLate = (times: ReadonlyMap<string, number>): boolean => isNew(times.get(object.metadata.uid));
    const { guardedAt, pausedAt, extendedAt, delayedAt, handedAt } = truth;
    return asksToCancel(object, now, {
      guarded: isLate(guardedAt),
      paused: isLate(pausedAt),
      extended: isLate(extendedAt),
      delayed: isLate(delayedAt),
      handed: isLate(handedAt),
    });
  });
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
  const { changes } = api.servers;
  // The last version may name nothing: a release removes the annotation, and a person may have wiped the status.
  const holders = changes.filter(({ object }) => ownership.serverOf(object)?.serial === serial);
  const uids = new Set(holders.map(({ object }) => object.metadata.uid));
  return changes.some(({ object, deleted }) => {
    if (!deleted || !uids.has(object.metadata.uid)) return false;
    const isSetToRetain = now - (guardedAt.get(object.metadata.uid) ?? -Infinity) < UNDER_WAY_MS;
    // A user has falsely annotated that the server is gone.
    const isAsked = object.spec.deletionPolicy === 'Delete' && !object.spec.deletionProtection;
    return isSetToRetain || (isAsked && abandonedServers.has(serial));
  });
}

/** Whether each call changes something. */
const ACTS: Readonly<Record<Exchange['operation'], boolean>> = {
  login: false,
  products: false,
  images: false,
  diskSizes: false,
  zones: false,
  hosts: false,
  listServers: false,
  prices: false,
  createServer: true,
  pollTask: false,
  readServer: false,
  setPower: true,
  reboot: true,
  setDormant: true,
  changeServer: true,
  deleteServer: true,
};

/**
 * Reports a call that changes something, sent by a process that does not hold the lease. A restore of etcd changes the
 * holder.
 */
export function sentByAnother({ operation }: Exchange, identity: string, { lease, restores }: ApiServer): string[] {
  const holder = lease?.spec.holderIdentity;
  return ACTS[operation] && holder !== identity && restores === 0
    ? [`${operation} was sent by ${identity} while ${holder ?? 'no process'} held the lease`]
    : [];
}

/** Reports what an operator that only observes asks of the provider besides reads. */
export function actedByObserver({ operation }: Exchange): string[] {
  return ACTS[operation] ? [`${operation} was sent by an operator that only observes`] : [];
}

/** What the next operator that acts needs to know: it has no memory, and the copy of the record in the status has to say it. */
const KEPT = new Set([
  'AbsenceUnproven',
  'IdentityUnproven',
  'ServerMissing',
  'TaskNotFound',
  'CreateFailed',
  'TaskFailed',
  'TaskInUse',
]);

const ABOUT_ORDER = new Set(['IdentityUnproven', 'TaskNotFound', 'CreateFailed', 'TaskFailed', 'TaskInUse']);

/** Reports that an operator that only observes replaces such a reason and has not noted why. */
export function forgottenByObserver(
  { method = 'GET', path, body }: CallOptions,
  { servers }: ApiServer,
  exists: (identifier: string) => boolean,
): string[] {
  if (method !== 'PUT' || !path.includes('/virtualservers/')) return [];
  const { metadata, status } = body as VirtualServer;
  const present = servers.get(metadata.namespace, metadata.name);
  if (present?.metadata.resourceVersion !== metadata.resourceVersion) return [];
  const before = currentReason(present.status?.conditions) ?? '';
  if (!KEPT.has(before) || currentReason(status?.conditions) !== 'ObserveOnly') return [];
  const { doubt, open, missingAt, createFailure, attempt, identifier, orphans } = mirrorIn(status) ?? {};
  if ((doubt ?? open ?? missingAt ?? createFailure) !== undefined) return [];
  // The order has succeeded after all.
  if (before === 'CreateFailed' && identifier !== undefined && exists(identifier)) return [];
  // A user has adopted a server, so the record has the order as an orphan.
  if (ABOUT_ORDER.has(before) && attempt === undefined && orphans !== undefined) return [];
  // A user has settled the question.
  if (attempt !== undefined && present.metadata.annotations?.[NOT_CREATED_ANNOTATION] === attempt) return [];
  return [`${keyOf(present)}: an operator that only observes has replaced ${before}`];
}

/** Reports what an operator that only observes writes besides status and Events. */
export function writtenByObserver({ method = 'GET', path }: CallOptions): string[] {
  const isWrite = method !== 'GET' && !(method === 'PUT' && path.endsWith('/status'));
  const isEvent = method === 'POST' && path.endsWith('/events');
  return isWrite && !isEvent ? [`${method} ${path} was sent by an operator that only observes`] : [];
}

/** Reports an Event about an order or a ready server that the provider does not know, or that was told before. */
export function falselyTold(
  event: Event,
  api: ApiServer,
  { ownership }: People,
  { ledger, orders }: { ledger: Simulation['ledger']; orders: Orders },
): string[] {
  if (event.reason !== 'ServerOrdered' && event.reason !== 'ServerReady') return [];
  const { uid } = event.regarding;
  const object = api.servers.changes.findLast(({ object: { metadata } }) => metadata.uid === uid)?.object;
  if (object === undefined) return [];
  const created = ledger.creates().filter(({ serial }) => ownership.orderedFor(object).has(serial));
  const [, task] = /\bas task (\d+) with\b/.exec(event.note) ?? [];
  const isOrdered = task === undefined || created.some((order) => String(order.task) === task);
  const isReady =
    event.reason !== 'ServerReady' || ledger.creates().some((order) => names(event.note, order.identifier));
  const told = api.events.filter((other) => other.regarding.uid === uid && other.note === event.note);
  // A provider whose counter starts over may give the same number to two orders, and one may answer an equal order with its task.
  const named = created.filter((order) => String(order.task) === task);
  const answers = named.map(({ identifier }) => Math.max(1, orders.answersUnder(identifier)));
  const isFirst = task === undefined || told.length <= answers.reduce((sum, one) => sum + one, 0);
  return isOrdered && isReady && isFirst ? [] : [`an Event says "${event.note}" about ${keyOf(object)}: it is not so`];
}

/** Reports an Event that claims a server was cancelled while the provider still has it. */
export function falselyReported(
  event: Event,
  api: ApiServer,
  { truth, ownership }: People,
  simulation: Simulation,
): string[] {
  if (event.reason !== 'ServerCancelled' && event.reason !== 'ServerGone') return [];
  const object = api.servers.changes.findLast(
    ({ object: { metadata } }) => metadata.uid === event.regarding.uid,
  )?.object;
  if (object === undefined || truth.abandoned.has(object.metadata.uid)) return [];
  const own = ownership.ownedBy(object);
  const alive = simulation
    .aliveServers()
    .filter(({ serial, identifier }) => own.has(serial) && !truth.late.has(serial) && names(event.note, identifier));
  return alive.map(({ identifier }) => `an Event says "${event.note}", but server ${identifier} still exists`);
}

const names = (note: string, identifier: string): boolean =>
  note
    .toLowerCase()
    .split(/[^a-z0-9-]+/)
    .includes(identifier.toLowerCase());

/** Reports objects that are not settled after faults have stopped and people have resolved what they can. */
export function notAtRest(
  api: ApiServer,
  ownership: Ownership,
  maxServersPerNamespace: number,
  prices: PriceWatch | undefined,
): string[] {
  return api.servers.list().flatMap((object) => {
    const reason = currentReason(object.status?.conditions);
    const deleting = object.metadata.deletionTimestamp !== undefined;
    if (!deleting && reason !== undefined && FINAL.has(reason)) return [];
    const isFull = maxServersPerNamespace > 0 && placesTaken(object, api, ownership) >= maxServersPerNamespace;
    if (!deleting && reason === 'ServerLimit' && isFull) return [];
    const hasLeft = serversLeft(api, ownership).size > 0;
    if (!deleting && isForMoney(reason) && prices?.mayWait(object, reason, hasLeft) === true) return [];
    if (!deleting && reason === 'CreateRejected' && isToBeReplaced(object, api)) return [];
    const asked = object.metadata.annotations?.[ADOPT_ANNOTATION];
    if (!deleting && reason === 'IdentifierInUse' && isTakenByMistake(asked, api, ownership)) return [];
    const message = object.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    return [`${keyOf(object)} did not settle: ${deleting ? 'deleting, ' : ''}${reason ?? 'no reason'}: ${message}`];
  });
}

/**
 * Whether the set of this member replaces it only after another member has its server, for which a limit leaves no room, or after a
 * user has acted on a member whose change waits for that.
 */
function isToBeReplaced(object: VirtualServer, api: ApiServer): boolean {
  const set = api.sets.list().find((one) => membersOf(one, [object]).length > 0);
  if (set === undefined || isUpdated(object, set, api)) return false;
  const isBlocked = currentReason(set.status?.conditions) === 'MemberBlocked';
  return membersOf(set, api.servers.list()).some((member) => {
    const reason = currentReason(member.status?.conditions);
    if (isBlocked && member.metadata.deletionTimestamp === undefined && !isSettled(member)) return true;
    return isUpdated(member, set, api) && (reason === 'ServerLimit' || isForMoney(reason));
  });
}

/**
 * Whether an object takes the server with this identifier for its own, which is gone and which it could not recognize
 * (documented limit).
 */
function isTakenByMistake(identifier: string | undefined, api: ApiServer, ownership: Ownership): boolean {
  return api.servers.list().some((object) => {
    const own = ownership.serverOf(object);
    const isMistaken = own !== undefined && !isAlive(own) && ownership.mayBeTakenForAnother(own.serial);
    const isMissing = currentReason(object.status?.conditions) === 'ServerMissing';
    return isMistaken && !isMissing && isSame(own.identifier, identifier);
  });
}

/** The object waits for money, or for a price. */
export const isForMoney = (reason: string | undefined): reason is 'PriceLimit' | 'PricePending' | 'PriceUnknown' =>
  reason === 'PriceLimit' || reason === 'PricePending' || reason === 'PriceUnknown';

/** Places taken by other objects in the namespace and by servers that outlived their objects. */
function placesTaken({ metadata: { namespace, uid } }: VirtualServer, api: ApiServer, ownership: Ownership): number {
  const isOther = ({ metadata }: VirtualServer): boolean => metadata.namespace === namespace && metadata.uid !== uid;
  const holders = api.servers.list().filter((other) => isOther(other) && recordOf(other)?.expiredAt === undefined);
  const holding = holders.filter(
    (other) => recordOf(other)?.attempt !== undefined || identifierOf(other) !== undefined,
  );
  const inNamespace = api.servers.list().filter((other) => other.metadata.namespace === namespace);
  const left = api.servers.changes.filter(({ object, deleted }) => deleted && isOther(object));
  const retained = left.filter(({ object }) => object.spec.deletionPolicy === 'Retain');
  const reporting = [...inNamespace, ...retained.map(({ object }) => object)];
  const orphans = reporting.flatMap((other) => recordOf(other)?.orphans ?? []);
  return holding.length + orphans.length + new Set(left.flatMap(({ object }) => [...ownership.ownedBy(object)])).size;
}

/**
 * Each existing server is held by exactly one object or was retained. If an object's server is gone, the object reports
 * it.
 */
export function leftOver(
  api: ApiServer,
  simulation: Simulation,
  orders: Orders,
  { truth, ownership }: People,
): string[] {
  const violations: string[] = [];
  const servers = simulation.aliveServers();
  // A server that shows no hardware address cannot be told from an earlier one by looking at it (documented limit).
  const looksLike = (gone: string): boolean =>
    servers.some(({ identifier, shows }) => isSame(identifier, gone) && shows === 'no-macs');
  const held = api.servers.list().flatMap((object) => {
    const identifier = identifierOf(object);
    if (identifier === undefined) return [];
    const life = ownership.serverOf(object);
    if (life === undefined) {
      violations.push(`${keyOf(object)} holds server ${identifier}, which it neither ordered nor adopted`);
      return [];
    }
    if (annotatedRecordOf(object)?.identifier !== identifier)
      violations.push(`only the status of ${keyOf(object)} names server ${identifier}`);
    const reason = currentReason(object.status?.conditions);
    const isMistaken = looksLike(identifier) || ownership.mayBeTakenForAnother(life.serial);
    if (!isAlive(life) && reason !== 'ServerMissing' && !isMistaken)
      violations.push(`${keyOf(object)} has reason ${reason ?? 'none'}, but its server ${identifier} is gone`);
    const isExplained = life.state === 'removed' || life.state === 'failed' || ownership.adoptedTooLate(object, life);
    const mayBeGone = isExplained || extendedTooLate(object, life, truth);
    return [{ key: life.serial, by: keyOf(object), mayBeGone }];
  });
  const retained = serversLeft(api, ownership);
  // An object that is gone, has expired or reports its server as missing looks for no server of a failed order.
  const looking = new Set(
    api.servers
      .list()
      .filter(looksForFailed)
      .map(({ metadata }) => metadata.uid),
  );
  const isTaken = ({ identifier }: { identifier: string }): boolean => isTakenByMistake(identifier, api, ownership);
  const mistaken = new Set(servers.filter(isTaken).map(({ serial }) => serial));
  const nameOf = (serial: number): string => `(serial ${serial}, ordered for ${orders.uidOf(serial) ?? 'no object'})`;
  const alive = new Map(servers.map(({ serial, identifier }) => [serial, `server ${identifier} ${nameOf(serial)}`]));
  const mayBeLeft = (serial: number): boolean => {
    const uid = orders.uidOf(serial);
    const isStranger = uid === undefined && !ownership.isAdopted(serial);
    const isGivenUp =
      truth.abandonedServers.has(serial) || truth.abandoned.has(uid ?? '') || ownership.misled.has(uid ?? '');
    const isLate = truth.late.has(serial) && !looking.has(uid ?? '');
    return retained.has(serial) || isGivenUp || isStranger || isLate || mistaken.has(serial);
  };
  return [...violations, ...unaccounted({ alive, held, mayBeLeft })];
}

/** With the key of another account name, the operator cannot tell whose the server of a failed order is. */
function looksForFailed(object: VirtualServer): boolean {
  const { expiredAt, missingAt, account, failed = [] } = recordOf(object) ?? {};
  // One that holds nothing expires without a note in the record.
  const isExpired = expiredAt !== undefined || currentReason(object.status?.conditions) === 'Expired';
  return !isExpired && missingAt === undefined && failed.every((order) => order.account === account);
}

/** The expiry, the guards or a hand-over changed after the provider had cancelled the server, or while the DELETE was in flight. */
function extendedTooLate(
  { metadata }: VirtualServer,
  { state, endedAt = Infinity, askedAt = endedAt }: ServerLife,
  { extendedAt, guardedAt, handedAt }: People['truth'],
): boolean {
  const changedAt = Math.max(...[extendedAt, guardedAt, handedAt].map((times) => times.get(metadata.uid) ?? -Infinity));
  return state === 'cancelled' && askedAt < changedAt + UNDER_WAY_MS;
}

/** Serials of servers whose objects were deleted with `Retain`. */
function serversLeft(api: ApiServer, ownership: Ownership): Set<number> {
  const kept = api.servers.changes.filter(({ object, deleted }) => deleted && object.spec.deletionPolicy === 'Retain');
  return new Set(kept.flatMap(({ object }) => [...ownership.ownedBy(object)]));
}

/** Without faults, the active process's caches must match the API server. */
export function wronglyCached({ caches }: Pick<SimProcess, 'caches'>, api: ApiServer): string[] {
  if (caches === undefined) return [];
  return (['servers', 'catalogs', 'sets'] as const).flatMap((kind) => {
    const version = (object: KubeObject): string => `${keyOf(object)} ${object.metadata.resourceVersion}`;
    const [cached, there] = [caches[kind].map(version), api[kind].list().map(version)];
    return [
      ...cached
        .filter((one) => !there.includes(one))
        .map((one) => `${one} is in the ${kind} cache but not in the API server`),
      ...there.filter((one) => !cached.includes(one)).map((one) => `${one} is missing from the ${kind} cache`),
    ];
  });
}

/** Matches keys, tokens, SSH keys and VNC passwords of the simulation, the passwords also in base64. */
const SECRET = /mark-of-the-user-data|secret-\d|simulated-token-\d|ssh-ed25519|vnc-password|dm5jLXBhc3N3b3Jk/;

export interface LogLine extends Record<string, unknown> {
  err?: { name?: string; message?: string };
  msg?: string;
  level?: string;
}

/** Expected errors: those of the API server and of a full disk. */
const FAULTS = new Set<string | undefined>(['KubeError', 'JournalError']);

/**
 * Reports errors that only a bug can cause, and secrets in the log. A restore of etcd removes objects without regard to
 * finalizers.
 */
export function wronglySaid(line: LogLine, isRestored: boolean): string[] {
  const { err, msg = '' } = line;
  return [
    ...(SECRET.test(JSON.stringify(line)) ? ['the log contains a secret'] : []),
    ...(msg === 'reconcile failed' && !FAULTS.has(err?.name) ? [`a reconcile threw ${err?.message ?? ''}`] : []),
    ...(msg.startsWith('finalizer was removed by force') && !isRestored
      ? ['a finalizer was reported as removed by force']
      : []),
  ];
}

/** Reports a VNC password or user data in an object that everyone can read. */
export function tellsPasswords({ servers: { changes }, events }: ApiServer): string[] {
  // Consecutive versions of an object share what did not change.
  const parts = new Set(changes.flatMap(({ object: { status, metadata } }) => [status, metadata.annotations]));
  const text = JSON.stringify([events, ...parts]);
  return ['vnc-password', USER_DATA_MARK]
    .filter((secret) => text.includes(secret))
    .map((secret) => `a status, a record or an Event contains ${secret}`);
}
