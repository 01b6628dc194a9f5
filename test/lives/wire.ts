/**
 * The provider's transport, connected directly to the simulator, over a network that delays, loses, and cuts requests.
 */
import { ProviderError } from '../../src/provider/error.ts';
import type { Connection, ProviderAnswer, Exchange, Wire } from '../../src/provider/transport.ts';
import type { Simulation } from '../../src/simulator/index.ts';
import type { Network } from './network.ts';
import type { Orders, Sent } from './orders.ts';

const TIMEOUT_MS = 30_000;

export interface WireParts {
  network: Network;
  simulation: Simulation;
  orders: Orders;
  /** The process that sends. */
  owner: object;
  /** Called with each exchange when it is sent. */
  onExchange: (exchange: Exchange) => void;
  /** Called with each answer that the process gets about servers; undefined: none. */
  onAnswer: (exchange: Exchange, answer: ProviderAnswer | undefined) => void;
  /** Called with what the process has read of the list of prices; undefined if it got no whole answer. */
  onPrices: (answer: ProviderAnswer | undefined) => void;
  /** Called with each order that the process does not follow although it has read that the order was accepted. */
  onLost: (what: string) => void;
}

export class SimWire implements Wire {
  readonly #parts: WireParts;
  readonly #network: Network;
  readonly #owner: object;

  constructor(parts: WireParts) {
    this.#parts = parts;
    this.#network = parts.network;
    this.#owner = parts.owner;
  }

  async send(exchange: Exchange): Promise<ProviderAnswer> {
    const told = (answer?: ProviderAnswer): void => {
      const { operation } = exchange;
      this.#parts.onAnswer(exchange, answer);
      // Without a token, the list is not even asked for.
      if (operation === 'prices' || (operation === 'login' && answer?.status !== 200)) this.#parts.onPrices(answer);
    };
    try {
      const within = exchange.timeoutMs ?? TIMEOUT_MS;
      const answer = await this.within(within, (signal) => this.#exchange(exchange, signal));
      told(answer);
      return answer;
    } catch (error) {
      told();
      throw error;
    }
  }

  sendAlone(exchange: Exchange): Promise<ProviderAnswer> {
    return this.send(exchange);
  }

  /** The connection may fail at once, or be lost before the request. */
  async connect(_call: unknown, signal: AbortSignal): Promise<Connection> {
    const { scheduler, random, provider } = this.#network;
    await new Promise<void>((resolve) => void scheduler.after(random.int(0, provider.delayMs), resolve, this.#owner));
    signal.throwIfAborted();
    if (random.chance(provider.lost / 2)) throw new ProviderError('PROVIDER_UNREACHABLE', 'connection refused');
    return {
      send: async (exchange, ends, before) => {
        if (random.chance(provider.lost / 4)) throw new ProviderError('PROVIDER_UNREACHABLE', 'connection closed');
        before();
        return this.#exchange(exchange, ends);
      },
      close: () => undefined,
    };
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

  #exchange(exchange: Exchange, signal: AbortSignal): Promise<ProviderAnswer> {
    const { scheduler, random, provider } = this.#network;
    this.#parts.onExchange(exchange);
    const sent = exchange.operation === 'createServer' ? this.#parts.orders.ordering() : undefined;
    if (sent?.isNamed === true) this.#parts.orders.sends(exchange.target.path.split('/').at(-1) ?? '', sent);
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
        void this.#process(exchange, sent).then((processed) => {
          const status = processed.status < 300 ? (answer ?? this.#errorFor(sent)) : undefined;
          this.#answer(status === undefined ? processed : { status, headers: {}, body: '' }, isLost, (received) => {
            if (sent?.isNamed === true && received.status === 202 && !signal.aborted)
              this.#parts.orders.answered(exchange.target.path.split('/').at(-1) ?? '');
            resolve(received);
            if (sent !== undefined && received.status === 202 && !signal.aborted) this.#expectFollowed(sent);
          });
        });
      });
    });
  }

  /** Undefined unless the answer to this order is replaced. */
  #errorFor(sent: Sent | undefined): number | undefined {
    const { orderErrors } = this.#network;
    if (sent?.isNamed !== true || orderErrors?.random.chance(orderErrors.share) !== true) return undefined;
    return orderErrors.random.pick([500, 503, 502]);
  }

  /** It has read the answer, so it follows the task at once unless it dies. */
  #expectFollowed({ attempt, isNamed }: Sent): void {
    // Its task is not stored, and followed after other calls.
    if (isNamed) return;
    const { orders, onLost } = this.#parts;
    const judge = (): void => {
      const task = orders.unfollowed(attempt);
      if (task !== undefined) onLost(`attempt ${attempt} was answered with task ${task}, which was not followed`);
    };
    this.#network.scheduler.after(1, judge, this.#owner);
  }

  #answer(answer: ProviderAnswer, isLost: boolean, resolve: (answer: ProviderAnswer) => void): void {
    const { scheduler, random, provider } = this.#network;
    if (!isLost) scheduler.after(random.int(0, provider.delayMs), () => resolve(answer), this.#owner);
  }

  /** `sent`: undefined for any other request than an order. */
  async #process({ method, target, headers, body }: Exchange, sent: Sent | undefined): Promise<ProviderAnswer> {
    const { simulation, orders } = this.#parts;
    const before = simulation.ledger.creates().length;
    const delivery = await simulation.exchange({
      method,
      path: target.path,
      authorization: headers.authorization,
      contentType: headers['content-type'],
      body: body ?? '',
      sourceAddress: '127.0.0.1',
      connection: 0,
    });
    // A request that a proxy holds back creates nothing, and others may be accepted before it arrives.
    const order = simulation.ledger
      .creates()
      .slice(before)
      .find((create) => JSON.stringify(create.body) === body);
    if (sent !== undefined && order !== undefined) orders.accepted(order.serial, sent, order.task);
    if (delivery.kind !== 'answer' || typeof delivery.body !== 'string')
      throw new Error('the simulation does not order faults');
    return { status: delivery.status, headers: delivery.headers, body: delivery.body };
  }
}
