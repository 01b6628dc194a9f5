/** What the operator would do after an apply, one object at a time, as its own decisions say. Pure. */
import type { ServerCatalogStatus } from '../../api/server-catalog.ts';
import type { Reason } from '../../api/conditions.ts';
import type { Condition, ObjectMeta } from '../../api/meta.ts';
import {
  changesInPlace,
  ORDERED_FIELDS,
  orderDifference,
  returnsTo,
  type OrderedField,
} from '../../api/ordered-fields.ts';
import { userDataSourceOf, type UserDataSource } from '../../api/user-data.ts';
import type { VirtualServer, VirtualServerSpec, VirtualServerStatus } from '../../api/virtual-server.ts';
import { PAUSED_ANNOTATION } from '../../api/names.ts';
import { isPaused } from '../../api/server-state.ts';
import { isDeepEqual, isObject } from '../../base/deep-equal.ts';
import { without } from '../../base/without.ts';
import { isSameIdentifier } from '../../base/identifier.ts';
import { quoted } from '../../base/text.ts';
import { keyOf } from '../../kube/resource.ts';
import { changesNothing } from '../../virtual-server/decision/change.ts';
import { differencesOf } from '../../virtual-server/decision/change-fields.ts';
import { decide } from '../../virtual-server/decision/decide.ts';
import { delayEndOf } from '../../virtual-server/decision/delay.ts';
import { takerOf } from '../../virtual-server/decision/inputs.ts';
import { NEW_MEMO } from '../../virtual-server/decision/memo.ts';
import { namesOwner } from '../../virtual-server/decision/named.ts';
import { modelOf, placeOf, priceText, sumOf, type PricedModel } from '../../virtual-server/decision/price.ts';
import { isProvisioned } from '../../virtual-server/decision/server-status.ts';
import { holdsSomething, knownRecord } from '../../virtual-server/decision/known-record.ts';
import { keysProblem } from '../../api/public-key.ts';
import { specProblem } from '../../virtual-server/decision/spec.ts';
import { givenBy } from '../../virtual-server/decision/taking.ts';
import type { Operation } from '../../virtual-server/decision/types.ts';
import { PROTECTED } from '../../virtual-server/decision/sentences.ts';
import { cancelIsForbidden, isProtected, viewOf } from '../../virtual-server/decision/view.ts';
import { HandOvers } from '../../virtual-server/shared/hand-overs.ts';
import { Holders, holdingOf } from '../../virtual-server/shared/holders.ts';
import { heldRecord } from '../../virtual-server/shared/objects.ts';
import { timestamp } from '../../base/duration.ts';
import { endTimeOf, unless } from '../state/ends.ts';
import { expiryOf } from '../../virtual-server/decision/expiry.ts';
import { expectedPrice, type Expected } from '../state/expected-price.ts';
import { upToDate } from '../state/let-go.ts';
import { pendingChange, serverReadiness, verdict } from '../state/readiness.ts';
import { diskText, furtherTexts } from '../state/requested.ts';
import { powerChangeOf, powerOfNew } from './plan-power.ts';

/** `none`: nothing to do. `refuse`: the API server or the operator would not do it. */
export const VERBS = ['order', 'adopt', 'replace', 'cancel', 'release', 'change', 'delete', 'refuse', 'none'] as const;
export type Verb = (typeof VERBS)[number];

export interface PlannedChange {
  verb: Verb;
  kind: string;
  namespace: string;
  name: string;
  detail: string;
  /** Servers that would be ordered and cancelled; `price`: of one, if it is known. */
  ordered: Costs[];
  cancelled: Costs[];
  /** Servers that exist already, and that an object of the namespace comes to hold. */
  adopted?: Costs[];
  /** Servers that are changed in place so that their prices may change. */
  resized?: Resize[];
}

interface Resize {
  before: Costs;
  after: Costs;
}

export interface Costs extends Expected {
  /** Of the VirtualServer. */
  name: string;
}

/** A sum in the provider's unit, and how many servers of unknown price it leaves out. */
export interface Total {
  price: number;
  unknown: number;
  /** At least one of the prices is an estimate. */
  estimated?: true;
}

type SshKeyFrom = NonNullable<VirtualServerSpec['sshKeysFrom']>[number];

/** What surrounds an object. */
export interface Scene {
  /** Every VirtualServer that the user may list. */
  servers: readonly VirtualServer[];
  prices: ReadonlyMap<string, PricedModel>;
  /** The lists of the catalog for this Secret; undefined: unknown. */
  lists: (namespace: string, secret: string) => ServerCatalogStatus | undefined;
  /** Names a Secret that an order would need and that does not exist; undefined: they exist, or are not known. */
  missing: (namespace: string, secrets: readonly string[]) => string | undefined;
  /** What is wrong with a text of a Secret that should hold SSH public keys; undefined: nothing, or it is not known. */
  wrongKeys: (namespace: string, from: SshKeyFrom) => string | undefined;
  /** Why the operator would send no user data from there, with the reason; undefined: it would, or it is not known. */
  wrongUserData: (namespace: string, source: UserDataSource) => string | undefined;
  /** ms since the epoch. */
  now: number;
}

type Outcome = Pick<PlannedChange, 'verb' | 'detail'> &
  Partial<Pick<PlannedChange, 'ordered' | 'cancelled' | 'adopted' | 'resized'>>;

/** All in ms; only decisions that wait for something read them. */
const TIMING = { pollMs: 0, pollShareMs: 0, resyncMs: 0, takeoverMs: 0, absenceMs: 0 };

/** `before`: the object in the cluster; `after`: what an apply makes of it. */
export function outcomeOf(before: VirtualServer | undefined, after: VirtualServer, scene: Scene): Outcome {
  if (before !== undefined && isSame(before, after)) return { verb: 'none', detail: waitsFor(before) };
  const fields = before === undefined ? '' : changedFields(before, after);
  if (isPaused(after))
    return { verb: 'change', detail: joined(fields, 'the object is paused: the operator makes no calls') };
  if (after.metadata.deletionTimestamp !== undefined) return outcomeOfDeleted(before ?? after, after, scene, fields);
  const operation = operationOn(after, scene);
  const missing = secretProblem(after, before, scene);
  if (missing !== undefined && operation.type !== 'park') return { verb: 'refuse', detail: joined(fields, missing) };
  switch (operation.type) {
    case 'order':
      return orderOf(after, scene, fields);
    case 'adopt':
      return withPower(adoptionBy(after, operation.identifier, scene, fields), after);
    case 'takeOver':
      return withPower(takeOverBy(after, [operation.giver, ...operation.others], scene, fields), after);
    case 'park': {
      const { reason, message } = operation.verdict;
      // It only waits, as its annotation or that of another object asks.
      const isMeant = reason === 'HandOverPending';
      const isNews = !isMeant && (before === undefined || operationOn(before, scene).type !== 'park');
      return { verb: isNews ? 'refuse' : 'change', detail: joined(fields, `${reason}: ${message}`) };
    }
    default: {
      // The server ends by its time only: an earlier version has not recorded since when it is ready.
      const isOver = (endTimeOf(after, scene.now) ?? Infinity) <= scene.now && cancelIsForbidden(after) === undefined;
      const what = `cancels ${serverOf(after)}, because its time has passed: ${endText(after, scene.now)}`;
      if (isOver && wasLetLive(before, scene))
        return { verb: 'cancel', detail: joined(fields, what), cancelled: [costsOf(after, scene)] };
      const { text, resized, impossible, isUnavailable, unchecked = '' } = changeInPlaceOf(before, after, scene);
      // The operator switches the server and ends it all the same.
      const others = [powerChangeOf(before, after, scene, serverOf(after)), unchecked, endText(after, scene.now)];
      const detailWith = (change: string): string =>
        joined(fields, [change, ...others].filter((part) => part !== '').join('; '));
      if (impossible !== undefined) {
        const instead = isUnavailable === true ? `; ${insteadOf(after, scene)}` : '';
        return { verb: 'refuse', detail: detailWith(`${impossible}${instead}`) };
      }
      const change = text === '' ? '' : `changes ${serverOf(after)} ${text}`;
      return { verb: 'change', detail: detailWith(change), ...(resized && { resized: [resized] }) };
    }
  }
}

function withPower(outcome: Outcome, { spec }: VirtualServer): Outcome {
  const power = outcome.verb === 'adopt' ? powerOfNew(spec, false) : '';
  return power === '' ? outcome : { ...outcome, detail: `${outcome.detail}; ${power}` };
}

/** `text`: the fields that change without a new server, whether that stops the server, and what it costs then; '' if none. */
interface InPlace {
  text: string;
  resized?: Resize;
  /** Why the server cannot change so, as far as is known. */
  impossible?: string;
  /** It cannot change at all. */
  isUnavailable?: true;
  /** What the plan does not know of the new values. */
  unchecked?: string;
}

/** What else to do where a server cannot change, or why a new one cannot have these values either. */
export function insteadOf(
  object: { metadata: Pick<ObjectMeta, 'namespace' | 'name'>; spec: VirtualServerSpec },
  scene: Pick<Scene, 'lists' | 'missing' | 'wrongKeys' | 'wrongUserData' | 'now'>,
): string {
  const problem = orderProblem(object, scene);
  return problem?.isCertain === true
    ? `an order of a new server would be refused too: ${problem.text}`
    : `to order a new server instead: kubectl vps replace ${quoted(object.metadata.name)} -f FILE` +
        (object.spec.identifier === undefined ? '' : ', with another spec.identifier or none');
}

export function changeInPlaceOf(before: VirtualServer | undefined, after: VirtualServer, scene: Scene): InPlace {
  if (before === undefined || !isProvisioned(before.status)) return { text: '' };
  const { changePolicy: policy } = after.spec;
  const edited = orderDifference(before.spec, after.spec);
  const isFreed = isHeldBack(before, after) && !isRefused(after, before);
  const changed = ORDERED_FIELDS.filter((field) => {
    // The server also becomes what spec has asked for already, in vain so far.
    const isDue = isFreed && isLeft(before, after, field);
    if (differs(before, after, field) === false || !(edited.includes(field) || isDue)) return false;
    const values = { before: before.spec[field], after: after.spec[field], policy };
    if (changesInPlace(field, values)) return true;
    // The disk may not have got the size that the earlier spec asks for.
    return (isDue || field === 'diskSize') && changesInPlace(field, { ...values, before: shownIn(before)[field] });
  });
  if (changed.length === 0) return { text: '' };
  const problem = changeProblem(before, after, changed, scene);
  if (problem?.isCertain === true) return { text: '', impossible: problem.text };
  if (cannotChange(after, scene)) {
    const impossible = 'ChangeUnavailable: the provider has no call to change a server';
    return { text: '', impossible, isUnavailable: true };
  }
  const unchecked = problem && { unchecked: problem.text };
  const how = POWERED[after.spec.power ?? 'On'] ?? stopText(changed, policy);
  const waits = isPending(before, 'ChangeLimited') ? ', and waits while the price limit leaves no room' : '';
  const text = `in place (${changed.join(', ')}): ${how}${waits}`;
  if (changed.every((field) => field === 'serverName')) return { text, ...unchecked };
  const { name } = after.metadata;
  const resized = { before: costsOf(before, scene), after: { name, ...priceOfOrder(after, scene) } };
  const price = ({ price: amount, estimated }: Expected): string =>
    amount === undefined ? 'unknown' : `${estimated === true ? 'about ' : ''}${priceText(amount)}`;
  return { text: `${text}, price ${price(resized.before)} → ${price(resized.after)}`, resized, ...unchecked };
}

/** Whether the operator has not changed the server as spec asks, for a reason that may end with this edit. */
const isHeldBack = (before: VirtualServer, after: VirtualServer): boolean =>
  before.spec.changePolicy !== after.spec.changePolicy || isPaused(before) || isRefused(before, before);

/** Whether the operator does not change the server as the spec of `object` asks. `known`: what has its record and its server. */
function isRefused(object: VirtualServer, known: VirtualServer): boolean {
  const record = heldRecord(known);
  return record?.identifier !== undefined && changesNothing(object, record, serverIn(known.status ?? {}));
}

/** A change neither stops nor starts a server that is to be off. */
const POWERED: Readonly<Partial<Record<string, string>>> = {
  Off: 'the server stays off',
  Dormant: 'once the server has woken up',
};

/** Whether the change stops a server that runs. */
function stopText(changed: readonly OrderedField[], policy: VirtualServerSpec['changePolicy']): string {
  if (changed.includes('advanced')) return 'shuts the server down and starts it again if the provider needs that';
  const mayWait = changed.includes('product') || changed.includes('diskSize');
  return `the server keeps running${mayWait && policy === 'AllowStop' ? ', unless the resize waits for a restart' : ''}`;
}

/** Whether the server has another value, which may also differ from the earlier spec. Undefined: it does not show its value. */
function differs({ status = {} }: VirtualServer, after: VirtualServer, field: OrderedField): boolean | undefined {
  if (shownIn({ status })[field] === undefined) return undefined;
  return differencesOf(after, serverIn(status)).some((difference) => difference.field.split('.')[0] === field);
}

/** Whether the server still lacks what an earlier spec asked for. A dormant server may be shown as another product. */
const isLeft = (before: VirtualServer, after: VirtualServer, field: OrderedField): boolean =>
  differs(before, after, field) === true && !returnsTo(field, before, { before: undefined, after: after.spec[field] });

/** What the status shows of the ordered fields that a change may send. */
const shownIn = ({ status }: Pick<VirtualServer, 'status'>): Partial<Record<OrderedField, unknown>> => ({
  product: status?.product,
  diskSize: status?.specs?.diskSize,
  // A server that was read and has no name shows none.
  serverName: status?.name ?? (isProvisioned(status) ? '' : undefined),
  advanced: status?.advanced,
});

/** As the status shows it. */
function serverIn(status: VirtualServerStatus): Parameters<typeof differencesOf>[1] {
  const { identifier = '', product, name, specs: { diskSize } = {}, advanced = {}, ipv4 = [], ipv6 = [] } = status;
  const { extraCores, extraMemory, ...devices } = advanced;
  const specs = { diskSize, extraCores, extraMemory };
  return { identifier, product, name, specs, ...devices, ipv4, ipv6, macs: [] };
}

/** The fields of which the catalog lists what the provider offers. */
const LISTED = ['product', 'diskSize'] as const;

/** What a change would be refused for, by what it sends: the provider may no longer offer an unchanged value. */
function changeProblem(
  before: VirtualServer,
  after: VirtualServer,
  changed: readonly OrderedField[],
  scene: Scene,
): Problem | undefined {
  const { status = {} } = before;
  const impossible = differencesOf(after, serverIn(status)).find(({ problem }) => problem !== undefined)?.problem;
  if (impossible !== undefined) return { text: `ChangeRefused: ${impossible}`, isCertain: true };
  const sent = LISTED.filter((field) => changed.includes(field) || isLeft(before, after, field));
  if (sent.length === 0) return undefined;
  // An adopted server may have another disk type than a new one would get.
  const { diskType = after.spec.diskType } = status.specs ?? {};
  const spec = { ...after.spec, ...(diskType !== undefined && { diskType }) };
  const { diskSize: hasDisk = before.spec.diskSize } = status.specs ?? {};
  const problem = notOffered({ metadata: after.metadata, spec }, scene, sent, hasDisk);
  return problem?.isCertain === true ? { ...problem, text: `ChangeRefused: ${problem.text}` } : problem;
}

const isPending = ({ status }: VirtualServer, reason: Reason): boolean =>
  status?.conditions?.some((condition) => condition.type === 'ChangePending' && condition.reason === reason) === true;

/** Whether the operator has found, at any server with this API key, that the provider changes none. */
const cannotChange = (
  { metadata: { namespace }, spec: { apiKeySecretRef } }: VirtualServer,
  { servers }: Scene,
): boolean =>
  servers.some(
    (other) =>
      other.metadata.namespace === namespace &&
      other.spec.apiKeySecretRef.name === apiKeySecretRef.name &&
      isPending(other, 'ChangeUnavailable'),
  );

/** Whether the server does not end anyway, even if nothing is applied. */
const wasLetLive = (before: VirtualServer | undefined, { now }: Scene): boolean =>
  before === undefined ||
  (endTimeOf(before, now) ?? Infinity) > now ||
  isPaused(before) ||
  cancelIsForbidden(before) !== undefined;

/** What an order, an adoption, or a change to another Secret lacks. */
function secretProblem(
  { metadata: { namespace }, spec }: { metadata: Pick<ObjectMeta, 'namespace'>; spec: VirtualServerSpec },
  before: VirtualServer | undefined,
  { missing, wrongKeys, wrongUserData }: Pick<Scene, 'missing' | 'wrongKeys' | 'wrongUserData'>,
): string | undefined {
  const held = before && heldRecord(before);
  const holds = held !== undefined && holdsSomething(held);
  const isSame = before?.spec.apiKeySecretRef.name === spec.apiKeySecretRef.name;
  if (holds && isSame) return undefined;
  const key = missing(namespace, [spec.apiKeySecretRef.name]);
  if (key !== undefined) return `SecretNotFound: Secret ${key}, which should hold the API key, does not exist`;
  if (holds) return undefined;
  const { sshKeysFrom = [] } = spec;
  const keys = missing(
    namespace,
    sshKeysFrom.map(({ name }) => name),
  );
  if (keys !== undefined) return `SSHKeyNotFound: Secret ${keys}, named in spec.sshKeysFrom, does not exist`;
  for (const from of sshKeysFrom) {
    const problem = wrongKeys(namespace, from);
    if (problem !== undefined)
      return `SSHKeyNotFound: Secret ${namespace}/${from.name}, named in spec.sshKeysFrom, ${problem}`;
  }
  return spec.userDataFrom && wrongUserData(namespace, userDataSourceOf(spec.userDataFrom));
}

/** The first giver that gives its server, as the operator asks them in turn. */
function takeOverBy(after: VirtualServer, names: readonly string[], { servers, now }: Scene, fields: string): Outcome {
  const { namespace } = after.metadata;
  const refusals: string[] = [];
  for (const name of names) {
    const giver = servers.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    const account = (giver && knownRecord(giver)?.account) ?? '';
    const given = giver && givenBy(giver, { taker: after, account, now }, [], NEW_MEMO);
    if (given?.ok === true) return { verb: 'adopt', detail: joined(fields, `takes over the server of ${name}`) };
    if (given?.error.isFinal !== true)
      return { verb: 'change', detail: joined(fields, `HandOverPending: it waits for the server of ${name}`) };
    refusals.push(`cannot take over the server of ${name}, because ${given.error.why}`);
  }
  return { verb: 'refuse', detail: joined(fields, `HandOverRefused: ${refusals.join('; ')}`) };
}

/** The apply cannot take a deletion back, but it can decide what becomes of the server: by a delay, a protection or a policy. */
function outcomeOfDeleted(before: VirtualServer, after: VirtualServer, scene: Scene, fields: string): Outcome {
  const isDeleted = 'the object is being deleted, whatever you apply';
  const { type } = operationOn(after, scene);
  const isNews = operationOn(before, scene).type !== type;
  if (isNews && type === 'cancel')
    return { verb: 'cancel', detail: joined(fields, `cancels ${serverOf(after)}`), cancelled: [costsOf(after, scene)] };
  if (isNews && type === 'release' && after.spec.deletionPolicy === 'Retain')
    return { verb: 'release', detail: joined(fields, `${serverOf(after)} keeps running without the object (Retain)`) };
  const end = takerOf(after) === undefined ? delayEndOf(after, knownRecord(after)) : undefined;
  const isDelayed = type === 'look' && end !== undefined;
  return {
    verb: 'change',
    detail: joined(
      fields,
      isDelayed ? `${isDeleted}; ${serverOf(after)} is cancelled at ${timestamp(end)}` : isDeleted,
    ),
  };
}

/** What the operator would do if the object were deleted. */
export function endingOf(object: VirtualServer, scene: Scene): Outcome {
  if (isPaused(object)) {
    const ending = endingOf(resumed(object), scene);
    return ending.verb === 'cancel' ? { ...ending, detail: `${ending.detail}, once the object is resumed` } : ending;
  }
  const metadata = { ...object.metadata, deletionTimestamp: timestamp(scene.now) };
  const operation = operationOn({ ...object, metadata }, scene);
  const taker = takerOf(object);
  const isKept = taker !== undefined && ['cancel', 'look', 'follow'].includes(operation.type);
  if (isKept) return { verb: 'release', detail: `${serverOf(object)} keeps running, for hand-over to ${taker}` };
  // The operator looks for the server all the same.
  if (isProtected(object.spec) && operation.type !== 'release')
    return { verb: 'refuse', detail: `DeletionProtected: ${PROTECTED}` };
  switch (operation.type) {
    case 'cancel':
    case 'look':
      return {
        verb: 'cancel',
        detail: `cancels ${serverOf(object)}${delayOf(object)}`,
        cancelled: [costsOf(object, scene)],
      };
    case 'follow':
      return {
        verb: 'cancel',
        detail: `cancels the server that is being created, once it exists${delayOf(object)}`,
        cancelled: [costsOf(object, scene)],
      };
    case 'release':
      if (operation.why === 'retained')
        return { verb: 'release', detail: `${serverOf(object)} keeps running without the object (Retain)` };
      return { verb: 'delete', detail: 'the object holds no server' };
    case 'park':
      return { verb: 'refuse', detail: `${operation.verdict.reason}: ${operation.verdict.message}` };
    default:
      return { verb: 'delete', detail: 'the operator waits before it acts' };
  }
}

function resumed(object: VirtualServer): VirtualServer {
  const { annotations = {} } = object.metadata;
  return { ...object, metadata: { ...object.metadata, annotations: without(annotations, PAUSED_ANNOTATION) } };
}

/** The deletion of several objects. `stays`: the objects whose servers are not cancelled. */
export function endingsOf(objects: readonly VirtualServer[], scene: Scene): { cancelled: Costs[]; stays: string[] } {
  const endings = objects.map((object) => ({ object, ...endingOf(object, scene) }));
  return {
    cancelled: endings.flatMap((ending) => ending.cancelled ?? []),
    stays: endings
      .filter(({ verb }) => verb === 'refuse' || verb === 'release')
      .map(({ object }) => object.metadata.name),
  };
}

function adoptionBy(after: VirtualServer, identifier: string, scene: Scene, fields: string): Outcome {
  // Another key may be of another account, where the same identifier names another server.
  const holder = holdersOf(identifier, after, scene).find(
    ({ metadata, spec }) =>
      metadata.namespace === after.metadata.namespace && spec.apiKeySecretRef.name === after.spec.apiKeySecretRef.name,
  );
  if (holder !== undefined)
    return { verb: 'refuse', detail: joined(fields, `IdentifierInUse: ${keyOf(holder)} holds server ${identifier}`) };
  const record = heldRecord(after);
  // The server of an open order counts in the total already, and the annotation says which one it is.
  const isCounted = record !== undefined && holdsSomething(record);
  const adopted = isCounted ? [] : [{ name: after.metadata.name, ...priceOfAdopted(after, identifier, scene) }];
  return { verb: 'adopt', detail: joined(fields, `adopts server ${identifier}`), adopted };
}

/** The other objects that hold a server with this identifier. A server that counts as gone leaves it free. */
const holdersOf = (identifier: string, { metadata: { uid } }: VirtualServer, { servers }: Scene): VirtualServer[] =>
  servers.filter((other) => {
    const record = other.metadata.uid === uid ? undefined : heldRecord(other);
    return isSameIdentifier(record?.identifier, identifier) && record?.missingAt === undefined;
  });

/** Whose server has the identifier that the order names. A chosen identifier is a host name, which only one account can have. */
function takenIdentifier(after: VirtualServer, scene: Scene): string | undefined {
  const { identifier, apiKeySecretRef } = after.spec;
  if (identifier === undefined) return undefined;
  const [holder] = holdersOf(identifier, after, scene);
  if (holder !== undefined) return `${keyOf(holder)} holds server ${identifier}`;
  const { servers = [] } = scene.lists(after.metadata.namespace, apiKeySecretRef.name) ?? {};
  // The operator takes a server with the mark of the object for its own.
  const isListed = servers.some(
    (server) => isSameIdentifier(server.identifier, identifier) && namesOwner(after, server) !== 'own',
  );
  return isListed ? `the account has a server ${identifier} already` : undefined;
}

/** The list of servers shows the product. Of the rest, only the manifest tells. */
function priceOfAdopted({ metadata, spec }: VirtualServer, identifier: string, { prices, lists }: Scene): Expected {
  const shown = lists(metadata.namespace, spec.apiKeySecretRef.name);
  const server = shown?.servers?.find((listed) => isSameIdentifier(listed.identifier, identifier));
  const isKept = (spec.changePolicy ?? 'Never') === 'Never';
  const product = (isKept ? server?.product : undefined) ?? spec.product;
  return expectedPrice({ ...modelOf(spec), product }, prices, shown);
}

function orderOf(after: VirtualServer, scene: Scene, fields: string): Outcome {
  const { product } = after.spec;
  const problem = orderProblem(after, scene);
  if (problem?.isCertain === true) return { verb: 'refuse', detail: joined(fields, problem.text) };
  const taken = takenIdentifier(after, scene);
  if (taken !== undefined) return { verb: 'refuse', detail: joined(fields, `IdentifierTaken: ${taken}`) };
  const what = [`orders ${product}`, `disk ${diskText(after.spec)}`, ...furtherTexts(after.spec)].join(', ');
  return {
    verb: 'order',
    detail: [
      joined(fields, what),
      powerOfNew(after.spec, true),
      limitText(after.metadata.namespace, scene),
      problem?.text,
      endText(after, scene.now),
    ]
      .filter(Boolean)
      .join('; '),
    ordered: [{ name: after.metadata.name, ...priceOfOrder(after, scene) }],
  };
}

/** The reasons of an object that waits at a limit and needs you. */
const LIMITS = ['ServerLimit', 'PriceLimit', 'PriceUnknown'];

/** The objects of the namespace that wait at a limit. The limits are settings of the operator, which few users may read. */
export function atLimit(namespace: string, servers: readonly VirtualServer[]): { name: string; waits: Condition }[] {
  return servers
    .filter(({ metadata }) => metadata.namespace === namespace)
    .flatMap(({ metadata: { name }, status }) => {
      const waits = status?.conditions?.find(({ type, reason }) => type === 'Stalled' && LIMITS.includes(reason));
      return waits === undefined ? [] : [{ name, waits }];
    });
}

/** '' unless new orders wait for room too. */
export function limitText(namespace: string, { servers }: Pick<Scene, 'servers'>): string {
  const [first] = atLimit(namespace, servers);
  return first === undefined ? '' : `waits until the limits have room (${first.waits.reason})`;
}

interface Problem {
  text: string;
  /** Nothing else than that is known. */
  isCertain: boolean;
}

/** What keeps an object from ordering; undefined: nothing does. */
export function orderProblem(
  object: { metadata: Pick<ObjectMeta, 'namespace'>; spec: VirtualServerSpec },
  scene: Pick<Scene, 'lists' | 'missing' | 'wrongKeys' | 'wrongUserData' | 'now'>,
): Problem | undefined {
  const missing = secretProblem(object, undefined, scene);
  if (missing !== undefined) return { text: missing, isCertain: true };
  if ((expiryOf(object, undefined) ?? Infinity) <= scene.now)
    return { text: 'Expired: spec.expiresAt is in the past', isCertain: true };
  const wrongKeys = keysProblem(object.spec);
  const problem = wrongKeys === undefined ? notOffered(object, scene) : { text: wrongKeys, isCertain: true };
  return problem?.isCertain === true ? { ...problem, text: `InvalidSpec: ${problem.text}` } : problem;
}

/**
 * What the catalog says against these fields, by default all of an order; undefined: nothing that the plugin can check. `hasDisk`: the
 * size of the disk that changes in place.
 */
function notOffered(
  { metadata: { namespace }, spec }: { metadata: Pick<ObjectMeta, 'namespace'>; spec: VirtualServerSpec },
  { lists }: Pick<Scene, 'lists'>,
  fields: readonly OrderedField[] = ORDERED_FIELDS,
  hasDisk?: number,
): Problem | undefined {
  const { products, images, diskSizes, zones, counts } = lists(namespace, spec.apiKeySecretRef.name) ?? {};
  if (products === undefined || images === undefined || diskSizes === undefined)
    return { text: 'not checked: no ServerCatalog shows what the provider offers', isCertain: false };
  const sizesByType = Object.fromEntries(diskSizes.map(({ type, sizes }) => [type, sizes]));
  const text = specProblem(spec, { products, images, diskSizes: sizesByType, zones, hasDisk }, fields);
  // Very long lists are cut.
  const isCut: Partial<Record<OrderedField, boolean>> = {
    product: (counts?.products ?? 0) > products.length,
    image: (counts?.images ?? 0) > images.length,
    zone: (counts?.zones ?? 0) > (zones?.length ?? 0),
    diskSize: (counts?.diskSizes ?? 0) > diskSizes.flatMap(({ sizes }) => sizes).length,
  };
  return text === undefined ? undefined : { text, isCertain: !fields.some((field) => isCut[field] === true) };
}

function operationOn(object: VirtualServer, { servers, now }: Pick<Scene, 'servers' | 'now'>): Operation {
  const holders = new Holders(() => undefined);
  const handOvers = new HandOvers();
  for (const other of servers) {
    holders.set(other.metadata.uid, holdingOf(other, heldRecord(other)));
    handOvers.set(other, heldRecord(other));
  }
  const surroundings = { others: holders.others(object.metadata.uid), handOver: handOvers.of(object) };
  const still = { now, monotonic: 0, memo: NEW_MEMO, notes: [], timing: TIMING, taskTimes: [], jitter: 0 };
  return decide(viewOf(object, { ...still, ...surroundings }));
}

/** What an order of this spec would cost. */
export const priceOfOrder = (
  { metadata, spec }: { metadata: Pick<ObjectMeta, 'namespace'>; spec: VirtualServerSpec },
  { prices, lists }: Pick<Scene, 'prices' | 'lists'>,
): Expected => expectedPrice(modelOf(spec), prices, lists(metadata.namespace, spec.apiKeySecretRef.name));

/** What the server of the object costs, or will. */
export function costsOf(object: VirtualServer, scene: Pick<Scene, 'prices' | 'lists'>): Costs {
  const { name } = object.metadata;
  const { price } = placeOf(object, knownRecord(object));
  return { name, ...(price === undefined ? priceOfOrder(object, scene) : { price }) };
}

/** What the servers of the namespace cost, as far as that is known. */
export function totalOf(namespace: string, scene: Pick<Scene, 'servers' | 'prices' | 'lists'>): Total {
  const holding = scene.servers.filter((object) => {
    const record = heldRecord(object);
    return object.metadata.namespace === namespace && record !== undefined && holdsSomething(record);
  });
  const costs = holding.map((object) => costsOf(object, scene));
  const known = costs.flatMap(({ price }) => (price === undefined ? [] : [price]));
  const isEstimated = costs.some(({ estimated }) => estimated);
  return { price: sumOf(known), unknown: costs.length - known.length, ...(isEstimated && { estimated: true }) };
}

function serverOf(object: VirtualServer): string {
  const identifier = knownRecord(object)?.identifier;
  return identifier === undefined ? 'its server' : `server ${identifier}`;
}

function delayOf({ spec: { deletionDelay } }: VirtualServer): string {
  return deletionDelay === undefined ? '' : `, ${deletionDelay} after the deletion`;
}

/** When the server will end. */
function endText(object: VirtualServer, now: number): string {
  const { ttl, expiresAt } = object.spec;
  const end = endTimeOf(object, now);
  const keeps = unless(cancelIsForbidden(object));
  if (end !== undefined) return `ends at ${timestamp(end)}${keeps}`;
  return ttl === undefined ? (expiresAt ?? '') : `ends ${ttl} after it is first ready${keeps}`;
}

/** What an unchanged object waits for; '' for one that is ready and as spec says. */
function waitsFor(given: VirtualServer): string {
  const object = upToDate(given);
  const isReady = serverReadiness(object).status === 'True';
  const { reason } = (isReady ? pendingChange(object) : verdict(object)) ?? {};
  return reason === undefined ? '' : stillWaits(reason);
}

/** What is said of an unchanged object that is not ready. */
export const stillWaits = (reason: string): string => `still waits: ${reason}`;

interface Described {
  metadata: { labels?: Record<string, string> | undefined; annotations?: Record<string, string> | undefined };
  spec: unknown;
}

const isSame = (before: Described, after: Described): boolean => changedFields(before, after) === '';

/** The fields that differ, such as `spec.product (VPSX4 → VPSX8)`; '' if none does. */
export function changedFields(before: Described, after: Described): string {
  const sections: [string, unknown, unknown][] = [
    ['spec', before.spec, after.spec],
    ['metadata.labels', before.metadata.labels ?? {}, after.metadata.labels ?? {}],
    ['metadata.annotations', ownOf(before), ownOf(after)],
  ];
  return sections.flatMap(([path, old, now]) => differences(path, old, now)).join(', ');
}

/** kubectl writes this one at each apply. */
const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const ownOf = ({ metadata: { annotations = {} } }: Described): object =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => name !== APPLIED));

/** Long or many values are left out. */
const SHOWN = 64;

function differences(path: string, old: unknown, now: unknown): string[] {
  if (isDeepEqual(old, now)) return [];
  if (isObject(old) && isObject(now)) {
    const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
    return keys.flatMap((key) => differences(`${path}.${key}`, old[key], now[key]));
  }
  // User data is for the server alone.
  if (path.endsWith('.userData')) return [path];
  const [from, to] = [old, now].map((value) => (value === undefined ? 'unset' : textOf(value)));
  const isShort = from !== undefined && to !== undefined && from.length <= SHOWN && to.length <= SHOWN;
  return [isShort ? `${path} (${from} → ${to})` : path];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const joined = (...texts: string[]): string => texts.filter((text) => text !== '').join(': ');
