/**
 * What goes wrong at a provider that tells more than the specification: keys lose rights, answers look like failed orders or
 * like the absence of a server, orders fail, products are sold out, and prices have odd values.
 */
import type { Restriction, Simulation } from '../../src/simulator/index.ts';
import { CHOICES } from '../../src/simulator/variants.ts';
import { type Absences, LONGEST_ABSENCE_MS } from './absences.ts';
import type { LateServers } from './late-servers.ts';
import { OTHER_ACCOUNT, OWN_ACCOUNT } from './misfortunes.ts';
import type { Orders } from './orders.ts';
import { hasList, hasPages, hidesCreating, listsSoon, type WorldApi } from './provider-api.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const SERVER = '/beta/vps/servers/{identifier}';
const TASK = '/beta/queue/vps/{task}';
const MOST_WAITING = 3;
/** For how long the provider hides servers. */
export const HIDDEN_MS = 40 * MINUTE;
const PRODUCTS = ['VPSX4', 'VPSX8', 'VPSX16'];
const OWN = { account: OWN_ACCOUNT };
const KEYS = [OWN, { account: OTHER_ACCOUNT }, { keyId: 'key' }, { keyId: 'key-2' }];
/** Values that are not prices. */
const UNREADABLE = [null, undefined, { amount: 3.5 }, 'free', '-3.5', -1, 1e300].map((price) => ({ price }));
const ODD = [...UNREADABLE, { price: '3.5' }, { price: 7 }];

export interface ApiMisfortuneParts {
  simulation: Simulation;
  orders: Orders;
  world: WorldApi;
  /** Apart from those of the rest of the world. */
  random: Random;
  absences: Absences;
  late: LateServers;
  now: () => number;
  /** Calls `act` after `ms`. */
  later: (ms: number, act: () => void) => void;
  tell: (what: string) => void;
}

export class ApiMisfortunes {
  readonly #parts: ApiMisfortuneParts;
  /** By serial: what a server costs awake that shows an odd price. */
  readonly #prices = new Map<number, number>();
  /** What is to happen to the next orders. */
  #waiting: (() => void)[] = [];
  #isOver = false;

  constructor(parts: ApiMisfortuneParts) {
    this.#parts = parts;
    const { orders, random, later } = parts;
    orders.listeners.add(() => {
      const next = this.#waiting.shift();
      if (next !== undefined) later(random.int(1_000, MINUTE), () => this.#isOver || next());
    });
  }

  act(): void {
    const { world, random } = this.#parts;
    const acts = [
      () => this.#restrict(),
      () => this.#restrict(),
      () => this.#restrict(),
      () => this.#deny(),
      () => this.#deny(),
      () => this.#forbid(),
      () => this.#seemToFail(),
      () => this.#seemToFail(),
      () => this.fail(random),
      () => this.fail(random),
      () => this.fail(random),
      () => this.#sellOut(),
      () => this.#priceOddly(),
      () => this.#priceOddly(),
      () => this.#hidePrices(),
      () => this.#hidePrices(),
      ...(hidesCreating(world) ? [() => this.#comeLate(), () => this.#comeLate()] : []),
      ...(hasList(world)
        ? [
            () => this.#shorten(),
            () => (listsSoon(world) ? this.#denyListed() : this.#shorten()),
            () => this.#hideBehindGateway(),
          ]
        : []),
    ];
    random.pick(acts)();
  }

  /**
   * Servers that run are shown as removed, or by a word that no one knows. As long as both the list and reads say so, or there is no
   * list, or one page of it lacks them, it looks like an absence.
   */
  misname(random: Random): void {
    const { simulation, world, absences, now, tell } = this.#parts;
    if (!absences.mayBegin(now())) return;
    const where = hasList(world) ? random.pick(['reads', 'reads', 'list', 'both'] as const) : 'reads';
    const hasTruth = hasList(world) && listsSoon(world) && !hasPages(world) && where === 'reads';
    const untilMs = now() + random.int(1_000, hasTruth ? 25 * MINUTE : LONGEST_ABSENCE_MS);
    absences.lasts(untilMs);
    const status = random.pick(['removed', 'deleted', 'Cancelled', 'archived']);
    simulation.provider.misname({ status, where, untilMs });
    tell(`servers show ${status} in ${where} until ${new Date(untilMs).toISOString()}`);
  }

  /** Ends all of them but the orders that only seem to have failed. */
  end(): void {
    const { simulation, late } = this.#parts;
    this.#isOver = true;
    for (const whose of KEYS) simulation.accounts.permit(whose);
    for (const product of PRODUCTS) simulation.provider.setStock(product, true);
    this.#showPrices();
    late.goOn();
  }

  /** A key or an account loses rights, and gets them back. */
  #restrict(): void {
    const { world, random } = this.#parts;
    const whose = random.pick(KEYS);
    // In the spelling of a 404, nothing but the list tells this from an absence, and a DELETE is confirmed without the list.
    const forms = (['all', 'servers', 'hidden'] as const).filter(
      (form) => form !== 'hidden' || world.variants.readDenied === 403,
    );
    const form = random.pick(forms);
    this.#restrictFor(random.pick([30_000, 3 * MINUTE, 8 * MINUTE, 25 * MINUTE]), whose, form);
  }

  #restrictFor(ms: number, whose: (typeof KEYS)[number], form: Restriction): void {
    const { simulation, later, tell } = this.#parts;
    simulation.accounts.restrict(whose, form);
    later(ms, () => simulation.accounts.permit(whose));
    tell(`${JSON.stringify(whose)} loses rights for ${ms} ms: ${form}`);
  }

  /** The provider hides all servers of the account, while its list of them is empty: that proves nothing for an hour. */
  hide(): void {
    this.#restrictFor(HIDDEN_MS, OWN, 'unseen');
  }

  /** A false 403 that denies servers or tasks. */
  #deny(): void {
    const { absences, random, now } = this.#parts;
    if (!absences.mayBegin(now())) return;
    const untilMs = now() + random.int(1_000, LONGEST_ABSENCE_MS);
    absences.lasts(untilMs);
    this.#falsify(random.pick([SERVER, TASK]), 'does-not-exist', untilMs);
    if (random.chance(0.3)) this.#falsify(SERVER, 'does-not-exist', untilMs);
  }

  /** For a long time, but the list of servers shows the truth. */
  #denyListed(): void {
    const { random, now } = this.#parts;
    this.#falsify(SERVER, 'does-not-exist', now() + random.int(MINUTE, 30 * MINUTE));
  }

  /** A gateway that answers 404 for every server and for the list itself, as a provider without a list does. */
  #hideBehindGateway(): void {
    const { absences, random, now } = this.#parts;
    if (!absences.mayBegin(now())) return;
    const untilMs = now() + random.int(1_000, LONGEST_ABSENCE_MS);
    absences.lasts(untilMs);
    for (const route of [SERVER, '/beta/vps/servers'] as const) this.#falsify(route, 'does-not-exist', untilMs, 404);
  }

  /** A false 403 that is about the key, on some routes only. */
  #forbid(): void {
    const { random, now } = this.#parts;
    const untilMs = now() + random.int(1_000, 20 * MINUTE);
    const route = random.pick([SERVER, TASK, '/beta/vps/servers'] as const);
    this.#falsify(route, 'not-authorised', untilMs);
  }

  #falsify(
    route: typeof SERVER | typeof TASK | '/beta/vps/servers',
    says: 'does-not-exist' | 'not-authorised',
    untilMs: number,
    status: 403 | 404 = 403,
  ): void {
    const { simulation, tell } = this.#parts;
    simulation.provider.falsify({ route, status, says, untilMs });
    tell(`${status} (${says}) for ${route} until ${new Date(untilMs).toISOString()}`);
  }

  /** The list of servers and a false denial together look like an absence. */
  #shorten(): void {
    const { simulation, absences, random, now, tell } = this.#parts;
    if (!absences.mayBegin(now())) return;
    const untilMs = now() + random.int(1_000, LONGEST_ABSENCE_MS);
    absences.lasts(untilMs);
    simulation.provider.shorten({ list: 'servers', keep: random.pick([0, 1]), untilMs });
    tell(`the list of servers is short until ${new Date(untilMs).toISOString()}`);
  }

  /** An incident: every task answers 500 with a text, like the task of a failed order. */
  #seemToFail(): void {
    const { simulation, random, now, tell } = this.#parts;
    const untilMs = now() + random.int(5_000, 20 * MINUTE);
    simulation.provider.falsify({ route: TASK, status: 500, untilMs });
    tell(`tasks answer 500 until ${new Date(untilMs).toISOString()}`);
  }

  /** The order of a server that is being created fails, or one of the next orders. */
  fail(random: Random): void {
    const { simulation, late, tell } = this.#parts;
    const creating = simulation
      .aliveServers(OWN_ACCOUNT)
      .filter(({ state, serial }) => state === 'creating' && !late.has(serial));
    if (creating.length === 0) {
      this.#waiting = [...this.#waiting, () => this.fail(random)].slice(0, MOST_WAITING);
      return;
    }
    const { task, serial } = random.pick(creating);
    const newest = simulation.ledger.creates({ account: OWN_ACCOUNT }).findLast((create) => create.task === task);
    // If the task number was reused, it now means a later task.
    if (task === undefined || newest?.serial !== serial) return;
    const options = {
      account: OWN_ACCOUNT,
      text: 'No host has room',
      as: random.pick(CHOICES.failedTask),
      identifier: random.chance(0.8),
      afterMs: random.pick([0, 20_000]),
    };
    simulation.fleet.failTask(task, options);
    tell(`task ${task} fails: ${JSON.stringify(options)}`);
  }

  #sellOut(): void {
    const { simulation, random, later, tell } = this.#parts;
    const product = random.pick(PRODUCTS);
    const ms = random.int(MINUTE, 20 * MINUTE);
    simulation.provider.setStock(product, false);
    later(ms, () => simulation.provider.setStock(product, true));
    tell(`${product} is out of stock for ${ms} ms`);
  }

  #priceOddly(): void {
    const { random } = this.#parts;
    const running = this.#running();
    if (running.length > 0) this.#price([random.pick(running)], random.pick(ODD));
  }

  /** The provider states no readable price of any server for a while. */
  #hidePrices(): void {
    const { random, later } = this.#parts;
    this.#price(this.#running(), random.pick(UNREADABLE));
    later(random.int(MINUTE, 40 * MINUTE), () => this.#showPrices());
  }

  #running() {
    return this.#parts.simulation.aliveServers(OWN_ACCOUNT).filter(({ state }) => state === 'running');
  }

  #price(servers: readonly { serial: number; identifier: string }[], shown: { price: unknown }): void {
    const { simulation, tell } = this.#parts;
    for (const { serial, identifier } of servers) {
      // Not what reads show of it: while it is dormant, that is less than it costs once it is awake.
      if (!this.#prices.has(serial)) this.#prices.set(serial, simulation.fleet.priceOf(identifier));
      simulation.fleet.updateServer(identifier, shown as { price: number });
      tell(`server ${identifier} shows ${JSON.stringify(shown)}`);
    }
  }

  /** All servers show what they cost again. */
  #showPrices(): void {
    const { simulation } = this.#parts;
    for (const { serial, identifier } of simulation.aliveServers()) {
      const price = this.#prices.get(serial);
      if (price !== undefined) simulation.fleet.updateServer(identifier, { price });
    }
  }

  /** Until much later, or until the storm ends. */
  #comeLate(): void {
    const { random, late, later } = this.#parts;
    if (late.areHidden) return;
    if (!late.hide()) {
      this.#waiting = [...this.#waiting, () => this.#comeLate()].slice(0, MOST_WAITING);
      return;
    }
    if (random.chance(0.5)) later(random.int(8 * MINUTE, 90 * MINUTE), () => late.appear());
  }
}
