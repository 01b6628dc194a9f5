/** Peers that hold connections without asking for anything, and a probe that has to be answered beside them. */
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';

export interface Target {
  host: string;
  port: number;
}

interface SlowPeers {
  /** Connections that were made so far. */
  made(): number;
  /** Connections that are open now. */
  open(): number;
  stop(): void;
}

export interface SlowPeersOptions {
  count: number;
  /** The address of the peer with this number; Linux lets a process connect from any address in 127.0.0.0/8. */
  from: (peer: number) => string;
  /** Send a header a byte at a time; without it the peers send nothing. */
  talk: boolean;
}

const BYTE_MS = 200;
/** Peers in a tight loop would measure the machine. */
const REOPEN_MS = 50;
/** As in deploy/manifests/base/deployment.yaml. */
const PROBE_TIMEOUT_MS = 5_000;

/** Keeps the connections up: each one that is closed or refused is made again. */
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

/** The status of one probe, on a connection of its own and within the time that the kubelet gives it; else the error. */
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
