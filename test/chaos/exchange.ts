/** One request on its way through a proxy. Its holder decides whether to forward it and what to answer. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import type { LineGate } from './line-gate.ts';

export interface Upstream {
  origin: string;
  dispatcher: Dispatcher;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Something that arrives and waits for an answer; a fault may hit it. */
export interface Passing {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Resolves when the client has disconnected or received its answer. */
  readonly left: Promise<void>;
  /** Forwards the request to its target; the answer is not passed on yet. */
  forward(): Promise<Answer>;
  reply(answer: Answer): void;
  /** Breaks the connection, either without an answer or in the middle of one. */
  breakOff(): void;
}

/** Hop-by-hop headers: they belong to one connection, not to the message. */
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'host', 'content-length']);

export class Exchange implements Passing {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly body: string;
  readonly left: Promise<void>;
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upstream: Upstream;
  readonly #gate: LineGate;
  #stream: AsyncIterable<Buffer> | undefined;
  #over = false;
  #forward = (): Promise<Answer> => this.#send();

  constructor(incoming: IncomingMessage, response: ServerResponse, body: string, upstream: Upstream, gate: LineGate) {
    this.method = incoming.method ?? '';
    this.path = incoming.url ?? '';
    this.body = body;
    this.#incoming = incoming;
    this.#response = response;
    this.#upstream = upstream;
    this.#gate = gate;
    this.left = new Promise((resolve) => response.once('close', resolve));
    void this.left.then(() => (this.#over = true));
  }

  /** Whether the client has disconnected or received its answer. */
  get isOver(): boolean {
    return this.#over;
  }

  get isWatch(): boolean {
    return this.path.includes('watch=true');
  }

  /** Wraps `forward`. */
  onForward(around: (forward: () => Promise<Answer>) => Promise<Answer>): void {
    const inner = this.#forward;
    this.#forward = () => around(inner);
  }

  /** Forwards the request to the server; the answer is not passed on yet. For a watch, waits for the headers only. */
  forward(): Promise<Answer> {
    return this.#forward();
  }

  async #send(): Promise<Answer> {
    const { origin, dispatcher } = this.#upstream;
    const gone = new AbortController();
    if (this.isWatch) void this.left.then(() => gone.abort());
    const { statusCode, headers, body } = await dispatcher.request({
      origin,
      path: this.path,
      method: this.method,
      headers: this.#headersFor(origin),
      body: this.body === '' ? null : this.body,
      headersTimeout: 0,
      bodyTimeout: 0,
      signal: this.isWatch ? gone.signal : null,
    });
    const kept = Object.entries(headers).filter(([name, value]) => !HOP.has(name) && value !== undefined);
    const answer = { status: statusCode, headers: Object.fromEntries(kept) as Answer['headers'] };
    if (this.isWatch && statusCode === 200) {
      this.#stream = body as AsyncIterable<Buffer>;
      return { ...answer, body: Buffer.alloc(0) };
    }
    return { ...answer, body: Buffer.from(await body.arrayBuffer()) };
  }

  /** Passes an answer on; for a forwarded watch, also everything that follows. */
  reply({ status, headers, body }: Answer): void {
    if (this.#over) return;
    this.#response.writeHead(status, headers);
    if (this.#stream === undefined) {
      this.#response.end(body);
      return;
    }
    this.#response.flushHeaders();
    void this.#pipe(this.#stream);
  }

  breakOff(): void {
    const { socket } = this.#incoming;
    socket.destroy();
  }

  async #pipe(stream: AsyncIterable<Buffer>): Promise<void> {
    const leave = this.#gate.join({
      line: (line) => {
        if (!this.#over) this.#response.write(`${line}\n`);
      },
      end: () => this.#response.end(),
    });
    try {
      let rest = '';
      for await (const chunk of stream) {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) leave.take(line);
      }
      this.#response.end();
    } catch {
      this.breakOff();
    } finally {
      leave.leave();
    }
  }

  #headersFor(origin: string): Record<string, string | string[]> {
    const kept = Object.entries(this.#incoming.headers).filter(
      ([name, value]) => !HOP.has(name) && value !== undefined,
    );
    return { ...(Object.fromEntries(kept) as Answer['headers']), host: new URL(origin).host };
  }
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}
