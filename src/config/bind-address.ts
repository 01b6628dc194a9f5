/** Parses bind addresses of flags: `:8080`, `127.0.0.1:8080`, `[::1]:8080`, or `0` to disable the server. */
import { isIPv6 } from 'node:net';

export interface BindAddress {
  /** Undefined means all addresses of the machine. */
  host: string | undefined;
  /** 0 means any free port. */
  port: number;
}

const FORM = /^(?:\[(?<v6>[^[\]]+)\]|(?<host>[^[\]:\s/@]*)):(?<port>\d{1,5})$/;

/** `off` for `0`; undefined if the text is not a bind address. */
export function parseBindAddress(text: string): BindAddress | 'off' | undefined {
  if (text === '0') return 'off';
  const { v6, host, port } = FORM.exec(text)?.groups ?? {};
  if (port === undefined || Number(port) > 65535 || (v6 !== undefined && !isIPv6(v6))) return undefined;
  const name = v6 ?? host ?? '';
  return { host: name === '' ? undefined : name, port: Number(port) };
}

/** True if the process cannot listen on both. */
export function overlap(a: BindAddress, b: BindAddress): boolean {
  if (a.port !== b.port || a.port === 0) return false;
  return a.host === b.host || isEverywhere(a) || isEverywhere(b);
}

function isEverywhere({ host }: BindAddress): boolean {
  return host === undefined || host === '0.0.0.0' || host === '::';
}
