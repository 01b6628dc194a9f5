/**
 * A random model for a set: the objects at the API server, what really happens to their servers, users, and operators that
 * see all of it late. It checks the promises at every create and at every DELETE that it accepts.
 */
import type { ReadyReason } from '../../../../src/api/conditions.ts';
import { MEMBER_DELETE_FIRST_ANNOTATION, PAUSED_ANNOTATION, SET_LABEL } from '../../../../src/api/names.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../../src/api/virtual-server-set.ts';
import { withCondition, withVerdict } from '../../../../src/controller/conditions.ts';
import { type Plan, planSet, type SetAction } from '../../../../src/virtual-server-set/decision/plan.ts';
import { leastOf, surgeOf } from '../../../fixtures/set-limits.ts';
import { NOW, webSet, type SetShape } from '../../../fixtures/virtual-server-set.ts';
import { stored } from '../../../fixtures/virtual-server.ts';
import type { Random } from '../../../lives/random.ts';

const IMAGES = ['a/good', 'b/good', 'c/good', 'd/refused', 'e/silent'] as const;

/** What really is the case with one object; the operator only sees the conditions. */
interface Truth {
  object: VirtualServer;
  state: 'pending' | 'creating' | 'unknown' | 'ready' | 'unreachable' | 'dead' | 'refused';
  /** Servers of earlier orders that still run, or may, and that only users can find. */
  orphans: number;
}

const REASON_OF: Record<Truth['state'], ReadyReason> = {
  pending: 'Pending',
  creating: 'Creating',
  unknown: 'CreateOutcomeUnknown',
  ready: 'Available',
  unreachable: 'Unreachable',
  dead: 'ServerMissing',
  refused: 'InvalidSpec',
};

/** What an operator can read, at one moment. */
interface Moment {
  set: VirtualServerSet;
  objects: VirtualServer[];
  shape: SetShape;
}

/** Everything that the checks must know about the step of an operator. */
interface Step {
  /** Index of the moment that its live list showed. */
  seen: number;
  /** Names of the members that were available then, by the truth. */
  available: ReadonlySet<string>;
  hadUnresolved: boolean;
  /** How many members it may delete while a member is unresolved: a surplus, but nothing of a rollout. */
  surplus: number;
  deleted: Set<string>;
}

class Operator {
  /** Index of the moment that its cache shows. */
  cache = 0;
}

export class World {
  readonly story: string[] = [];
  readonly seen = new Map<string, number>();
  readonly #random: Random;
  readonly #operators = [new Operator(), new Operator()];
  readonly #truths = new Map<string, Truth>();
  readonly #moments: Moment[] = [];
  #shape: SetShape;
  #set: VirtualServerSet;
  #now = NOW;
  #version = 1;
  #uids = 0;
  #faulty = true;

  constructor(random: Random) {
    this.#random = random;
    this.#shape = {
      replicas: random.int(0, 5),
      maxSurge: random.pick([0, 1, 1, 2, '50%', '100%']),
      maxUnavailable: random.pick([0, 0, 1, 2, '34%']),
      minReadySeconds: random.pick([0, 0, 30]),
      scaleDown: { order: random.pick(['Newest', 'Oldest'] as const) },
      type: random.pick(['RollingUpdate', 'RollingUpdate', 'RollingUpdate', 'OnDelete'] as const),
      spec: { image: 'a/good' },
    };
    if (this.#shape.maxSurge === 0 && this.#shape.maxUnavailable === 0) this.#shape.maxSurge = 1;
    this.#set = webSet(this.#shape);
    this.#changed();
  }

  /** One event after the other, in any order. */
  live(events: number): void {
    for (let event = 0; event < events; event++) {
      this.#now += this.#random.int(0, 40) * 1000;
      const roll = this.#random.next();
      if (roll < 0.3) this.#tick();
      else if (roll < 0.5) this.#users();
      else if (roll < 0.55) this.#confuse();
      else this.#operate(this.#random.pick(this.#operators), true);
    }
  }

  /** No more faults, and users resolve everything: the set must become what its spec says. */
  calm(): void {
    this.#faulty = false;
    this.#note('calm');
    this.#shape = { ...this.#shape, paused: false, spec: { image: this.#random.pick(['a/good', 'b/good']) } };
    this.#applySet();
    for (const [name, truth] of this.#truths) {
      if (!this.#isMember(truth)) {
        this.#truths.delete(name);
        continue;
      }
      const { [PAUSED_ANNOTATION]: _paused, ...annotations } = truth.object.metadata.annotations ?? {};
      this.#edit(truth, { annotations }, { deletionProtection: false, deletionPolicy: 'Delete' });
      truth.orphans = 0;
      if (truth.state === 'unknown') truth.state = 'pending';
      this.#show(truth);
      // The set replaces neither a dead member nor, with OnDelete, one with an earlier template.
      const isLeft = truth.state === 'dead' || (this.#shape.type === 'OnDelete' && !this.#isUpdated(truth));
      if (isLeft && truth.object.metadata.deletionTimestamp === undefined) this.#deleteObject(truth);
    }
    for (let round = 0; round < 400; round++) {
      this.#now += 20_000;
      for (const operator of this.#operators) operator.cache = this.#moments.length - 1;
      for (let turn = 0; turn < 10; turn++) this.#tick();
      this.#operate(this.#random.pick(this.#operators), false);
      // Users follow the message of NameTaken.
      for (const [name, truth] of this.#truths) if (!this.#isMember(truth)) this.#truths.delete(name);
      if (this.#isDone()) return;
    }
    const ready = this.#set.status?.conditions?.find(({ type }) => type === 'Ready');
    throw new Error(`does not converge: ${ready?.message ?? 'no status'}; ${this.#picture()}`);
  }

  #isDone(): boolean {
    const isReady = this.#set.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    const members = this.#members();
    const wanted = this.#shape.replicas ?? 0;
    const allCurrent = members.every((truth) => this.#isUpdated(truth));
    return isReady === true && members.length === wanted && allCurrent && this.#availableNames().size === wanted;
  }

  #isUpdated({ object }: Truth): boolean {
    return object.spec.image === this.#set.spec.template.spec.image;
  }

  // What really happens.

  #tick(): void {
    const truths = [...this.#truths.values()];
    if (truths.length === 0) return;
    const truth = this.#random.pick(truths);
    const { metadata, spec } = truth.object;
    if (metadata.annotations?.[PAUSED_ANNOTATION] !== undefined) return;
    if (metadata.deletionTimestamp !== undefined) {
      const waits = spec.deletionProtection || truth.state === 'unknown' || truth.orphans > 0;
      if (waits || this.#chance(0.4)) return;
      this.#truths.delete(metadata.name);
      this.#note(`${metadata.name} is gone`);
      this.#changed();
      return;
    }
    truth.state = this.#next(truth);
    this.#show(truth);
  }

  #next({ state, object }: Truth): Truth['state'] {
    const kind = object.spec.image.split('/')[1];
    switch (state) {
      case 'pending':
        if (kind === 'refused') return 'refused';
        return this.#faulty && this.#chance(0.15) ? 'unknown' : 'creating';
      case 'creating':
        return kind === 'silent' ? 'unreachable' : 'ready';
      case 'ready':
        if (!this.#faulty) return 'ready';
        return this.#chance(0.1) ? 'unreachable' : this.#chance(0.05) ? 'dead' : 'ready';
      case 'unreachable':
        return kind === 'good' ? 'ready' : 'unreachable';
      case 'refused':
        return kind === 'refused' ? 'refused' : 'pending';
      default:
        return state;
    }
  }

  /** What only the set must never be confused by. */
  #confuse(): void {
    const truth = this.#anyMember();
    const free = `web-${this.#random.int(0, 6)}`;
    if (this.#chance(0.3) && !this.#truths.has(free)) {
      // An object of another user with a name of the set, or an orphan that the set may adopt.
      const object = stored(free);
      object.metadata = {
        ...object.metadata,
        ...this.#identity(),
        ...(this.#chance(0.5) && { labels: this.#label() }),
      };
      this.#truths.set(free, { object, state: 'pending', orphans: 0 });
      this.#note(`${free} appears${object.metadata.labels === undefined ? '' : ' with the label'}`);
    } else if (truth !== undefined && this.#chance(0.4) && truth.state === 'ready') {
      truth.orphans += 1;
      this.#note(`${truth.object.metadata.name} has lost a server`);
      this.#show(truth);
    } else if (truth !== undefined && this.#chance(0.4)) {
      this.#edit(truth, { labels: {} });
      this.#note(`${truth.object.metadata.name} loses its label`);
    }
    this.#changed();
  }

  // Users.

  #users(): void {
    const roll = this.#random.next();
    const truth = this.#anyMember();
    const name = truth?.object.metadata.name ?? '';
    if (roll < 0.25) this.#shape = { ...this.#shape, replicas: this.#random.int(0, 6) };
    else if (roll < 0.45) this.#shape = { ...this.#shape, spec: { image: this.#random.pick(IMAGES) } };
    else if (roll < 0.5) this.#shape = { ...this.#shape, paused: this.#shape.paused !== true };
    else if (truth === undefined) return;
    else if (roll < 0.62) {
      if (!truth.object.spec.deletionProtection) this.#deleteObject(truth);
    } else if (roll < 0.68) this.#edit(truth, {}, { deletionProtection: !truth.object.spec.deletionProtection });
    else if (roll < 0.71) {
      const isRetained = truth.object.spec.deletionPolicy === 'Retain';
      this.#edit(truth, {}, { deletionPolicy: isRetained ? 'Delete' : 'Retain' });
    } else if (roll < 0.78) this.#annotate(truth, MEMBER_DELETE_FIRST_ANNOTATION);
    else if (roll < 0.81) this.#annotate(truth, PAUSED_ANNOTATION);
    else this.#resolve();
    this.#note(`users: ${roll < 0.5 ? JSON.stringify(this.#shape) : `act on ${name}`}`);
    this.#applySet();
  }

  #resolve(): void {
    for (const truth of this.#truths.values()) {
      if (truth.state === 'unknown') truth.state = this.#chance(0.5) ? 'ready' : 'pending';
      truth.orphans = 0;
      this.#show(truth);
    }
  }

  #annotate(truth: Truth, annotation: string): void {
    const { annotations = {} } = truth.object.metadata;
    const { [annotation]: before, ...others } = annotations;
    this.#edit(truth, { annotations: before === undefined ? { ...annotations, [annotation]: 'true' } : others });
  }

  #deleteObject(truth: Truth): void {
    this.#edit(truth, { deletionTimestamp: new Date(this.#now).toISOString() });
  }

  #applySet(): void {
    const before = JSON.stringify(this.#set.spec);
    const next = webSet(this.#shape, this.#set);
    if (JSON.stringify(next.spec) !== before) this.#set = next;
    this.#changed();
  }

  // An operator.

  #operate(operator: Operator, isRough: boolean): void {
    const newest = this.#moments.length - 1;
    operator.cache = this.#random.int(operator.cache, newest);
    const cached = this.#moments[operator.cache];
    if (cached === undefined) throw new Error('no moment');
    const first = planSet(cached.set, { objects: cached.objects, live: false }, this.#now);
    const forbidden = first.actions.filter(({ type }) => ['create', 'delete', 'adopt'].includes(type));
    if (forbidden.length > 0) throw new Error(`a plan from a cache has ${forbidden.map(({ type }) => type).join()}`);
    const step: Step = {
      seen: newest,
      available: this.#availableNames(),
      hadUnresolved: this.#members().some(({ state, orphans }) => state === 'unknown' || orphans > 0),
      surplus: this.#surplus(),
      deleted: new Set(),
    };
    const live = this.#moments[newest];
    const plan: Plan =
      first.look && live !== undefined ? planSet(live.set, { objects: live.objects, live: true }, this.#now) : first;
    for (const action of plan.actions) {
      if (isRough && this.#chance(0.03)) return;
      if (isRough && this.#chance(0.1)) this.#interfere(operator);
      this.#perform(action, step);
    }
    // The status write names the version of the set, so it fails for a stale one.
    if (this.#set.metadata.generation === (first.look ? live : cached)?.set.metadata.generation)
      this.#set = { ...this.#set, status: plan.status };
    this.#changed();
  }

  /** Between the live list of a step and its next action: the world changes, or another operator acts. */
  #interfere(operator: Operator): void {
    if (this.#chance(0.3)) {
      const other = this.#operators.find((one) => one !== operator);
      if (other !== undefined) this.#operate(other, false);
      return;
    }
    for (let event = this.#random.int(1, 3); event > 0; event--) {
      if (this.#chance(0.3)) this.#users();
      else this.#tick();
    }
  }

  #perform(action: SetAction, step: Step): void {
    if (action.type === 'create') {
      this.#create(action, step);
      return;
    }
    const truth = this.#truths.get(action.name);
    const { uid, resourceVersion, deletionTimestamp } = truth?.object.metadata ?? {};
    if (truth === undefined || uid !== action.uid || resourceVersion !== action.resourceVersion) return;
    this.seen.set(action.type, (this.seen.get(action.type) ?? 0) + 1);
    this.#note(`operator: ${action.type} ${action.name}`);
    const owner = { kind: 'VirtualServerSet', name: 'web', uid: this.#set.metadata.uid, controller: true };
    if (action.type === 'adopt') this.#edit(truth, { ownerReferences: [owner] });
    else if (action.type === 'release') this.#edit(truth, { ownerReferences: [] });
    else if (action.type === 'update') {
      const annotations = { ...truth.object.metadata.annotations, ...action.patch.metadata.annotations };
      this.#edit(truth, { annotations: annotations as Record<string, string> }, action.patch.spec);
    } else if (deletionTimestamp === undefined) {
      this.#checkDelete(truth, step);
      step.deleted.add(action.name);
      this.#deleteObject(truth);
    }
  }

  #create({ manifest }: Extract<SetAction, { type: 'create' }>, step: Step): void {
    const { name } = manifest.metadata;
    if (this.#truths.has(name)) {
      this.seen.set('conflict', (this.seen.get('conflict') ?? 0) + 1);
      return;
    }
    const object = stored(name);
    object.metadata = { ...object.metadata, ...manifest.metadata, ...this.#identity() };
    object.spec = { ...object.spec, ...manifest.spec };
    const truth: Truth = { object, state: 'pending', orphans: 0 };
    this.#truths.set(name, truth);
    this.seen.set('create', (this.seen.get('create') ?? 0) + 1);
    this.#note(`operator: create ${name} (${manifest.spec.image})`);
    this.#checkCreate(step);
    this.#show(truth);
  }

  // The promises.

  /** Promise 1, counted in orders: each object may have ordered, and each lost server may exist. */
  #checkCreate(step: Step): void {
    const orders = this.#members().reduce((sum, { orphans }) => sum + 1 + orphans, 0);
    const limit = Math.max(...this.#since(step).map(({ shape }) => (shape.replicas ?? 0) + surgeOf(shape)));
    if (orders > limit) throw new Error(`${orders} servers may exist, but only ${limit} may: ${this.#picture()}`);
    if (step.hadUnresolved) throw new Error(`a create next to an unresolved member: ${this.#picture()}`);
  }

  /** Promise 3, with the members that were lost since the list of the step, by accident or by users. */
  #checkDelete({ object }: Truth, step: Step): void {
    const { name, annotations } = object.metadata;
    const { deletionProtection, deletionPolicy } = object.spec;
    if (deletionProtection || deletionPolicy === 'Retain' || annotations?.[PAUSED_ANNOTATION] !== undefined)
      throw new Error(`${name} must not be deleted`);
    if (step.hadUnresolved && step.deleted.size >= step.surplus)
      throw new Error(`the rollout deletes ${name} next to an unresolved member: ${this.#picture()}`);
    const now = this.#availableNames();
    if (!now.has(name)) return;
    const lost = [...step.available].filter((other) => !now.has(other) && !step.deleted.has(other)).length;
    const least = Math.min(...this.#since(step).map(({ shape }) => leastOf(shape)));
    if (now.size - 1 + lost < least)
      throw new Error(`the DELETE of ${name} leaves ${now.size - 1} available, not ${least}: ${this.#picture()}`);
  }

  #surplus(): number {
    const alive = this.#members().filter(({ object }) => object.metadata.deletionTimestamp === undefined);
    const { replicas = 0, type } = this.#shape;
    const isRolling = type === 'RollingUpdate' && alive.some((truth) => !this.#isUpdated(truth));
    return alive.length - (isRolling && replicas > 0 ? replicas + surgeOf(this.#shape) : replicas);
  }

  #since(step: Step): Moment[] {
    return this.#moments.slice(step.seen);
  }

  // Helpers.

  #isMember({ object: { metadata } }: Truth): boolean {
    return metadata.ownerReferences?.some(({ uid }) => uid === this.#set.metadata.uid) === true;
  }

  /** Members that you released leave the count at once, even if the owner reference is removed later. */
  #members(): Truth[] {
    const hasLabel = ({ object: { metadata } }: Truth): boolean =>
      metadata.labels?.[SET_LABEL] === 'web' || metadata.deletionTimestamp !== undefined;
    return [...this.#truths.values()].filter((truth) => this.#isMember(truth) && hasLabel(truth));
  }

  #anyMember(): Truth | undefined {
    const members = this.#members();
    return members.length === 0 ? undefined : this.#random.pick(members);
  }

  #availableNames(): Set<string> {
    const minReadyMs = (this.#shape.minReadySeconds ?? 0) * 1000;
    const isAvailable = ({ object: { metadata, status } }: Truth): boolean => {
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      const since = Date.parse(ready?.lastTransitionTime ?? '');
      return metadata.deletionTimestamp === undefined && ready?.status === 'True' && since + minReadyMs <= this.#now;
    };
    return new Set(
      this.#members()
        .filter(isAvailable)
        .map(({ object }) => object.metadata.name),
    );
  }

  #identity(): { uid: string; resourceVersion: string; creationTimestamp: string } {
    const resourceVersion = String((this.#version += 1));
    return { uid: `uid-${(this.#uids += 1)}`, resourceVersion, creationTimestamp: new Date(this.#now).toISOString() };
  }

  #label(): Record<string, string> {
    return { [SET_LABEL]: 'web' };
  }

  #edit(truth: Truth, metadata: Partial<VirtualServer['metadata']>, spec: object = {}): void {
    const { object } = truth;
    const resourceVersion = String((this.#version += 1));
    truth.object = {
      ...object,
      metadata: { ...object.metadata, ...metadata, resourceVersion },
      spec: { ...object.spec, ...spec },
    };
    this.#changed();
  }

  /** The operator of single servers writes the status. */
  #show(truth: Truth): void {
    const { object, state, orphans } = truth;
    const reason = REASON_OF[state];
    const message = `This member is ${reason}`;
    const lost = Array.from({ length: orphans }, (_, index) => ({ attempt: `lost${index}` }));
    const isOrdered = !['pending', 'refused'].includes(state);
    const record = {
      owner: object.metadata.uid,
      mode: 'create' as const,
      ...(isOrdered && { attempt: 'a1' }),
      ...(orphans > 0 && { orphans: lost }),
    };
    let conditions = withVerdict(object.status?.conditions ?? [], { reason, message }, 1, this.#now);
    const orphaned = orphans > 0 ? { reason: 'OrphanedServer' as const, message: 'Look for it' } : undefined;
    conditions = withCondition(conditions, 'OrphanedServer', orphaned, 1, this.#now);
    const resourceVersion = String((this.#version += 1));
    truth.object = {
      ...object,
      metadata: { ...object.metadata, resourceVersion },
      status: { observedGeneration: 1, record, conditions },
    };
    this.#changed();
  }

  #changed(): void {
    const objects = [...this.#truths.values()].map(({ object }) => object);
    this.#moments.push({ set: this.#set, objects, shape: this.#shape });
  }

  #chance(probability: number): boolean {
    return this.#random.chance(probability);
  }

  #note(line: string): void {
    this.story.push(line);
  }

  #picture(): string {
    const parts = [...this.#truths].map(([name, truth]) => {
      const { metadata, spec } = truth.object;
      const deleting = metadata.deletionTimestamp === undefined ? '' : ' deleting';
      return `${name}=${truth.state}${deleting}${truth.orphans > 0 ? ` +${truth.orphans}` : ''} ${spec.image}${this.#isMember(truth) ? '' : ' foreign'}`;
    });
    return `${JSON.stringify(this.#shape)} ${parts.join('; ')}`;
  }
}
