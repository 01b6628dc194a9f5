/** A proxy between the operator and a server. Every request goes through a hook that decides what happens to it. */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Exchange, type Upstream } from './exchange.ts';
import { LineGate } from './line-gate.ts';

interface ProxyOptions {
  upstream: Upstream;
  /** If set, serves HTTPS with this certificate. */
  tls?: { key: string; cert: string };
  /** If set, requests without this token get 401. */
  token?: string;
  onExchange: (exchange: Exchange) => Promise<void>;
}

export interface Proxy {
  readonly origin: string;
  /** Controls the watches that run through the proxy. */
  readonly gate: LineGate;
  /** While false, open connections break and new ones are closed at once. */
  reachable: boolean;
  /** Breaks all connections. */
  cut(): void;
  close(): Promise<void>;
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const gate = new LineGate();
  const sockets = new Set<Socket>();
  const serve = (incoming: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => undefined);
    void receive(incoming, response, options, gate);
  };
  const server = options.tls ? createHttpsServer(options.tls, serve) : createHttpServer(serve);
  let reachable = true;
  server.on('connection', (socket: Socket) => {
    if (!reachable) return socket.destroy();
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `${options.tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    gate,
    get reachable() {
      return reachable;
    },
    set reachable(value) {
      reachable = value;
      if (!value) cut();
    },
    cut,
    async close() {
      const closed = once(server, 'close');
      server.close();
      cut();
      await closed;
    },
  };
}

async function receive(
  incoming: IncomingMessage,
  response: ServerResponse,
  { upstream, token, onExchange }: ProxyOptions,
  gate: LineGate,
): Promise<void> {
  let exchange: Exchange | undefined;
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (token !== undefined && incoming.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
      return;
    }
    if (token !== undefined) delete incoming.headers.authorization;
    exchange = new Exchange(incoming, response, Buffer.concat(chunks).toString(), upstream, gate);
    await onExchange(exchange);
  } catch {
    // The client disconnected or the upstream server broke off, so there is nothing to answer.
    incoming.socket.destroy();
  }
}
