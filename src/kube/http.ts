/** HTTP client for the API server: shared connections, one deadline per call, bounded bodies, KubeErrors. */
import type { Dispatcher } from 'undici';
import { until } from '../base/until.ts';
import type { Cluster } from './config.ts';
import { createConnections } from './connections.ts';
import { errorOfAnswer, isAbsence, KubeError, networkError } from './error.ts';
import { parsePartially, type JsonPath } from './partial-json.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

export interface CallOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path, each part already encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: object;
  /** Default `application/json`. */
  contentType?: string;
  /** Accept header, default `application/json`. */
  accept?: string;
  /** The call fails with `TooLarge` if the response has more bytes; default 64 MiB. */
  maxBytes?: number;
  /** True for parts of the body to leave out. The body may then have any size: only the rest is kept in memory. */
  isUnused?: (path: JsonPath) => boolean;
  signal?: AbortSignal;
  /** Name of an object that may be missing: a 404 about it returns `undefined` instead of throwing. */
  absent?: string;
}

export interface KubeHttp {
  /** Returns the parsed body. Throws KubeError. */
  call(options: CallOptions): Promise<unknown>;
  /** A GET that streams its body; the deadline covers the time until the headers. Throws KubeError; so may the body. */
  stream(options: Pick<CallOptions, 'path' | 'query'> & { signal: AbortSignal }): Promise<AsyncIterable<Buffer>>;
  /** The API server's clock (ms since the epoch), based on its last response; undefined before the first one. */
  serverTime(): number | undefined;
  close(): Promise<void>;
}

/** Reported for each request. Contains no path, because paths contain object names. */
export interface KubeRequestInfo {
  method: string;
  /** Undefined if there was no response. */
  status: number | undefined;
}

interface KubeHttpOptions {
  cluster: Cluster;
  /** Deadline of a call in milliseconds, default 15 s. */
  timeoutMs?: number | undefined;
  /** Called for each request, for metrics; must not throw. */
  onRequest?: ((info: KubeRequestInfo) => void) | undefined;
}

type HttpAnswer = Dispatcher.ResponseData;

export function createKubeHttp({ cluster, timeoutMs = 15_000, onRequest }: KubeHttpOptions): KubeHttp {
  const { origin, pathname } = new URL(cluster.server);
  const prefix = pathname.replace(/\/+$/, '');
  const connections = createConnections(cluster);
  /** The API server's clock minus the monotonic clock of this process (ms). */
  let clockOffset: number | undefined;

  async function send(options: CallOptions, use: 'call' | 'watch', signal: AbortSignal): Promise<HttpAnswer> {
    const { method = 'GET' } = options;
    try {
      const answer = await request(options, use, signal);
      onRequest?.({ method, status: answer.statusCode });
      return answer;
    } catch (error) {
      onRequest?.({ method, status: undefined });
      throw error;
    }
  }

  async function request(options: CallOptions, use: 'call' | 'watch', signal: AbortSignal): Promise<HttpAnswer> {
    // A credential plugin may hang, so the wait for it is bounded too.
    const { headers, dispatcher } = await until(signal, connections.get(use));
    const answer = await dispatcher.request({
      origin,
      path: prefix + options.path + queryText(options.query),
      method: options.method ?? 'GET',
      headers: {
        accept: options.accept ?? 'application/json',
        'user-agent': 'vps-operator',
        ...(options.body !== undefined && { 'content-type': options.contentType ?? 'application/json' }),
        ...headers,
      },
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const date = Date.parse(String(answer.headers['date'] ?? ''));
    if (!Number.isNaN(date)) clockOffset = date - performance.now();
    return answer;
  }

  /** The API server did not act on a request that got a 401, so repeat it once with fresh credentials. */
  async function sendWithFreshCredentials(
    options: CallOptions,
    use: 'call' | 'watch',
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const answer = await send(options, use, signal);
    if (answer.statusCode !== 401) return answer;
    await answer.body.dump();
    connections.invalidate();
    return send(options, use, signal);
  }

  /** Runs `work` with a signal that fires at the deadline or with `outer`; any error becomes a KubeError. */
  async function withDeadline<T>(
    { method = 'GET', path, signal: outer }: CallOptions,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeoutMs);
    try {
      return await work(outer === undefined ? deadline.signal : AbortSignal.any([deadline.signal, outer]));
    } catch (error) {
      if (error instanceof KubeError) throw error;
      if (deadline.signal.aborted)
        throw new KubeError('Unreachable', `${method} ${path}: no answer within ${timeoutMs} ms`);
      throw networkError(`${method} ${path}`, error);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    call: (options) =>
      withDeadline(options, async (signal) => {
        const answer = await sendWithFreshCredentials(options, 'call', signal);
        const ok = answer.statusCode >= 200 && answer.statusCode < 300;
        if (ok && options.isUnused !== undefined)
          return parsePartially(answer.body as AsyncIterable<Buffer>, options.isUnused);
        if (ok) return parseJson(await readText(answer, options.maxBytes ?? MAX_BODY_BYTES));
        const text = await readError(answer);
        if (options.absent !== undefined && isAbsence(answer.statusCode, text, options.absent)) return undefined;
        throw errorOfAnswer(answer.statusCode, text, retryAfter(answer));
      }),

    stream: (options) =>
      withDeadline(options, async (signal) => {
        const answer = await sendWithFreshCredentials(options, 'watch', signal);
        if (answer.statusCode === 200) return answer.body;
        throw errorOfAnswer(answer.statusCode, await readError(answer), retryAfter(answer));
      }),

    serverTime: () => (clockOffset === undefined ? undefined : clockOffset + performance.now()),

    close: () => connections.close(),
  };
}

function queryText(query: CallOptions['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function retryAfter(answer: HttpAnswer): string | undefined {
  const value = answer.headers['retry-after'];
  return Array.isArray(value) ? value[0] : value;
}

async function readText(answer: HttpAnswer, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit)
      throw new KubeError('TooLarge', `an answer of more than ${limit} bytes`, { status: answer.statusCode });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Reads the start of an error body; the API server's own errors always fit. */
async function readError(answer: HttpAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.length;
    chunks.push(chunk);
    if (size > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may be a Secret.
    throw new KubeError('BadResponse', 'the answer is not JSON');
  }
}
