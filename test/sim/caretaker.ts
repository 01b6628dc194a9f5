/** The person who looks after parked objects in the simulation, and says truthfully what the provider shows. */
import { currentReason } from '../../src/controller/conditions.ts';
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  ORPHAN_HANDLED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
  START_ANEW_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { orphanName } from '../../src/virtual-server/decision/inputs.ts';
import type { AliveServer, Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { OTHER_ACCOUNT } from './misfortunes.ts';
import { identifierOf, isAlive, isSame, type Ownership } from './ownership.ts';
import { recordOf } from '../gen/records.ts';

/** Names of the Secrets with the keys of the two accounts. */
export const KEY_SECRET = 'vps-api-key';
export const OTHER_KEY_SECRET = 'other-api-key';

/** Reasons in which an order without a server waits for a word. */
const OPEN = new Set([
  'CreateOutcomeUnknown',
  'TaskNotFound',
  'TaskFailed',
  'TaskInUse',
  'TaskOverdue',
  'IdentityUnproven',
  'IdentifierInUse',
  'ServerNotVisible',
]);
/** Reasons in which a server that the task has named may never come. */
const FAILED = new Set(['TaskNotFound', 'TaskFailed', 'TaskOverdue', 'TaskInUse']);
/** Reasons that another key than that of the server's account may cause. */
const BLIND = new Set(['ServerNotVisible', 'IdentityUnproven', 'TaskNotFound']);

export interface CaretakerParts {
  api: ApiServer;
  simulation: Simulation;
  truth: Truth;
  ownership: Ownership;
  now: () => number;
  tell: (what: string) => void;
}

/** A minute, and another one since the clock that wrote the time of the attempt may be that far off. */
const PATIENCE_MS = 150_000;

/** What the truth is, beside what the operator believes. */
export interface Truth {
  /** SSH keys of orders that somebody gave up by a word that was not true. */
  abandoned: Set<unknown>;
  /** Serials of servers that such objects had. */
  abandonedServers: Set<number>;
  /** By SSH key: attempts that a person let be made again, because the server of the object is gone. */
  again: Map<unknown, Set<string>>;
  /** By uid: when somebody last changed what guards the server; a DELETE that is under way cannot know. */
  guardedAt: Map<string, number>;
  /** By uid: when somebody last gave the server more time. */
  extendedAt: Map<string, number>;
  /** When the CustomResourceDefinition was last deleted; a DELETE that is under way cannot know. */
  definitionDeletedAt: number;
}

/** Nobody promises anything any more for what was ordered for the object, or taken over by it. */
export function abandon(object: VirtualServer, { abandoned, abandonedServers }: Truth, ownership: Ownership): void {
  abandoned.add(object.spec.sshKeys?.[0]);
  for (const serial of ownership.ownedBy(object)) abandonedServers.add(serial);
}

export class Caretaker {
  readonly #api: ApiServer;
  readonly #simulation: Simulation;
  readonly #truth: Truth;
  readonly #ownership: Ownership;
  readonly #now: () => number;
  readonly #tell: (what: string) => void;

  constructor({ api, simulation, truth, ownership, now, tell }: CaretakerParts) {
    this.#api = api;
    this.#simulation = simulation;
    this.#truth = truth;
    this.#ownership = ownership;
    this.#now = now;
    this.#tell = tell;
  }

  /** Does what the condition of the object asks for, if it asks for anything. */
  resolve(object: VirtualServer): void {
    const reason = currentReason(object.status?.conditions);
    const { attempt, attemptedAt, identifier, orphans } = recordOf(object) ?? {};
    // A request that was cut off may arrive later than its sender knows: whoever looks at the provider waits a little.
    if (attemptedAt !== undefined && this.#now() - Date.parse(attemptedAt) < PATIENCE_MS) return;
    if (reason === undefined) return;
    if (reason === 'RecordMismatch') this.#annotate(object, { [START_ANEW_ANNOTATION]: object.metadata.uid });
    if (BLIND.has(reason)) this.#restoreKey(object);
    if (attempt !== undefined && identifier === undefined && OPEN.has(reason)) this.#resolveOrder(object, attempt);
    // Whom they wanted to adopt has gone, or was never there.
    else if (identifier === undefined && (reason === 'ServerNotVisible' || reason === 'IdentifierInUse'))
      this.#annotate(object, { [ADOPT_ANNOTATION]: null });
    if (attempt !== undefined && identifier !== undefined && FAILED.has(reason) && !this.#isAlive(object)) {
      this.#excuse(object, attempt);
      this.#annotate(object, { [NOT_CREATED_ANNOTATION]: attempt });
    }
    if (identifier !== undefined && reason === 'IdentityUnproven') this.#identify(object, identifier);
    if (identifier !== undefined && reason === 'ServerNotVisible' && !this.#isAlive(object))
      this.#sayGone(object, identifier);
    if (identifier !== undefined && reason === 'IdentifierInUse') this.#giveUp(object);
    if (reason === 'OrphanedServer' && orphans !== undefined) {
      this.#cancelUnheld(object);
      this.#annotate(object, { [ORPHAN_HANDLED_ANNOTATION]: orphans.map(orphanName).join(',') });
    }
    // Some keep the server, others wait until the deletion is allowed.
    if (reason === 'CRDDeleting' && object.metadata.name.endsWith('1')) this.#retain(object);
    if (reason === 'InvalidSpec')
      this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, { product: 'vps-1gb' });
    // An order that was refused is sent again for another spec.
    if (reason === 'CreateRejected') {
      const product = object.spec.product === 'vps-1gb' ? 'vps-2gb' : 'vps-1gb';
      this.#api.servers.editSpec(object.metadata.namespace, object.metadata.name, { product });
    }
  }

  /** Says what the provider shows of the order. */
  #resolveOrder(object: VirtualServer, attempt: string): void {
    const [server] = this.#serversOf(object);
    if (server !== undefined) {
      this.#annotate(object, { [ADOPT_ANNOTATION]: server.identifier });
      return;
    }
    this.#excuse(object, attempt);
    this.#annotate(object, { [ADOPT_ANNOTATION]: null, [NOT_CREATED_ANNOTATION]: attempt });
  }

  /** The server that is shown is the object's own while that one lives. */
  #identify(object: VirtualServer, identifier: string): void {
    const message = object.status?.conditions?.find(({ reason }) => reason === 'IdentityUnproven')?.message ?? '';
    const word = /accept-server=([^\s.;]+)/.exec(message)?.[1];
    // A task is that of the order once the key of its account is back.
    const isOwn = this.#isAlive(object) || word?.startsWith('task-') === true;
    if (isOwn && word !== undefined) this.#annotate(object, { [ACCEPT_SERVER_ANNOTATION]: word });
    else if (!isOwn) this.#sayGone(object, identifier);
  }

  /** A word that was not true when it was said is taken back first. */
  #sayGone(object: VirtualServer, identifier: string): void {
    const said = object.metadata.annotations?.[SERVER_GONE_ANNOTATION] === identifier;
    const isVoid = said && recordOf(object)?.goneRefuted !== undefined;
    this.#annotate(object, { [SERVER_GONE_ANNOTATION]: isVoid ? null : identifier });
  }

  /** Of several objects that hold one server, those let it go that took it over by mistake, or whose own one is gone. */
  #giveUp(object: VirtualServer): void {
    const identifier = identifierOf(object);
    if (identifier === undefined) return;
    const holders = this.#api.servers.list().filter((other) => isSame(identifier, identifierOf(other)));
    const living = holders.filter((other) => this.#isAlive(other));
    const keeper = living.find((other) => this.#hasOrdered(other)) ?? living[0] ?? holders[0];
    for (const other of holders.filter((holder) => holder !== keeper)) {
      const { namespace, name } = other.metadata;
      this.#tell(`give up the server of ${namespace}/${name}`);
      this.#retain(other);
      this.#api.servers.delete(namespace, name);
    }
  }

  #retain({ metadata: { namespace, name, uid } }: VirtualServer): void {
    this.#api.servers.editSpec(namespace, name, { deletionPolicy: 'Retain', expiresAt: undefined, ttl: undefined });
    this.#truth.guardedAt.set(uid, this.#now());
  }

  /** The Secret with the key of the account that has the server. */
  #restoreKey(object: VirtualServer): void {
    const server = this.#ownership.serverOf(object) ?? this.#serversOf(object)[0];
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
    return life !== undefined && isAlive(life);
  }

  #annotate({ metadata: { namespace, name } }: VirtualServer, annotations: Record<string, string | null>): void {
    this.#tell(`${JSON.stringify(annotations)} on ${namespace}/${name}`);
    this.#api.servers.annotate(namespace, name, annotations);
  }

  #excuse({ spec }: VirtualServer, attempt: string): void {
    const key = spec.sshKeys?.[0];
    if (!this.#simulation.ledger.creates().some(({ body }) => body.ssh_keys === key)) return;
    this.#truth.again.set(key, (this.#truth.again.get(key) ?? new Set()).add(attempt));
  }

  /** In the customer panel. */
  #cancelUnheld(object: VirtualServer): void {
    const held = new Set(this.#api.servers.list().map((other) => this.#ownership.serverOf(other)?.serial));
    for (const { identifier } of this.#serversOf(object).filter(({ serial }) => !held.has(serial))) {
      this.#tell(`remove server ${identifier}, which nobody holds`);
      this.#simulation.fleet.removeServer(identifier);
    }
  }

  /** Those that were ordered for this object and are alive, or will be when their task ends. */
  #serversOf(object: VirtualServer): AliveServer[] {
    const own = this.#ownership.orderedFor(object);
    return this.#simulation.aliveServers().filter(({ serial }) => own.has(serial));
  }
}
