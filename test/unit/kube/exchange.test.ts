/** Exchanges over real connections to a server of this process. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KubeError } from '../../../src/kube/error.ts';
import { exchange, type Answer } from '../../../src/kube/exchange.ts';

describe('an exchange', () => {
  let server: Server;
  let agent: Agent;
  let answer: RequestListener;
  let requests: string[];

  beforeEach(async () => {
    requests = [];
    server = createServer((request, response) => {
      requests.push(request.url ?? '');
      answer(request, response);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    agent = new Agent({ connections: 1, pipelining: 1 });
  });
  afterEach(async () => {
    await agent.destroy();
    server.closeAllConnections();
    server.close();
  });

  function send(path: string, bounds: { signal?: AbortSignal; maxBytes?: number } = {}): Promise<Answer> {
    const { signal = new AbortController().signal, maxBytes = 1_000 } = bounds;
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return exchange(agent, { origin, path, method: 'GET' }, { signal, maxBytes, maxErrorBytes: 100 });
  }

  it('collects the answer, also in many pieces and after an interim one', async () => {
    answer = (_request, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200, { 'x-test': 'yes' });
      response.write(Buffer.from([0xc3]));
      setTimeout(() => {
        endedAt = performance.now();
        response.end(Buffer.from([0xa9, 0x21]));
      }, 50);
    };
    let endedAt = 0;
    const { statusCode, headers, text, receivedAt } = await send('/');
    expect([statusCode, headers['x-test'], text]).toEqual([200, 'yes', 'é!']);
    expect(receivedAt).toBeLessThan(endedAt);
  });

  it('rejects a successful answer that is too large, and frees its connection', async () => {
    answer = ({ url }, response) => response.end(url === '/large' ? 'x'.repeat(100_000) : 'small');
    await expect(send('/large')).rejects.toMatchObject({ code: 'TooLarge', status: 200 });
    expect((await send('/small')).text).toBe('small');
  });

  it('takes as many bytes as allowed', async () => {
    answer = (_request, response) => response.end('x'.repeat(1_000));
    expect((await send('/')).text).toHaveLength(1_000);
  });

  it('reads only the start of an endless error', async () => {
    answer = (_request, response) => {
      response.writeHead(500);
      const more = setInterval(() => response.write('error '.repeat(20)), 1);
      response.on('close', () => clearInterval(more));
    };
    const { statusCode, text } = await send('/');
    expect(statusCode).toBe(500);
    expect(text).toMatch(/^error /);
    expect(text.length).toBeLessThan(100_000);
  });

  it('rejects when the connection breaks in the middle of the answer', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.destroy());
    };
    await expect(send('/')).rejects.toThrow();
  });

  it('rejects with the reason of its signal: before it begins, without an answer, and in the middle of one', async () => {
    const reason = new KubeError('Unreachable', 'stopped');
    await expect(send('/never', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    for (const begins of [false, true]) {
      const stop = new AbortController();
      answer = (_request, response) => {
        if (begins) response.write('half', () => stop.abort(reason));
        else stop.abort(reason);
      };
      await expect(send('/stopped', { signal: stop.signal })).rejects.toBe(reason);
    }
    expect(requests).toEqual(['/stopped', '/stopped']);
  });

  it('ends while it waits for a connection, and is then never sent', async () => {
    const first = Promise.withResolvers<undefined>();
    answer = ({ url }, response) => {
      if (url !== '/slow') response.end();
      else void first.promise.then(() => response.end());
    };
    const slow = send('/slow');
    const reason = new Error('the deadline has passed');
    const stop = new AbortController();
    const waiting = send('/waiting', { signal: stop.signal });
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    first.resolve(undefined);
    await slow;
    await send('/next');
    expect(requests).toEqual(['/slow', '/next']);
  });
});
