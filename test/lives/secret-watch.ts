/**
 * Follows every Secret and the end of every object, and reports what must not happen. Each violation is one sentence.
 */
import { currentReason } from '../../src/api/conditions.ts';
import { CONNECTION_SECRET_TYPE, OWNER_ANNOTATION, RECORD_ANNOTATION } from '../../src/api/names.ts';
import { parseRecord, mirrorIn } from '../../src/api/record.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { without } from '../../src/base/without.ts';
import { CONNECTION_KEYS } from '../../src/virtual-server/decision/connection.ts';
import type { Secret } from '../../src/kube/kinds.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import { expectedData } from '../oracles/connection-data.ts';
import type { ApiServer } from './api-server.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';
import { keyOf } from './object-store.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import type { SecretWrite } from './secret-store.ts';

/** What is known of one object. */
interface Known {
  namespace: string;
  /** Secret names that its spec has used. */
  names: Set<string>;
  /** Servers that it has held. */
  held: Set<string>;
  /** Host keys that its status has held, in base64. */
  hostKeys: Set<string>;
  record: string | undefined;
  /** ms since the epoch; Infinity until it is deleted. */
  deletedAt: number;
}

/** The Secret of an object whose server is gone, and since when (ms since the epoch). */
interface Past {
  uid: string;
  namespace: string;
  name: string;
  at: number;
}

export class SecretWatch {
  readonly violations: string[] = [];
  /** Number of writes by operators so far. */
  writes = 0;
  readonly #api: ApiServer;
  readonly #now: () => number;
  readonly #alwaysOn: boolean;
  readonly #hasConsoles: boolean;
  /** By uid of the object. */
  readonly #objects = new Map<string, Known>();
  /** By uid of the Secret: the uid of the object that an operator created it for, until a person removes that mark. */
  #madeFor = new Map<string, string>();
  /** The same, but includes Secrets that have lost that mark. */
  readonly #onceMadeFor = new Map<string, string>();
  /** By `namespace/name`: when a person last touched the Secret. */
  readonly #touchedAt = new Map<string, number>();
  readonly #expired = new Map<string, Past>();
  readonly #ended: Past[] = [];
  readonly #kept: (Past & { secret: string })[] = [];
  #seen = 0;
  #restores = 0;
  #restoredAt = -Infinity;

  /**
   * `alwaysOn`: every process has --connection-secrets; otherwise the end of an object is not judged. `hasConsoles`: the provider
   * shows the admin console and VNC.
   */
  constructor(api: ApiServer, now: () => number, alwaysOn: boolean, hasConsoles: boolean) {
    this.#hasConsoles = hasConsoles;
    this.#api = api;
    this.#now = now;
    this.#alwaysOn = alwaysOn;
    api.servers.listeners.add(() => this.#follow());
    api.secrets.listeners.add((write) => this.#judge(write));
  }

  /** Violations after faults have stopped; `isOn`: whether the processes that run now have the flag. */
  atRest(simulation: Simulation, isOn: boolean): string[] {
    return [
      ...this.#api.servers.list().flatMap((object) => this.#unlikeProvider(object, simulation, isOn)),
      ...[...this.#expired.values()]
        .filter((past) => this.#holdsData(past))
        .map(({ name }) => `Secret ${name} still holds data of an expired server`),
      ...this.#ended
        .filter((past) => this.#own(past) !== undefined && !this.#isTouchedSince(past))
        .map(({ name }) => `Secret ${name} still exists although its object was deleted with Delete`),
      ...this.#kept
        .filter((past) => this.#own(past)?.metadata.uid !== past.secret && !this.#isTouchedSince(past))
        .map(({ name }) => `Secret ${name} is gone although its object was deleted with Retain`),
    ];
  }

  /** The Secret of this name, if an operator created it for the object. */
  #own({ uid, namespace, name }: Pick<Past, 'uid' | 'namespace' | 'name'>): Secret | undefined {
    const secret = this.#api.secrets.get(namespace, name);
    return secret !== undefined && this.#madeFor.get(secret.metadata.uid) === uid ? secret : undefined;
  }

  #holdsData(past: Past): boolean {
    const data = this.#own(past)?.data ?? {};
    return CONNECTION_KEYS.some((key) => data[key] !== undefined) && !this.#isTouchedSince(past);
  }

  #isTouchedSince({ namespace, name, at }: Past): boolean {
    return (this.#touchedAt.get(`${namespace}/${name}`) ?? -Infinity) > at - UNDER_WAY_MS;
  }

  #judge({ by, before, after }: SecretWrite): void {
    const { metadata } = after ?? before ?? {};
    if (metadata === undefined) return;
    if (by === 'person') {
      this.#touchedAt.set(`${metadata.namespace}/${metadata.name}`, this.#now());
      if (metadata.annotations?.[OWNER_ANNOTATION] !== this.#madeFor.get(metadata.uid))
        this.#madeFor.delete(metadata.uid);
      return;
    }
    this.writes += 1;
    if (after !== undefined) this.violations.push(...this.#wrongly(before, after));
  }

  #wrongly(before: Secret | undefined, after: Secret): string[] {
    const { metadata, data, type } = after;
    const marked = metadata.annotations?.[OWNER_ANNOTATION] ?? '';
    if (before === undefined) {
      this.#madeFor.set(metadata.uid, marked);
      this.#onceMadeFor.set(metadata.uid, marked);
    }
    const owner = this.#madeFor.get(metadata.uid);
    const known = this.#objects.get(owner ?? '');
    if (
      owner !== marked ||
      type !== CONNECTION_SECRET_TYPE ||
      known?.namespace !== metadata.namespace ||
      !known.names.has(metadata.name)
    )
      return [`Secret ${metadata.name} was written although it is not the operator's`];
    const ours: readonly string[] = CONNECTION_KEYS;
    const changed = Object.keys({ ...before?.data, ...data }).filter((key) => before?.data[key] !== data[key]);
    const gained = changed.filter((key) => data[key] !== undefined);
    const { identifier } = data;
    const isStrange = gained.includes('identifier') && !known.held.has(identifier ?? '');
    const isEarly = gained.includes('known_hosts') && !isOfKeys(data.known_hosts ?? '', known.hostKeys);
    const isLate = gained.length > 0 && this.#now() - known.deletedAt > UNDER_WAY_MS;
    return [
      ...changed
        .filter((key) => !ours.includes(key))
        .map((key) => `the operator wrote foreign key ${key} of Secret ${metadata.name}`),
      ...(isStrange ? [`Secret ${metadata.name} was given data of server ${identifier}, not held by its object`] : []),
      ...(isEarly ? [`Secret ${metadata.name} was given a host key that the status of its object has never held`] : []),
      ...(isLate ? [`Secret ${metadata.name} was given data while its object was being deleted`] : []),
    ];
  }

  #follow(): void {
    if (this.#api.restores !== this.#restores) this.#reset();
    for (const { object, deleted, restored } of this.#api.servers.changes.slice(this.#seen)) {
      this.#learn(object);
      if (deleted && restored !== true && this.#alwaysOn) this.#judgeEnd(object);
    }
    this.#seen = this.#api.servers.changes.length;
  }

  /** After a restore of etcd, Secrets and objects exist again as they were in the backup. */
  #reset(): void {
    this.#restores = this.#api.restores;
    this.#restoredAt = this.#now();
    for (const known of this.#objects.values()) Object.assign(known, { deletedAt: Infinity, record: undefined });
    this.#expired.clear();
    this.#ended.length = 0;
    this.#kept.length = 0;
    const marked = this.#api.secrets.list().flatMap(({ metadata: { uid, annotations } }) => {
      const owner = this.#onceMadeFor.get(uid);
      return owner !== undefined && annotations?.[OWNER_ANNOTATION] === owner ? [[uid, owner] as const] : [];
    });
    this.#madeFor = new Map(marked);
    for (const object of this.#api.servers.list()) this.#learn(object);
  }

  #learn(object: VirtualServer): void {
    const { metadata, spec } = object;
    const { uid, namespace } = metadata;
    const name = spec.connectionSecretName;
    const known = this.#objects.get(uid) ?? {
      namespace,
      names: new Set(),
      held: new Set(),
      hostKeys: new Set(),
      record: undefined,
      deletedAt: Infinity,
    };
    this.#objects.set(uid, known);
    if (name !== undefined) known.names.add(name);
    // The operator uses the current spec, which a user may change before the Secret is emptied.
    if (this.#expired.get(uid)?.name !== name) this.#expired.delete(uid);
    if (metadata.deletionTimestamp !== undefined) known.deletedAt = Math.min(known.deletedAt, this.#now());
    for (const { key } of object.status?.sshHostKeys ?? []) known.hostKeys.add(key);
    const mirror = mirrorIn(object.status);
    if (mirror?.owner === uid && mirror.identifier !== undefined) known.held.add(mirror.identifier);
    const text = metadata.annotations?.[RECORD_ANNOTATION];
    if (text === undefined || text === known.record) return;
    known.record = text;
    const parsed = parseRecord(text);
    const record = parsed.ok && parsed.value?.owner === uid ? parsed.value : undefined;
    if (record?.identifier !== undefined) known.held.add(record.identifier);
    if (record?.expiredAt === undefined || this.#expired.has(uid) || name === undefined || !this.#alwaysOn) return;
    this.#expired.set(uid, { uid, namespace, name, at: this.#now() });
  }

  /** Judges the Secret when its object is removed; the garbage collector runs later. */
  #judgeEnd({
    metadata: { uid, namespace },
    spec: { connectionSecretName: name, deletionPolicy },
  }: VirtualServer): void {
    // A release that was under way when etcd was restored followed a write to the Secret that the restore has undone.
    if (name === undefined || this.#now() - this.#restoredAt < UNDER_WAY_MS) return;
    const past = { uid, namespace, name, at: this.#now() };
    const secret = this.#own(past);
    if (deletionPolicy === 'Delete') this.#ended.push(past);
    else if (secret !== undefined) this.#kept.push({ ...past, secret: secret.metadata.uid });
    if (secret === undefined || this.#isTouchedSince(past)) return;
    if (isBound(secret, uid) !== (deletionPolicy === 'Delete'))
      this.violations.push(
        `Secret ${name} is ${isBound(secret, uid) ? 'bound' : 'not bound'} to its object at the end, with ${deletionPolicy}`,
      );
  }

  /** Violations of a Ready object's Secret, or of the condition about it. */
  #unlikeProvider(object: VirtualServer, simulation: Simulation, isOn: boolean): string[] {
    const { metadata, spec, status } = object;
    const { uid, namespace } = metadata;
    if (currentReason(status?.conditions) !== 'Available') return [];
    const { connectionSecretName: name, deletionPolicy } = spec;
    const reason = status?.conditions?.find(({ type }) => type === 'ConnectionSecret')?.reason;
    const says = (what: string): string[] => [`${keyOf(object)}, whose condition says ${reason ?? 'nothing'}, ${what}`];
    if (name === undefined) return reason === undefined ? [] : says('has no connectionSecretName');
    if (!isOn) return reason === 'ConnectionSecretsDisabled' ? [] : says('has a condition although the flag is off');
    const own = this.#own({ uid, namespace, name });
    if (own === undefined) {
      const isTaken = this.#api.secrets.get(namespace, name) !== undefined;
      return isTaken && reason === 'ConnectionSecretTaken' ? [] : says(`does not own Secret ${name}`);
    }
    if (reason !== 'ConnectionSecretWritten') return says(`owns Secret ${name}`);
    if (isBound(own, uid) !== (deletionPolicy === 'Delete'))
      return says(`has a Secret with owner references that contradict ${deletionPolicy}`);
    const identifier = status?.identifier ?? '';
    const shown = [OWN_ACCOUNT, OTHER_ACCOUNT].map((account) => simulation.fleet.find(account, identifier)?.object);
    const server = shown.find(Boolean);
    const visible = server && (this.#hasConsoles ? server : without(server, 'vnc', 'admin_console'));
    const expected = expectedData(identifier, visible, status?.sshHostKeys);
    const different = CONNECTION_KEYS.filter((key) => own.data[key] !== expected[key]);
    return different.flatMap((key) =>
      says(`has ${key} "${own.data[key] ?? ''}" in its Secret, the provider says "${expected[key] ?? ''}"`),
    );
  }
}

/** Whether all lines of this known_hosts have one of these keys. */
const isOfKeys = (text: string, keys: ReadonlySet<string>): boolean =>
  text
    .split('\n')
    .filter(Boolean)
    .every((line) => keys.has(line.split(' ')[2] ?? ''));

const isBound = ({ metadata: { ownerReferences = [] } }: Secret, owner: string): boolean =>
  ownerReferences.some(({ uid }) => uid === owner);
