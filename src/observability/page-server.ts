/** A small HTTP server for pages that the kubelet or Prometheus reads: GET and HEAD only, with limits on everything. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BindAddress } from '../config/bind-address.ts';
import type { Logger } from '../base/logger.ts';
import { limitConnections, type ConnectionLimits } from './connection-limits.ts';

export interface Page {
  status: number;
  body: string;
  /** Default: plain text. */
  contentType?: string;
}

export interface PageServerOptions {
  address: BindAddress;
  /** The flag that set the address, for the error if the address is unavailable. */
  flag: string;
  /** Pages by path. If a page throws, the response is 500 without details; the log has them. */
  pages: Readonly<Record<string, () => Page | Promise<Page>>>;
  log: Logger;
}

export interface PageServer {
  /** The port that the server listens on. */
  readonly port: number;
  /** Resolves when the port is free and every connection is closed. */
  close(): Promise<void>;
}

/** One request per connection: clients poll too rarely to gain from keep-alive, and connections do not pile up. */
const ONE_REQUEST = {
  headersTimeout: 2_000,
  requestTimeout: 2_000,
  connectionsCheckingInterval: 500,
  maxHeaderSize: 16_384,
  keepAlive: false,
};
const CONNECTIONS: ConnectionLimits = { perAddress: 64, total: 256, lifetimeMs: 10_000 };

/** Resolves when the server listens. Throws an Error that names the flag if it cannot listen on the address. */
export async function servePages(options: PageServerOptions): Promise<PageServer> {
  const { address, flag, pages, log } = options;
  const server = createServer(ONE_REQUEST, (request, response) => {
    void answer(request, response, pages, log);
  });
  server.maxRequestsPerSocket = 1;
  limitConnections(server, CONNECTIONS);
  await listen(server, address).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is in use' : code === 'EACCES' ? 'permission denied' : message;
    throw new Error(`--${flag} ${address.host ?? ''}:${address.port}: cannot listen on this address: ${why}`, {
      cause: error,
    });
  });
  server.on('error', (error) => log.warn({ flag, err: error }, 'page server failed'));
  const { port } = server.address() as AddressInfo;
  log.info({ flag, port, pages: Object.keys(pages) }, 'serving pages');
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, { host, port }: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function answer(
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  pages: PageServerOptions['pages'],
  log: Logger,
): Promise<void> {
  const [path = ''] = url.split('?');
  const { status, body, contentType = 'text/plain; charset=utf-8' } = await pageOf(method, path, pages, log);
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    connection: 'close',
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

async function pageOf(
  method: string | undefined,
  path: string,
  pages: PageServerOptions['pages'],
  log: Logger,
): Promise<Page> {
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (page === undefined) return { status: 404, body: `no such page; there is ${Object.keys(pages).join(', ')}\n` };
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD\n' };
  try {
    return await page();
  } catch (error) {
    log.error({ path, err: error }, 'page failed');
    return { status: 500, body: 'failed; see the log\n' };
  }
}
