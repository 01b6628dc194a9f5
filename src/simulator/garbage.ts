/** Answers that no client should swallow: the true answer of the provider, spoilt. */
import { Buffer } from 'node:buffer';

import type { Clock } from './clock.ts';
import type { Delivery, WireResponse } from './wire.ts';

export type Garbage =
  /** An HTML page instead of the body, as a proxy would send; the status stays. */
  | { form: 'html' }
  /** Half of the body under a Content-Length for all of it, then the connection ends. */
  | { form: 'truncated' }
  /** A JSON object of so many megabytes, streamed. */
  | { form: 'oversized'; megabytes: number }
  /** The body, a byte at a time. */
  | { form: 'slow'; msPerByte: number }
  /** The true body under another Content-Type. */
  | { form: 'contentType'; contentType: string }
  /** Any text instead of the body, as application/json. */
  | { form: 'text'; text: string };

/** Breaks off a body half-way; the socket server ends the connection on it. */
export class BodyBrokenOffError extends Error {
  override readonly name = 'BodyBrokenOffError';
}

export function spoil(response: WireResponse, garbage: Garbage, clock: Clock): Delivery {
  const { status, headers, body } = response;
  switch (garbage.form) {
    case 'html': {
      const page = '<!DOCTYPE html><html><head><title>Oops</title></head><body>Something went wrong.</body></html>';
      return { kind: 'answer', status, headers: { ...headers, 'content-type': 'text/html' }, body: page };
    }
    case 'truncated': {
      const bytes = Buffer.from(body === '' ? '{}' : body);
      const length = { 'content-length': String(bytes.length) };
      return { kind: 'answer', status, headers: { ...headers, ...length }, body: breakOff(bytes) };
    }
    case 'oversized':
      return { kind: 'answer', status, headers, body: oversized(garbage.megabytes) };
    case 'slow':
      return { kind: 'answer', status, headers, body: drip(Buffer.from(body), garbage.msPerByte, clock) };
    case 'contentType':
      return { kind: 'answer', status, headers: { ...headers, 'content-type': garbage.contentType }, body };
    case 'text':
      return { kind: 'answer', status, headers, body: garbage.text };
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- an AsyncIterable is what a Delivery carries
async function* breakOff(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new BodyBrokenOffError('The body breaks off here on purpose');
}

// eslint-disable-next-line @typescript-eslint/require-await -- an AsyncIterable is what a Delivery carries
async function* oversized(megabytes: number): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  yield Buffer.from('{"padding":"');
  for (let sent = 0; sent < megabytes * 1024 * 1024; sent += chunk.length) yield chunk;
  yield Buffer.from('"}');
}

async function* drip(bytes: Buffer, msPerByte: number, clock: Clock): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < bytes.length; index += 1) {
    await clock.sleep(msPerByte);
    yield bytes.subarray(index, index + 1);
  }
}
