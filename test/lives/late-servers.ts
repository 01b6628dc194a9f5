/**
 * Orders that seem to have failed for longer than anyone waits: the task answers 500, and nothing shows the server. Much
 * later the server comes up after all.
 */
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { LieHandle } from '../../src/simulator/lies.ts';
import type { ApiServer } from './api-server.ts';
import type { Truth } from './caretaker.ts';
import { OWN_ACCOUNT } from './misfortunes.ts';
import { isAlive, type Ownership } from './ownership.ts';
import type { Random } from './random.ts';

const TASK = '/beta/queue/vps/{task}';

export interface LateServersParts {
  api: ApiServer;
  simulation: Simulation;
  truth: Truth;
  ownership: Ownership;
  random: Random;
  tell: (what: string) => void;
}

interface Late {
  task: TaskNumber;
  serial: number;
  lie: LieHandle;
}

export class LateServers {
  readonly #parts: LateServersParts;
  #hidden: Late[] = [];

  constructor(parts: LateServersParts) {
    this.#parts = parts;
  }

  get areHidden(): boolean {
    return this.#hidden.length > 0;
  }

  /** Whether this one is to come up. */
  has(serial: number): boolean {
    return this.#hidden.some((late) => late.serial === serial);
  }

  /** Hides one that is being created, if its object knows its name: the operator remembers no other. False if there is none. */
  hide(): boolean {
    const { api, simulation, ownership, random, truth, tell } = this.#parts;
    const named = new Set(api.servers.list().map((object) => ownership.serverOf(object)?.serial));
    const creating = simulation
      .aliveServers(OWN_ACCOUNT)
      .filter(({ state, serial }) => state === 'creating' && named.has(serial) && !truth.late.has(serial));
    if (creating.length === 0) return false;
    const { task, serial, identifier } = random.pick(creating);
    const newest = simulation.ledger.creates({ account: OWN_ACCOUNT }).findLast((create) => create.task === task);
    if (task === undefined || newest?.serial !== serial) return false;
    simulation.fleet.stallTask(task, { account: OWN_ACCOUNT });
    truth.late.add(serial);
    truth.hidden.add(serial);
    this.#hidden.push({ task, serial, lie: this.#deny(task) });
    tell(`task ${task} seems to fail; its server ${identifier} comes up later`);
    return true;
  }

  /** Other lies have ended, but not these. */
  goOn(): void {
    for (const late of this.#hidden) late.lie = this.#deny(late.task);
  }

  /** All come up. */
  appear(): void {
    const { simulation, truth, tell } = this.#parts;
    for (const { task, serial, lie } of this.#hidden) {
      lie.remove();
      truth.hidden.delete(serial);
      const life = simulation.fleet.history().find((one) => one.serial === serial);
      if (life === undefined || !isAlive(life)) continue;
      simulation.fleet.completeServer(serial);
      tell(`server ${life.identifier} of task ${task} comes up after all`);
    }
    this.#hidden = [];
  }

  #deny(task: TaskNumber): LieHandle {
    const { provider } = this.#parts.simulation;
    return provider.falsify({ route: TASK, param: String(task), account: OWN_ACCOUNT, status: 500 });
  }
}
