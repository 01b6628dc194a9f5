/** The calls of types.ts for one API key and one tenant. */
import type { Caller } from './caller.ts';
import { isIdentifier, isSameIdentifier } from './endpoints.ts';
import type { Endpoint, Endpoints } from './endpoints.ts';
import { ProviderError, withheldError } from './errors/provider-error.ts';
import { failureOf } from './failure.ts';
import { failed } from './operations.ts';
import { openOrder } from './order.ts';
import { readProducts, type Lists } from './lists.ts';
import { bodyOf, type Operation, type ProviderAnswer } from './transport.ts';
import type { Catalog, OpenOrder, Priority, Product } from './types.ts';
import type { Server, Session, TaskState } from './types.ts';
import { asObject, objectIn, parseJson, parseMessage, parseServer } from './wire.ts';

interface SessionOptions {
  account: string;
  caller: Caller;
  endpoints: Endpoints;
  lists: Lists;
  createTimeoutMs: number;
  now: () => number;
}

export class ProviderSession implements Session {
  readonly account: string;
  readonly #caller: Caller;
  readonly #endpoints: Endpoints;
  readonly #lists: Lists;
  readonly #createTimeoutMs: number;
  readonly #now: () => number;

  constructor(options: SessionOptions) {
    this.#caller = options.caller;
    this.#endpoints = options.endpoints;
    this.#createTimeoutMs = options.createTimeoutMs;
    this.#now = options.now;
    this.#lists = options.lists;
    this.account = options.account;
  }

  get isAccepted(): boolean {
    return this.#caller.tokens.isAccepted;
  }

  async ensureToken(): Promise<void> {
    await this.#caller.tokens.get(this.#caller.holder.tenant, 'low');
  }

  catalog(maxAgeMs: number): Promise<Catalog> {
    return this.#lists.catalog(maxAgeMs);
  }

  products(): Promise<Product[]> {
    return readProducts(this.#caller, this.#endpoints);
  }

  openOrder(): Promise<OpenOrder> {
    const [caller, endpoints, timeoutMs, now] = [this.#caller, this.#endpoints, this.#createTimeoutMs, this.#now];
    return openOrder({ caller, endpoints, timeoutMs, now });
  }

  async pollTask(task: number): Promise<TaskState> {
    const answer = await this.#get('pollTask', this.#endpoints.task(task), 'normal');
    if (answer.status === 200) return this.#pending(asObject(parseJson(bodyOf(answer), 'pollTask'), 'pollTask'));
    if (answer.status === 303) return this.#complete(answer);
    throw failureOf(answer, 'pollTask', this.#caller.redactor);
  }

  async readServer(identifier: string, priority: Priority): Promise<Server> {
    const answer = await this.#get('readServer', this.#endpoints.server(identifier), priority);
    if (answer.status !== 200) throw failureOf(answer, 'readServer', this.#caller.redactor);
    return parseServer(parseJson(bodyOf(answer), 'readServer'), identifier);
  }

  async deleteServer(identifier: string, maySend = () => true): Promise<string> {
    const target = this.#endpoints.server(identifier);
    const check = (): void => {
      if (!maySend()) throw withheldError();
    };
    const answer = await this.#caller.call({ operation: 'deleteServer', method: 'DELETE', target }, 'high', check);
    if (answer.status !== 200) throw failureOf(answer, 'deleteServer', this.#caller.redactor);
    return this.#caller.redactor.clean(parseMessage(parseJson(bodyOf(answer), 'deleteServer')));
  }

  #get(operation: Operation, target: Endpoint, priority: Priority): Promise<ProviderAnswer> {
    return this.#caller.call({ operation, method: 'GET', target }, priority);
  }

  #pending(body: Record<string, unknown>): TaskState {
    const status = typeof body.status === 'string' ? this.#caller.redactor.clean(body.status) : undefined;
    return { state: 'pending', identifier: identifierIn(body), status };
  }

  /** The server that a 303 names in its body or Location; the client never follows the redirect. */
  #complete(answer: ProviderAnswer): TaskState {
    const inBody = identifierIn(objectIn(answer.body));
    const inLocation = this.#endpoints.identifierOfLocation(answer.headers.location);
    if (inBody !== undefined && inLocation !== undefined && !isSameIdentifier(inBody, inLocation)) {
      throw new ProviderError(
        'PROVIDER_PROTOCOL',
        failed('pollTask', 'body and Location of the completed task name different servers'),
      );
    }
    const identifier = inBody ?? inLocation;
    if (identifier === undefined)
      throw new ProviderError('PROVIDER_PROTOCOL', failed('pollTask', 'the completed task names no server'));
    return { state: 'complete', identifier };
  }
}

/** Throws PROVIDER_PROTOCOL for an unusable identifier, which must not count as a missing one. */
function identifierIn({ identifier }: Record<string, unknown>): string | undefined {
  if (typeof identifier !== 'string' || identifier === '') return undefined;
  if (!isIdentifier(identifier))
    throw new ProviderError(
      'PROVIDER_PROTOCOL',
      failed('pollTask', 'the identifier is too long, or cannot be part of a URL'),
    );
  return identifier;
}
