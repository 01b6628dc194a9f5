/** Simulated users of VirtualServerSets: they create, scale, change, restart and delete sets, and act on single members. */
import { MEMBER_DELETE_FIRST_ANNOTATION, PAUSED_ANNOTATION, SET_LABEL } from '../../src/api/names.ts';
import { CHANGEABLE_ADVANCED } from '../../src/api/ordered-fields.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { RESTARTED_AT, type VirtualServerSet } from '../../src/api/virtual-server-set.ts';
import { currentReason } from '../../src/api/conditions.ts';
import { KubeError } from '../../src/kube/error.ts';
import { sshKeyOf, virtualServer, withSpec } from '../fixtures/virtual-server.ts';
import type { ApiServer, SetSpecInput } from './api-server.ts';
import { KEY_SECRET, OTHER_KEY_SECRET, type Truth } from './caretaker.ts';
import { NO_FURTHER } from './further-fields.ts';
import type { Random } from './random.ts';
import { isAlive, isSettled } from './set-members.ts';

const NAMES = ['web', 'db'];
const GOOD_PRODUCTS = ['VPSX4', 'VPSX8', 'VPSX16'];
const UNKNOWN_PRODUCT = 'VPSX9';
const MOST_REPLICAS = 5;
const POLICIES = ['Never', 'Online', 'Online', 'AllowStop'] as const;
const DAY_MS = 86_400_000;
/** A set does not replace such a member, or only in a rollout. */
const NEVER_READY = new Set(['ServerMissing', 'Expired', 'InvalidSpec']);

export interface SetPeopleParts {
  api: ApiServer;
  random: Random;
  truth: Truth;
  namespaces: readonly string[];
  now: () => number;
  tell: (what: string) => void;
  /** Given if the provider may change servers in place, and people ask for it. */
  changing: Random | undefined;
}

type Nested<T> = { [K in keyof T]?: T[K] extends object | undefined ? Nested<NonNullable<T[K]>> | null : T[K] | null };

export class SetPeople {
  readonly #parts: SetPeopleParts;
  #count = 0;
  /** How many members people have deleted. */
  deletions = 0;

  constructor(parts: SetPeopleParts) {
    this.#parts = parts;
  }

  /** Does one random action; the API server rejects some of them. */
  act(): void {
    const { api, random } = this.#parts;
    const sets = api.sets.list();
    const actions = [...this.#onAll(), ...(sets.length === 0 ? [] : this.#on(random.pick(sets)))];
    const members = api.servers.list().filter(isMember);
    if (members.length > 0) actions.push(...this.#onMember(random.pick(members)));
    attempt(random.pick(actions));
    if (sets.length > 0 && this.#parts.changing?.chance(0.3) === true) attempt(() => this.#changeInPlace());
  }

  #onAll(): (() => void)[] {
    return [
      () => this.#create(),
      () => this.#create(),
      () => this.#take(),
      () => this.#label(),
      () => this.#deleteDefinition(),
      ...Array<() => void>(4).fill(() => this.resolve()),
    ];
  }

  #on(set: VirtualServerSet): (() => void)[] {
    return [
      ...Array<() => void>(6).fill(() => this.#scale(set)),
      () => this.#changeOrder(set),
      () => this.#changeOrder(set),
      () => this.#changeOrder(set),
      () => this.#changeRest(set),
      () => this.#changeRest(set),
      () => this.#changeStrategy(set),
      () => this.#restart(set),
      () => this.#restart(set),
      () => this.#edit(set, { paused: !set.spec.paused }),
      () => this.#delete(set),
    ];
  }

  #onMember(member: VirtualServer): (() => void)[] {
    const { api, truth, now, tell } = this.#parts;
    const { namespace, name, uid, annotations } = member.metadata;
    const mark = (annotation: string): void => {
      tell(`toggle ${annotation} of ${namespace}/${name}`);
      api.servers.annotate(namespace, name, { [annotation]: annotations?.[annotation] === undefined ? 'true' : null });
      if (annotation === PAUSED_ANNOTATION) truth.pausedAt.set(uid, now());
    };
    const guard = (spec: Partial<VirtualServer['spec']>): void => {
      tell(`${JSON.stringify(spec)} on ${namespace}/${name}`);
      api.servers.editSpec(namespace, name, spec);
      truth.guardedAt.set(uid, now());
    };
    return [
      () => this.#deleteMember(member),
      () => this.#deleteMember(member),
      () => mark(MEMBER_DELETE_FIRST_ANNOTATION),
      () => mark(MEMBER_DELETE_FIRST_ANNOTATION),
      () => mark(PAUSED_ANNOTATION),
      () => guard({ deletionProtection: !member.spec.deletionProtection }),
      () => guard({ deletionPolicy: member.spec.deletionPolicy === 'Delete' ? 'Retain' : 'Delete' }),
      () => this.#unlabel(member),
    ];
  }

  /** Does what the conditions of the sets ask for; the caretaker resolves the members. */
  resolve(): void {
    const { api } = this.#parts;
    for (const set of api.sets.list()) attempt(() => this.#resolve(set));
    for (const member of api.servers.list().filter(isMember)) {
      const reason = currentReason(member.status?.conditions) ?? '';
      if (NEVER_READY.has(reason)) attempt(() => this.#deleteMember(member));
    }
  }

  /** Removes pauses and other obstacles, so that every set can settle. */
  tidy(): void {
    this.#parts.api.hasSets = true;
    for (const set of this.#parts.api.sets.list()) {
      const { template } = set.spec;
      const { product, deletionProtection, deletionPolicy } = template.spec;
      const spec = {
        ...(product === UNKNOWN_PRODUCT && { product: 'VPSX4' }),
        ...(deletionProtection && { deletionProtection: false }),
        ...(deletionPolicy === 'Retain' && { deletionPolicy: 'Delete' as const }),
      };
      if (set.spec.paused) attempt(() => this.#edit(set, { paused: false }));
      if (Object.keys(spec).length > 0) attempt(() => this.#edit(set, { template: { spec } }));
    }
    this.resolve();
  }

  #create(): void {
    const { api, random, namespaces, tell } = this.#parts;
    const [namespace, name] = [random.pick(namespaces), random.pick(NAMES)];
    this.#count += 1;
    const maxUnavailable = random.pick([0, 0, 0, 1, '34%']);
    const spec: SetSpecInput = {
      replicas: random.int(0, MOST_REPLICAS - 1),
      minReadySeconds: random.pick([0, 0, 0, 90]),
      strategy: {
        type: random.chance(0.85) ? 'RollingUpdate' : 'OnDelete',
        rollingUpdate: {
          maxSurge: random.pick(maxUnavailable === 0 ? [1, 1, 2, '50%'] : [0, 1, '50%']),
          maxUnavailable,
        },
      },
      scaleDown: { order: random.pick(['Newest', 'Oldest']) },
      progressDeadlineSeconds: random.pick([600, 3600]),
      template: {
        metadata: { labels: { tier: 'web' } },
        spec: {
          product: this.#product(),
          image: 'cloudinit-debian-trixie.raw.gz',
          diskSize: random.pick([5120, 10240, 20480]),
          sshKeys: [sshKeyOf(`set-${this.#count}`)],
          ...(random.chance(0.2) && { deletionDelay: `${random.int(1, 30)}m` }),
          deletionPolicy: random.chance(0.05) ? 'Retain' : 'Delete',
          ...(random.chance(0.3) && { sshCheck: 'Proxy' as const }),
          ...(random.chance(0.6) && { connectionSecretName: `${name}-connection` }),
          ...this.#policy(),
        },
      },
    };
    const { metadata } = api.createSet(namespace, name, spec);
    tell(`create set ${namespace}/${name} ${metadata.uid} ${JSON.stringify(spec)}`);
  }

  #policy(): Pick<VirtualServer['spec'], 'changePolicy'> {
    const { changing } = this.#parts;
    return changing === undefined ? {} : { changePolicy: changing.pick(POLICIES) };
  }

  #product(): string {
    const { random } = this.#parts;
    return random.chance(0.08) ? UNKNOWN_PRODUCT : random.pick(GOOD_PRODUCTS);
  }

  /** Most changes are small, as those of an autoscaler are. */
  #scale(set: VirtualServerSet): void {
    const { random } = this.#parts;
    const { replicas } = set.spec;
    const target = random.chance(0.15)
      ? 0
      : random.chance(0.4)
        ? random.int(0, MOST_REPLICAS)
        : replicas + random.pick([-1, 1, 1]);
    this.#edit(set, { replicas: Math.max(0, Math.min(MOST_REPLICAS, target)) });
  }

  #changeOrder(set: VirtualServerSet): void {
    const { random } = this.#parts;
    const spec = random.pick([{ product: this.#product() }, { diskSize: random.pick([5120, 10240, 20480]) }]);
    this.#edit(set, { template: { spec } });
  }

  /** Most of these sets have members whose servers run, and a template that needs no new ones. */
  #changeInPlace(): void {
    const { api, changing } = this.#parts;
    if (changing === undefined) return;
    const all = api.sets.list();
    if (all.length === 0) return;
    const filled = all.filter(({ status }) => (status?.readyReplicas ?? 0) > 0);
    const set = changing.pick(filled.length > 0 && changing.chance(0.9) ? filled : all);
    if (changing.chance(0.25)) {
      this.#goBack(set);
      return;
    }
    const { diskSize, changePolicy } = set.spec.template.spec;
    const spec = {
      ...(changing.chance(changePolicy === undefined || changePolicy === 'Never' ? 0.9 : 0.2) && this.#policy()),
      ...changing.pick([
        { product: changing.pick(GOOD_PRODUCTS) },
        { product: changing.pick(GOOD_PRODUCTS) },
        { product: UNKNOWN_PRODUCT },
        // All of it is refused, so all of it can be taken back.
        { product: UNKNOWN_PRODUCT, diskSize: Math.min(40960, diskSize * 2) },
        { product: UNKNOWN_PRODUCT, advanced: { tablet: changing.chance(0.5), cpuMode: 'Compatibility' as const } },
        { diskSize: Math.min(40960, diskSize * 2) },
        { advanced: { extraCores: changing.int(1, 3) } },
        { power: 'On' as const },
      ]),
    };
    const isPatient = changing.chance(0.5);
    const strategy = isPatient ? {} : { strategy: { rollingUpdate: { maxUnavailable: 1 } } };
    this.#edit(set, { ...strategy, template: { spec } });
  }

  /** As a revert in Git or `kubectl vps rollout undo`, and sometimes the policy goes back too. */
  #goBack(set: VirtualServerSet): void {
    const [, earlier] = set.status?.revisions ?? [];
    if (earlier === undefined) return;
    const { product, diskSize, advanced: devices } = earlier.spec;
    const dropped = Object.fromEntries(CHANGEABLE_ADVANCED.map((field) => [field, null]));
    const advanced = devices === undefined ? null : { ...dropped, ...devices };
    const isWhole = this.#parts.changing?.chance(0.3) === true;
    this.#edit(set, { template: { spec: { product, diskSize, advanced, ...(isWhole && { changePolicy: null }) } } });
  }

  #changeRest(set: VirtualServerSet): void {
    const { random } = this.#parts;
    const { deletionProtection, deletionPolicy } = set.spec.template.spec;
    const change = random.pick<Nested<SetSpecInput['template']>>([
      { spec: { sshCheck: random.pick(['None', 'Proxy', 'Direct']) } },
      { spec: { sshCheck: random.pick(['None', 'Proxy', 'Direct']) } },
      { spec: { deletionProtection: !deletionProtection } },
      { spec: { deletionPolicy: deletionPolicy === 'Delete' ? 'Retain' : 'Delete' } },
      { spec: { connectionSecretName: random.pick([null, 'connection', `${set.metadata.name}-connection`]) } },
      { spec: { apiKeySecretRef: { name: random.pick([KEY_SECRET, KEY_SECRET, OTHER_KEY_SECRET]) } } },
      { metadata: { labels: { tier: random.pick(['web', 'db']) } } },
      { metadata: { annotations: { 'example.org/team': random.pick([null, 'a', 'b']) } } },
    ]);
    this.#edit(set, { template: change });
  }

  #changeStrategy(set: VirtualServerSet): void {
    const { random } = this.#parts;
    const rollingUpdate = random.pick([
      { maxSurge: 1, maxUnavailable: 0 },
      { maxSurge: 0, maxUnavailable: 1 },
      { maxSurge: 2, maxUnavailable: 1 },
      { maxSurge: '50%', maxUnavailable: '50%' },
    ]);
    this.#edit(set, { strategy: { type: random.pick(['RollingUpdate', 'RollingUpdate', 'OnDelete']), rollingUpdate } });
  }

  /** As `kubectl vps rollout restart`, by a clock that may be wrong; or a tool takes the annotation away. */
  #restart(set: VirtualServerSet): void {
    const { random, now } = this.#parts;
    const isRestarted = set.spec.template.metadata?.annotations?.[RESTARTED_AT] !== undefined;
    const at = new Date(now() + random.int(-DAY_MS, DAY_MS)).toISOString();
    const value = isRestarted && random.chance(0.3) ? random.pick([null, '']) : at;
    this.#edit(set, { template: { metadata: { annotations: { [RESTARTED_AT]: value } } } });
  }

  #edit({ metadata: { namespace, name } }: VirtualServerSet, spec: Nested<SetSpecInput>): void {
    this.#parts.tell(`edit set ${namespace}/${name}: ${JSON.stringify(spec)}`);
    this.#parts.api.sets.patch(namespace, name, { spec });
  }

  #delete({ metadata: { namespace, name } }: VirtualServerSet): void {
    const { api, random, tell } = this.#parts;
    const cascade = random.pick(['background', 'orphan', 'orphan', 'foreground'] as const);
    tell(`delete set ${namespace}/${name}, ${cascade}`);
    api.deleteSet(namespace, name, cascade);
  }

  #deleteMember({ metadata: { namespace, name } }: VirtualServer): void {
    this.#parts.tell(`delete member ${namespace}/${name}`);
    this.deletions += 1;
    this.#parts.api.servers.delete(namespace, name);
  }

  /** Releases a member. */
  #unlabel({ metadata: { namespace, name } }: VirtualServer): void {
    const { api, random, tell } = this.#parts;
    const value = random.pick([null, 'another-set']);
    tell(`label ${value ?? 'removed'} of ${namespace}/${name}`);
    api.servers.patch(namespace, name, { metadata: { labels: { [SET_LABEL]: value } } });
  }

  /** Labels an object with the name of a member: one that no set controls is adopted, one that was just released stays. */
  #label(): void {
    const { api, random, tell } = this.#parts;
    const isUnlabelled = ({ metadata: { name, labels } }: VirtualServer): boolean =>
      setNameOf(name) !== undefined && labels?.[SET_LABEL] !== setNameOf(name);
    const unlabelled = api.servers.list().filter(isUnlabelled);
    if (unlabelled.length === 0) return;
    const { namespace, name } = random.pick(unlabelled).metadata;
    tell(`label ${namespace}/${name} as a member`);
    api.servers.patch(namespace, name, { metadata: { labels: { [SET_LABEL]: setNameOf(name) ?? null } } });
  }

  /** Deletes the CRD of sets by mistake, or installs it again. */
  #deleteDefinition(): void {
    const { api, random, truth, now, tell } = this.#parts;
    if (!api.hasSets) api.hasSets = true;
    else if (random.chance(0.8) || !api.deleteSetDefinition()) return;
    truth.setDefinitionDeletedAt = now();
    tell('the definition of VirtualServerSets is deleted or installed again');
  }

  /** Creates an object with the name of a member. */
  #take(): void {
    const { api, random, namespaces, tell } = this.#parts;
    if (random.chance(0.5)) return;
    const [namespace, set] = [random.pick(namespaces), random.pick(NAMES)];
    const name = `${set}-${random.int(0, MOST_REPLICAS)}`;
    this.#count += 1;
    const manifest = virtualServer(name, withSpec({ sshKeys: [sshKeyOf(`taken-${this.#count}`)] }));
    if (random.chance(0.5)) manifest.metadata.labels = { [SET_LABEL]: set };
    tell(`create ${namespace}/${name}, ${manifest.metadata.labels === undefined ? 'not ' : ''}labelled`);
    api.create(namespace, manifest);
  }

  #resolve(set: VirtualServerSet): void {
    const { api, random, truth, now } = this.#parts;
    const { namespace, name, uid } = set.metadata;
    const reason = currentReason(set.status?.conditions);
    const members = api.servers.list().filter((server) => ownerOf(server)?.uid === uid);
    const reasons = new Set(members.map(({ status }) => currentReason(status?.conditions)));
    if (reason === 'MemberBlocked' && (reasons.has('InvalidSpec') || reasons.has('CreateRejected'))) {
      const product = set.spec.template.spec.product === 'VPSX4' ? 'VPSX8' : 'VPSX4';
      this.#edit(set, { template: { spec: { product, advanced: null } } });
    }
    // A set with OnDelete does not replace a member that was created apart from it, with fields that the provider refuses.
    if (set.spec.strategy.type === 'OnDelete')
      for (const { metadata, status } of members)
        if (currentReason(status?.conditions) === 'CreateRejected')
          api.servers.editSpec(namespace, metadata.name, NO_FURTHER);
    if (reason === 'MemberBlocked' && set.spec.template.spec.changePolicy === 'AllowStop')
      this.#edit(set, { strategy: { rollingUpdate: { maxUnavailable: 1 } } });
    if (reason === 'MemberBlocked' && this.#parts.changing?.chance(0.1) === true)
      for (const member of members) if (isAlive(member) && !isSettled(member)) this.#deleteMember(member);
    // A member whose template the set does not know anymore may have values of its user.
    const message = set.status?.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
    const held = /cannot change spec\.\w+ of (\S+) in place/.exec(message)?.[1];
    for (const member of members) if (member.metadata.name === held) this.#deleteMember(member);
    if (reason === 'DeletionBlocked') {
      for (const { metadata } of members) {
        api.servers.editSpec(namespace, metadata.name, { deletionProtection: false, deletionPolicy: 'Delete' });
        api.servers.annotate(namespace, metadata.name, { [PAUSED_ANNOTATION]: null });
        truth.guardedAt.set(metadata.uid, now());
      }
    }
    if (reason !== 'NameTaken') return;
    for (const server of api.servers.list()) {
      if (server.metadata.namespace !== namespace || setNameOf(server.metadata.name) !== name) continue;
      if (ownerOf(server)?.uid === uid) continue;
      const isFree = server.metadata.ownerReferences === undefined && server.metadata.deletionTimestamp === undefined;
      if (isFree && random.chance(0.5))
        api.servers.patch(namespace, server.metadata.name, { metadata: { labels: { [SET_LABEL]: name } } });
      else this.#deleteMember(server);
    }
  }
}

/** The set whose members have names like this. */
function setNameOf(name: string): string | undefined {
  return NAMES.find((set) => new RegExp(`^${set}-[0-9]+$`).test(name));
}

const ownerOf = ({ metadata: { ownerReferences = [] } }: VirtualServer) =>
  ownerReferences.find(({ controller }) => controller === true);

const isMember = (server: VirtualServer): boolean => ownerOf(server) !== undefined;

function attempt(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
  }
}
