/** Connections to the provider, direct or through a proxy. No byte of a request is sent before one is established. */
import type { Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { buildConnector } from 'undici';
import type { ProxyFor } from '../base/proxy.ts';
import { Connector, connectorOf } from './connector.ts';
import type { ConnectorOptions } from './connector.ts';
import { Tunnels } from './tunnel.ts';

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

export class Dialer {
  readonly #proxyFor: ProxyFor;
  readonly #direct: Connector;
  readonly #tunnels: Tunnels;

  constructor(options: DialerOptions) {
    const { timeoutMs, lookup, userAgent, network } = options;
    const { certificates = [], proxyFor = () => undefined } = network;
    // Built once: to parse all CAs for each connection would take milliseconds of CPU each time.
    const secureContext =
      certificates.length === 0
        ? undefined
        : createSecureContext({ ca: [...getCACertificates('default'), ...certificates] });
    const common = { timeoutMs, ...(lookup && { lookup }), ...(secureContext && { secureContext }) };
    this.#proxyFor = proxyFor;
    this.#direct = new Connector({ ...common, onFamilyChange: options.onFamilyChange });
    // The provider sees the address of the proxy, so the family of connections to the proxy does not matter to tokens.
    const toProxy = new Connector({ ...common, onFamilyChange: () => undefined });
    this.#tunnels = new Tunnels({ connector: toProxy, timeoutMs, secureContext, userAgent });
  }

  /** For undici's `connect` option. */
  readonly connect = connectorOf((options) => this.open(options));

  /**
   * Resolves with an established connection, over TLS for https. Rejects before any byte of a request is sent. `signal`
   * ends the wait for a proxy.
   */
  open(options: buildConnector.Options, signal?: AbortSignal): Promise<Socket> {
    const proxy = this.#proxyFor(`${options.protocol}//${options.host ?? options.hostname}`);
    return proxy === undefined ? this.#direct.open(options) : this.#tunnels.open(proxy, options, signal);
  }
}
