/** Answers of a gateway that compresses although the operator asked for no encoding. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { errorOf, order, sessionFor, startStub, type Reply } from './stub-provider.ts';

/** The answer in this encoding, whatever the request accepts. */
const encoded =
  (status: number, body: unknown, encoding: string, encode: (text: string) => Buffer): Reply =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-encoding': encoding });
    response.end(encode(JSON.stringify(body)));
  };

const PRODUCTS = [{ code: 'VPSX4', specs: { ram: 4096 } }];

describe('a call', () => {
  it.each([
    ['gzip', (text: string) => gzipSync(text)],
    ['x-gzip', (text: string) => gzipSync(text)],
    ['GZIP', (text: string) => gzipSync(text)],
    ['deflate', (text: string) => deflateSync(text)],
    ['br', (text: string) => brotliCompressSync(text)],
    ['zstd', (text: string) => zstdCompressSync(text)],
    ['deflate, gzip', (text: string) => gzipSync(deflateSync(text))],
    ['identity', (text: string) => Buffer.from(text)],
  ])('understands an answer in %s', async (encoding, encode) => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', encoded(200, PRODUCTS, encoding, encode));
    expect(await sessionFor(stub).products()).toMatchObject([{ code: 'VPSX4', ram: 4096 }]);
  });

  it('asks for an answer without compression, as the login and the order do', async () => {
    const stub = await startStub();
    stub.on('GET /beta/vps/products', { status: 200, body: PRODUCTS });
    stub.on('POST /beta/vps/servers', { status: 202, body: { task: 7 } });
    const session = sessionFor(stub);
    await session.products();
    await order(session);
    expect(stub.seen.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity', 'identity']);
  });

  it('tells what is wrong with an answer that cannot be decoded', async () => {
    const stub = await startStub();
    stub.on(
      'GET /beta/vps/products',
      encoded(200, PRODUCTS, 'gzip', (text) => Buffer.from(text)),
    );
    const message = expect.stringContaining('cannot be decoded') as string;
    expect(await errorOf(sessionFor(stub).products())).toMatchObject({ code: 'PROVIDER_PROTOCOL', message });
    stub.on(
      'GET /beta/vps/products',
      encoded(200, PRODUCTS, 'x-own', (text) => Buffer.from(text)),
    );
    expect(await errorOf(sessionFor(stub).products())).toMatchObject({ code: 'PROVIDER_PROTOCOL', message });
  });

  it('bounds an answer that is small only while it is compressed', async () => {
    const stub = await startStub();
    stub.on(
      'GET /beta/vps/products',
      encoded(200, ' '.repeat(9 * 1024 * 1024), 'gzip', (text) => gzipSync(text)),
    );
    expect(await errorOf(sessionFor(stub).products())).toMatchObject({
      code: 'PROVIDER_PROTOCOL',
      message: expect.stringContaining('larger than 8388608 bytes') as string,
    });
  });
});

describe('an order', () => {
  it('is not lost because its answer is compressed', async () => {
    const stub = await startStub();
    stub.on(
      'POST /beta/vps/servers',
      encoded(202, { task: 7 }, 'gzip', (text) => gzipSync(text)),
    );
    expect(await order(sessionFor(stub))).toEqual({ kind: 'created', task: 7 });
  });

  it('is refused in the words of a compressed answer', async () => {
    const stub = await startStub();
    stub.on(
      'POST /beta/vps/servers',
      encoded(400, { error: 'No such image' }, 'gzip', (text) => gzipSync(text)),
    );
    const message = expect.stringContaining('No such image') as string;
    expect(await order(sessionFor(stub))).toMatchObject({ kind: 'refused', status: 400, error: { message } });
  });

  it('has an unknown outcome if its answer cannot be decoded', async () => {
    const stub = await startStub();
    stub.on(
      'POST /beta/vps/servers',
      encoded(202, { task: 7 }, 'gzip', (text) => gzipSync(text).subarray(0, 9)),
    );
    expect(await order(sessionFor(stub))).toMatchObject({ kind: 'unknown', error: { code: 'PROVIDER_PROTOCOL' } });
  });
});
