/** HTTP client for the API server: shared connections, one deadline per call, bounded bodies, KubeErrors. */
import { isIP } from 'node:net';
import { checkServerIdentity, getCACertificates, type ConnectionOptions } from 'node:tls';
import { SocksClient } from 'socks';
import { Agent, buildConnector, Pool, ProxyAgent, type Dispatcher } from 'undici';
import type { Cluster, KubeCredentials, TlsMaterial } from './config.ts';
import { ACCEPT_ENCODING, decodedStream } from '../base/content-encoding.ts';
import { Deadline, until } from '../base/deadline.ts';
import { exchange } from '../base/exchange.ts';
import { isIdleDeath } from '../base/idle-death.ts';
import { KubeError, errorOfAnswer, isAbsence, networkError } from './error.ts';

/* The process's connections to the API server: few, shared, and replaced when credentials rotate. */

/** Shared by all calls; a call waits if all are busy. With two watches over all namespaces, the process has nine. */
const MAX_CALL_CONNECTIONS = 7;
/** Credentials are cached this long, so a busy process does not read files for every request. */
const CREDENTIALS_MAX_AGE_MS = 5_000;
/** Detects a dead peer or a load balancer that dropped the connection; same value as client-go. */
const TCP_KEEPALIVE_MS = 30_000;
const IDLE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * How long Node waits for one address of a host before it tries the next one; same minimum as Go. Its default of 250 ms gives
 * up addresses that are only far away.
 */
const ADDRESS = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 2_000 };

export interface KubeConnection {
  credentials: KubeCredentials;
  dispatcher: Dispatcher;
}

export interface Connections {
  /**
   * Calls and watches use separate connections, because a watch holds its connection for minutes. Rejects with the reason of
   * `end` when it comes.
   */
  get(use: 'call' | 'watch', end?: Pick<Deadline, 'reason' | 'listen'>): Promise<KubeConnection>;
  /** The API server has refused the credentials of this connection: the next `get` waits for new ones. */
  renew(refused: KubeConnection): void;
  /** The next `get` opens new connections instead of these, whose running requests may finish. */
  replace(dispatcher: Dispatcher): void;
  /**
   * Closes all connections and aborts running requests, except those on replaced connections, which undici lets finish: calls
   * end at their deadlines, watches by their signals.
   */
  close(): Promise<void>;
}

interface Generation {
  /** The object last returned by `credentials`; while it stays the same object, no comparison is needed. */
  tls: TlsMaterial;
  fingerprint: string;
  call: Dispatcher;
  watch: Dispatcher;
}

const MAX_CONNECTIONS = { call: MAX_CALL_CONNECTIONS, watch: null };

/** One reading of the credentials, shared by all calls that need them until it ends. */
interface Reading {
  value: Promise<KubeCredentials>;
  /** Undefined until the credentials are there. */
  done: { credentials: KubeCredentials; at: number } | undefined;
  /** Calls that wait for it. A plugin ends when none is left, or when it has taken too long for all of them. */
  waiting: number;
  end: AbortController;
}

const fingerprintOf = ({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): string =>
  [ca, cert, key, servername, rejectUnauthorized].map(String).join('\n');

const closedError = (): Error => new Error('the connections are closed');

const isSame = (one: KubeCredentials, other: KubeCredentials): boolean =>
  JSON.stringify(one.headers) === JSON.stringify(other.headers) && fingerprintOf(one.tls) === fingerprintOf(other.tls);

export function createConnections(
  cluster: Cluster,
  { now = Date.now, maxReadingMs = 15_000 }: { now?: () => number; maxReadingMs?: number } = {},
): Connections {
  let reading: Reading | undefined;
  let current: Generation | undefined;
  let isClosed = false;
  const retired = new Set<Dispatcher>();

  function read(renew: boolean): Reading {
    const end = new AbortController();
    const { signal } = end;
    const started: Reading = { value: cluster.credentials({ signal, renew }), done: undefined, waiting: 0, end };
    const late = setTimeout(() => end.abort(new Error(`it did not end within ${maxReadingMs / 1000} s`)), maxReadingMs);
    started.value
      .then(
        (credentials) => (started.done = { credentials, at: now() }),
        () => {
          if (reading === started) reading = undefined;
        },
      )
      .finally(() => clearTimeout(late));
    return started;
  }

  async function readCredentials(end?: Pick<Deadline, 'reason' | 'listen'>): Promise<KubeCredentials> {
    // A plugin that is being ended has to end before it may run again.
    while (reading?.end.signal.aborted && reading.done === undefined) {
      const ending = reading.value.catch(() => undefined);
      await (end === undefined ? ending : until(end, ending));
    }
    if (reading?.done !== undefined && now() - reading.done.at >= CREDENTIALS_MAX_AGE_MS) reading = undefined;
    const awaited = (reading ??= read(false));
    if (end === undefined) return awaited.value;
    awaited.waiting += 1;
    try {
      return await until(end, awaited.value);
    } finally {
      awaited.waiting -= 1;
      if (awaited.waiting === 0 && awaited.done === undefined) awaited.end.abort(new Error('the call has ended'));
    }
  }

  /** Lets running requests finish; watches end within minutes. */
  function retire(dispatcher: Dispatcher): void {
    retired.add(dispatcher);
    void dispatcher.close().then(() => retired.delete(dispatcher));
  }

  function generation(tls: TlsMaterial): Generation {
    if (current?.tls === tls) return current;
    const fingerprint = fingerprintOf(tls);
    if (current?.fingerprint === fingerprint) {
      current.tls = tls;
      return current;
    }
    if (current !== undefined) {
      retire(current.call);
      retire(current.watch);
    }
    current = {
      tls,
      fingerprint,
      call: createDispatcher(cluster, tls, MAX_CONNECTIONS.call),
      watch: createDispatcher(cluster, tls, MAX_CONNECTIONS.watch),
    };
    return current;
  }

  return {
    async get(use, end) {
      const credentials = await readCredentials(end);
      if (isClosed) throw closedError();
      return { credentials, dispatcher: generation(credentials.tls)[use] };
    },
    renew(refused) {
      // Other calls may have had them renewed already.
      const present = reading?.done?.credentials;
      if (present !== undefined && isSame(present, refused.credentials)) reading = read(true);
    },
    replace(dispatcher) {
      // A request may learn only after the end that its connection had died.
      if (isClosed) return;
      for (const use of ['call', 'watch'] as const) {
        if (current?.[use] !== dispatcher) continue;
        current[use] = createDispatcher(cluster, current.tls, MAX_CONNECTIONS[use]);
        retire(dispatcher);
      }
    },
    async close() {
      isClosed = true;
      reading?.end.abort(closedError());
      const all = current === undefined ? [...retired] : [...retired, current.call, current.watch];
      await Promise.all(all.map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function createDispatcher(cluster: Cluster, material: TlsMaterial, connections: number | null): Dispatcher {
  const { servername, ...others } = material;
  const usesTls = [cluster.server, cluster.proxyUrl].some((url) => url?.startsWith('https:'));
  const tls = {
    ...others,
    ...(others.ca === undefined && usesTls && { ca: publicAuthorities() }),
    ...(servername !== undefined && verifiedAs(servername)),
  };
  const connect = {
    ...tls,
    ...ADDRESS,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEPALIVE_MS,
  };
  const options = {
    connections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    connect,
  };
  if (cluster.proxyUrl === undefined) return new Agent(options);
  const proxy = new URL(cluster.proxyUrl);
  if (proxy.protocol.startsWith('socks')) return new Agent({ ...options, connect: throughSocks(proxy, connect) });
  // As in Go, one set of TLS options is for the proxy and for the API server.
  const clientFactory = (origin: URL, { connect }: { connect: buildConnector.connector }): Pool =>
    new Pool(origin, { connect: (target, callback) => connect(withoutAddress(target), callback) });
  return new ProxyAgent({
    ...options,
    uri: cluster.proxyUrl,
    proxyTls: { ...tls, ...ADDRESS },
    requestTls: tls,
    clientFactory,
  });
}

/** The certificate must be for this name. TLS sends no address as a name, and Node warns of the attempt. */
function verifiedAs(name: string): ConnectionOptions {
  if (isIP(name) === 0) return { servername: name };
  return { checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate) };
}

/** undici gives the host of the proxy as its name, also an address, of which Node warns. */
function withoutAddress(target: buildConnector.Options): buildConnector.Options {
  return isIP(plainHost(target.servername ?? '')) === 0 ? target : { ...target, servername: '' };
}

const plainHost = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** The CAs that Go programs trust: those of the system, perhaps with a company CA, and those built into Node. */
function publicAuthorities(): string[] {
  return [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
}

const SOCKS_PORT = 1080;

/** undici's own agent for SOCKS is experimental. As in Go, the proxy looks up the name of the server. */
function throughSocks(proxy: URL, options: buildConnector.BuildOptions): buildConnector.connector {
  const secure = buildConnector({ ...options, allowH2: false });
  return (target, callback) => {
    const { protocol, hostname, port } = target;
    const isTls = protocol === 'https:';
    SocksClient.createConnection({
      command: 'connect',
      proxy: {
        type: 5,
        host: plainHost(proxy.hostname),
        port: Number(proxy.port) || SOCKS_PORT,
        ...(proxy.username !== '' && {
          userId: decodeURIComponent(proxy.username),
          password: decodeURIComponent(proxy.password),
        }),
      },
      destination: { host: plainHost(hostname), port: Number(port) || (isTls ? 443 : 80) },
      timeout: CONNECT_TIMEOUT_MS,
    }).then(
      ({ socket }) => {
        if (isTls) secure({ ...target, httpSocket: socket }, callback);
        else callback(null, socket);
      },
      // The library's error contains the password.
      (error: unknown) => callback(new Error(`the SOCKS proxy: ${(error as Error).message}`), null),
    );
  };
}

const UNAUTHORIZED = 401;
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
/** Made once, since making an error takes more CPU than a timer. */
const LATE = new Error('the deadline has passed');

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

export interface AuthenticatedHttp extends KubeHttp {
  /** Undefined while the API server accepts the credentials, as far as is known. */
  loginFailure(): LoginFailure | undefined;
}

export interface LoginFailure {
  /** `refused`: 401 also to new credentials; `missing`: they cannot be obtained. */
  kind: 'refused' | 'missing';
  /** Time since the first of the failures in a row (ms). */
  forMs: number;
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
  /** How long credentials may take in addition (ms): a plugin may ask the user. Without it, a call waits within its deadline. */
  loginMs?: number | undefined;
  /** Called for each request, for metrics; must not throw. */
  onRequest?: ((info: KubeRequestInfo) => void) | undefined;
  /** Called with each warning in an answer, such as one of an admission policy; must not throw. */
  onWarning?: ((text: string) => void) | undefined;
}

type Streamed = Dispatcher.ResponseData;

export function createKubeHttp({
  cluster,
  timeoutMs = 15_000,
  loginMs,
  onRequest,
  onWarning,
}: KubeHttpOptions): AuthenticatedHttp {
  const { origin, pathname } = new URL(cluster.server);
  const prefix = pathname.replace(/\/+$/, '');
  const connections = createConnections(cluster, { maxReadingMs: loginMs ?? timeoutMs });
  /** The API server's clock minus the monotonic clock of this process (ms). */
  let clockOffset: number | undefined;
  let failure: { kind: LoginFailure['kind']; since: number } | undefined;

  function failed(kind: LoginFailure['kind']): void {
    failure = { kind, since: failure?.since ?? performance.now() };
  }

  /** Throws KubeError if the credentials cannot be obtained. */
  async function connect(use: 'call' | 'watch', deadline: Deadline): Promise<KubeConnection> {
    try {
      return await connections.get(use, deadline);
    } catch (error) {
      // The caller has ended the call.
      if (deadline.reason !== undefined && deadline.reason !== LATE) throw error;
      failed('missing');
      if (error !== LATE) throw error;
      throw new KubeError('Unreachable', `no credentials for the API server within ${loginMs ?? timeoutMs} ms`);
    }
  }

  /** Sends the request with the present credentials. `send` gets what undici needs. */
  async function request<T extends Pick<Streamed, 'statusCode' | 'headers'> & { receivedAt?: number }>(
    options: CallOptions,
    use: 'call' | 'watch',
    deadline: Deadline,
    send: (dispatcher: Dispatcher, request: Dispatcher.DispatchOptions) => Promise<T>,
  ): Promise<{ answer: T; connection: KubeConnection }> {
    const { method = 'GET' } = options;
    const sendOn = ({ credentials, dispatcher }: KubeConnection): Promise<T> =>
      send(dispatcher, {
        origin,
        path: prefix + options.path + queryText(options.query),
        method,
        headers: {
          accept: options.accept ?? 'application/json',
          ...ACCEPT_ENCODING,
          'user-agent': 'vps-operator',
          ...(options.body !== undefined && { 'content-type': options.contentType ?? 'application/json' }),
          ...credentials.headers,
        },
        body: options.body === undefined ? null : JSON.stringify(options.body),
        headersTimeout: 0,
        bodyTimeout: 0,
        // undici closes the connection after a DELETE with a body, for servers that ignore the body.
        ...(method === 'DELETE' && { reset: false }),
      });
    try {
      let connection = await connect(use, deadline);
      const answer = await sendOn(connection).catch(async (error: unknown) => {
        // A read may be repeated; a write may have been done.
        if (method !== 'GET' || !isIdleDeath(error)) throw error;
        connections.replace(connection.dispatcher);
        connection = await connect(use, deadline);
        return sendOn(connection);
      });
      const date = Date.parse(String(answer.headers['date'] ?? ''));
      // A large body arrives long after its Date was set.
      if (!Number.isNaN(date)) clockOffset = date - (answer.receivedAt ?? performance.now());
      onRequest?.({ method, status: answer.statusCode });
      if (onWarning !== undefined) warningsIn(answer.headers).forEach((text) => onWarning(text));
      if (answer.statusCode !== UNAUTHORIZED) failure = undefined;
      return { answer, connection };
    } catch (error) {
      onRequest?.({ method, status: error instanceof KubeError ? error.status : undefined });
      throw error;
    }
  }

  /** The API server did not act on a request that got a 401, so repeat it once with fresh credentials. */
  async function withFreshCredentials<T extends Pick<Streamed, 'statusCode'>>(
    send: () => Promise<{ answer: T; connection: KubeConnection }>,
    discard: (answer: T) => Promise<void>,
  ): Promise<T> {
    const first = await send();
    if (first.answer.statusCode !== UNAUTHORIZED) return first.answer;
    await discard(first.answer);
    connections.renew(first.connection);
    const { answer } = await send();
    if (answer.statusCode === UNAUTHORIZED) failed('refused');
    return answer;
  }

  async function collect(options: CallOptions, deadline: Deadline): Promise<unknown> {
    const { maxBytes = MAX_BODY_BYTES } = options;
    const tooLarge = (status: number): KubeError =>
      new KubeError('TooLarge', `an answer of more than ${maxBytes} bytes`, { status });
    const limits = { maxBytes, tooLarge, undecodable, maxErrorBytes: MAX_ERROR_BYTES };
    const answer = await withFreshCredentials(
      () => request(options, 'call', deadline, (dispatcher, sent) => exchange(dispatcher, sent, deadline, limits)),
      () => Promise.resolve(),
    );
    if (answer.cut !== undefined) throw answer.cut;
    const { statusCode, text } = answer;
    if (statusCode >= 200 && statusCode < 300) return parseJson(text);
    if (options.absent !== undefined && isAbsence(statusCode, text, options.absent)) return undefined;
    throw errorOfAnswer(statusCode, text, retryAfter(answer.headers));
  }

  /** Runs `work` with a deadline that also ends with `outer`; any error becomes a KubeError. */
  async function withDeadline<T>(
    { method = 'GET', path, signal: outer }: CallOptions,
    work: (deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const within = async <R>(ms: number, step: (deadline: Deadline) => Promise<R>): Promise<R> => {
      const deadline = new Deadline(ms, () => LATE, outer);
      try {
        return await step(deadline);
      } catch (error) {
        if (error instanceof KubeError) throw error;
        if (deadline.reason === LATE)
          throw new KubeError('Unreachable', `${method} ${path}: no answer within ${timeoutMs} ms`);
        throw networkError(`${method} ${path}`, error);
      } finally {
        deadline.clear();
      }
    };
    if (loginMs !== undefined) await within(loginMs, (deadline) => connect('call', deadline));
    return within(timeoutMs, work);
  }

  return {
    call: (options) => withDeadline(options, (deadline) => collect(options, deadline)),

    stream: (options) =>
      withDeadline(options, async (deadline) => {
        // The body lasts longer than the deadline, and ends with the caller's signal.
        const signal = AbortSignal.any([deadline.signal, options.signal]);
        const answer = await withFreshCredentials(
          () => request(options, 'watch', deadline, (dispatcher, sent) => dispatcher.request({ ...sent, signal })),
          ({ body }) => body.dump(),
        );
        const body = decodedBody(answer);
        if (answer.statusCode === 200) return body;
        throw errorOfAnswer(answer.statusCode, await readError(body), retryAfter(answer.headers));
      }),

    serverTime: () => (clockOffset === undefined ? undefined : clockOffset + performance.now()),

    loginFailure: () => failure && { kind: failure.kind, forMs: performance.now() - failure.since },

    close: () => connections.close(),
  };
}

function queryText(query: CallOptions['query']): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

/** `299 - "text"`, once or several times (RFC 7234). */
function warningsIn({ warning = [] }: Streamed['headers']): string[] {
  const values = [warning].flat().join(', ');
  return [...values.matchAll(/\b\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}

function retryAfter(headers: Streamed['headers']): string | undefined {
  const value = headers['retry-after'];
  return Array.isArray(value) ? value[0] : value;
}

const undecodable = (why: string): KubeError => new KubeError('BadResponse', `the answer cannot be decoded: ${why}`);

/** Throws KubeError for an encoding that is not known. */
function decodedBody({ body, headers }: Streamed): AsyncIterable<Buffer> {
  try {
    return decodedStream(body, headers['content-encoding']);
  } catch (error) {
    // An error without a listener ends the process.
    body.on('error', () => undefined).destroy();
    throw undecodable((error as Error).message);
  }
}

/** Reads the start of an error body; the API server's own errors always fit. */
async function readError(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
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
