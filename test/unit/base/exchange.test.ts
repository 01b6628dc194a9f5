/** Exchanges over real connections to a server of this process. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Deadline } from '../../../src/base/deadline.ts';
import { exchange, type Answer } from '../../../src/base/exchange.ts';

const REASON = new Error('stopped');
/** Calls `then` once the client has received this part of an answer. */
function onceReceived(channel: string, then: () => void): void {
  const received = (): void => {
    unsubscribe(channel, received);
    setImmediate(then);
  };
  subscribe(channel, received);
}

const deadlineOf = (signal?: AbortSignal): Deadline => new Deadline(60_000, () => REASON, signal);

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

  const tooLarge = (status: number): Error => new Error(`too large, with ${status}`);
  const undecodable = (why: string): Error => new Error(why);
  const limits = { maxBytes: 1_000, maxErrorBytes: 100, tooLarge, undecodable };

  async function send(path: string, deadline = deadlineOf()): Promise<Answer> {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      return await exchange(agent, { origin, path, method: 'GET' }, deadline, limits);
    } finally {
      deadline.clear();
    }
  }

  it('collects the answer, also in many pieces and after an interim one', async () => {
    answer = (_request, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      response.writeHead(200, { 'x-test': 'yes' });
      response.write(Buffer.from([0xc3]));
      onceReceived('undici:request:headers', () => {
        endedAt = performance.now();
        response.end(Buffer.from([0xa9, 0x21]));
      });
    };
    let endedAt = 0;
    const { statusCode, headers, text, receivedAt } = await send('/');
    expect([statusCode, headers['x-test'], text]).toEqual([200, 'yes', 'é!']);
    expect(receivedAt).toBeLessThan(endedAt);
  });

  it('cuts a successful answer that is too large, and frees its connection', async () => {
    answer = ({ url }, response) => response.end(url === '/large' ? 'x'.repeat(100_000) : 'small');
    expect(await send('/large')).toMatchObject({ statusCode: 200, cut: { message: 'too large, with 200' } });
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

  it('leaves out a byte order mark', async () => {
    answer = (_request, response) => response.end('\ufeff{}');
    expect((await send('/')).text).toBe('{}');
  });

  it('rejects when the connection breaks before the answer, and cuts the answer when it breaks in the middle', async () => {
    answer = (_request, response) => void response.destroy();
    await expect(send('/')).rejects.toThrow();
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('half', () => response.destroy());
    };
    expect(await send('/')).toMatchObject({ statusCode: 200, text: 'half', cut: expect.any(Error) as Error });
  });

  it('ends with its deadline: before it begins, without an answer, and in the middle of one', async () => {
    await expect(send('/never', deadlineOf(AbortSignal.abort(REASON)))).rejects.toBe(REASON);
    const stop = new AbortController();
    answer = () => stop.abort(REASON);
    await expect(send('/stopped', deadlineOf(stop.signal))).rejects.toBe(REASON);
    const late = deadlineOf();
    answer = (_request, response) => {
      onceReceived('undici:request:bodyChunkReceived', () => late.end(REASON));
      response.write('half');
    };
    expect(await send('/late', late)).toMatchObject({ text: 'half', cut: REASON });
    expect(requests).toEqual(['/stopped', '/late']);
  });

  it('ends while it waits for a connection, and is then never sent', async () => {
    const first = Promise.withResolvers<undefined>();
    answer = ({ url }, response) => {
      if (url !== '/slow') response.end();
      else void first.promise.then(() => response.end());
    };
    const slow = send('/slow');
    const deadline = deadlineOf();
    const waiting = send('/waiting', deadline);
    deadline.end(REASON);
    await expect(waiting).rejects.toBe(REASON);
    first.resolve(undefined);
    await slow;
    await send('/next');
    expect(requests).toEqual(['/slow', '/next']);
  });
});
