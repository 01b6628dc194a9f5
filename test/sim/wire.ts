/**
 * The provider's transport, connected directly to the simulator, over a network that delays, loses, and cuts requests.
 */
import { ProviderError } from '../../src/provider/errors/provider-error.ts';
import type { Answer, Exchange, Wire } from '../../src/provider/transport.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { Network } from './network.ts';

const TIMEOUT_MS = 30_000;

export class SimWire implements Wire {
  readonly #network: Network;
  readonly #simulation: Simulation;
  readonly #owner: object;
  /** Called with each exchange when it is sent. */
  readonly #leaves: (exchange: Exchange) => void;

  constructor(network: Network, simulation: Simulation, owner: object, leaves: (exchange: Exchange) => void) {
    this.#network = network;
    this.#simulation = simulation;
    this.#owner = owner;
    this.#leaves = leaves;
  }

  send(exchange: Exchange): Promise<Answer> {
    return this.within(TIMEOUT_MS, (signal) => this.#exchange(exchange, signal));
  }

  async sendFresh(exchange: Exchange, signal: AbortSignal, connected: () => void): Promise<Answer> {
    const { scheduler, random, provider } = this.#network;
    await new Promise<void>((resolve) => void scheduler.after(random.int(0, provider.delayMs), resolve, this.#owner));
    if (random.chance(provider.lost / 2)) throw new ProviderError('PROVIDER_UNREACHABLE', 'connection refused');
    connected();
    return this.#exchange(exchange, signal);
  }

  async within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { scheduler } = this.#network;
    const controller = new AbortController();
    const timer = scheduler.after(
      ms,
      () =>
        controller.abort(
          new ProviderError(
            'PROVIDER_TIMEOUT',
            `the provider gave no complete answer within ${Math.round(ms / 100) / 10} s`,
          ),
        ),
      this.#owner,
    );
    try {
      return await work(controller.signal);
    } finally {
      scheduler.cancel(timer);
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #exchange(exchange: Exchange, signal: AbortSignal): Promise<Answer> {
    const { scheduler, random, provider } = this.#network;
    this.#leaves(exchange);
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      const isLost = random.chance(provider.lost);
      const cut = (): void => reject(new ProviderError('PROVIDER_UNREACHABLE', 'connection reset'));
      // A request that hangs may still arrive late, but never after the deadline of a create, when the caller stops
      // waiting.
      if (isLost && random.chance(0.5)) scheduler.after(random.int(1, 50), cut, this.#owner);
      if (isLost && random.chance(0.5)) return;
      const answer = random.chance(provider.error) ? random.pick([429, 500, 502, 503]) : undefined;
      scheduler.after(isLost ? random.int(0, TIMEOUT_MS) : random.int(0, provider.delayMs), () => {
        const before = answer !== undefined && (answer === 429 || random.chance(0.5));
        if (before) {
          this.#answer({ status: answer, headers: {}, body: '' }, isLost, resolve);
          return;
        }
        void this.#process(exchange).then((processed) => {
          const failed = answer !== undefined && processed.status < 300;
          this.#answer(failed ? { status: answer, headers: {}, body: '' } : processed, isLost, resolve);
        });
      });
    });
  }

  #answer(answer: Answer, isLost: boolean, resolve: (answer: Answer) => void): void {
    const { scheduler, random, provider } = this.#network;
    if (!isLost) scheduler.after(random.int(0, provider.delayMs), () => resolve(answer), this.#owner);
  }

  async #process({ method, target, headers, body }: Exchange): Promise<Answer> {
    const delivery = await this.#simulation.exchange({
      method,
      path: target.path,
      authorization: headers.authorization,
      contentType: headers['content-type'],
      body: body ?? '',
      sourceAddress: '127.0.0.1',
      connection: 0,
    });
    if (delivery.kind !== 'answer' || typeof delivery.body !== 'string')
      throw new Error('the simulation does not order faults');
    return { status: delivery.status, headers: delivery.headers, body: delivery.body };
  }
}
