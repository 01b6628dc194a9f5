/** Mistakes of users: false statements, names of other servers, the key of another account. */
import {
  ACCEPT_SERVER_ANNOTATION,
  ADOPT_ANNOTATION,
  NOT_CREATED_ANNOTATION,
  SERVER_GONE_ANNOTATION,
} from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { abandon } from './caretaker.ts';
import type { Surroundings } from './connections.ts';
import { OWN_ACCOUNT } from './misfortunes.ts';
import { identifierOf, isUnconfirmed } from './ownership.ts';
import { recordOf } from '../fixtures/records.ts';

/** A typing error of `adopt`. */
export const MISTYPED = 'vps-operator.dev/adoptt';

export class Slips {
  readonly #parts: Surroundings;

  constructor(parts: Surroundings) {
    this.#parts = parts;
  }

  /** Does one careless random action. */
  act(): void {
    const { random, any } = this.#parts;
    const object = any();
    if (object === undefined) return;
    random.pick([
      () => this.#adoptWrongly(object),
      () => this.#adoptWrongly(object),
      () => this.#mistypeAttempt(object),
      () => this.#annotate(object, MISTYPED, identifierOf(object) ?? 'vs-nowhere'),
      () => this.#denyOrder(object),
      () => this.#sayGone(object),
      () => this.#acceptAnything(object),
      () => this.#retainAndDelete(object),
      () => this.#retainAndDelete(object),
    ])();
  }

  /**
   * While the outcome of an order is open: adopts a name that does not exist, another object's server, or a stranger's
   * server.
   */
  #adoptWrongly(object: VirtualServer): void {
    const { api, simulation, random } = this.#parts;
    const record = recordOf(object);
    if (record?.attempt === undefined || record.identifier !== undefined) return;
    const held = api.servers
      .list()
      // Other objects may adopt such a server: a documented limit.
      .filter((other) => !isUnconfirmed(other))
      .map(identifierOf)
      .filter((identifier) => identifier !== undefined);
    const name = random.pick(['vs-nowhere', 'vs-nowhere', ...held.slice(0, 4)]);
    const stranger = random.chance(0.1);
    if (stranger) this.#abandon(object);
    this.#annotate(object, ADOPT_ANNOTATION, stranger ? simulation.fleet.addServer(OWN_ACCOUNT).identifier : name);
  }

  #mistypeAttempt(object: VirtualServer): void {
    this.#annotate(object, NOT_CREATED_ANNOTATION, this.#parts.random.hex(16));
  }

  /** Claims without checking that an order with an open outcome created nothing. */
  #denyOrder(object: VirtualServer): void {
    const { truth, random } = this.#parts;
    const { attempt } = recordOf(object) ?? {};
    if (attempt === undefined || random.chance(0.7)) return;
    const { uid } = object.metadata;
    truth.again.set(uid, (truth.again.get(uid) ?? new Set()).add(attempt));
    this.#abandon(object);
    this.#annotate(object, NOT_CREATED_ANNOTATION, attempt);
  }

  #sayGone(object: VirtualServer): void {
    const { random } = this.#parts;
    const isOwn = random.chance(0.2);
    if (isOwn) this.#abandon(object);
    const identifier = isOwn ? identifierOf(object) : 'vs-nowhere';
    if (identifier !== undefined) this.#annotate(object, SERVER_GONE_ANNOTATION, identifier);
  }

  #acceptAnything(object: VirtualServer): void {
    this.#annotate(object, ACCEPT_SERVER_ANNOTATION, `${identifierOf(object) ?? 'vs1'}@${this.#parts.random.hex(12)}`);
  }

  #retainAndDelete({ metadata: { namespace, name, uid } }: VirtualServer): void {
    const { api, truth, now, tell } = this.#parts;
    tell(`retain and delete ${namespace}/${name}`);
    api.servers.editSpec(namespace, name, { deletionPolicy: 'Retain', expiresAt: undefined, ttl: undefined });
    truth.guardedAt.set(uid, now());
    api.servers.delete(namespace, name);
  }

  /** A user's false statement may lose a server, because the operator obeys it. */
  #abandon(object: VirtualServer): void {
    const { truth, ownership } = this.#parts;
    abandon(object, truth, ownership);
    // A proxy may still hold the order back.
    truth.denied.add(recordOf(object)?.attempt ?? '');
  }

  #annotate({ metadata: { namespace, name } }: VirtualServer, annotation: string, value: string): void {
    this.#parts.tell(`slip: ${annotation}=${value} on ${namespace}/${name}`);
    this.#parts.api.servers.annotate(namespace, name, { [annotation]: value });
  }
}
