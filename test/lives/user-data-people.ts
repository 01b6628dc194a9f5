/**
 * People who create, change and delete the Secrets and ConfigMaps with user data, and an administrator who takes the right to read
 * ConfigMaps. At the end, an object tells exactly whether its server was ordered with what is there now.
 */
import { currentReason } from '../../src/api/conditions.ts';
import { USER_DATA_SECRET_TYPE } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { userDataDigest } from '../../src/virtual-server/operations/user-data.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer } from './api-server.ts';
import { USER_DATA_NAME, USER_DATA_OF, userDataKindOf, type Further } from './further-fields.ts';
import { keyOf } from './object-store.ts';
import type { Orders } from './orders.ts';
import { isAlive, type Ownership } from './ownership.ts';
import type { Random } from './random.ts';

/** Share of their turns, 0 to 1, in which they do something. */
const ACTS = 0.05;
/** The same for changes of what is there. */
const CHANGES = 0.05;
/** Share of the worlds, 0 to 1, in which many objects have such user data, and of the objects then. Few have it otherwise. */
const COMMON = 0.1;
const OF_OBJECTS = 0.5;
/** The server is as its object asks, so it is read. */
const READ = new Set<string | undefined>(['Available', 'PoweredOff', 'Dormant']);

type Kind = keyof typeof USER_DATA_OF;
const KINDS = ['Secret', 'ConfigMap'] as const;

interface Parts {
  api: ApiServer;
  simulation: Simulation;
  orders: Orders;
  ownership: Ownership;
  random: Random;
  /** Apart from the others, so that what is drawn here changes no other draw. */
  changing: Random;
  namespaces: readonly string[];
  tell: (text: string) => void;
}

export class UserDataPeople {
  /** Number of servers at the end whose user data was compared with what is there, and of those that differed. */
  readonly judged = { same: 0, changed: 0 };
  readonly #parts: Parts;
  /** By kind and namespace: which text is there. */
  readonly #texts = new Map<string, number>();
  readonly #isCommon: boolean;
  #made = 0;

  /** At first, only some of them are there. */
  constructor(parts: Parts) {
    this.#parts = parts;
    const { random, changing, namespaces } = parts;
    this.#isCommon = changing.chance(COMMON);
    for (const namespace of namespaces) {
      if (random.chance(0.5)) this.#putSecret(namespace);
      if (random.chance(0.5)) this.#putConfigMap(namespace);
    }
  }

  /** The fields of a new object, which may have such user data too. */
  with(fields: Further): Further {
    const { changing } = this.#parts;
    const { userData, userDataFrom, storedUserData } = fields;
    const isFree = (userData ?? userDataFrom ?? storedUserData) === undefined;
    if (!this.#isCommon || !isFree || !changing.chance(OF_OBJECTS)) return fields;
    const ref = { name: USER_DATA_NAME, key: USER_DATA_NAME };
    return { ...fields, userDataFrom: changing.pick([{ secretKeyRef: ref }, { configMapKeyRef: ref }]) };
  }

  act(): void {
    const { api, random, changing, namespaces, tell } = this.#parts;
    if (changing.chance(CHANGES)) this.#change(changing.pick(KINDS), changing.pick(namespaces));
    if (!random.chance(ACTS)) return;
    const namespace = random.pick(namespaces);
    const at = `${namespace}/${USER_DATA_NAME}`;
    random.pick([
      () => {
        if (!api.secrets.delete(namespace, USER_DATA_NAME)) this.#putSecret(namespace);
        tell(`create or delete Secret ${at}`);
      },
      () => {
        if (!api.configMaps.delete(at)) this.#putConfigMap(namespace);
        tell(`create or delete ConfigMap ${at}`);
      },
      () => {
        api.readsConfigMaps = !api.readsConfigMaps;
        tell(`the operator may ${api.readsConfigMaps ? '' : 'not '}read ConfigMaps`);
      },
    ])();
  }

  /** Whatever an object waits for is there. */
  tidy(): void {
    const { api, namespaces } = this.#parts;
    api.readsConfigMaps = true;
    for (const namespace of namespaces) {
      this.#putSecret(namespace);
      this.#putConfigMap(namespace);
    }
  }

  /** A change of about half of what is there, after most servers were ordered. */
  changeSome(): void {
    const { changing, namespaces } = this.#parts;
    for (const namespace of namespaces)
      for (const kind of KINDS) if (changing.chance(0.5)) this.#change(kind, namespace);
  }

  /** What is wrong about what settled objects tell. */
  atRest(): string[] {
    return this.#parts.api.servers.list().flatMap((object) => {
      const isChanged = this.#isChanged(object);
      if (isChanged === undefined) return [];
      const drift = object.status?.conditions?.find(({ type }) => type === 'Drifted');
      const isTold = drift?.message.includes('spec.userDataFrom') === true;
      return isTold === isChanged
        ? []
        : [
            `${keyOf(object)} tells ${isTold ? 'a' : 'no'} change of its user data, which has ${isChanged ? '' : 'not '}changed`,
          ];
    });
  }

  /** Whether the object has to tell a change; undefined: it holds no server that runs and can be read. */
  #isChanged(object: VirtualServer): boolean | undefined {
    const { simulation, orders, ownership } = this.#parts;
    const { userDataFrom } = object.spec;
    const life = ownership.serverOf(object);
    const isRead =
      READ.has(currentReason(object.status?.conditions)) && object.metadata.deletionTimestamp === undefined;
    if (userDataFrom === undefined || life === undefined || !isAlive(life) || !isRead) return undefined;
    const { mode, attempt, ordered } = recordOf(object) ?? {};
    // Someone has adopted the server, or a backup has brought back a record of earlier.
    const isOrdered = mode !== 'adopt' && orders.attemptOf(life.serial) === attempt && ordered?.attempt === attempt;
    if (!isOrdered || ordered?.userDataDigest === undefined) return false;
    const sent = simulation.ledger.creates().find(({ serial }) => serial === life.serial)?.body['user_data_string'];
    const present = this.#read(userDataKindOf(userDataFrom), object.metadata.namespace);
    if (typeof sent !== 'string' || present === undefined) return false;
    // The digests of two texts may be the same.
    const isChanged = userDataDigest(object, present) !== userDataDigest(object, sent);
    this.judged[isChanged ? 'changed' : 'same'] += 1;
    return isChanged;
  }

  #read(kind: Kind, namespace: string): string | undefined {
    const { secrets, configMaps } = this.#parts.api;
    if (kind === 'ConfigMap') return configMaps.get(`${namespace}/${USER_DATA_NAME}`)?.data[USER_DATA_NAME];
    return secrets.get(namespace, USER_DATA_NAME)?.data[USER_DATA_NAME];
  }

  #change(kind: Kind, namespace: string): void {
    const { api, tell } = this.#parts;
    const source = `${kind} ${namespace}`;
    this.#texts.set(source, 1 - (this.#texts.get(source) ?? 0));
    tell(`change the user data in ${kind} ${namespace}/${USER_DATA_NAME}`);
    const data = { [USER_DATA_NAME]: this.#text(kind, namespace) };
    const at = `${namespace}/${USER_DATA_NAME}`;
    const found = api.configMaps.get(at);
    if (kind === 'ConfigMap' && found !== undefined) api.configMaps.set(at, { ...found, data });
    if (kind === 'Secret' && api.secrets.get(namespace, USER_DATA_NAME) !== undefined)
      api.secrets.edit({ namespace, name: USER_DATA_NAME }, { data });
  }

  #text(kind: Kind, namespace: string): string {
    return USER_DATA_OF[kind][this.#texts.get(`${kind} ${namespace}`) ?? 0] ?? '';
  }

  #putSecret(namespace: string): void {
    const { secrets } = this.#parts.api;
    if (secrets.get(namespace, USER_DATA_NAME) !== undefined) return;
    const metadata = { namespace, name: USER_DATA_NAME };
    secrets.create(
      { metadata, type: USER_DATA_SECRET_TYPE, data: { [USER_DATA_NAME]: this.#text('Secret', namespace) } },
      'person',
    );
  }

  #putConfigMap(namespace: string): void {
    const { configMaps } = this.#parts.api;
    const at = `${namespace}/${USER_DATA_NAME}`;
    if (configMaps.has(at)) return;
    const uid = `config-map-uid-${++this.#made}`;
    const metadata = { namespace, name: USER_DATA_NAME, uid, resourceVersion: '1' };
    configMaps.set(at, { metadata, data: { [USER_DATA_NAME]: this.#text('ConfigMap', namespace) } });
  }
}
