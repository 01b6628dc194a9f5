/** The SSH server behind a server's SSH proxy: sends a greeting or hangs up. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Answer, Passing } from './exchange.ts';

const BANNER = 'SSH-2.0-OpenSSH_10.0\r\n';

export class SshHost {
  /** While false, connections are accepted and closed without a greeting. */
  answers = true;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  /** `onVisit` decides what happens to a connection. */
  static async open(onVisit: (visit: Passing) => Promise<void>): Promise<SshHost> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      // Reading is needed to notice that the client disconnects.
      socket
        .on('error', () => undefined)
        .once('close', () => sockets.delete(socket))
        .resume();
      onVisit(visitOf(socket, () => host.answers)).catch(() => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = new SshHost(server, sockets);
    return host;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function visitOf(socket: Socket, answers: () => boolean): Passing {
  return {
    method: 'SSH',
    path: '',
    body: '',
    left: new Promise((resolve) => socket.once('close', () => resolve())),
    forward: () => Promise.resolve(said(answers() ? BANNER : '')),
    reply: ({ body }) => void socket.end(body),
    breakOff: () => void socket.resetAndDestroy(),
  };
}

function said(text: string): Answer {
  return { status: 200, headers: {}, body: Buffer.from(text) };
}
