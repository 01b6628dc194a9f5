/**
 * Judges each order that the provider accepts: no object has two servers at one time, and nothing is ordered for an object that
 * is being deleted. An order under an identifier may be sent again and again, so its attempts count once.
 */
import { keyOf } from '../../src/kube/resource.ts';
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
  /** By uid: since when the object is being deleted. */
  readonly #deletedAt = new Map<string, number>();

  constructor(around: Around) {
    this.#around = around;
    around.api.servers.listeners.add(() => this.#follow());
    around.orders.listeners.add((serial, uid) => this.#judge(serial, uid));
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
      const isTooLate = isDenied || ms >= LOOKED_FOR_MS || this.#hasEnded(sent.attempt);
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
