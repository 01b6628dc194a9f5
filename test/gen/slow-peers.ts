/** Peers that hold connections without completing a request, and a probe that must still be answered. */
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Target {
  host: string;
  port: number;
}

interface SlowPeers {
  /** Number of connections made so far. */
  made(): number;
  /** Number of connections that are open now. */
  open(): number;
  stop(): void;
}

export interface SlowPeersOptions {
  count: number;
  /** The source address of the peer with this number; Linux lets a process use any address in 127.0.0.0/8. */
  from: (peer: number) => string;
  /** Whether the peers send a header one byte at a time; otherwise they send nothing. */
  talk: boolean;
}

const BYTE_MS = 200;
/** Without this pause, the test would measure the machine's speed. */
const REOPEN_MS = 50;
/** Same value as in deploy/manifests/base/deployment.yaml. */
const PROBE_TIMEOUT_MS = 5_000;

/** Keeps the connections up: reconnects whenever one is closed or refused. */
export function slowPeers({ host, port }: Target, { count, from, talk }: SlowPeersOptions): SlowPeers {
  let made = 0;
  let open = 0;
  let stopped = false;
  const sockets = new Set<Socket>();
  const start = (peer: number): void => {
    if (stopped) return;
    const socket = connect({ host, port, localAddress: from(peer) });
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
    socket.once('connect', () => {
      made += 1;
      open += 1;
      socket.once('close', () => (open -= 1));
      if (talk) socket.write('GET /livez HTTP/1.1\r\nhost: x\r\nx-slow: ');
    });
    socket.once('close', () => {
      sockets.delete(socket);
      setTimeout(start, REOPEN_MS, peer);
    });
  };
  for (let peer = 0; peer < count; peer++) start(peer);
  const talking = setInterval(() => {
    if (talk) for (const socket of sockets) if (!socket.connecting) socket.write('x');
  }, BYTE_MS);
  return {
    made: () => made,
    open: () => open,
    stop() {
      stopped = true;
      clearInterval(talking);
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The status of one probe on a new connection, within the kubelet's timeout; otherwise the error message. */
export function probe({ host, port }: Target, path: string, from: string): Promise<number | string> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    const fail = ({ message }: Error): void => resolve(message);
    get({ host, port, path, localAddress: from, agent: false, signal }, (response) => {
      response.once('end', () => resolve(response.statusCode ?? 0)).resume();
      response.once('error', fail);
    }).once('error', fail);
  });
}
