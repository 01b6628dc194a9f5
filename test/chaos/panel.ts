/** The provider as people see it: which object a server was ordered for, and tasks that end after enough polls. */
import { ADOPT_ANNOTATION } from '../../src/api/names.ts';
import type { VirtualServer } from '../../src/api/virtual-server.ts';
import type { TaskNumber } from '../../src/base/exact-numbers.ts';
import { DEFAULT_KEY, type CreateEntry, type Simulator } from '../../src/simulator/index.ts';
import type { Lists } from '../oracles/catalogs.ts';
import { recordOf } from '../fixtures/records.ts';
import { sshKeysOf } from './objects.ts';

/** With two polls, the second one finds an object that knows its identifier. */
const POLLS = 2;

export class Panel {
  readonly #simulator: Simulator;

  constructor(simulator: Simulator) {
    this.#simulator = simulator;
  }

  /** Number of polls of the task that the provider has answered. */
  polls(task: TaskNumber): number {
    const filter = { route: '/beta/queue/vps/{task}', param: String(task), status: 200 } as const;
    return this.#simulator.ledger.requests(filter).length;
  }

  /** What can be ordered now, queried past every proxy. */
  async lists(): Promise<Lists> {
    const { keyId, secret } = DEFAULT_KEY;
    const credentials = `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
    const { access_token } = (await this.#ask('POST', '/auth/login', credentials)) as { access_token: string };
    const get = (name: string): Promise<unknown> => this.#ask('GET', `/beta/vps/${name}`, `Bearer ${access_token}`);
    const products = (await get('products')) as { code: string; specs: { ram: number } }[];
    const sizes = Object.entries((await get('disk-sizes')) as Record<string, number[]>);
    return {
      products: products.map(({ code, specs: { ram } }) => ({ code, ram })),
      images: (await get('images')) as Lists['images'],
      diskSizes: sizes.map(([type, sizesOfIt]) => ({ type, sizes: sizesOfIt })),
    };
  }

  async #ask(method: string, path: string, authorization: string): Promise<unknown> {
    const answer = await this.#simulator.exchange({
      method,
      path,
      authorization,
      contentType: 'application/x-www-form-urlencoded',
      body: method === 'POST' ? 'grant_type=client_credentials' : '',
      sourceAddress: '127.0.0.1',
      connection: 0,
    });
    if (answer.kind !== 'answer' || answer.status !== 200 || typeof answer.body !== 'string')
      throw new Error(`the provider did not answer ${method} ${path}: ${JSON.stringify(answer)}`);
    return JSON.parse(answer.body);
  }

  /** Number of reads of the object's server that the provider has answered. */
  reads(object: VirtualServer): number {
    const param = recordOf(object)?.identifier;
    if (param === undefined) return 0;
    const filter = { method: 'GET', route: '/beta/vps/servers/{identifier}', param, status: 200 } as const;
    return this.#simulator.ledger.requests(filter).length;
  }

  /** Whether its server has been asked for by its identifier, as for an order whose answer, and so its task, was lost. */
  isLookedFor(object: VirtualServer): boolean {
    const { mode, identifier } = recordOf(object) ?? {};
    return mode === 'named' && identifier !== undefined && this.#looks(identifier) >= POLLS;
  }

  #looks(identifier: string): number {
    const filter = { method: 'GET', route: '/beta/vps/servers/{identifier}', param: identifier } as const;
    return this.#simulator.ledger.requests(filter).length;
  }

  /** Ends tasks that were polled often enough, or whose server was looked for often enough. */
  endTasks(): void {
    for (const { task, state, account, identifier } of this.#simulator.aliveServers())
      if (task !== undefined && state === 'creating' && Math.max(this.polls(task), this.#looks(identifier)) >= POLLS)
        this.#simulator.fleet.completeTask(task, account);
  }

  /**
   * The existing server that was ordered with the object's keys, and that none of the others with these keys holds or is
   * to adopt. Completes its task, so that a person does not have to wait for it.
   */
  serverOf(object: VirtualServer, others: readonly VirtualServer[]): string | undefined {
    const isTaken = ({ identifier, task }: CreateEntry): boolean =>
      others.some((other) => {
        const record = recordOf(other);
        const named = [record?.identifier, other.metadata.annotations?.[ADOPT_ANNOTATION]];
        return named.includes(identifier) || (record?.task !== undefined && record.task === task);
      });
    const sshKeys = sshKeysOf(object);
    const created = this.#simulator.ledger.creates().filter(({ body }) => body.ssh_keys === sshKeys);
    const ordered = created.filter((create) => !isTaken(create));
    const found = this.#simulator
      .aliveServers()
      .find(({ identifier }) => ordered.some((create) => create.identifier === identifier));
    if (found?.task !== undefined && found.state === 'creating')
      this.#simulator.fleet.completeTask(found.task, found.account);
    return found?.identifier;
  }
}
