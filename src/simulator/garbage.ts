/** Corrupts a correct answer of the provider in ways that a client must reject or survive. */
import { Buffer } from 'node:buffer';

import type { Clock } from './clock.ts';
import type { Delivery, WireResponse } from './wire.ts';

export type Garbage =
  /** An HTML page instead of the body, as a proxy would send; keeps the status. */
  | { form: 'html' }
  /** Half of the body with the full Content-Length, then the connection ends. */
  | { form: 'truncated' }
  /** A streamed JSON object of this size. */
  | { form: 'oversized'; megabytes: number }
  /** The body, one byte at a time. */
  | { form: 'slow'; msPerByte: number }
  /** The correct body with another Content-Type. */
  | { form: 'contentType'; contentType: string }
  /** This text instead of the body, as application/json. */
  | { form: 'text'; text: string };

/** Thrown in the middle of a body; the socket server then ends the connection. */
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
