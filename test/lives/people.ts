/** People and machines around the operator: they apply, edit, and delete objects, and rotate keys. */
import {
  ADOPT_ANNOTATION,
  CANCEL_NOW_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_AT_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { KubeError } from '../../src/kube/error.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { Key, Simulation } from '../../src/simulator/index.ts';
import { CUT_SSH_KEY, sshKeyOf, virtualServer, withAnnotations, withSpec } from '../fixtures/virtual-server.ts';
import type { ApiServer } from './api-server.ts';
import { Caretaker, KEY_SECRET, OTHER_KEY_SECRET, type Truth } from './caretaker.ts';
import { CatalogPeople } from './catalogs.ts';
import { Connections } from './connections.ts';
import { drawFurther } from './further-fields.ts';
import { HandOverPeople, type Hasty } from './hand-overs.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';
import { identifierOf, isSame, isUnconfirmed, Ownership } from './ownership.ts';
import type { Orders } from './orders.ts';
import { recordOf } from '../fixtures/records.ts';
import { isSameIdentifier } from '../../src/base/identifier.ts';
import type { Random } from './random.ts';
import { Restorer } from './restorer.ts';
import { MISTYPED, Slips } from './slips.ts';
import { UserDataPeople } from './user-data-people.ts';

export const OTHER_KEY: Key = { keyId: 'other-key', secret: 'secret-0-other' };
export const NAMESPACES = ['a', 'b'] as const;
const PRODUCTS = ['VPSX4', 'VPSX8', 'VPSX16'];
const FEW_MODELS = [
  { product: 'VPSX4', diskSize: 5120, price: 3.5 },
  { product: 'VPSX8', diskSize: 5120, price: 4.5 },
  { product: 'VPSX8', diskSize: 20480, price: 12 },
];
/** Name and identifier of an object that is ordered once, and again after a restore of etcd. */
const ONCE = 'once';
/** So few that objects, other customers and people in the control panel want the same ones. */
const CHOSEN = ['shop', 'web1', 'db1'] as const;
/** An order that the provider would refuse tells nothing about its identifier. */
const PLAIN = { product: 'VPSX4', diskSize: 5120 };
const CHECKS = ['None', 'Proxy', 'Direct'] as const;
const NAMES = 8;
const NOTE = 'example.org/note';
const NOTE_BYTES = 40_000;
/** Key IDs of the account's two API keys. */
const KEY_IDS = ['key', 'key-2'] as const;

export interface PeopleParts {
  api: ApiServer;
  simulation: Simulation;
  orders: Orders;
  random: Random;
  now: () => number;
  tell: (what: string) => void;
  /** In a world with a limit in money: most objects ask for one of few models, so that their prices are known. */
  models: Random | undefined;
  /** For the fields that few objects have. */
  fields: Random;
  /** For changes of user data that Secrets and ConfigMaps have. */
  userData: Random;
  hasty: Hasty;
  /** In a world in which people choose identifiers. */
  choosing: Random | undefined;
  /** Whether the provider has a list of servers. */
  hasList: boolean;
  /** Whether the provider lists its zones. */
  hasZones: boolean;
}

export class People {
  /** Number of objects created so far. */
  lives = 0;
  readonly truth: Truth = {
    abandoned: new Set(),
    abandonedServers: new Set(),
    again: new Map(),
    guardedAt: new Map(),
    pausedAt: new Map(),
    extendedAt: new Map(),
    delayedAt: new Map(),
    handedAt: new Map(),
    late: new Set(),
    hidden: new Set(),
    removedUnseen: new Set(),
    denied: new Set(),
    definitionDeletedAt: -Infinity,
    setDefinitionDeletedAt: -Infinity,
  };
  readonly ownership: Ownership;
  readonly catalogs: CatalogPeople;
  readonly #caretaker: Caretaker;
  readonly #slips: Slips;
  readonly #restorer: Restorer;
  readonly #connections: Connections;
  readonly userData: UserDataPeople;
  readonly #handOvers: HandOverPeople;
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #random: Random;
  readonly #now: () => number;
  readonly #tell: (what: string) => void;
  readonly #models: Random | undefined;
  readonly #choosing: Random | undefined;
  readonly #fields: Random;
  readonly #orders: Orders;
  #secretVersion = 0;
  #keyId: (typeof KEY_IDS)[number] = 'key';

  constructor({
    api,
    simulation,
    orders,
    random,
    now,
    tell,
    models,
    fields,
    userData,
    hasty,
    choosing,
    hasList,
    hasZones,
  }: PeopleParts) {
    this.#choosing = choosing;
    this.#models = models;
    this.#fields = fields;
    this.#api = api;
    this.#simulation = simulation;
    this.#random = random;
    this.#now = now;
    this.#tell = tell;
    this.#orders = orders;
    this.ownership = new Ownership(api, simulation, orders);
    const { truth, ownership } = this;
    this.#caretaker = new Caretaker({ api, simulation, truth, ownership, now, tell, hasList });
    const any = (): VirtualServer | undefined => this.#any();
    const around = { api, simulation, random, truth, ownership, orders, now, any, tell };
    this.#restorer = new Restorer(around);
    this.#connections = new Connections(around);
    this.#handOvers = new HandOverPeople(around, {
      random: hasty.random,
      crash: (act) => hasty.crash(() => this.#try(act)),
    });
    this.#slips = new Slips(around);
    this.catalogs = new CatalogPeople({ api, simulation, random, namespaces: NAMESPACES, hasZones, tell });
    for (const namespace of NAMESPACES) {
      this.#putSecret(namespace);
      this.#putSecret(namespace, OTHER_KEY_SECRET, OTHER_KEY);
    }
    this.userData = new UserDataPeople({
      ...{ api, simulation, orders, ownership },
      random: fields,
      changing: userData,
      namespaces: NAMESPACES,
      tell,
    });
    if (models !== undefined) this.#adoptPriced();
  }

  /** Does one random action; some are refused, as a real API server would refuse them. */
  act(): void {
    const actions = [
      ...Array<() => void>(8).fill(() => this.#create()),
      ...Array<() => void>(5).fill(() => this.#delete()),
      () => this.#edit(),
      () => this.#edit(),
      () => this.#pause(),
      () => this.#restorer.wipeStatus(),
      () => this.#restorer.spoilMirror(),
      () => this.#restorer.dropRecord(),
      () => this.#restorer.rollRecordBack(),
      () => this.#restorer.restoreEtcd(),
      () => (this.lives += this.#restorer.copy(this.lives + 1) ? 1 : 0),
      () => this.#recreate(),
      () => this.#protect(),
      () => this.#extend(),
      () => this.#delay(),
      () => this.#cancelNow(),
      () => this.#askForVisit(),
      () => this.#rotateKey(),
      () => this.#changeKey(),
      () => this.#takeOtherKey(),
      ...Array<() => void>(3).fill(() => this.#slips.act()),
      () => this.#loseSecret(),
      () => this.#removeServer(),
      () => this.#deleteDefinition(),
      () => this.#swell(),
      ...Array<() => void>(3).fill(() => this.catalogs.act()),
      ...Array<() => void>(6).fill(() => this.#connections.act()),
      ...Array<() => void>(12).fill(() => (this.lives += this.#handOvers.act() ? 1 : 0)),
      ...Array<() => void>(4).fill(() => this.resolve()),
    ];
    this.#try(this.#random.pick(actions));
    this.userData.act();
  }

  /** Looks at every parked object and truthfully does what its condition asks for. */
  resolve(): void {
    for (const object of this.#api.servers.list()) this.#try(() => this.#caretaker.resolve(object));
  }

  /** Removes pauses and other obstacles, so that every object can settle. */
  tidy(): void {
    this.#caretaker.bePatient();
    this.#try(() => this.#handOvers.tidy());
    this.userData.tidy();
    this.#api.allowDeletion();
    for (const namespace of NAMESPACES) {
      this.#putSecret(namespace);
      this.#putSecret(namespace, OTHER_KEY_SECRET, OTHER_KEY);
    }
    for (const { metadata } of this.#api.catalogs.list())
      this.#api.catalogs.annotate(metadata.namespace, metadata.name, { [NOTE]: null });
    for (const { metadata, spec } of this.#api.servers.list()) {
      const { namespace, name } = metadata;
      if (metadata.annotations?.[PAUSED_ANNOTATION] !== undefined)
        this.#api.servers.annotate(namespace, name, { [PAUSED_ANNOTATION]: null });
      this.#api.servers.annotate(namespace, name, { [NOTE]: null });
      if (metadata.deletionTimestamp !== undefined && spec.deletionDelay !== undefined)
        this.#api.servers.editSpec(namespace, name, { deletionDelay: undefined });
      if (spec.deletionProtection) this.#api.servers.editSpec(namespace, name, { deletionProtection: false });
    }
    this.resolve();
  }

  #try(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
    }
  }

  #any(): VirtualServer | undefined {
    const objects = this.#api.servers.list();
    return objects.length === 0 ? undefined : this.#random.pick(objects);
  }

  #create(
    name = `s${this.#random.int(1, NAMES)}`,
    namespace: string = this.#random.pick(NAMESPACES),
    chosen: Partial<VirtualServer['spec']> = this.#chosen(),
  ): void {
    const random = this.#random;
    const manifest = virtualServer(
      name,
      withSpec({
        product: random.chance(0.1) ? 'VPSX9' : random.pick(PRODUCTS),
        diskSize: random.pick([5120, 10240, 20480]),
        // Shows in the provider's ledger which object a server was ordered for.
        sshKeys: [sshKeyOf(`serial-${this.lives + 1}`), ...(this.lives % 8 === 7 ? [CUT_SSH_KEY] : [])],
        ...this.#fewModels(),
        ...chosen,
        ...this.userData.with(drawFurther(this.#fields)),
        deletionPolicy: random.chance(0.1) ? 'Retain' : 'Delete',
        deletionProtection: random.chance(0.05),
        ...(random.chance(0.3) && { sshCheck: random.pick(CHECKS) }),
        ...(random.chance(0.15) && { expiresAt: this.#soon() }),
        ...(random.chance(0.05) && { ttl: `${random.int(1, 90)}m` }),
        ...(random.chance(0.2) && { deletionDelay: `${random.int(1, 90)}m` }),
        ...(random.chance(0.6) && { connectionSecretName: this.#connections.nameFor(name) }),
      }),
    );
    // Some objects adopt a server that was ordered before the operator was installed.
    const held = random.chance(0.02) ? this.#any() : undefined;
    const elsewhere = random.chance(0.05)
      ? this.#simulation.fleet.addServer(OWN_ACCOUNT).identifier
      : held && !isUnconfirmed(held)
        ? identifierOf(held)
        : undefined;
    const annotation = random.chance(0.05) ? MISTYPED : ADOPT_ANNOTATION;
    const named = elsewhere ?? (annotation === MISTYPED ? 'vs-nowhere' : undefined);
    const adopting = named === undefined ? manifest : withAnnotations({ [annotation]: named })(manifest);
    const { metadata } = this.#api.create(namespace, adopting);
    this.lives += 1;
    this.#tell(
      `create ${namespace}/${name} serial ${this.lives} ${metadata.uid} ${named === undefined ? '' : `${annotation}=${named}`}`,
    );
  }

  /** Somebody chooses the identifier of a failed order, if no object holds one. */
  reuseFailed(): void {
    const [identifier] = this.#choosing === undefined ? [] : this.#freeIdentifiers();
    if (identifier !== undefined) this.#try(() => this.#create('again', undefined, { identifier, ...PLAIN }));
  }

  /**
   * An object whose identifier was never used, and whose server expires soon. Returns how many changes there were by then;
   * undefined: the API server refuses it.
   */
  createOnce(): number | undefined {
    let created: number | undefined;
    this.#try(() => {
      const sshKeys = [sshKeyOf(`serial-${this.lives + 1}`)];
      this.#api.create('a', virtualServer(ONCE, withSpec({ ...PLAIN, identifier: ONCE, sshKeys, ttl: '5m' })));
      this.lives += 1;
      created = this.#api.servers.changes.length;
      this.#tell(`create a/${ONCE} serial ${this.lives}`);
    });
    return created;
  }

  deleteOnce(): void {
    this.#tell(`delete a/${ONCE}`);
    this.#try(() => this.#api.servers.delete('a', ONCE));
  }

  restoreTo(change: number): void {
    this.#restorer.restoreTo(change);
  }

  /** Sometimes another customer has a server under the identifier, or gets one. */
  #chosen(): Partial<VirtualServer['spec']> {
    const random = this.#choosing;
    if (random === undefined) return {};
    // The provider gives the identifier of a failed order free again, and that order may get its server after all.
    const failed = this.#failedIdentifiers();
    const free = this.#freeIdentifiers();
    const isOfFailed = failed.length > 0 && random.chance(0.7);
    if (!isOfFailed && !random.chance(0.4)) return {};
    const identifier = random.pick(!isOfFailed ? CHOSEN : free.length > 0 ? free : failed);
    // The simulator gives no identifier to a second server without an order.
    const isFree = !this.#simulation.fleet.history().some((server) => isSame(identifier, server.identifier));
    if (isFree && random.chance(0.2)) {
      const account = random.pick([OWN_ACCOUNT, OTHER_ACCOUNT]);
      const name = random.pick(['theirs', 'c/s1 (0123abcd)', null]);
      this.#simulation.fleet.addServer(account, { identifier, name });
      this.#tell(`another customer has server ${identifier} in account ${account}`);
    }
    return isOfFailed ? { identifier, ...PLAIN } : { identifier };
  }

  /** Those of failed orders that no object holds now: they can be ordered at once. */
  #freeIdentifiers(): string[] {
    const held = this.#api.servers.list().map((object) => recordOf(object)?.identifier);
    return this.#failedIdentifiers().filter((identifier) => !held.includes(identifier));
  }

  #failedIdentifiers(): string[] {
    const { orders, simulation, truth } = { orders: this.#orders, simulation: this.#simulation, truth: this.truth };
    return simulation.fleet
      .history()
      .filter(
        ({ serial, state }) => orders.uidOf(serial) !== undefined && (state === 'failed' || truth.hidden.has(serial)),
      )
      .map(({ identifier }) => identifier)
      .filter((identifier) => /^[a-z0-9]{3,20}$/.test(identifier));
  }

  /** Objects that know from the start what a server of each of the few models costs. */
  #adoptPriced(): void {
    for (const [index, { product, diskSize, price }] of FEW_MODELS.entries()) {
      const specs = { cores: 1, disk_size: diskSize, ram: 1024, disk_type: 'ssd' };
      const { identifier } = this.#simulation.fleet.addServer(OWN_ACCOUNT, { product, price, specs });
      const adopting = withAnnotations({ [ADOPT_ANNOTATION]: identifier });
      this.#api.create('b', virtualServer(`priced-${index}`, withSpec({ product, diskSize }), adopting));
    }
  }

  #fewModels(): { product?: string; diskSize?: number } {
    return this.#models === undefined || this.#models.chance(0.2) ? {} : modelOf(this.#models.pick(FEW_MODELS));
  }

  #delete(): void {
    const object = this.#any();
    if (object === undefined) return;
    this.#tell(`delete ${object.metadata.namespace}/${object.metadata.name}`);
    this.#api.servers.delete(object.metadata.namespace, object.metadata.name);
  }

  /** Deletes an object and recreates it under the same name, like `kubectl replace --force` and GitOps tools. */
  #recreate(): void {
    const object = this.#any();
    if (object === undefined) return;
    const { namespace, name } = object.metadata;
    this.#api.servers.delete(namespace, name);
    this.#create(name, namespace);
  }

  #edit(): void {
    const object = this.#any();
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const { namespace, name } = object.metadata;
    const change = this.#random.chance(0.3)
      ? { sshCheck: this.#random.pick(CHECKS) }
      : { product: this.#random.pick(PRODUCTS) };
    this.#api.servers.editSpec(namespace, name, change);
    this.#tell(`edit ${namespace}/${name}`);
  }

  #pause(): void {
    const object = this.#any();
    if (object === undefined) return;
    const { namespace, name, uid, annotations } = object.metadata;
    const paused = annotations?.[PAUSED_ANNOTATION] === undefined ? 'true' : null;
    this.#tell(`paused=${paused ?? ''} ${namespace}/${name}`);
    this.#api.servers.annotate(namespace, name, { [PAUSED_ANNOTATION]: paused });
    this.truth.pausedAt.set(uid, this.#now());
  }

  #protect(): void {
    const object = this.#any();
    if (object === undefined) return;
    const { namespace, name, uid } = object.metadata;
    const retain = this.#random.chance(0.3);
    this.#tell(`${retain ? 'retain' : 'toggle protection of'} ${namespace}/${name}`);
    this.#api.servers.editSpec(
      namespace,
      name,
      retain ? { deletionPolicy: 'Retain' } : { deletionProtection: !object.spec.deletionProtection },
    );
    this.truth.guardedAt.set(uid, this.#now());
  }

  /** Changes or removes a server's expiry. */
  #extend(): void {
    const object = this.#any();
    if (object === undefined) return;
    const { namespace, name, uid } = object.metadata;
    const expiresAt = this.#random.chance(0.3) ? undefined : this.#soon();
    this.#tell(`expiresAt=${expiresAt ?? ''} ${namespace}/${name}`);
    this.#api.servers.editSpec(namespace, name, { expiresAt, ttl: undefined });
    this.truth.extendedAt.set(uid, this.#now());
  }

  /** Changes for how long an object keeps its server after its deletion; most of these are being deleted. */
  #delay(): void {
    const object = this.#dying() ?? this.#any();
    if (object === undefined) return;
    const { namespace, name, uid } = object.metadata;
    const deletionDelay = this.#random.chance(0.3) ? undefined : `${this.#random.int(1, 120)}m`;
    this.#tell(`deletionDelay=${deletionDelay ?? ''} ${namespace}/${name}`);
    this.#api.servers.editSpec(namespace, name, { deletionDelay });
    this.truth.delayedAt.set(uid, this.#now());
  }

  /** Ends the delay of a deletion, or names another server. */
  #cancelNow(): void {
    const object = this.#dying();
    const identifier = object && identifierOf(this.#random.chance(0.8) ? object : (this.#any() ?? object));
    if (object === undefined || identifier === undefined) return;
    const { namespace, name, uid } = object.metadata;
    this.#tell(`cancel-now=${identifier} ${namespace}/${name}`);
    this.#api.servers.annotate(namespace, name, { [CANCEL_NOW_ANNOTATION]: identifier });
    if (object.metadata.annotations?.[CANCEL_NOW_ANNOTATION] !== undefined) this.truth.delayedAt.set(uid, this.#now());
  }

  /** A deleted object that keeps its server. */
  #dying(): VirtualServer | undefined {
    const objects = this.#api.servers
      .list()
      .filter(({ metadata, spec }) => metadata.deletionTimestamp !== undefined && spec.deletionDelay !== undefined);
    return objects.length === 0 ? undefined : this.#random.pick(objects);
  }

  #soon(): string {
    return new Date(this.#now() + this.#random.int(-10, 120) * 60_000).toISOString();
  }

  #askForVisit(): void {
    const object = this.#any();
    if (object === undefined) return;
    const value = this.#random.hex(8);
    this.#api.servers.annotate(object.metadata.namespace, object.metadata.name, { [RECONCILE_AT_ANNOTATION]: value });
  }

  /** Adds or removes an annotation that can make the object too large for the operator. */
  #swell(): void {
    const { servers, catalogs } = this.#api;
    const store = this.#random.chance(0.8) ? servers : catalogs;
    if (store.list().length === 0) return;
    const { namespace, name, annotations } = this.#random.pick<KubeObject>(store.list()).metadata;
    const note = annotations?.[NOTE] === undefined ? 'x'.repeat(NOTE_BYTES) : null;
    this.#tell(`${note === null ? 'no' : 'a large'} note on ${namespace}/${name}`);
    store.annotate(namespace, name, { [NOTE]: note });
  }

  #putSecret(namespace: string, name = KEY_SECRET, data = this.#key()): void {
    const { secrets } = this.#api;
    if (secrets.get(namespace, name) !== undefined) secrets.edit({ namespace, name }, { data: { ...data } });
    else secrets.create({ metadata: { namespace, name }, type: 'Opaque', data: { ...data } }, 'person');
  }

  #key(): Key {
    return { keyId: this.#keyId, secret: `secret-${this.#secretVersion}` };
  }

  /** Rotates the key; both keys work for a moment, as during a careful rotation. */
  #rotateKey(): void {
    this.#secretVersion += 1;
    for (const keyId of KEY_IDS) this.#simulation.accounts.rotateKey(keyId, this.#key().secret);
    for (const namespace of NAMESPACES) this.#putSecret(namespace);
    this.#tell('rotate key');
  }

  /** Switches to another key of the same account, with another key ID. */
  #changeKey(): void {
    this.#keyId = this.#random.pick(KEY_IDS);
    for (const namespace of NAMESPACES) this.#putSecret(namespace);
    this.#tell(`use key ${this.#keyId}`);
  }

  /** Uses the key of another account by mistake, until a person restores the right one. */
  #takeOtherKey(): void {
    const namespace = this.#random.pick(NAMESPACES);
    this.#putSecret(namespace, KEY_SECRET, OTHER_KEY);
    this.#tell(`namespace ${namespace} has the key of another account`);
  }

  #loseSecret(): void {
    const namespace = this.#random.pick(NAMESPACES);
    if (this.#api.secrets.delete(namespace, KEY_SECRET)) this.#tell(`delete Secret ${namespace}/${KEY_SECRET}`);
    else this.#putSecret(namespace);
  }

  /** Deletes the CRD like a second `kubectl delete -f` after the first removed the guard, or allows that deletion. */
  #deleteDefinition(): void {
    if (this.#random.chance(0.8)) return;
    if (this.#api.definition === 'deleting') this.#api.allowDeletion();
    else this.#api.deleteDefinition();
    this.truth.definitionDeletedAt = this.#now();
    this.#tell(`the definition of VirtualServers: ${this.#api.definition}`);
  }

  /** Cancels a server in the customer panel. */
  #removeServer(): void {
    const alive = this.#simulation.aliveServers();
    if (alive.length === 0 || this.#random.chance(0.7)) return;
    const { identifier, serial } = this.#random.pick(alive);
    const isSeen = this.#api.servers.list().some((object) => {
      const record = recordOf(object);
      return isSameIdentifier(record?.identifier, identifier) && record?.fingerprint !== undefined;
    });
    if (!isSeen) this.truth.removedUnseen.add(serial);
    this.#simulation.fleet.removeServer(identifier);
    this.#tell(`remove server ${identifier} at the provider`);
  }
}

const modelOf = ({ product, diskSize }: (typeof FEW_MODELS)[number]) => ({ product, diskSize });
