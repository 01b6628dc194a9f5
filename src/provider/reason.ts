/** Why a proxy opened no tunnel, in words: names the variable and the status, never the proxy's text or credentials. */
import type { Proxy } from '../base/proxy.ts';

export function refusal(proxy: Proxy, status: number): Error {
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
