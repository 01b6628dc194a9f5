/** One API key at the service: the calls of types.ts over an authorised caller. */
import { accountOf } from './account.ts';
import type { Caller } from './caller.ts';
import { createServer } from './create.ts';
import { isIdentifier, isSameIdentifier } from './endpoints.ts';
import type { Endpoints, Target } from './endpoints.ts';
import { ProtocolError } from './errors/protocol-error.ts';
import { WithheldError } from './errors/withheld-error.ts';
import { failure, failureOf } from './failure.ts';
import type { Answer, Operation } from './transport.ts';
import type { Catalog, CreateOutcome, CreateServerRequest, Priority, Product } from './types.ts';
import type { Server, Session, TaskState } from './types.ts';
import { asObject, objectIn, parseDiskSizes, parseImages, parseJson, parseProducts, parseServer } from './wire.ts';

export interface SessionOptions {
  keyId: string;
  caller: Caller;
  endpoints: Endpoints;
  createTimeoutMs: number;
  now: () => number;
}

export class ServiceSession implements Session {
  readonly account: string;
  readonly #caller: Caller;
  readonly #endpoints: Endpoints;
  readonly #createTimeoutMs: number;
  readonly #now: () => number;
  #catalog: { lists: Catalog; answeredAt: number } | undefined;
  #catalogCall: Promise<Catalog> | undefined;

  constructor(options: SessionOptions) {
    this.#caller = options.caller;
    this.#endpoints = options.endpoints;
    this.#createTimeoutMs = options.createTimeoutMs;
    this.#now = options.now;
    this.account = accountOf(options.endpoints.base, options.keyId);
  }

  async ensureToken(): Promise<void> {
    await this.#caller.tokens.get();
  }

  /** Forgets the token, which was bound to an address that is no longer in use. */
  dropToken(): void {
    this.#caller.tokens.drop();
  }

  async catalog(maxAgeMs: number): Promise<Catalog> {
    if (this.#catalog && this.#now() - this.#catalog.answeredAt <= maxAgeMs) return this.#catalog.lists;
    this.#catalogCall ??= this.#readCatalog().finally(() => (this.#catalogCall = undefined));
    return this.#catalogCall;
  }

  async products(): Promise<Product[]> {
    return parseProducts(await this.#list('products', this.#endpoints.products));
  }

  createServer(request: CreateServerRequest, maySend = () => true): Promise<CreateOutcome> {
    const deadline = this.#now() + this.#createTimeoutMs;
    const inTime = () => this.#now() < deadline && maySend();
    return createServer(this.#caller, this.#endpoints, request, this.#createTimeoutMs, inTime);
  }

  async pollTask(task: number): Promise<TaskState> {
    const answer = await this.#get('pollTask', this.#endpoints.task(task), 'high');
    if (answer.status === 200) return this.#pending(asObject(parseJson(bodyOf(answer), 'pollTask'), 'pollTask'));
    if (answer.status === 303) return this.#complete(answer);
    throw failureOf(answer, 'pollTask', this.#caller.redactor);
  }

  async readServer(identifier: string, priority: Priority): Promise<Server> {
    const answer = await this.#get('readServer', this.#endpoints.server(identifier), priority);
    if (answer.status !== 200) throw failureOf(answer, 'readServer', this.#caller.redactor);
    return parseServer(parseJson(bodyOf(answer), 'readServer'), identifier);
  }

  async deleteServer(identifier: string, maySend = () => true): Promise<void> {
    const target = this.#endpoints.server(identifier);
    const answer = await this.#caller.authorized(
      { operation: 'deleteServer', method: 'DELETE', target },
      'high',
      (exchange) => {
        if (!maySend()) throw new WithheldError();
        return this.#caller.transport.send(exchange);
      },
    );
    if (answer.status !== 200) throw failureOf(answer, 'deleteServer', this.#caller.redactor);
  }

  #pending(body: Record<string, unknown>): TaskState {
    const status = typeof body.status === 'string' ? this.#caller.redactor.clean(body.status) : undefined;
    return { state: 'pending', identifier: identifierIn(body), status };
  }

  /** The server that a 303 names, in the body or in the Location; the redirect itself is never followed. */
  #complete(answer: Answer): TaskState {
    const inBody = identifierIn(objectIn(answer.body));
    const inLocation = this.#endpoints.identifierOfLocation(answer.headers.location);
    if (inBody !== undefined && inLocation !== undefined && !isSameIdentifier(inBody, inLocation)) {
      throw new ProtocolError('pollTask: body and Location of the completed task name different servers');
    }
    const identifier = inBody ?? inLocation;
    if (identifier === undefined) throw new ProtocolError('pollTask: the completed task names no server');
    return { state: 'complete', identifier };
  }

  async #readCatalog(): Promise<Catalog> {
    let answeredAt = Infinity;
    const list = async (operation: Operation, target: Target): Promise<unknown> => {
      const body = await this.#list(operation, target);
      answeredAt = Math.min(answeredAt, this.#now());
      return body;
    };
    const [products, images, diskSizes] = await Promise.all([
      list('products', this.#endpoints.products).then(parseProducts),
      list('images', this.#endpoints.images).then(parseImages),
      list('diskSizes', this.#endpoints.diskSizes).then(parseDiskSizes),
    ]);
    const lists = { products, images, diskSizes };
    this.#catalog = { lists, answeredAt };
    return lists;
  }

  async #list(operation: Operation, target: Target): Promise<unknown> {
    const answer = await this.#get(operation, target, 'high');
    if (answer.status !== 200) throw failure(answer, operation, this.#caller.redactor);
    return parseJson(bodyOf(answer), operation);
  }

  #get(operation: Operation, target: Target, priority: Priority): Promise<Answer> {
    return this.#caller.authorized({ operation, method: 'GET', target }, priority, (exchange) =>
      this.#caller.transport.send(exchange),
    );
  }
}

function bodyOf(answer: Answer): string {
  if (typeof answer.body !== 'string') throw answer.body;
  return answer.body;
}

/** Throws ProtocolError for an identifier that cannot be used: it must not be mistaken for a missing one. */
function identifierIn({ identifier }: Record<string, unknown>): string | undefined {
  if (typeof identifier !== 'string' || identifier === '') return undefined;
  if (!isIdentifier(identifier))
    throw new ProtocolError('pollTask: the identifier is too long, or cannot be part of a URL');
  return identifier;
}
