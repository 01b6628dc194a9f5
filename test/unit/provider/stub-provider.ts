/** A scripted provider on a real port: accepts every login, and answers each route as the test specifies. */
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server as TcpServer, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createProvider } from '../../../src/provider/provider.ts';
import type { ProviderOptions } from '../../../src/provider/provider.ts';
import { ProviderError } from '../../../src/provider/error.ts';
import type {
  ApiKey,
  CreateOutcome,
  OrderBody,
  OpenOrder,
  OrderGate,
  Provider,
  Session,
} from '../../../src/provider/types.ts';

export const KEY: ApiKey = { keyId: 'key-id-1', secret: 'se:cret+%41-ünïcode' };
export const REQUEST: OrderBody = {
  product: 'VPSX4',
  image: 'debian-13/minimal',
  ssh_keys: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFirst me@example.org\n',
  disk_size: 10240,
};

export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** The response of a route; a function controls the response itself. */
export type Reply =
  | { status: number; headers?: Record<string, string | string[]>; body?: unknown }
  | ((request: Seen, response: ServerResponse) => void);

export interface StubProvider {
  origin: string;
  baseUrl: string;
  authUrl: string;
  /** Requests in order of arrival, including logins. */
  seen: Seen[];
  count(method: string, path: string): number;
  /** Sets the reply to `METHOD /path` from now on. */
  on(route: string, reply: Reply): void;
}

/** `prefix` precedes every path of the base and auth URL. Token n of a provider is `token-n`. */
export async function startStub(prefix = ''): Promise<StubProvider> {
  const replies = new Map<string, Reply>();
  const seen: Seen[] = [];
  let logins = 0;
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const entry = { method, path: url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(entry);
      send(replies.get(`${method} ${url}`) ?? { status: 599 }, entry, response);
    });
  };
  const origin = `http://127.0.0.1:${await listen(createServer(listener))}`;
  replies.set(`POST ${prefix}/auth/login`, (_request, response) => {
    send(
      { status: 200, body: { access_token: `token-${++logins}`, expires_in: 300, token_type: 'bearer' } },
      _request,
      response,
    );
  });
  return {
    origin,
    baseUrl: origin + prefix,
    authUrl: `${origin}${prefix}/auth`,
    seen,
    count: (method, path) => seen.filter((entry) => entry.method === method && entry.path === prefix + path).length,
    on: (route, reply) => {
      const [method = '', path = ''] = route.split(' ');
      replies.set(`${method} ${prefix}${path}`, reply);
    },
  };
}

function send(reply: Reply, request: Seen, response: ServerResponse): void {
  if (typeof reply === 'function') {
    reply(request, response);
    return;
  }
  response.writeHead(reply.status, reply.headers);
  response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
}

/** Listens on 127.0.0.1 until the test ends, and returns the port. */
export async function listen(server: Server | TcpServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

/** A server that passes each request as text to the test once its headers have arrived. */
export async function startRaw(
  onRequest: (socket: Socket, text: string) => void,
): Promise<{ origin: string; requests: string[] }> {
  const requests: string[] = [];
  const server = createTcpServer((socket) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      const had = text.includes('\r\n\r\n');
      text += chunk.toString();
      if (had || !text.includes('\r\n\r\n')) return;
      requests.push(text);
      onRequest(socket, text);
    });
  });
  return { origin: `http://127.0.0.1:${await listen(server)}`, requests };
}

/** A port that refuses connections. */
export async function refusingOrigin(): Promise<string> {
  // The port of a connected socket: nothing listens there, and until the test ends no other process can.
  const server = createTcpServer((socket) => socket.on('error', () => undefined).resume());
  const socket = connect(await listen(server), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return `http://127.0.0.1:${socket.localPort ?? 0}`;
}

export function providerFor(
  urls: { baseUrl: string; authUrl: string },
  options: Partial<ProviderOptions> = {},
): Provider {
  const provider = createProvider({ baseUrl: urls.baseUrl, authUrl: urls.authUrl, qps: Infinity, ...options });
  onTestFinished(() => provider.close());
  return provider;
}

export function sessionFor(
  urls: { baseUrl: string; authUrl: string },
  options: Partial<ProviderOptions> = {},
  key: ApiKey = KEY,
): Session {
  return providerFor(urls, options).account(key).session('');
}

/** Opens and sends an order. An order that could not be opened was not created. */
export async function order(
  session: Session,
  gate: Partial<OrderGate> = {},
  request = REQUEST,
): Promise<CreateOutcome> {
  let opened: OpenOrder;
  try {
    opened = await session.openOrder();
  } catch (error) {
    if (error instanceof ProviderError) return { kind: 'notCreated', error };
    throw error;
  }
  const done = (): Promise<void> => Promise.resolve();
  return opened.send(request, { maySend: () => true, sending: done, unsent: done, ...gate });
}

/** The error that a promise rejects with; throws if it resolves. */
export async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const error: unknown = await promise.then(
    () => new Error('resolved'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error) || error.message === 'resolved') throw new Error('expected a rejection with an Error');
  return error;
}
