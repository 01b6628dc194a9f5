/** Faults: which requests they strike, what they do to a request, and whether each of them has struck. */
import { Buffer } from 'node:buffer';

import type { FailOptions } from './fleet.ts';
import type { RequestEntry } from './ledger.ts';
import type { Clock } from './settings.ts';
import type { Delivery, Route, WireResponse } from './wire.ts';

export interface FaultMatch {
  method?: string;
  /** One route, or any of several. */
  route?: Route | readonly Route[];
  /** The decoded identifier or task number in the path. */
  param?: string;
  account?: string;
  /** Only for faults after processing: the status that the provider would answer. */
  status?: number;
  /** Strikes from the nth matching request on, counted from 1 since the injection. */
  nth?: number;
}

/** A corrupted answer, which a client must reject or survive. */
type Garbage =
  /** An HTML page instead of the body, as a proxy would send; keeps the status. */
  | { form: 'html' }
  /** Half of the body with the full Content-Length, then the connection ends. */
  | { form: 'truncated' }
  /** A streamed JSON object of this size. */
  | { form: 'oversized'; megabytes: number }
  /** The body, one byte at a time. */
  | { form: 'slow'; msPerByte: number }
  /** The correct body with another Content-Type. */
  | { form: 'contentType'; contentType: string }
  /** This text instead of the body, as application/json. */
  | { form: 'text'; text: string };

/**
 * With `after: true`, the fault strikes after the provider has acted on the request, so the client does not learn the
 * outcome. Otherwise it strikes before. `garbage`, `location`, `body` and `failTask` need an answer, so they always strike
 * after.
 */
export type FaultAction =
  /** Answers with this status. `body`: a string is sent unchanged, anything else as JSON. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown; after?: boolean }
  /** Answers with an error in the form of the API; a 403 without a text says that the key lacks the right. */
  | { kind: 'error'; status: number; text?: string; headers?: Record<string, string>; after?: boolean }
  /** Strikes only accepted orders: their tasks fail. */
  | ({ kind: 'failTask' } & FailOptions)
  /** Closes the connection (FIN) without an answer. */
  | { kind: 'drop'; after?: boolean }
  /** Resets the connection (RST); over TLS it closes it instead, since Node.js cannot reset TLS connections. */
  | { kind: 'reset'; after?: boolean }
  /** Waits for `release()`, then continues even if the client has left; never continues after `close()`. */
  | { kind: 'hang'; after?: boolean }
  | { kind: 'delay'; ms: number; after?: boolean }
  | ({ kind: 'garbage' } & Garbage)
  /** Strikes only answers with a Location (202 and 303): replaces the header, or removes it with null. */
  | { kind: 'location'; location: string | null | ((original: string) => string) }
  /** Replaces the JSON body, or maps it. */
  | { kind: 'body'; body: unknown };

export interface FaultInput {
  match?: FaultMatch;
  /** How many requests it strikes; 1 by default. With Infinity it counts as met after the first. */
  times?: number;
  action: FaultAction;
}

export interface FaultHandle {
  /** Resolves when the fault has struck `times` times; for faults with `after`, the provider has then acted. */
  readonly met: Promise<void>;
  /** How often the fault has struck. */
  readonly count: number;
  /** Lets hanging requests continue, now and later. */
  release(): void;
  /** Stops the fault, which then need not be met; hanging requests keep hanging. */
  remove(): void;
}

export class Fault implements FaultHandle {
  readonly action: FaultAction;
  readonly met: Promise<void>;
  /** Resolves to whether a hanging request may continue. */
  readonly gate: Promise<boolean>;
  readonly #match: FaultMatch;
  readonly #times: number;
  readonly #resolveMet: () => void;
  readonly #openGate: (goOn: boolean) => void;
  readonly #onEnd: (fault: Fault) => void;
  #seen = 0;
  #count = 0;

  constructor(input: FaultInput, onEnd: (fault: Fault) => void) {
    this.action = input.action;
    this.#match = input.match ?? {};
    this.#times = input.times ?? 1;
    this.#onEnd = onEnd;
    const met = Promise.withResolvers<undefined>();
    const gate = Promise.withResolvers<boolean>();
    this.met = met.promise;
    this.gate = gate.promise;
    this.#resolveMet = () => met.resolve(undefined);
    this.#openGate = gate.resolve;
  }

  get count(): number {
    return this.#count;
  }

  get isMet(): boolean {
    return this.#count >= (this.#times === Infinity ? 1 : this.#times);
  }

  release(): void {
    this.#openGate(true);
  }

  /** Hanging requests do not continue: their connections are closing. */
  shut(): void {
    this.#openGate(false);
  }

  remove(): void {
    this.#onEnd(this);
  }

  sees(entry: RequestEntry, response: WireResponse | undefined): boolean {
    const { method, route, param, account, status, nth } = this.#match;
    if (this.#strikesAfter() !== (response !== undefined)) return false;
    if (method !== undefined && method !== entry.method) return false;
    if (route !== undefined && ![route].flat().includes(entry.route)) return false;
    if (param !== undefined && param !== entry.param) return false;
    if (account !== undefined && account !== entry.account) return false;
    if (status !== undefined && status !== response?.status) return false;
    if (this.action.kind === 'location' && response?.headers['location'] === undefined) return false;
    if (this.action.kind === 'failTask' && entry.task === undefined) return false;
    this.#seen += 1;
    return this.#seen >= (nth ?? 1);
  }

  strike(): void {
    this.#count += 1;
    if (this.isMet) this.#resolveMet();
    if (this.#count >= this.#times) this.#onEnd(this);
  }

  describe(): string {
    const times = this.#times === Infinity ? 'at least once' : `${this.#times}x`;
    return `${this.action.kind} on ${JSON.stringify(this.#match)} (struck ${this.#count}x, wanted ${times})`;
  }

  #strikesAfter(): boolean {
    const { action } = this;
    switch (action.kind) {
      case 'garbage':
      case 'location':
      case 'body':
      case 'failTask':
        return true;
      case 'status':
      case 'error':
      case 'drop':
      case 'reset':
      case 'hang':
      case 'delay':
        return action.after ?? false;
    }
  }
}

export class Faults {
  readonly #active = new Set<Fault>();
  readonly #all = new Set<Fault>();

  /** If several faults match a request, the one injected first strikes; the others wait for the next request. */
  inject(input: FaultInput): FaultHandle {
    const fault = new Fault(input, (ended) => this.#active.delete(ended));
    this.#active.add(fault);
    this.#all.add(fault);
    return fault;
  }

  /** The fault that strikes this request now: before processing if there is no response, else after it. */
  take(entry: RequestEntry, response: WireResponse | undefined): Fault | undefined {
    if (this.#active.size === 0) return undefined;
    let chosen: Fault | undefined;
    for (const fault of this.#active) if (fault.sees(entry, response)) chosen ??= fault;
    chosen?.strike();
    return chosen;
  }

  /** Descriptions of the faults that have not been met. */
  unmet(): string[] {
    return [...this.#active].filter((fault) => !fault.isMet).map((fault) => fault.describe());
  }

  assertMet(): void {
    const unmet = this.unmet();
    if (unmet.length > 0) throw new Error(`Injected faults were never met: ${unmet.join('; ')}`);
  }

  /** Ends all hanging requests; for `close()`. */
  shut(): void {
    for (const fault of this.#all) fault.shut();
  }
}

/** Thrown in the middle of a body; the socket server then ends the connection. */
export class BodyBrokenOffError extends Error {
  override readonly name = 'BodyBrokenOffError';
}

export function spoil(response: WireResponse, garbage: Garbage, clock: Clock): Delivery {
  const { status, headers, body } = response;
  switch (garbage.form) {
    case 'html': {
      const page = '<!DOCTYPE html><html><head><title>Oops</title></head><body>Something went wrong.</body></html>';
      return { kind: 'answer', status, headers: { ...headers, 'content-type': 'text/html' }, body: page };
    }
    case 'truncated': {
      const bytes = Buffer.from(body === '' ? '{}' : body);
      const length = { 'content-length': String(bytes.length) };
      return { kind: 'answer', status, headers: { ...headers, ...length }, body: breakOff(bytes) };
    }
    case 'oversized':
      return { kind: 'answer', status, headers, body: oversized(garbage.megabytes) };
    case 'slow':
      return { kind: 'answer', status, headers, body: drip(Buffer.from(body), garbage.msPerByte, clock) };
    case 'contentType':
      return { kind: 'answer', status, headers: { ...headers, 'content-type': garbage.contentType }, body };
    case 'text':
      return { kind: 'answer', status, headers, body: garbage.text };
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- an AsyncIterable is what a Delivery carries
async function* breakOff(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new BodyBrokenOffError('The body breaks off here on purpose');
}

// eslint-disable-next-line @typescript-eslint/require-await -- an AsyncIterable is what a Delivery carries
async function* oversized(megabytes: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  yield Buffer.from('{"padding":"');
  for (let sent = 0; sent < megabytes * 1024 * 1024; sent += chunk.length) yield chunk;
  yield Buffer.from('"}');
}

async function* drip(bytes: Buffer, msPerByte: number, clock: Clock): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < bytes.length; index += 1) {
    await clock.sleep(msPerByte);
    yield bytes.subarray(index, index + 1);
  }
}
