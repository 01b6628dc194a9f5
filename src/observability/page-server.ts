/** A small HTTP server for pages that the kubelet or Prometheus reads: GET and HEAD only, with limits on everything. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { BindAddress } from '../config/flag-values.ts';
import type { Logger } from '../base/logger.ts';
import type { Access } from './access.ts';
import type { Certificate } from './certificate.ts';
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
  /** Serves the pages over TLS, and only to those who have access. Default: plain HTTP, to everyone. */
  secure?: PageSecurity | undefined;
  log: Logger;
}

export interface PageSecurity {
  certificate: Certificate;
  /** Gets the header `authorization`. */
  access: (authorization: string | undefined) => Promise<Access>;
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
const REFUSALS: Record<Exclude<Access, 'allowed'>, Page> = {
  unauthorized: { status: 401, body: 'send a token of this cluster: authorization: Bearer ...\n' },
  forbidden: { status: 403, body: 'the user of this token may not get this page\n' },
  busy: { status: 503, body: 'too many tokens at the same time; try again\n' },
};
const CONNECTIONS: ConnectionLimits = { perAddress: 64, total: 256, lifetimeMs: 10_000 };

/**
 * Resolves when the server listens. Throws an Error that names the flag if it cannot listen on the address, and any error
 * of the certificate.
 */
export async function servePages(options: PageServerOptions): Promise<PageServer> {
  const { address, flag, pages, secure, log } = options;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    void answer(request, response, options);
  };
  const server =
    secure === undefined
      ? createServer(ONE_REQUEST, listener)
      : keepFresh(createTlsServer({ ...ONE_REQUEST, ...secure.certificate.read() }, listener), secure.certificate, log);
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

/** Gives the server a changed certificate before the next handshake. */
function keepFresh(server: TlsServer, certificate: Certificate, log: Logger): TlsServer {
  return server.prependListener('connection', () => {
    try {
      const pair = certificate.changed();
      if (pair === undefined) return;
      server.setSecureContext(pair);
      log.info('the certificate of the metrics has changed');
    } catch (error) {
      log.error({ err: error }, 'cannot use the new certificate of the metrics; keeping the old one');
    }
  });
}

function listen(server: Server, { host, port }: BindAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, options: PageServerOptions): Promise<void> {
  const { method } = request;
  const page = (await refusal(request, options)) ?? (await pageOf(request, options));
  const { status, body, contentType = 'text/plain; charset=utf-8' } = page;
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  });
  response.end(method === 'HEAD' ? undefined : body);
}

/** The response to a request without access; undefined with access. */
async function refusal({ headers }: IncomingMessage, { secure, log }: PageServerOptions): Promise<Page | undefined> {
  try {
    const access = (await secure?.access(headers.authorization)) ?? 'allowed';
    return access === 'allowed' ? undefined : REFUSALS[access];
  } catch (error) {
    log.error({ err: error }, 'the API server did not say whether a token may read the metrics');
    return { status: 500, body: 'cannot check the token; see the log\n' };
  }
}

async function pageOf({ method, url = '' }: IncomingMessage, { pages, log }: PageServerOptions): Promise<Page> {
  const [path = ''] = url.split('?');
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
