/** The simulated user who resolves parked objects, and answers truthfully from what the provider shows. */
import { currentReason } from '../../src/api/conditions.ts';
import {
  ACCEPT_SERVER_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  START_OVER_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { unknownAnnotations } from '../../src/virtual-server/decision/inputs.ts';
import type { AliveServer, Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { OTHER_ACCOUNT } from './misfortunes.ts';
import { NO_FURTHER } from './further-fields.ts';
import { identifierOf, isAlive, isSame, type Ownership } from './ownership.ts';
import { recordOf } from '../fixtures/records.ts';
import { isInUse, wordsAboutOrder, wordsAboutOrphans } from '../oracles/person.ts';

/** Names of the Secrets with the API keys of the two accounts. */
export const KEY_SECRET = 'vps-api-key';
export const OTHER_KEY_SECRET = 'other-api-key';

/** Reasons that can mean that the API key belongs to another account than the server. */
const BLIND = new Set(['ServerNotVisible', 'IdentityUnproven', 'TaskNotFound']);

export interface CaretakerParts {
  api: ApiServer;
  simulation: Simulation;
  truth: Truth;
  ownership: Ownership;
  now: () => number;
  tell: (what: string) => void;
  /** Whether the provider has a list of servers. */
  hasList: boolean;
}

/** One minute, plus another minute because the clock that wrote attemptedAt may be off by as much. */
const PATIENCE_MS = 150_000;

/** How long no user answers: longer than the proof takes that a server that was never read is absent (ms). */
const TEMPTING_MS = 80 * 60_000;

/** The truth, as opposed to what the operator believes. */
export interface Truth {
  /** Uids of objects whose order a person gave up with a false annotation. */
  abandoned: Set<string>;
  /** Serials of the servers of those objects. */
  abandonedServers: Set<number>;
  /** By uid: attempts that a person allowed to be repeated, because the object's server is gone. */
  again: Map<string, Set<string>>;
  /**
   * By uid: when a person last changed the server's deletion guards; a DELETE already in flight cannot know about it.
   */
  guardedAt: Map<string, number>;
  /** By uid: when a person last paused the object, or resumed it. */
  pausedAt: Map<string, number>;
  /** By uid: when a person last extended the server's expiry. */
  extendedAt: Map<string, number>;
  /** By uid: when a person last changed for how long the object keeps its server after its deletion. */
  delayedAt: Map<string, number>;
  /** By uid: when a person last named the object that gets its server, or took that back. */
  handedAt: Map<string, number>;
  /** Serials of servers that come up long after their order seemed to have failed. */
  late: Set<number>;
  /** The late servers that do not exist yet, so no call shows them. */
  hidden: Set<number>;
  /** Servers that a person cancelled in the customer panel before any object had a fingerprint of them. */
  removedUnseen: Set<number>;
  /** Attempts of which a person said, by what the provider showed, that they have led to no server. */
  denied: Set<string>;
  /** When the CustomResourceDefinition was last deleted; a DELETE already in flight cannot know about it. */
  definitionDeletedAt: number;
  /** The same for the definition of sets, or when a restore of etcd brought that state back. */
  setDefinitionDeletedAt: number;
}

/** From now on the operator owes nothing for servers that were ordered for the object or adopted by it. */
export function abandon(object: VirtualServer, { abandoned, abandonedServers }: Truth, ownership: Ownership): void {
  abandoned.add(object.metadata.uid);
  for (const serial of ownership.ownedBy(object)) abandonedServers.add(serial);
}

export class Caretaker {
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #truth: Truth;
  readonly #ownership: Ownership;
  readonly #now: () => number;
  readonly #tell: (what: string) => void;
  readonly #hasList: boolean;
  /** Since when users leave to the operator what it can find out (ms since the epoch); undefined: they answer everything. */
  #patientSince: number | undefined;

  constructor({ api, simulation, truth, ownership, now, tell, hasList }: CaretakerParts) {
    this.#hasList = hasList;
    this.#api = api;
    this.#simulation = simulation;
    this.#truth = truth;
    this.#ownership = ownership;
    this.#now = now;
    this.#tell = tell;
  }

  bePatient(): void {
    this.#patientSince ??= this.#now();
  }

  /** Does what the object's condition asks for, if anything. */
  resolve(object: VirtualServer): void {
    const reason = currentReason(object.status?.conditions);
    const { attempt, attemptedAt, identifier } = recordOf(object) ?? {};
    // A request that was cut off may still arrive later, so a person waits before trusting what the provider shows.
    if (attemptedAt !== undefined && this.#now() - Date.parse(attemptedAt) < PATIENCE_MS) return;
    if (reason === undefined) return;
    if (reason === 'UnknownAnnotation')
      this.#annotate(object, Object.fromEntries(unknownAnnotations(object.metadata).map((name) => [name, null])));
    if (reason === 'RecordMismatch') this.#annotate(object, { [START_OVER_ANNOTATION]: object.metadata.uid });
    if (BLIND.has(reason)) this.#restoreKey(object);
    const words = this.#mayWait(object) ? undefined : wordsAboutOrder(object, this.#living(object, identifier));
    if (words?.[NOT_CREATED_ANNOTATION] !== undefined && attempt !== undefined) {
      this.#truth.denied.add(attempt);
      this.#excuse(object, attempt);
    }
    if (words !== undefined) this.#annotate(object, words);
    if (identifier !== undefined && reason === 'IdentityUnproven') this.#identify(object, identifier);
    const isUnseen = reason === 'ServerNotVisible' || isInUse(object);
    if (identifier !== undefined && isUnseen && !this.#isAlive(object)) {
      // The next order of an object whose order has led to no server.
      if (attempt !== undefined && recordOf(object)?.sent !== undefined) this.#excuse(object, attempt);
      this.#sayGone(object, identifier);
    }
    if (identifier !== undefined && reason === 'IdentifierInUse') this.#giveUp(object);
    // A Ready object reports orphans in another condition.
    const isAsked = object.status?.conditions?.some((condition) => condition.reason === 'OrphanedServer') === true;
    const orphans = isAsked ? wordsAboutOrphans(object) : undefined;
    if (orphans !== undefined) {
      this.#cancelUnheld(object);
      this.#annotate(object, orphans);
    }
    // Some objects keep their server; others wait until deletion is allowed.
    if (reason === 'CRDDeleting' && object.metadata.name.endsWith('1')) this.#retain(object);
    // For a member, the template is what has to change.
    if (object.metadata.ownerReferences !== undefined) return;
    const { message = '' } = object.status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
    if (reason === 'InvalidSpec')
      this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, {
        product: 'VPSX4',
        zone: undefined,
        ...(message.includes('identifier') && { identifier: undefined }),
      });
    // Every second object waits at first: a failed order may let the identifier go.
    const waits = this.#patientSince === undefined && isOfEverySecond(object);
    if (reason === 'IdentifierTaken' && !waits)
      this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, { identifier: undefined });
    // A rejected order is sent again when the spec changes. One for a product that is out of stock needs no person.
    if (reason === 'CreateRejected' && !message.includes('No host has room')) {
      const product = object.spec.product === 'VPSX4' ? 'VPSX8' : 'VPSX4';
      this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, { product, ...NO_FURTHER });
    }
  }

  /**
   * A failed order whose server the list of servers denies needs no person; without a list, the operator must not order again
   * until a person answers, however late. So people answer every second object at first, and none for a while at the end. People do not deny the order of a server that has not come up yet unless the operator
   * would know it again.
   */
  #mayWait(object: VirtualServer): boolean {
    const { identifier } = recordOf(object) ?? {};
    const isNamed = currentReason(object.status?.conditions) === 'CreateFailed' && identifier !== undefined;
    const life = this.#ownership.serverOf(object);
    const isKnown = isNamed && life !== undefined;
    const isHidden = [...this.#ownership.orderedFor(object)].some((serial) => this.#truth.hidden.has(serial));
    if (isHidden && !(isKnown && this.#truth.hidden.has(life.serial))) return true;
    if (!isKnown || life.state !== 'failed') return false;
    if (this.#patientSince === undefined) return isOfEverySecond(object);
    return this.#hasList || this.#now() - this.#patientSince < TEMPTING_MS;
  }

  /** The server that was ordered for the object, or that it holds, if that server is alive or will be. */
  #living(object: VirtualServer, held: string | undefined): string | undefined {
    // An earlier order may have got its server late: the present one is asked about.
    if (held === undefined) return this.#serversOf(object).at(-1)?.identifier;
    return this.#isAlive(object) ? held : undefined;
  }

  /** While the object's own server is alive, the shown server is that server. */
  #identify(object: VirtualServer, identifier: string): void {
    const word = object.status?.conditions?.find(({ reason }) => reason === 'IdentityUnproven')?.subject;
    // Once the account's key is back, the task belongs to the order.
    const isOwn = this.#isAlive(object) || word?.startsWith('task-') === true;
    if (isOwn && word !== undefined) this.#annotate(object, { [ACCEPT_SERVER_ANNOTATION]: word });
    else if (!isOwn) this.#sayGone(object, identifier);
  }

  /** A statement that was false when it was made is withdrawn first. */
  #sayGone(object: VirtualServer, identifier: string): void {
    const { serial = -1 } = this.#ownership.serverOf(object) ?? {};
    if (this.#truth.hidden.has(serial)) abandon(object, this.#truth, this.#ownership);
    this.#truth.denied.add(recordOf(object)?.attempt ?? '');
    const said = object.metadata.annotations?.[SERVER_GONE_ANNOTATION] === identifier;
    const isVoid = said && recordOf(object)?.goneRefuted !== undefined;
    this.#annotate(object, { [SERVER_GONE_ANNOTATION]: isVoid ? null : identifier });
  }

  /**
   * When several objects hold one server, all but one give it up: those that adopted it by mistake or whose server is
   * gone.
   */
  #giveUp(object: VirtualServer): void {
    const identifier = identifierOf(object);
    if (identifier === undefined) return;
    const holders = this.#api.servers.list().filter((other) => isSame(identifier, identifierOf(other)));
    const living = holders.filter((other) => this.#isAlive(other));
    const keeper = living.find((other) => this.#hasOrdered(other)) ?? living[0] ?? holders[0];
    for (const other of holders.filter((holder) => holder !== keeper)) {
      const { namespace, name } = other.metadata;
      this.#tell(`gives up the server of ${namespace}/${name}`);
      this.#retain(other);
      this.#api.servers.delete(namespace, name);
    }
  }

  #retain({ metadata: { namespace, name, uid } }: VirtualServer): void {
    this.#api.servers.editSpec(namespace, name, { deletionPolicy: 'Retain', expiresAt: undefined, ttl: undefined });
    this.#truth.guardedAt.set(uid, this.#now());
  }

  /** Switches to the Secret with the key of the account that owns the server: the one that the words about the order name. */
  #restoreKey(object: VirtualServer): void {
    const server = this.#ownership.serverOf(object) ?? this.#serversOf(object).at(-1);
    if (server === undefined) return;
    const name = server.account === OTHER_ACCOUNT ? OTHER_KEY_SECRET : KEY_SECRET;
    if (object.spec.apiKeySecretRef.name === name) return;
    this.#tell(`${object.metadata.namespace}/${object.metadata.name} uses Secret ${name}`);
    this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, { apiKeySecretRef: { name } });
  }

  #hasOrdered(object: VirtualServer): boolean {
    const serial = this.#ownership.serverOf(object)?.serial;
    return serial !== undefined && this.#ownership.orderedFor(object).has(serial);
  }

  #isAlive(object: VirtualServer): boolean {
    const life = this.#ownership.serverOf(object);
    return life !== undefined && isAlive(life) && !this.#truth.hidden.has(life.serial);
  }

  #annotate({ metadata: { namespace, name } }: VirtualServer, annotations: Record<string, string | null>): void {
    this.#tell(`${JSON.stringify(annotations)} on ${namespace}/${name}`);
    this.#api.servers.annotate(namespace, name, annotations);
  }

  #excuse(object: VirtualServer, attempt: string): void {
    const { uid } = object.metadata;
    if (this.#ownership.orderedFor(object).size === 0) return;
    this.#truth.again.set(uid, (this.#truth.again.get(uid) ?? new Set()).add(attempt));
  }

  /** Cancels the object's servers that no object holds, in the customer panel. */
  #cancelUnheld(object: VirtualServer): void {
    const held = new Set(this.#api.servers.list().map((other) => this.#ownership.serverOf(other)?.serial));
    for (const { identifier } of this.#serversOf(object).filter(({ serial }) => !held.has(serial))) {
      this.#tell(`removes server ${identifier}, which no object holds`);
      this.#simulation.fleet.removeServer(identifier);
    }
  }

  /** Servers that were ordered for this object and are alive, or will be when their task ends, as far as people can see. */
  #serversOf(object: VirtualServer): AliveServer[] {
    const own = this.#ownership.orderedFor(object);
    const { hidden } = this.#truth;
    return this.#simulation.aliveServers().filter(({ serial }) => own.has(serial) && !hidden.has(serial));
  }
}

const isOfEverySecond = ({ metadata: { uid } }: VirtualServer): boolean => /[02468]$/.test(uid);
