/** A proxy in front of the API server that can fail like a network or a server. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Cluster } from '../../../src/kube/config.ts';

export interface FaultProxy {
  /** Plain HTTP to this proxy, without credentials; the proxy adds those of the real cluster. */
  readonly cluster: Cluster;
  /** `METHOD /path?query` of each request, in order. */
  readonly requests: string[];
  /** Number of connections accepted so far, open now, and open at most. */
  readonly connections: { total: number; open: number; mostOpen: number };
  /** Returns true if it answered a request instead of the API server. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** While true, answers of the API server are held back; connections stay open. */
  silent: boolean;
  /** Breaks every connection; while `refusing`, new ones break at once. */
  cut(): void;
  refusing: boolean;
  close(): Promise<void>;
}

export const isWatch = (message: IncomingMessage) => message.url?.includes('watch=true') === true;
/** Lists of objects; excludes lists of names only. */
export const isListLine = (line: string) => line.includes('limit=') && !line.includes('includeObject=');
export const isList = (message: IncomingMessage) => isListLine(message.url ?? '');

/** Answers with a `v1.Status`. */
export function answerStatus(response: ServerResponse, code: number, headers: Record<string, string> = {}): true {
  response.writeHead(code, { 'content-type': 'application/json', ...headers });
  response.end(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: `injected ${code}` }),
  );
  return true;
}

/** Answers a watch with 200 and these lines, then ends it. */
export function answerLines(response: ServerResponse, ...lines: string[]): true {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(lines.map((line) => `${line}\n`).join(''));
  return true;
}

export async function startProxy(target: Cluster): Promise<FaultProxy> {
  const { tls, headers } = await target.credentials();
  const sockets = new Set<Duplex>();

  const server = createServer((incoming, response) => {
    proxy.requests.push(`${incoming.method ?? ''} ${incoming.url ?? ''}`);
    if (proxy.intercept?.(incoming, response) === true) return;
    const upstream = request(
      new URL(incoming.url ?? '', target.server),
      {
        method: incoming.method,
        headers: { ...incoming.headers, ...headers, host: target.server.replace('https://', '') },
        ...tls,
        agent: false,
      },
      (answer) => {
        if (proxy.silent) return;
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.on('data', (chunk: Buffer) => proxy.silent || response.write(chunk));
        answer.on('end', () => proxy.silent || response.end());
        answer.on('error', () => response.destroy());
      },
    );
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  });

  server.on('connection', (socket) => {
    proxy.connections.total += 1;
    if (proxy.refusing) return socket.destroy();
    sockets.add(socket);
    proxy.connections.open = sockets.size;
    proxy.connections.mostOpen = Math.max(proxy.connections.mostOpen, sockets.size);
    socket.on('close', () => {
      sockets.delete(socket);
      proxy.connections.open = sockets.size;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const proxy: FaultProxy = {
    cluster: {
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: undefined,
      proxyUrl: undefined,
      credentials: () => Promise.resolve({ headers: {}, tls: {} }),
    },
    requests: [],
    connections: { total: 0, open: 0, mostOpen: 0 },
    intercept: undefined,
    silent: false,
    refusing: false,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        proxy.cut();
      }),
  };
  return proxy;
}
