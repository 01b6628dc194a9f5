/**
 * Follows the requests of all operators about VirtualServerSets and their members, and reports what breaks a promise of
 * docs/concepts/virtual-server-set.md. Each violation is one sentence.
 *
 * A visit of a set reads the set and then lists the servers of its namespace: its look. Every create, DELETE and adoption
 * has to follow from a look of the same visit.
 *
 * Promise 1 is judged at each create that the API server accepts, and at each order that the provider accepts: the slots of
 * the set are at most `replicas + maxSurge` of one of the versions of the set, from the one in the look until now. So a
 * higher limit counts at once, and a lower one from the next look. A slot is a member that
 * exists, each further server that was ordered for it, and each server of a member that is gone. At an order, only servers
 * and open orders count, and the look is the one for the newest member. Four things do not count: what a user deleted with
 * `Retain`, released, or gave up with a false statement, and what another object has taken over. A create that was decided
 * before a restore of etcd is not judged, because the backup may have members that were gone.
 *
 * Promise 3 is judged at each DELETE that the API server accepts: the members that are available after it, and those that
 * were available in the look and were lost since to anything but an operator, are at least `replicas - maxUnavailable` of
 * one of the versions of the set since the look. No more members are deleted than the look shows in excess, or than the
 * rollout allows.
 *
 * A template is written to members only as a live read of the same visit shows it: protection must not get lost because a watch is
 * behind.
 *
 * A new member has the last restart that the look shows, and keeps it.
 *
 * A change in place of what an order sends is judged by the look: the template and the member allow it, the rollout may continue,
 * at most `maxUnavailable` members (or one) are not done, and no server may be stopped that has to stay available. A member
 * that the template can reach in place is deleted only if there are more than `replicas`.
 *
 * A status that says that the set is complete, of another spec or of more or fewer members than before, follows from a look of the same
 * visit, and has the number of its members.
 */
import { currentReason } from '../../src/api/conditions.ts';
import {
  PAUSED_ANNOTATION,
  SERVER_PLURAL,
  SET_KIND,
  SET_LABEL,
  SET_PLURAL,
  SET_SINGULAR,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { logFields } from '../../src/base/logger.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { CallOptions } from '../../src/kube/http.ts';
import { leastOf } from '../fixtures/set-limits.ts';
import { limitsOf, mostOf, type Limits } from '../oracles/set-limits.ts';
import type { Follower } from './kube-http.ts';
import { keyOf, type PatchBody } from './object-store.ts';
import type { Place } from './routes.ts';
import {
  controllerOf,
  isAlive,
  hasTemplate,
  IN_PLACE,
  isAvailable,
  isAsTemplate,
  isForInPlace,
  isOnlyTrace,
  isSettled,
  isUnresolved,
  isUpdated,
  membersOf,
  originOf,
  restartOf,
  throughOf,
  mayBeChanging,
} from './set-members.ts';
import { SetSlots, type SetSlotsParts } from './set-slots.ts';

export interface SetWatchParts extends SetSlotsParts {
  /** Called when a process has asked for what a set is to act on, and has no answer yet. */
  onLook: (sender: Sender) => void;
}

/** What a visit has read, and what it did since. */
interface Look {
  set: VirtualServerSet;
  /** Index of this version in the changes of sets. */
  version: number;
  /** When the visit began to look (ms since the epoch). */
  since: number;
  restores: number;
  objects?: readonly VirtualServer[];
  /** Uids of the members that it deleted. */
  deleted: Set<string>;
  /** Uids of the members that it changed in place. */
  changed: Set<string>;
}

/** A look that is complete. */
type Seen = Look & Required<Pick<Look, 'objects'>>;

/** The process that sends a request. */
export interface Sender {
  /** Undefined without leader election. */
  identity: string | undefined;
  /** Offset of its clock (ms). */
  skewMs: number;
  /** Like SIGSTOP, followed by SIGCONT after `ms`. */
  suspend: (ms: number) => void;
}

/** How long a look may justify an action. */
const FRESH_MS = 30_000;

/** Longer than every lease lasts (ms). */
const RESTORED_MS = 300_000;

/** The most writes to the members of one namespace that the API server may have to refuse in this time. */
const MAX_REFUSALS = 150;
const REFUSALS_MS = 600_000;

/** What a set may write to its members. */
const WRITTEN_THROUGH = [
  'apiKeySecretRef',
  'changePolicy',
  'connectionSecretName',
  'deletionDelay',
  'deletionPolicy',
  'deletionProtection',
  'power',
  'sshCheck',
  ...IN_PLACE,
];

/** Those whose older value can cost a server or stop it. */
const GUARDING = ['deletionDelay', 'deletionPolicy', 'deletionProtection', 'power'] as const;

export class SetWatch {
  readonly violations: string[] = [];
  /** What operators have done to members so far. */
  readonly done = { created: 0, deleted: 0, adopted: 0, released: 0, updated: 0, changed: 0 };
  readonly #parts: SetWatchParts;
  readonly #slots: SetSlots;
  /** By visit. */
  readonly #looks = new Map<unknown, Look>();
  /** By uid of a member: the look that made it one; the newest is the last. */
  readonly #joined = new Map<string, Look>();
  /** Uids of members that an operator has deleted. */
  readonly #deleted = new Set<string>();
  /** By namespace: when the API server refused a write to a member (ms since the epoch). */
  readonly #refused = new Map<string, number[]>();

  constructor(parts: SetWatchParts) {
    this.#parts = parts;
    this.#slots = new SetSlots(parts);
    parts.orders.listeners.add((serial, uid) => this.#judgeOrder(serial, uid));
  }

  /** Follows the requests of one process. */
  follower(sender: Sender): (request: CallOptions, place: Place) => Follower | undefined {
    return (request, place) => this.#follow(sender, request, place);
  }

  #follow(sender: Sender, request: CallOptions, { store, namespace, name, part }: Place): Follower | undefined {
    const { controller, reconcileID } = logFields();
    const { method = 'GET' } = request;
    if (namespace === undefined) return undefined;
    if (part === 'status' && name !== undefined && store.plural === SET_PLURAL)
      return this.#followStatus({ namespace, name }, this.#looks.get(reconcileID));
    if (part !== undefined) return undefined;
    if (method === 'GET') {
      const isLook = store.plural === SET_PLURAL || name === undefined;
      if (controller !== SET_SINGULAR || !isLook) return undefined;
      const since = this.#parts.now();
      const answered = (answer: unknown): void => {
        if (store.plural === SET_PLURAL) this.#read(reconcileID, answer as VirtualServerSet | undefined, since);
        else this.#listed(reconcileID, answer as { items: VirtualServer[] }, request);
      };
      const processed = (work: () => unknown): unknown => {
        if (store.plural === SERVER_PLURAL) this.#parts.onLook(sender);
        return work();
      };
      return { processed, answered };
    }
    if (store.plural !== SERVER_PLURAL || (method === 'PATCH' && controller !== SET_SINGULAR)) return undefined;
    return this.#followWrite(sender, request, { namespace, name }, this.#looks.get(reconcileID));
  }

  #read(visit: unknown, set: VirtualServerSet | undefined, since: number): void {
    const { api } = this.#parts;
    if (set === undefined) return;
    const version = api.sets.changes.findLastIndex(({ object }) => object === set);
    this.#looks.set(visit, { set, version, since, restores: api.restores, deleted: new Set(), changed: new Set() });
  }

  #listed(visit: unknown, { items }: { items: VirtualServer[] }, { query }: CallOptions): void {
    const look = this.#looks.get(visit);
    if (look === undefined) return;
    look.objects = query?.['continue'] === undefined ? items : [...(look.objects ?? []), ...items];
  }

  #followWrite(
    sender: Sender,
    { method, body }: CallOptions,
    { namespace, name }: { namespace: string; name: string | undefined },
    look: Look | undefined,
  ): Follower {
    const { servers } = this.#parts.api;
    const { metadata: written, spec } = (body ?? {}) as PatchBody & { metadata?: { name?: string } };
    const owners = written?.ownerReferences ?? undefined;
    const isAdoption = method === 'PATCH' && owners?.some(({ kind }) => kind === SET_KIND) === true;
    const what = `${method ?? ''} of ${namespace}/${name ?? written?.name ?? ''}`;
    const isChange = method === 'PATCH' && IN_PLACE.some((field) => Object.hasOwn(spec ?? {}, field));
    const seen = isAdoption || isChange || method !== 'PATCH' ? this.#judgeSend(what, sender, look) : undefined;
    const judge = (before: VirtualServer | undefined, after: VirtualServer | undefined): void => {
      if (method === 'POST' && after !== undefined) this.#judgeCreate(what, after, seen);
      else if (before === undefined) return;
      else if (method === 'DELETE') this.#judgeDelete(what, before, sender, seen);
      else if (isAdoption) this.#judgeAdoption(what, before, seen);
      else if (owners !== undefined) this.#judgeRelease(what, before);
      else {
        this.#judgeUpdate(what, before, after, spec ?? {}, look);
        if (isChange) this.#judgeChange(what, before, sender, seen);
      }
    };
    return {
      processed: (work) => {
        const before = name === undefined ? undefined : servers.get(namespace, name);
        const answer = work();
        if (answer instanceof KubeError) this.#judgeRefusal(namespace);
        else judge(before, answer as VirtualServer | undefined);
        return answer;
      },
      answered: () => undefined,
    };
  }

  #followStatus({ namespace, name }: { namespace: string; name: string }, look: Look | undefined): Follower {
    const { sets } = this.#parts.api;
    return {
      processed: (work) => {
        const before = sets.get(namespace, name);
        const answer = work();
        if (!(answer instanceof KubeError)) this.#judgeStatus(before, answer as VirtualServerSet, look);
        return answer;
      },
      answered: () => undefined,
    };
  }

  #judgeStatus(before: VirtualServerSet | undefined, set: VirtualServerSet, look: Look | undefined): void {
    const isKnown = (['observedGeneration', 'replicas', 'terminatingReplicas'] as const).every(
      (field) => before?.status?.[field] === set.status?.[field],
    );
    if (currentReason(set.status?.conditions) !== 'Available' || isKnown) return;
    const members = look?.objects && membersOf(set, look.objects).filter(isAlive).length;
    if (members !== set.status?.replicas)
      this.#report(
        `${keyOf(set)} is shown as complete with ${set.status?.replicas} members, and its look had ${members ?? 'none'}`,
      );
  }

  /** An operator must not repeat at once what the API server refuses. */
  #judgeRefusal(namespace: string): void {
    const now = this.#parts.now();
    const recent = (this.#refused.get(namespace) ?? []).filter((at) => now - at < REFUSALS_MS);
    this.#refused.set(namespace, [...recent, now]);
    if (recent.length >= MAX_REFUSALS)
      this.#report(`the API server refused ${MAX_REFUSALS} writes in ${namespace} within 10 minutes`);
  }

  /** Judges a request that orders, cancels or takes over a server, and returns its look. */
  #judgeSend(what: string, { identity }: Sender, look: Look | undefined): Seen | undefined {
    const { api, now } = this.#parts;
    const holder = api.lease?.spec.holderIdentity;
    // A restore gives the lease back to a former holder, while the last one still counts on it.
    const isOfHolder = identity === undefined || holder === identity;
    if (!isOfHolder && now() - (api.restoredAt ?? -Infinity) > RESTORED_MS)
      this.#report(`${what} was sent by ${identity} while ${holder ?? 'no process'} held the lease`);
    if (look?.objects === undefined) {
      this.#report(`${what} was sent without a live look at its set`);
      return undefined;
    }
    const { set, since } = look;
    if (now() - since > FRESH_MS) this.#report(`${what} was sent ${now() - since} ms after the look`);
    if (set.spec.paused) this.#report(`${what} was sent for a paused set`);
    if (set.metadata.deletionTimestamp !== undefined) this.#report(`${what} was sent for a set that is being deleted`);
    return look as Seen;
  }

  #judgeCreate(what: string, member: VirtualServer, look: Seen | undefined): void {
    this.done.created += 1;
    if (look === undefined) return;
    const { metadata } = member;
    const { uid, name } = look.set.metadata;
    if (originOf(member)?.restart !== restartOf(look.set)) this.#report(`${what} is not from the last restart`);
    const owner = controllerOf(metadata);
    if (
      owner?.uid !== uid ||
      metadata.labels?.[SET_LABEL] !== name ||
      !new RegExp(`^${name}-\\d+$`).test(metadata.name)
    )
      this.#report(`${what} has not the owner, the label and the name of a member`);
    this.#joined.set(metadata.uid, look);
    const unresolved = membersOf(look.set, look.objects).find(isUnresolved);
    if (unresolved !== undefined) this.#report(`${what} came next to the unresolved member ${keyOf(unresolved)}`);
    if (look.restores !== this.#parts.api.restores) return;
    const [slots, limit] = [this.#slots.filled(uid), this.#most(look, mostOf)];
    if (slots > limit)
      this.#report(`${what} makes ${slots} servers possible, not ${limit}: ${this.#slots.picture(uid)}`);
  }

  #judgeOrder(serial: number, uid: string): void {
    const set = this.#slots.setOf(uid);
    if (set === undefined) return;
    const newest = [...this.#joined].findLast(([member]) => this.#slots.setOf(member) === set)?.[1];
    if (newest === undefined || newest.restores !== this.#parts.api.restores) return;
    const [servers, limit] = [this.#slots.servers(set), this.#most(newest, mostOf)];
    if (servers > limit)
      this.#report(`the order of server ${serial} makes ${servers} servers, not ${limit}: ${this.#slots.picture(set)}`);
  }

  #judgeDelete(what: string, member: VirtualServer, { skewMs }: Sender, look: Seen | undefined): void {
    const { api, now } = this.#parts;
    this.done.deleted += 1;
    if (look === undefined) return;
    const { set } = look;
    const { metadata, spec } = member;
    if (controllerOf(metadata)?.uid !== set.metadata.uid || metadata.labels?.[SET_LABEL] !== set.metadata.name)
      this.#report(`${what} is not for a member of ${keyOf(set)}`);
    const isPaused = metadata.annotations?.[PAUSED_ANNOTATION] !== undefined;
    if (spec.deletionProtection || spec.deletionPolicy === 'Retain' || isPaused)
      this.#report(`${what} is for a member that is protected, retained or paused`);
    const isKept = ({ deletionProtection, deletionPolicy }: Partial<VirtualServer['spec']>): boolean =>
      deletionProtection === true || deletionPolicy === 'Retain';
    const { spec: template } = set.spec.template;
    if (isKept(template) && originOf(member) !== undefined && !isKept(throughOf(member)))
      this.#report(`${what} is for a member that its template protects or retains`);
    if (isOnlyTrace(member)) this.#report(`${what} is for a member that nothing else names, and cancels no server`);
    look.deleted.add(metadata.uid);
    this.#deleted.add(metadata.uid);
    const available = (objects: readonly VirtualServer[]): string[] =>
      membersOf(set, objects)
        .filter((other) => isAvailable(other, set, now() + skewMs))
        .map((other) => other.metadata.uid);
    const [then, left] = [available(look.objects), available(api.servers.list())];
    const lost = then.filter((uid) => !left.includes(uid) && !this.#deleted.has(uid));
    const least = this.#least(look, leastOf);
    if (then.includes(metadata.uid) && left.length + lost.length < least)
      this.#report(`${what} leaves ${left.length} available members, not ${least}: ${this.#picture(look)}`);
    this.#judgeNeed(what, member, look, now() + skewMs);
  }

  /** A set deletes only what is too much or has an earlier template, and nothing of a rollout while it is stopped. */
  #judgeNeed(what: string, member: VirtualServer, look: Seen, now: number): void {
    const { api } = this.#parts;
    const { set, deleted } = look;
    const members = membersOf(set, look.objects);
    const left = members.filter((other) => isAlive(other) && !deleted.has(other.metadata.uid));
    const isRolling =
      set.spec.strategy.type === 'RollingUpdate' &&
      members.some((other) => isAlive(other) && !isUpdated(other, set, api));
    const isStopped = members.some(isUnresolved) && set.spec.replicas > 0;
    // New members that are not available reduce what a rollout may delete.
    const bad = left.filter((other) => isUpdated(other, set, api) && !isAvailable(other, set, now)).length;
    const rolling = (limits: Limits): number =>
      isUpdated(member, set, api) ? leastOf(limits) : Math.min(leastOf(limits) + bad, mostOf(limits));
    const isSurplus = !isRolling || isForInPlace(member, set, 'server');
    const least = this.#least(look, isSurplus ? ({ replicas }) => replicas : isStopped ? mostOf : rolling);
    if (left.length < least)
      this.#report(`${what} leaves ${left.length} members, not ${least}: ${this.#picture(look)}`);
  }

  #judgeChange(what: string, member: VirtualServer, { skewMs }: Sender, look: Seen | undefined): void {
    const { api, now } = this.#parts;
    this.done.changed += 1;
    if (look === undefined) return;
    const { set, deleted, changed } = look;
    const { template, strategy } = set.spec;
    const limits = limitsOf(set.spec);
    const isAllowed =
      isForInPlace(member, set, 'spec') || (!mayBeChanging(member) && isForInPlace(member, set, 'server'));
    if (!isAllowed) this.#report(`${what} changes in place what the template does not allow`);
    if (strategy.type === 'OnDelete') this.#report(`${what} changes in place with OnDelete`);
    const alive = membersOf(set, look.objects).filter(isAlive);
    if (alive.some(isUnresolved)) this.#report(`${what} came next to an unresolved member`);
    const isSteady = (other: VirtualServer): boolean =>
      isAvailable(other, set, now() + skewMs) &&
      isSettled(other) &&
      ![...deleted, ...changed].includes(other.metadata.uid);
    const busy = alive.filter((other) => hasTemplate(other, set, api) && !isSteady(other)).length + changed.size;
    const steady = alive.filter(isSteady);
    const width = Math.max(1, limits.replicas - leastOf(limits));
    if (busy >= width) this.#report(`${what} came next to ${busy} members that are not done, of ${width}`);
    const stops =
      template.spec.changePolicy === 'AllowStop' &&
      !isAsTemplate(member, set) &&
      steady.some(({ metadata }) => metadata.uid === member.metadata.uid);
    if (stops && steady.length - 1 < leastOf(limits))
      this.#report(`${what} may leave ${steady.length - 1} available members, not ${leastOf(limits)}`);
    changed.add(member.metadata.uid);
  }

  #judgeAdoption(what: string, { metadata }: VirtualServer, look: Seen | undefined): void {
    this.done.adopted += 1;
    if (look === undefined) return;
    const { uid, name } = look.set.metadata;
    if (metadata.ownerReferences !== undefined || metadata.labels?.[SET_LABEL] !== name)
      this.#report(`${what} adopts an object of another owner, or without the label`);
    // The newest is the last.
    this.#joined.delete(metadata.uid);
    this.#joined.set(metadata.uid, look);
    this.#slots.adopted(metadata.uid);
    if (look.restores !== this.#parts.api.restores) return;
    const [others, replicas] = [this.#slots.filled(uid, metadata.uid), this.#most(look, (limits) => limits.replicas)];
    if (others >= replicas)
      this.#report(`${what} adopts beside ${others} servers for ${replicas}: ${this.#picture(look)}`);
  }

  #judgeRelease(what: string, { metadata }: VirtualServer): void {
    this.done.released += 1;
    const owner = controllerOf(metadata);
    if (owner !== undefined && metadata.labels?.[SET_LABEL] === owner.name) this.#report(`${what} releases a member`);
  }

  #judgeUpdate(
    what: string,
    member: VirtualServer,
    after: VirtualServer | undefined,
    spec: object,
    look: Look | undefined,
  ): void {
    this.done.updated += 1;
    const template = look?.set.spec.template.spec;
    const told = after && throughOf(after);
    if (template === undefined) this.#report(`${what} was sent without a live read of its set`);
    else if (told !== undefined && GUARDING.some((field) => told[field] !== template[field]))
      this.#report(`${what} writes an older template than the set had when it was read`);
    const owner = controllerOf(member.metadata);
    const isMember = owner !== undefined && member.metadata.labels?.[SET_LABEL] === owner.name;
    if (!isMember && !this.#isRepeated(member)) this.#report(`${what} changes an object that is no member`);
    const other = Object.keys(spec).filter((field) => !WRITTEN_THROUGH.includes(field));
    if (other.length > 0) this.#report(`${what} changes ${other.join(', ')}`);
    const [origin, next] = [originOf(member), after && originOf(after)];
    if (origin !== undefined && next?.restart !== origin.restart && !this.#isRepeated(member))
      this.#report(`${what} changes the restart that it is from`);
  }

  /** After a restore of etcd, the object got a version that it has had before, with other contents. */
  #isRepeated(object: VirtualServer): boolean {
    const { uid, resourceVersion } = object.metadata;
    return this.#parts.api.servers.changes.some(
      ({ object: other }) =>
        other !== object && other.metadata.uid === uid && other.metadata.resourceVersion === resourceVersion,
    );
  }

  #most(look: Look, limit: (limits: Limits) => number): number {
    return Math.max(...this.#since(look).map(limit));
  }

  #least(look: Look, limit: (limits: Limits) => number): number {
    return Math.min(...this.#since(look).map(limit));
  }

  /** The limits of all versions of the set since the look. */
  #since({ set, version }: Look): Limits[] {
    const versions = this.#parts.api.sets.changes.slice(version).map(({ object }) => object);
    return versions.filter(({ metadata }) => metadata.uid === set.metadata.uid).map(({ spec }) => limitsOf(spec));
  }

  #picture({ set }: Look): string {
    return this.#slots.picture(set.metadata.uid);
  }

  #report(violation: string): void {
    this.violations.push(violation);
  }
}
