/** The SSH server behind a server's SSH proxy: completes the key exchange with a host key that can change, or hangs up. */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { Answer, Passing } from './exchange.ts';

/** A host key; the public part as a status shows it, derived without the operator's code. */
export interface HostKeyPair {
  private: string;
  key: string;
  fingerprint: string;
}

function makeKey(): HostKeyPair {
  // Not ssh2's own generator: one in 256 of its Ed25519 keys is malformed.
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const text = privateKey.export({ type: 'sec1', format: 'pem' }).toString();
  const parsed = ssh2.utils.parseKey(text);
  if (parsed instanceof Error) throw parsed;
  const blob = parsed.getPublicSSH();
  const hash = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '');
  return { private: text, key: blob.toString('base64'), fingerprint: `SHA256:${hash}` };
}

export class SshHost {
  /** While false, connections are accepted and closed without a greeting. */
  answers = true;
  /** The host key of the next connection. */
  key = makeKey();
  /** The host key of all connections after the next one; undefined: the same one. */
  nextKey: HostKeyPair | undefined;
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
      // Without reading, the host does not notice that the client disconnects. A client sends nothing before the greeting.
      socket
        .on('error', () => undefined)
        .once('close', () => sockets.delete(socket))
        .resume();
      onVisit(host.#visitOf(socket)).catch(() => socket.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const host = new SshHost(server, sockets);
    return host;
  }

  /** From now on, connections get another key. */
  replaceKey(): HostKeyPair {
    this.nextKey = undefined;
    return (this.key = makeKey());
  }

  /** The next connection gets the present key, and all later ones get another one. */
  replaceKeyAfterNext(): HostKeyPair {
    return (this.nextKey = makeKey());
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #visitOf(socket: Socket): Passing {
    return {
      method: 'SSH',
      path: '',
      body: '',
      left: new Promise((resolve) => socket.once('close', () => resolve())),
      forward: () => Promise.resolve(GREETED),
      reply: (answer) => {
        if (answer === GREETED && this.answers) this.#greet(socket);
        else socket.end(answer.body);
      },
      breakOff: () => void socket.resetAndDestroy(),
    };
  }

  #greet(socket: Socket): void {
    const ssh = new ssh2.Server({ hostKeys: [this.key.private] }, (client) => client.on('error', () => undefined));
    this.key = this.nextKey ?? this.key;
    ssh.injectSocket(socket);
  }
}

/** Stands for a greeting and the key exchange after it. */
const GREETED: Answer = { status: 200, headers: {}, body: Buffer.alloc(0) };
