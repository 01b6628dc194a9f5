/**
 * Judges each order that the provider accepts: no object has two servers at one time, and nothing is ordered for an object that
 * is being deleted. An order under an identifier may be sent again and again, so its attempts count once.
 */
import { NOT_CREATED_ANNOTATION, SERVER_GONE_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { keyOf } from '../../src/kube/resource.ts';
import { accountName } from '../../src/provider/account.ts';
import type { Exchange, ProviderAnswer } from '../../src/provider/transport.ts';
import { annotatedRecordOf, recordOf } from '../fixtures/records.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { ApiServer } from './api-server.ts';
import { UNDER_WAY_MS } from './oracles.ts';
import { FLAGS } from './process.ts';
import type { Orders } from './orders.ts';
import type { People } from './people.ts';

interface Around {
  api: ApiServer;
  simulation: Simulation;
  orders: Orders;
  people: People;
  now: () => number;
  tell: (what: string) => void;
}

/** The answers that say that a server does not exist. */
const DENIALS: ReadonlySet<number> = new Set([403, 404, 410]);

/** For how long an object looks for a server that was never shown before it gives it up: twelve grace periods. */
const LOOKED_FOR_MS = 12 * FLAGS.absenceGraceMs;

export class NamedWatch {
  readonly violations: string[] = [];
  /** Number of orders under an identifier. */
  accepted = 0;
  /** Number of orders that were sent again and accepted again. */
  repeated = 0;
  /** Number of orders that a proxy had held back. */
  held = 0;
  /** Number of those that came too late to be found (documented limit). */
  tooLate = 0;
  /** Number of orders under the identifier of a failed order of another object. */
  ofFailed = 0;
  readonly #around: Around;
  /** By identifier: what the provider has answered last about the server, whether the list had it then. */
  readonly #heard = new Map<string, { status: number | undefined; isListed: boolean }>();
  /** The last list that any process has read. */
  #listed = '';
  /** By uid: the last version. */
  readonly #versions = new Map<string, VirtualServer>();
  /** By uid: since when the object is being deleted. */
  readonly #deletedAt = new Map<string, number>();

  constructor(around: Around) {
    this.#around = around;
    around.api.servers.listeners.add(() => this.#follow());
    around.orders.listeners.add((serial, uid) => this.#judge(serial, uid));
  }

  /** A process has got this answer; undefined: none. */
  heard({ operation, target }: Exchange, answer: ProviderAnswer | undefined): void {
    if (operation === 'listServers' && answer?.status === 200) this.#listed = String(answer.body);
    if (operation !== 'readServer') return;
    const identifier = target.path.split('/').at(-1) ?? '';
    this.#heard.set(identifier, { status: answer?.status, isListed: this.#listed.includes(`"${identifier}"`) });
  }

  /** Whether the last answer to a read of the server has shown it. */
  isShown(identifier: string): boolean {
    return this.#heard.get(identifier)?.status === 200;
  }

  /** A person's word about an order counts only if the provider has denied its server when it was last asked. */
  #believe(before: VirtualServer, after: VirtualServer): void {
    const { api } = this.#around;
    const { attempt, identifier, sent, fingerprint, account } = recordOf(before) ?? {};
    const { annotations = {}, deletionTimestamp } = after.metadata;
    const left = annotatedRecordOf(after);
    if (attempt === undefined || identifier === undefined || sent === undefined || fingerprint !== undefined) return;
    // Another server may have an identifier that you chose.
    if (sent.chosen === true) return;
    if (left?.attempt === attempt || left?.settled?.includes(attempt) !== true || api.restores > 0) return;
    if (left.failed?.some((order) => order.attempt === attempt) === true || left.mode === 'adopt') return;
    const isSaid =
      annotations[NOT_CREATED_ANNOTATION] === attempt || annotations[SERVER_GONE_ANNOTATION] === identifier;
    if (!isSaid) return;
    const { status, isListed } = this.#heard.get(identifier) ?? { status: undefined, isListed: false };
    const isDenied = status !== undefined && DENIALS.has(status);
    if (isDenied && !(isListed && this.#isAlive(identifier) && this.#hasKeyOf(account, after))) return;
    const answer = isDenied ? 'has the server in its list' : `has answered ${status ?? 'nothing'}`;
    this.violations.push(
      `${keyOf(after)}${deletionTimestamp === undefined ? '' : ', which is being deleted,'} gave up order ${attempt} although the provider ${answer}`,
    );
  }

  /** Under another key, the operator believes a person without the list, which might be that of another account. */
  #hasKeyOf(account: string | undefined, { metadata, spec }: VirtualServer): boolean {
    const { api, simulation } = this.#around;
    const { keyId } = api.secrets.get(metadata.namespace, spec.apiKeySecretRef.name)?.data ?? {};
    return keyId !== undefined && account === accountName(simulation.baseUrl, keyId);
  }

  #isAlive(identifier: string): boolean {
    return this.#around.simulation.aliveServers().some((server) => server.identifier === identifier);
  }

  /** A proxy delivers an order that it had held back for `ms`. */
  delivered(ms: number): void {
    const { simulation, orders, people, now, tell } = this.#around;
    for (const { serial, identifier, task, at } of simulation.ledger.creates()) {
      const sent = orders.sentUnder(identifier);
      // An earlier order of another customer may have got the identifier of a former server.
      if (sent === undefined || at !== now() || orders.uidOf(serial) !== undefined) continue;
      this.held += 1;
      const isDenied = people.truth.denied.has(sent.attempt);
      const isTooLate =
        isDenied || ms >= LOOKED_FOR_MS || this.#hasEnded(sent.attempt) || this.#isForgotten(sent.attempt);
      if (isTooLate) {
        this.tooLate += 1;
        people.truth.late.add(serial);
      }
      // The operator believes a person.
      if (isDenied) people.truth.abandonedServers.add(serial);
      tell(`a proxy delivers the order of server ${identifier} after ${ms} ms${isTooLate ? ', too late' : ''}`);
      orders.accepted(serial, sent, task, ms);
    }
  }

  /** Whether the order has had a server that was cancelled or removed, so that its identifier is free again. */
  #hasEnded(attempt: string): boolean {
    const { simulation, orders } = this.#around;
    return simulation.fleet
      .history()
      .some(
        ({ serial, state }) => orders.attemptOf(serial) === attempt && (state === 'cancelled' || state === 'removed'),
      );
  }

  /** Whether a restore of etcd has brought back a time before the order, of which no object knows now (documented limit). */
  #isForgotten(attempt: string): boolean {
    const { api } = this.#around;
    const isKnown = (object: VirtualServer): boolean => JSON.stringify(object).includes(attempt);
    return api.restores > 0 && !api.servers.list().some(isKnown);
  }

  #isOfFailed(serial: number, uid: string): boolean {
    const { simulation, orders } = this.#around;
    const lives = simulation.fleet.history();
    const identifier = lives.find((life) => life.serial === serial)?.identifier;
    return lives.some(
      (life) =>
        life.identifier === identifier &&
        life.state === 'failed' &&
        ![undefined, uid].includes(orders.uidOf(life.serial)),
    );
  }

  #follow(): void {
    const { object } = this.#around.api.servers.changes.at(-1) ?? {};
    const { uid = '', deletionTimestamp } = object?.metadata ?? {};
    const before = this.#versions.get(uid);
    if (before !== undefined && object !== undefined) this.#believe(before, object);
    if (object !== undefined) this.#versions.set(uid, object);
    if (deletionTimestamp !== undefined && !this.#deletedAt.has(uid)) this.#deletedAt.set(uid, this.#around.now());
  }

  #judge(serial: number, uid: string): void {
    const { api, simulation, orders, people, now } = this.#around;
    const attempt = orders.attemptOf(serial);
    if (!orders.isNamed(serial)) return;
    this.accepted += 1;
    if (this.#isOfFailed(serial, uid)) this.ofFailed += 1;
    const alive = new Set(simulation.aliveServers().map((server) => server.serial));
    const others = [...orders.of(uid)].filter((other) => other !== serial);
    if (others.some((other) => orders.attemptOf(other) === attempt)) this.repeated += 1;
    const again = people.truth.again.get(uid) ?? new Set();
    // Of two accepted orders for one identifier, one creates no server. One that came too late is a documented limit.
    const isJudged = alive.has(serial) && !people.truth.late.has(serial);
    const beside = (isJudged ? others : []).filter(
      (other) => alive.has(other) && !people.truth.late.has(other) && !again.has(orders.attemptOf(other) ?? ''),
    );
    const object = api.servers.list().find(({ metadata }) => metadata.uid === uid);
    const name = object === undefined ? uid : keyOf(object);
    if (beside.length > 0)
      this.violations.push(`${name} has the servers ${[serial, ...beside].join(', ')} at one time`);
    const since = this.#deletedAt.get(uid);
    if (since !== undefined && api.restores === 0 && now() - orders.heldFor(serial) - since > UNDER_WAY_MS)
      this.violations.push(`server ${serial} was ordered for ${name}, which is being deleted`);
  }
}
