/** A TCP gate in front of the provider: open connections continue, new ones depend on the gate's state. */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Gate {
  readonly port: number;
  /** The provider's port at 127.0.0.1. */
  target: number;
  /** Refuses new connections, like a host without a listener. */
  refuse(): void;
  /** Closes new connections as soon as the client has sent something: with TLS, before the handshake ends. */
  hangUp(): void;
  /** Forwards new connections to the provider, as at the start. */
  admit(): Promise<void>;
  /** Number of connections that the gate has hung up. */
  readonly hungUp: number;
}

export async function startGate(): Promise<Gate> {
  const sockets = new Set<Socket>();
  let passes = true;
  let hungUp = 0;
  const listen = async (port: number): Promise<Server> => {
    const server = createServer((client) => {
      keep(client);
      if (!passes) {
        client.once('data', () => {
          hungUp += 1;
          client.destroy();
        });
        return;
      }
      const target = connect(gate.target, '127.0.0.1');
      keep(target);
      client.pipe(target).pipe(client);
      client.on('close', () => target.destroy());
      target.on('close', () => client.destroy());
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const gate: Gate = {
    port,
    target: 0,
    refuse: () => void server.close(),
    hangUp: () => void (passes = false),
    async admit() {
      passes = true;
      if (!server.listening) server = await listen(port);
    },
    get hungUp() {
      return hungUp;
    },
  };
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return gate;
}
