/** Requests and answers as plain data, shared by the Web handler and the socket server. */

export interface WireRequest {
  method: string;
  /** Path with the query, as sent (percent-encoded). */
  path: string;
  authorization: string | undefined;
  contentType: string | undefined;
  body: string;
  sourceAddress: string;
  /** Number of the connection in the ledger; 0 without a socket. */
  connection: number;
}

export interface WireResponse {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** What the client receives: an answer, possibly with a body in pieces that may break off, or a disconnect. */
export type Delivery =
  | { kind: 'answer'; status: number; headers: Record<string, string>; body: string | AsyncIterable<Uint8Array> }
  | { kind: 'disconnect'; reset: boolean };

export function json(status: number, value: unknown, headers: Record<string, string> = {}): WireResponse {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) };
}

/** The media type of a Content-Type header in lower case, without parameters. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
