/**
 * Limits the connections of a server that accepts them without credentials.
 *
 * A full server closes its oldest connection and accepts the new one: if it refused new connections, an idle peer could
 * lock out the kubelet. A client that sends its request immediately gets its response before its connection is the
 * oldest.
 */
import type { Server, Socket } from 'node:net';

export interface ConnectionLimits {
  /**
   * Maximum open connections per remote address. IPv6 addresses are counted individually, because a kubelet and the
   * Pods of its node often share a /64; `total` limits a peer with many addresses.
   */
  perAddress: number;
  /** Maximum open connections in total. Above it, the address with the most connections loses its oldest. */
  total: number;
  /** Maximum time from the connect to the end of the response, however slowly the peer reads (ms). */
  lifetimeMs: number;
}

export function limitConnections(server: Server, { perAddress, total, lifetimeMs }: ConnectionLimits): void {
  /** Functions that close each open connection, by remote address, oldest first. */
  const open = new Map<string, Set<() => void>>();
  let count = 0;

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = open.get(address) ?? new Set();
    const forget = (): void => {
      clearTimeout(expiry);
      if (!own.delete(close)) return;
      count -= 1;
      if (own.size === 0) open.delete(address);
    };
    const close = (): void => {
      forget();
      // Reset the connection: after an orderly close, the kernel keeps an unread response for minutes.
      socket.resetAndDestroy();
    };
    const expiry = setTimeout(close, lifetimeMs);
    socket.once('close', forget);
    open.set(address, own.add(close));
    count += 1;
    const crowd = own.size > perAddress ? own : count > total ? largest(open.values()) : [];
    const [closeOldest] = crowd;
    closeOldest?.();
  });
}

function largest<T>(sets: Iterable<Set<T>>): Set<T> {
  let found = new Set<T>();
  for (const set of sets) if (set.size > found.size) found = set;
  return found;
}
