/** An HTTP proxy that opens tunnels (CONNECT), and can refuse, cut or ignore them. */
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** What the proxy does with the tunnels that are asked for from now on. */
export type Behavior =
  | 'pass'
  /** Ends the connection, or stays silent, instead of an answer. */
  | 'close'
  | 'reset'
  | 'silent'
  /** Answers with this text and ends the connection. */
  | { answer: string }
  /** Opens the tunnel and closes it as soon as the client sends something: with TLS, before the handshake ends. */
  | 'cut-at-first-byte'
  /** Closes the tunnel once the client has sent this text, and does not pass on the part that contains it. */
  | { cutAt: string };

export interface Tunnel {
  /** Host and port that the client asked for. */
  authority: string;
  authorization: string | undefined;
}

export interface ConnectProxy {
  readonly origin: string;
  /** Every tunnel that was asked for, in order. */
  readonly tunnels: Tunnel[];
  behavior: Behavior;
  /** Requests that did not ask for a tunnel. */
  readonly others: string[];
  /** Number of open connections from clients. */
  readonly connections: number;
  /** Number of tunnels that `cutAt` and `cut-at-first-byte` have closed. */
  readonly cuts: number;
  /** Closes every open tunnel. */
  cut(): void;
  close(): Promise<void>;
}

/** The answer of a proxy that refuses, with a text that no message may repeat. */
export function refusing(status: number): Behavior {
  return { answer: `HTTP/1.1 ${status} words-of-the-proxy\r\nContent-Length: 18\r\n\r\nwords-of-the-proxy` };
}

/** With `tls`, clients reach the proxy itself over TLS. */
export async function startConnectProxy(tls?: { key: string; cert: string }): Promise<ConnectProxy> {
  const sockets = new Set<Duplex>();
  const clients = new Set<Duplex>();
  const state = { cuts: 0 };
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const onRequest = ({ method = '', url = '' }: IncomingMessage, response: { end: (text: string) => void }): void => {
    proxy.others.push(`${method} ${url}`);
    response.end('');
  };
  const server = tls === undefined ? createHttpServer(onRequest) : createHttpsServer(tls, onRequest);
  server.on('connection', (socket: Duplex) => {
    keep(socket);
    clients.add(socket);
    socket.on('close', () => clients.delete(socket));
  });
  server.on('connect', ({ url = '', headers, socket }: IncomingMessage, client: Duplex) => {
    const { behavior } = proxy;
    proxy.tunnels.push({ authority: url, authorization: headers['proxy-authorization'] });
    keep(client);
    // Without this, the connection would stay half open after the client has left.
    client.on('end', () => client.destroy());
    if (behavior === 'silent') {
      client.resume();
      return;
    }
    if (behavior === 'close') return client.destroy();
    if (behavior === 'reset') return socket.resetAndDestroy();
    if (typeof behavior === 'object' && 'answer' in behavior) return client.end(behavior.answer);
    open(url, client, behavior);
  });

  function open(authority: string, client: Duplex, behavior: 'pass' | 'cut-at-first-byte' | { cutAt: string }): void {
    const { hostname, port } = new URL(`tcp://${authority}`);
    const upstream = connect(Number(port), hostname.replace(/^\[(.*)\]$/, '$1'));
    keep(upstream);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client);
      client.on('data', (chunk: Buffer) => {
        const isCut =
          behavior === 'cut-at-first-byte' ||
          (behavior !== 'pass' && chunk.toString('latin1').includes(behavior.cutAt));
        if (!isCut) return void upstream.write(chunk);
        state.cuts += 1;
        client.destroy();
      });
    });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const proxy: ConnectProxy = {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tunnels: [],
    others: [],
    behavior: 'pass',
    get connections() {
      return clients.size;
    },
    get cuts() {
      return state.cuts;
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
  return proxy;
}
