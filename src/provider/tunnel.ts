/**
 * Tunnels to the provider through an HTTP proxy (CONNECT), for http URLs too, so that no proxy answers in place of the
 * provider. undici's ProxyAgent opens the tunnel only after it has accepted the request; an order needs the tunnel first.
 */
import { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { Client, buildConnector } from 'undici';
import type { Proxy } from '../base/proxy.ts';
import { connectorOf } from './connector.ts';
import type { Connector } from './connector.ts';

interface TunnelsOptions {
  /** Opens the connections to the proxy. */
  connector: Connector;
  /** Timeout of the proxy's answer, and of the TLS handshake with the provider, in milliseconds. */
  timeoutMs: number;
  secureContext: SecureContext | undefined;
  userAgent: string;
}

/**
 * Returns the function that opens tunnels. It resolves with an established connection, over TLS for https. It rejects
 * before any byte of a request is sent, with an error that says what the proxy did and has no code: undici connects again
 * after errors with some codes.
 */
export function createTunnels(options: TunnelsOptions) {
  const { connector, timeoutMs, secureContext, userAgent } = options;
  const startTls = buildConnector({ allowH2: false, timeout: timeoutMs, ...(secureContext && { secureContext }) });
  const connect = connectorOf((target) => connector.open(target));

  async function openTunnel(proxy: Proxy, authority: string, signal?: AbortSignal): Promise<Socket> {
    const client = new Client(proxy.origin, { allowH2: false, headersTimeout: 0, connect });
    const headers = {
      host: authority,
      'user-agent': userAgent,
      ...(proxy.authorization !== undefined && { 'proxy-authorization': proxy.authorization }),
    };
    try {
      const timeout = AbortSignal.timeout(timeoutMs);
      const ends = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
      const tunnel = client.connect({ path: authority, headers, signal: ends });
      const { socket, statusCode } = await tunnel.catch((error: unknown) => {
        throw noAnswer(proxy, error);
      });
      // undici has removed its listeners, and an error without a listener ends the process.
      socket.on('error', () => undefined);
      if (statusCode >= 200 && statusCode < 300 && socket instanceof Socket) return socket;
      socket.destroy();
      throw refusal(proxy, statusCode);
    } finally {
      void client.destroy();
    }
  }

  return async (proxy: Proxy, target: buildConnector.Options, signal?: AbortSignal): Promise<Socket> => {
    const socket = await openTunnel(proxy, authorityOf(target), signal);
    if (target.protocol !== 'https:') return socket;
    return new Promise((resolve, reject) => {
      startTls({ ...target, httpSocket: socket }, (...[error, secured]) => {
        if (error === null) {
          resolve(secured);
          return;
        }
        socket.destroy();
        reject(new Error(error.message));
      });
    });
  };
}

/** Host and port of the origin, as CONNECT names them. */
function authorityOf({ protocol, hostname, port }: buildConnector.Options): string {
  const host = hostname.includes(':') ? `[${hostname}]` : hostname;
  return `${host}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}

/** Why the proxy opened no tunnel, in words: names the variable and the status, never its text or credentials. */
function refusal(proxy: Proxy, status: number): Error {
  const why = explained(proxy, status);
  return new Error(`the proxy of ${proxy.variable} answered ${status}${why === '' ? '' : `: ${why}`}`);
}

function explained({ variable, authorization }: Proxy, status: number): string {
  if (status === 407) {
    return authorization === undefined
      ? `it requires a user and a password: add them to ${variable}`
      : `it refuses the user and password of ${variable}`;
  }
  if (status >= 500) return 'it cannot connect to the provider';
  if (status >= 400) return 'it does not allow connections to the provider';
  return '';
}

/** The error for a proxy that cannot be reached, or that ends the connection or stays silent before it answers. */
export function noAnswer({ variable }: Proxy, fault: unknown): Error {
  const { name, code = '', message }: NodeJS.ErrnoException = fault instanceof Error ? fault : new Error(String(fault));
  const proxy = `the proxy of ${variable}`;
  if (name === 'TimeoutError') return new Error(`${proxy} did not answer in time`);
  if (code === 'UND_ERR_SOCKET') return new Error(`${proxy} closed the connection without an answer`);
  if (name === 'HTTPParserError') return new Error(`${proxy} did not answer in HTTP`);
  return new Error(`${proxy} cannot be reached: ${message || code || name}`);
}
