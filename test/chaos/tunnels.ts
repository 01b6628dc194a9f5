/** The HTTP proxy between the operators and the provider. Every tunnel goes through a hook that decides what happens. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Answer, Passing } from './exchange.ts';

/** The password of the proxy must not appear in any log. */
export const PROXY_PASSWORD = 'password-of-the-proxy';
const CREDENTIALS = `operator:${PROXY_PASSWORD}`;
const AUTHORIZATION = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;

const OPEN: Answer = { status: 200, headers: {}, body: Buffer.alloc(0) };
const UNREACHABLE: Answer = { ...OPEN, status: 502 };
const UNAUTHORIZED: Answer = { ...OPEN, status: 407 };

export class Tunnels {
  /** For `HTTP_PROXY`, with credentials. */
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.url = `http://${CREDENTIALS}@127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** `onTunnel` decides what happens to a request for a tunnel; `violated` is called with violations. */
  static async open(
    onTunnel: (tunnel: Passing) => Promise<void>,
    violated: (violation: string) => void,
  ): Promise<Tunnels> {
    const sockets = new Set<Socket>();
    const keep = (socket: Socket): Socket => {
      sockets.add(socket);
      return socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    };
    const server = createServer();
    server.on('connection', keep);
    server.on('connect', (request: IncomingMessage) => {
      onTunnel(new Tunnel(request, keep, violated)).catch(() => request.socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Tunnels(server, sockets);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

class Tunnel implements Passing {
  readonly method = 'CONNECT';
  /** Host and port of the target. */
  readonly path: string;
  readonly body = '';
  readonly left: Promise<void>;
  readonly #client: Socket;
  readonly #isAuthorized: boolean;
  readonly #keep: (socket: Socket) => Socket;
  readonly #violated: (violation: string) => void;
  #target: Socket | undefined;

  constructor(
    { url = '', headers, socket }: IncomingMessage,
    keep: (socket: Socket) => Socket,
    violated: (violation: string) => void,
  ) {
    this.path = url;
    this.#client = socket;
    this.#isAuthorized = headers['proxy-authorization'] === AUTHORIZATION;
    this.#keep = keep;
    this.#violated = violated;
    this.left = new Promise((resolve) => socket.once('close', () => resolve()));
    // Reading is needed to notice that the client disconnects; a server's connections stay half open otherwise.
    socket.once('end', () => socket.destroy()).resume();
    void this.left.then(() => this.#target?.destroy());
  }

  async forward(): Promise<Answer> {
    if (!this.#isAuthorized) return UNAUTHORIZED;
    const { hostname, port } = new URL(`tcp://${this.path}`);
    const target = this.#keep(connect(Number(port), hostname));
    this.#target = target;
    target.once('close', () => this.#client.destroy());
    if (this.#client.destroyed) target.destroy();
    return new Promise((resolve) => {
      target.once('connect', () => resolve(OPEN)).once('close', () => resolve(UNREACHABLE));
    });
  }

  /** A tunnel that opens although nothing was forwarded breaks when the client sends something. */
  reply({ status }: Answer): void {
    if (status !== 200) {
      // The proxy leaves the connection open, so what the client sends over it arrives here.
      this.#client.once('data', () => this.#violated(`bytes follow the ${status} of a proxy that opened no tunnel`));
      this.#client.write(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    if (this.#target === undefined) this.#client.once('data', () => this.breakOff());
    this.#client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (this.#target !== undefined) this.#client.pipe(this.#target).pipe(this.#client);
  }

  breakOff(): void {
    this.#client.resetAndDestroy();
  }
}
