/** The provider without a socket: passes requests through the faults to the endpoints, and records everything. */
import { SimulatedAccounts } from './accounts.ts';
import { type Fault, Faults, spoil } from './faults.ts';
import { Fleet } from './fleet.ts';
import { Ledger, type RequestEntry } from './ledger.ts';
import { resolveOptions, type Settings, type SimulationOptions } from './settings.ts';
import { type Delivery, json, matchRoute, type RouteMatch, type WireRequest, type WireResponse } from './wire.ts';
import type { AliveServer } from './servers.ts';
import { SimulatedProvider } from './simulated-provider.ts';

export class Simulation {
  readonly ledger: Ledger;
  readonly faults = new Faults();
  /** Keys, tokens and accounts: `addKey`, `moveKey`, `rotateKey`, `forgetTokens`, `suspend`, `resume` ... */
  readonly accounts: SimulatedAccounts;
  /** Servers and tasks: `addServer`, `updateServer`, `removeServer`, `completeTask`, `stallTask` ... */
  readonly fleet: Fleet;
  /** The endpoints: `setCatalog`, `setCreateAnswer`, and false answers: `falsify`, `shorten`, `endLies`. */
  readonly provider: SimulatedProvider;
  readonly #settings: Settings;

  constructor(options: SimulationOptions = {}) {
    const settings = { ...resolveOptions(options) };
    this.#settings = settings;
    this.ledger = new Ledger(settings.recordRequests);
    this.accounts = new SimulatedAccounts(settings, this.ledger);
    this.fleet = new Fleet(settings, this.ledger);
    this.provider = new SimulatedProvider(settings, this.accounts, this.fleet, () => this.baseUrl);
  }

  get baseUrl(): string {
    return this.#settings.origin + this.#settings.basePrefix;
  }

  get authUrl(): string {
    return this.#settings.origin + this.#settings.authPrefix;
  }

  /** Milliseconds since the epoch, by the simulation's clock. */
  now(): number {
    return this.#settings.clock.now();
  }

  /** Servers that actually exist or are being created, whatever lag or false answers hide. */
  aliveServers(account?: string): AliveServer[] {
    return this.fleet.aliveServers(account);
  }

  /** Scheme, host and port, once the socket server knows them. */
  setOrigin(origin: string): void {
    this.#settings.origin = origin;
  }

  /** Records a new connection. */
  connected(sourceAddress: string, connection: number): void {
    this.ledger.append({ kind: 'connection', at: this.#settings.clock.now(), connection, sourceAddress });
  }

  async exchange(request: WireRequest): Promise<Delivery> {
    const { basePrefix, authPrefix } = this.#settings;
    const match = matchRoute(request.method, request.path, basePrefix, authPrefix);
    if (!match) return this.#unknownRoute(request);
    const entry = this.#enter(request, match);
    const before = this.faults.take(entry, undefined);
    if (before) {
      const delivery = await this.#strike(before, entry, undefined);
      if (delivery) return delivery;
    }
    const response = this.provider.handle(request, match, entry);
    const after = this.faults.take(entry, response);
    if (after) {
      const delivery = await this.#strike(after, entry, response);
      if (delivery) return delivery;
    }
    return sent(entry, { kind: 'answer', ...response });
  }

  /** Throws if a request used an unknown route or a fault was never met; the error names them. */
  assertClean(): void {
    const unknown = this.#settings.allowUnknownRoutes ? [] : this.ledger.unknownRoutes();
    if (unknown.length > 0) {
      const names = unknown.slice(0, 5).map(({ method, path }) => `${method} ${path}`);
      throw new Error(`${unknown.length} requests to unknown routes: ${names.join(', ')}`);
    }
    this.faults.assertMet();
  }

  /** Ends all hanging requests, then calls `assertClean()`. */
  finish(): void {
    this.faults.shut();
    this.assertClean();
  }

  #enter(request: WireRequest, { route, param }: RouteMatch): RequestEntry {
    const identity = this.accounts.identify(request);
    const entry: RequestEntry = {
      kind: 'request',
      at: this.#settings.clock.now(),
      method: request.method,
      route,
      param,
      task: undefined,
      status: undefined,
      processed: false,
      fault: undefined,
      account: identity?.account,
      keyId: identity?.keyId,
      connection: request.connection,
      sourceAddress: request.sourceAddress,
    };
    this.ledger.append(entry);
    return entry;
  }

  /** What the client gets because of the fault; undefined to continue as usual. */
  async #strike(fault: Fault, entry: RequestEntry, response: WireResponse | undefined): Promise<Delivery | undefined> {
    const { action } = fault;
    entry.fault = action.kind;
    switch (action.kind) {
      case 'status':
        return sent(entry, statusAnswer(action.status, action.headers, action.body));
      case 'error': {
        const { status, headers, body } = this.provider.errorAnswer(entry.route, action.status, action.text);
        return sent(entry, { kind: 'answer', status, headers: { ...headers, ...lowerCase(action.headers) }, body });
      }
      case 'failTask':
        if (entry.task !== undefined) this.fleet.failTask(entry.task, action);
        return undefined;
      case 'drop':
      case 'reset':
        return { kind: 'disconnect', reset: action.kind === 'reset' };
      case 'hang':
        return (await fault.gate) ? undefined : { kind: 'disconnect', reset: false };
      case 'delay':
        await this.#settings.clock.sleep(action.ms);
        return undefined;
      case 'garbage':
        return response && sent(entry, spoil(response, action, this.#settings.clock));
      case 'location':
        return response && sent(entry, relocate(response, action.location));
      case 'body':
        return response && sent(entry, { kind: 'answer', ...response, body: mapBody(response.body, action.body) });
    }
  }

  #unknownRoute({ method, path }: WireRequest): Delivery {
    this.ledger.append({ kind: 'unknownRoute', at: this.#settings.clock.now(), method, path });
    return { kind: 'answer', ...json(501, { error: `The simulator has no route ${method} ${path}` }) };
  }
}

function sent(entry: RequestEntry, delivery: Delivery): Delivery {
  if (delivery.kind === 'answer') entry.status = delivery.status;
  return delivery;
}

function statusAnswer(status: number, headers: Record<string, string> | undefined, body: unknown): Delivery {
  if (body === undefined) return { kind: 'answer', status, headers: lowerCase(headers), body: '' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  return { kind: 'answer', status, headers: { 'content-type': type, ...lowerCase(headers) }, body: text };
}

function lowerCase(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function relocate(response: WireResponse, location: string | null | ((original: string) => string)): Delivery {
  const { location: original = '', ...headers } = response.headers;
  if (location === null) return { kind: 'answer', ...response, headers };
  const changed = typeof location === 'string' ? location : location(original);
  return { kind: 'answer', ...response, headers: { ...headers, location: changed } };
}

function mapBody(text: string, change: unknown): string {
  if (typeof change !== 'function') return JSON.stringify(change);
  const map = change as (body: unknown) => unknown;
  return JSON.stringify(map(text === '' ? undefined : (JSON.parse(text) as unknown)));
}
