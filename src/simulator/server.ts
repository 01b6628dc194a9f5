/** The provider on a TCP port. */
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import { BodyBrokenOffError } from './faults.ts';
import { DEFAULT_KEY, type SimulationOptions } from './settings.ts';
import { Simulation } from './simulation.ts';
import type { Delivery, WireRequest } from './wire.ts';

export interface SimulatorOptions extends SimulationOptions {
  /** 127.0.0.1 by default. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** In PEM; enables HTTPS. */
  tls?: { key: string; cert: string };
  /** How long an idle connection stays open, in milliseconds; 5,000 by default. */
  keepAliveTimeoutMs?: number;
}

/** A simulator on a TCP port. The option `origin` overrides the origin of its URLs and Location headers. */
export class Simulator extends Simulation {
  readonly keyId: string;
  readonly secret: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #connectionOf = new WeakMap<Socket, number>();
  readonly #host: string;
  #port: number;
  readonly #failures: unknown[] = [];
  #connections = 0;
  #closed = false;

  constructor(options: SimulatorOptions) {
    super({ newToken: randomUUID, ...options });
    const key = options.accounts?.[0]?.keys[0] ?? DEFAULT_KEY;
    this.keyId = key.keyId;
    this.secret = key.secret;
    this.#host = options.host ?? '127.0.0.1';
    this.#port = options.port ?? 0;
    const listener = (req: IncomingMessage, res: ServerResponse): void => this.#serve(req, res);
    this.#server = options.tls ? createHttpsServer(options.tls, listener) : createHttpServer(listener);
    this.#server.keepAliveTimeout = options.keepAliveTimeoutMs ?? 5_000;
    this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    this.#server.on('secureConnection', (socket: TLSSocket) => this.#secure(socket));
  }

  get port(): number {
    return this.#port;
  }

  /** Listens on its port, initially or after `goDown()`. Rejects if the port is taken. */
  async comeUp(): Promise<void> {
    this.#server.listen(this.#port, this.#host);
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Ends all connections and refuses new ones until `comeUp()`. Keeps its state. */
  async goDown(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.dropConnections();
    await closed;
  }

  /** Ends all connections, busy or idle, as a restarting load balancer would. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops, then throws if the simulator failed, a fault was never met, or a request used an unknown route. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.faults.shut();
    await this.goDown();
    const [failure] = this.#failures;
    if (failure !== undefined) throw new Error('The simulator failed', { cause: failure });
    this.finish();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    this.#connections += 1;
    this.#connectionOf.set(socket, this.#connections);
    this.connected(socket.remoteAddress ?? '', this.#connections);
  }

  /** Over TLS a connection has two sockets; requests use the second, which gets the number of the first. */
  #secure(socket: TLSSocket): void {
    for (const raw of this.#sockets) {
      if (raw.remotePort === socket.remotePort) this.#connectionOf.set(socket, this.#connectionOf.get(raw) ?? 0);
    }
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    res.on('error', () => undefined);
    if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) {
      void this.#answer(req, res, '');
      return;
    }
    const chunks: Buffer[] = [];
    req.on('error', () => undefined);
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => void this.#answer(req, res, Buffer.concat(chunks).toString('utf8')));
  }

  async #answer(req: IncomingMessage, res: ServerResponse, body: string): Promise<void> {
    const { socket } = req;
    try {
      const delivery = await this.exchange(this.#toWire(req, body));
      if (delivery.kind === 'answer') await deliver(res, delivery);
      else hangUp(socket, delivery.reset);
    } catch (error) {
      socket.destroy();
      if (!(error instanceof BodyBrokenOffError || error instanceof ClientLeftError)) this.#failures.push(error);
    }
  }

  #toWire({ method, url, headers, socket }: IncomingMessage, body: string): WireRequest {
    return {
      method: method ?? '',
      path: url ?? '',
      authorization: headers.authorization,
      contentType: headers['content-type'],
      body,
      sourceAddress: socket.remoteAddress ?? '',
      connection: this.#connectionOf.get(socket) ?? 0,
    };
  }
}

/** Resolves when the simulator listens. Rejects if the port is taken. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = new Simulator(options);
  await simulator.comeUp();
  if (options.origin === undefined) {
    const host = options.host ?? '127.0.0.1';
    const name = host.includes(':') ? `[${host}]` : host;
    simulator.setOrigin(`${options.tls ? 'https' : 'http'}://${name}:${simulator.port}`);
  }
  return simulator;
}

async function deliver(res: ServerResponse, { status, headers, body }: Delivery & { kind: 'answer' }): Promise<void> {
  if (typeof body === 'string') {
    res.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers });
    res.end(body);
    return;
  }
  res.writeHead(status, headers);
  res.flushHeaders();
  for await (const chunk of body) await write(res, chunk);
  res.end();
}

class ClientLeftError extends Error {
  override readonly name = 'ClientLeftError';
}

/** Resolves when the chunk is written, so a disconnect cannot overtake it; rejects if the client has left. */
function write(res: ServerResponse, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = (): void => reject(new ClientLeftError());
    res.once('close', left);
    res.write(chunk, (error) => {
      res.off('close', left);
      if (error) left();
      else resolve();
    });
  });
}

function hangUp(socket: Socket, reset: boolean): void {
  if (reset && !(socket instanceof TLSSocket)) socket.resetAndDestroy();
  else socket.destroy();
}
