/**
 * Bounds on the connections of a server that takes them without credentials.
 *
 * A full server closes its oldest connection and takes the new one: refusing the new one would let a peer that asks for
 * nothing keep the kubelet out. A client that sends its request at once has its answer before it is the oldest.
 */
import type { Server, Socket } from 'node:net';

export interface ConnectionLimits {
  /**
   * Open connections for each remote address. IPv6 addresses count one by one: a kubelet and the pods of its node often
   * share a /64, and `total` bounds a peer that has many addresses.
   */
  perAddress: number;
  /** Open connections altogether. At the bound, the address with the most connections loses its oldest. */
  total: number;
  /** From the connect to the end of the answer, however slowly the peer reads (ms). */
  lifetimeMs: number;
}

export function limitConnections(server: Server, { perAddress, total, lifetimeMs }: ConnectionLimits): void {
  /** What closes each open connection, by remote address, the oldest first. */
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
      // A reset, since the kernel keeps an answer that is not read for minutes after an orderly close.
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
