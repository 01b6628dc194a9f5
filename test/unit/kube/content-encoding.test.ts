/** Answers of a gateway in front of the API server that compresses although the operator asked for no encoding. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { constants, createGzip, gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { createKubeHttp, type KubeHttp } from '../../../src/kube/http.ts';
import { clusterAt } from '../../fixtures/cluster.ts';

async function startGateway(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ http: KubeHttp; accepted: unknown[] }> {
  const accepted: unknown[] = [];
  const server = createServer((request, response) => {
    accepted.push(request.headers['accept-encoding']);
    answer(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const http = createKubeHttp({
    cluster: clusterAt(server),
  });
  onTestFinished(async () => {
    await http.close();
    server.closeAllConnections();
    server.close();
  });
  return { http, accepted };
}

it('understands a compressed object, and asks for one without compression', async () => {
  const { http, accepted } = await startGateway((_request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync('{"kind":"Pod"}'));
  });
  expect(await http.call({ path: '/' })).toEqual({ kind: 'Pod' });
  expect(accepted).toEqual(['identity']);
});

it('understands a compressed error', async () => {
  const { http } = await startGateway((_request, response) => {
    response.writeHead(409, { 'content-encoding': 'gzip' });
    response.end(gzipSync(JSON.stringify({ kind: 'Status', reason: 'AlreadyExists', message: 'taken' })));
  });
  const expected = { code: 'Conflict', reason: 'AlreadyExists', message: 'taken' };
  await expect(http.call({ path: '/' })).rejects.toMatchObject(expected);
  await expect(http.stream({ path: '/', signal: new AbortController().signal })).rejects.toMatchObject(expected);
});

it('reads each part of a compressed watch when it arrives', async () => {
  const gzip = createGzip();
  const { http, accepted } = await startGateway((_request, response) => {
    response.setHeader('content-encoding', 'gzip');
    gzip.pipe(response);
    write('one\n');
  });
  const write = (text: string): void => {
    gzip.write(text);
    gzip.flush(constants.Z_SYNC_FLUSH);
  };
  const lines: string[] = [];
  for await (const chunk of await http.stream({ path: '/', signal: new AbortController().signal })) {
    lines.push(chunk.toString());
    if (lines.join('').endsWith('one\n')) write('two\n');
    if (lines.join('').endsWith('two\n')) gzip.end();
  }
  expect(lines.join('')).toBe('one\ntwo\n');
  expect(accepted).toEqual(['identity']);
});

it('ends a compressed watch with its signal', async () => {
  const { http } = await startGateway((_request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.write(gzipSync('one\n'));
  });
  const end = new AbortController();
  const read = async (): Promise<void> => {
    for await (const chunk of await http.stream({ path: '/', signal: end.signal })) {
      expect(chunk.toString()).toBe('one\n');
      end.abort();
    }
  };
  await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
});

it('fails if the answer cannot be decoded', async () => {
  const { http } = await startGateway(({ url }, response) => {
    response.setHeader('content-encoding', url === '/unknown' ? 'x-own' : 'gzip');
    response.end('{}');
  });
  const signal = new AbortController().signal;
  const expected = { code: 'BadResponse', message: expect.stringContaining('cannot be decoded') as string };
  await expect(http.call({ path: '/wrong' })).rejects.toMatchObject(expected);
  await expect(http.call({ path: '/unknown' })).rejects.toMatchObject(expected);
  await expect(http.stream({ path: '/unknown', signal })).rejects.toMatchObject(expected);
});

it('bounds an object that is small only while it is compressed', async () => {
  const { http } = await startGateway((_request, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync(JSON.stringify('x'.repeat(5_000))));
  });
  await expect(http.call({ path: '/', maxBytes: 1_000 })).rejects.toMatchObject({ code: 'TooLarge', status: 200 });
});
