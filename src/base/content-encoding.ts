/**
 * Decodes bodies with a Content-Encoding. Every request asks for `identity`, but a gateway may compress its answer all the
 * same, and the answer to an order must survive that.
 */
import { pipeline, type Readable, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/** The header that each request sends. */
export const ACCEPT_ENCODING = { 'accept-encoding': 'identity' };

interface Decoder {
  /** `isCut`: decodes the beginning of a body whose rest is missing. */
  all(bytes: Buffer, maxOutputLength: number, isCut: boolean): Buffer;
  stream(): Transform;
}

const { Z_FINISH, Z_SYNC_FLUSH, BROTLI_OPERATION_FINISH, BROTLI_OPERATION_FLUSH, ZSTD_e_end, ZSTD_e_flush } =
  zlib.constants;
const finishFlush = (isCut: boolean): number => (isCut ? Z_SYNC_FLUSH : Z_FINISH);

const GZIP: Decoder = {
  all: (bytes, maxOutputLength, isCut) => zlib.gunzipSync(bytes, { maxOutputLength, finishFlush: finishFlush(isCut) }),
  stream: () => zlib.createGunzip(),
};
/** With the zlib header that the standard requires. */
const DEFLATE: Decoder = {
  all: (bytes, maxOutputLength, isCut) => zlib.inflateSync(bytes, { maxOutputLength, finishFlush: finishFlush(isCut) }),
  stream: () => zlib.createInflate(),
};
const BROTLI: Decoder = {
  all: (bytes, maxOutputLength, isCut) =>
    zlib.brotliDecompressSync(bytes, {
      maxOutputLength,
      finishFlush: isCut ? BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_FINISH,
    }),
  stream: () => zlib.createBrotliDecompress(),
};
const ZSTD: Decoder = {
  all: (bytes, maxOutputLength, isCut) =>
    zlib.zstdDecompressSync(bytes, { maxOutputLength, finishFlush: isCut ? ZSTD_e_flush : ZSTD_e_end }),
  stream: () => zlib.createZstdDecompress(),
};
const DECODERS: Record<string, Decoder> = { gzip: GZIP, 'x-gzip': GZIP, deflate: DEFLATE, br: BROTLI, zstd: ZSTD };

type Header = string | string[] | undefined;

/** How to undo the encodings, the last one first. Throws an Error for an encoding that is not known. */
function decodersOf(encoding: Header): Decoder[] {
  if (encoding === undefined) return [];
  const names = String(encoding)
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  return names.reverse().map((name) => {
    const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name] : undefined;
    if (decoder === undefined) throw new Error('its Content-Encoding is not known');
    return decoder;
  });
}

/** Throws a RangeError if the result has more bytes than `maxBytes`, and another Error if the body cannot be decoded. */
export function decoded(bytes: Buffer, encoding: Header, maxBytes: number, isCut: boolean): Buffer {
  const decoders = decodersOf(encoding);
  if (bytes.length === 0) return bytes;
  return decoders.reduce((rest, decoder) => decoder.all(rest, maxBytes, isCut), bytes);
}

/** The same for a body of which each part counts as soon as it arrives. The stream fails with the body. */
export function decodedStream(body: Readable, encoding: Header): Readable {
  return decodersOf(encoding).reduce<Readable>((rest, decoder) => {
    const next = decoder.stream();
    // The reader of the last stream gets the error.
    pipeline(rest, next, () => undefined);
    return next;
  }, body);
}
