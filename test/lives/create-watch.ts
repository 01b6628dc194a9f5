/**
 * Judges each order by the limit of orders an hour, over restarts. What a process must know is computed here, apart from the
 * product: the orders that it has sent itself, those that its disk has seen, and those that the objects named before it started.
 * Orders that the provider did not accept count for nothing.
 */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import { recordOf } from '../fixtures/records.ts';
import type { ApiServer, ServerChange } from './api-server.ts';
import type { SimDisk } from './disk.ts';
import type { Orders, Sent } from './orders.ts';

/** Within this time of the full hour, the clocks of two processes may disagree about an order (ms). */
const UNSURE_MS = 5 * 60_000;
const HOUR_MS = 60 * 60_000;

/** A process, from its start on. */
export interface Orderer {
  startedAt: number;
  disk: SimDisk;
  /** The objects that its first list can have missed nothing of. */
  listed: ReadonlyMap<string, VirtualServer>;
  cached: () => readonly VirtualServer[];
}

interface Sending {
  uid: string;
  attempt: string;
  namespace: string;
  by: Orderer;
  /** The orders within the hour that its process must know. */
  known: number;
  isNamed: boolean;
  /** When it was claimed, or was about to be sent. */
  at: number;
}

export class CreateWatch {
  /** Number of accepted orders before which an earlier process had ordered within the hour. */
  judged = 0;
  readonly violations: string[] = [];
  readonly #api: ApiServer;
  readonly #now: () => number;
  readonly #perHour: number;
  /** By attempt. */
  readonly #sending = new Map<string, Sending>();
  readonly #accepted: Sending[] = [];

  constructor({ api, orders, now }: { api: ApiServer; orders: Orders; now: () => number }, perHour: number) {
    this.#api = api;
    this.#now = now;
    this.#perHour = perHour;
    orders.listeners.add((serial) => this.#accept(orders.attemptOf(serial)));
  }

  /** `staleBy`: how many changes out of date the first list of the process may be. */
  started(disk: SimDisk, staleBy: number, cached: () => readonly VirtualServer[]): Orderer {
    const { changes } = this.#api.servers;
    const listed = new Map<string, VirtualServer>();
    for (const { object, deleted } of changes.slice(0, Math.max(0, changes.length - staleBy))) {
      if (deleted) listed.delete(object.metadata.uid);
      else listed.set(object.metadata.uid, object);
    }
    return { startedAt: this.#now(), disk, listed, cached };
  }

  /** The process is about to send an order. */
  sending({ uid, attempt, isNamed }: Sent, by: Orderer): void {
    const namespace = namespaceOf(uid, this.#api.servers.changes);
    const since = this.#now() - HOUR_MS + UNSURE_MS;
    const orders = this.#accepted.filter((order) => order.namespace === namespace && order.at > since);
    const others = orders.filter((order) => order.by !== by);
    const recalled = others.filter((order) => this.#isRecalled(order, by)).length;
    const known = orders.length - others.length + recalled;
    this.#sending.set(attempt, { uid, attempt, isNamed, namespace, by, known, at: this.#now() });
    if (recalled > 0) this.judged += 1;
  }

  #isRecalled({ uid, attempt, at, by, isNamed }: Sending, { startedAt, disk, listed, cached }: Orderer): boolean {
    if (at >= startedAt) return false;
    // The journal knows no order under an identifier.
    if (!isNamed && by.disk === disk && disk.lastLossAt < at) return true;
    const now = cached().find(({ metadata }) => metadata.uid === uid);
    const seen = [listed.get(uid), now];
    return (
      this.#api.restores === 0 && seen.every((object) => object !== undefined && recordOf(object)?.attempt === attempt)
    );
  }

  #accept(attempt: string | undefined): void {
    const order = this.#sending.get(attempt ?? '');
    // An order that is sent again counts once.
    if (order === undefined || this.#accepted.some((one) => one.attempt === attempt)) return;
    this.#accepted.push(order);
    if (order.known < this.#perHour) return;
    this.violations.push(
      `namespace ${order.namespace} may order ${this.#perHour} servers an hour, and its operator knew of ${order.known} when it ` +
        `sent order ${order.attempt}`,
    );
  }
}

function namespaceOf(uid: string, changes: readonly ServerChange[]): string {
  return changes.find(({ object }) => object.metadata.uid === uid)?.object.metadata.namespace ?? '';
}
