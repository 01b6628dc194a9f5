/** What lies behind the SSH proxy of a server: greets as an SSH server does, or hangs up. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Answer, Passing } from './exchange.ts';

const BANNER = 'SSH-2.0-OpenSSH_10.0\r\n';

export class SshHost {
  /** While false, connections are accepted and closed without a word. */
  answers = true;
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = (server.address() as AddressInfo).port;
  }

  /** `onVisit` decides what becomes of a connection. */
  static async open(onVisit: (visit: Passing) => Promise<void>): Promise<SshHost> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      // Read, so that it is noticed when the client goes.
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
