/** Connections to the provider, direct or through a proxy. No byte of a request is sent before one is established. */
import type { Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { buildConnector } from 'undici';
import type { ProxyFor } from '../base/proxy.ts';
import { Connector, connectorOf } from './connector.ts';
import type { ConnectorOptions } from './connector.ts';
import { createTunnels } from './tunnel.ts';

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
