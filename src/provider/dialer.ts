/** Connections to the provider, direct or through a proxy. No byte of a request is sent before one is established. */
import { Socket } from 'node:net';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { Client, type buildConnector } from 'undici';
import type { Proxy, ProxyFor } from '../base/proxy.ts';
import { Connector, connectorOf, resumingConnector, type ConnectorOptions } from './connector.ts';

export interface Network {
  /** Which proxy to use; without it, every connection is direct. */
  proxyFor?: ProxyFor;
  /** Certificates of additional CAs in PEM, for the provider and for proxies with an https URL. */
  certificates?: readonly string[];
}

interface DialerOptions extends Pick<ConnectorOptions, 'timeoutMs' | 'onFamilyChange' | 'lookup'> {
  userAgent: string;
  network: Network;
}

export interface Dialer {
  /**
   * Resolves with an established connection, over TLS for https. Rejects before any byte of a request is sent. `signal`
   * ends the wait for a proxy.
   */
  open(options: buildConnector.Options, signal?: AbortSignal): Promise<Socket>;
  /** For undici's `connect` option. */
  connect: buildConnector.connector;
}

export function createDialer({ timeoutMs, onFamilyChange, lookup, userAgent, network }: DialerOptions): Dialer {
  const { certificates = [], proxyFor = () => undefined } = network;
  // Built once: to parse all CAs for each connection would take milliseconds of CPU each time.
  const secureContext =
    certificates.length === 0
      ? undefined
      : createSecureContext({ ca: [...getCACertificates('default'), ...certificates] });
  const common = { timeoutMs, ...(lookup && { lookup }), ...(secureContext && { secureContext }) };
  const direct = new Connector({ ...common, onFamilyChange });
  // The provider sees the address of the proxy, so the family of connections to the proxy does not matter to tokens.
  const toProxy = new Connector({ ...common, onFamilyChange: () => undefined });
  const openTunnel = createTunnels({ connector: toProxy, timeoutMs, secureContext, userAgent });
  const open: Dialer['open'] = (options, signal) => {
    const proxy = proxyFor(`${options.protocol}//${options.host ?? options.hostname}`);
    return proxy === undefined ? direct.open(options) : openTunnel(proxy, options, signal);
  };
  return { open, connect: connectorOf((options) => open(options)) };
}

/*
 * Tunnels to the provider through an HTTP proxy (CONNECT), for http URLs too, so that no proxy answers in place of the
 * provider. undici's ProxyAgent opens the tunnel only after it has accepted the request; an order needs the tunnel first.
 */

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
  const startTls = resumingConnector({ timeout: timeoutMs, ...(secureContext && { secureContext }) });
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
