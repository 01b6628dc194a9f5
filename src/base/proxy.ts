/** A proxy for outgoing connections, and the choice of one for an origin. */

export interface Proxy {
  /** Scheme, host and port, without credentials. */
  origin: string;
  /** Value of the header `proxy-authorization`; confidential. */
  authorization?: string;
  /** The environment variable that names the proxy, for messages. */
  variable: string;
}

/** Returns the proxy for connections to an origin such as `https://api.example.org`; undefined: connect directly. */
export type ProxyFor = (origin: string) => Proxy | undefined;
