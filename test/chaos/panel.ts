/** The service as people see it: what was ordered for whom, and tasks that end when enough has been seen of them. */
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { Simulator } from '../../src/simulator/index.ts';
import { recordOf } from './objects.ts';

/** Enough that the second poll meets an object that knows its identifier. */
const POLLS = 2;

export class Panel {
  readonly #simulator: Simulator;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  /** Polls of the task that the service has answered. */
  polls(task: number): number {
    const filter = { route: '/beta/queue/vps/{task}', param: String(task), status: 200 } as const;
    return this.#simulator.ledger.requests(filter).length;
  }

  /** Reads of the server that the object holds, as far as the service answered them. */
  reads(object: VirtualServer): number {
    const param = recordOf(object)?.identifier;
    if (param === undefined) return 0;
    const filter = { method: 'GET', route: '/beta/vps/servers/{identifier}', param, status: 200 } as const;
    return this.#simulator.ledger.requests(filter).length;
  }

  /** Ends the tasks that were polled often enough. */
  endTasks(): void {
    for (const { task, state } of this.#simulator.aliveServers())
      if (task !== undefined && state === 'creating' && this.polls(task) >= POLLS)
        this.#simulator.fleet.completeTask(task);
  }

  /** The server that was ordered with these keys and lives. Once somebody has looked, it is waited for no longer. */
  serverOf(sshKeys: unknown): string | undefined {
    const ordered = this.#simulator.ledger.creates().filter(({ body }) => body.ssh_keys === sshKeys);
    const found = this.#simulator
      .aliveServers()
      .find(({ identifier }) => ordered.some((create) => create.identifier === identifier));
    if (found?.task !== undefined && found.state === 'creating') this.#simulator.fleet.completeTask(found.task);
    return found?.identifier;
  }
}
