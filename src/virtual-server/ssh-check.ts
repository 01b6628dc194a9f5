/** Checks whether an SSH server answers: connects, reads its version line, sends nothing, and closes at once. */
import { connect, type LookupFunction } from 'node:net';
import { FairPlaces } from '../base/fair-line.ts';
import type { ProbeResult, SshEndpoint } from './decision/reach.ts';
import { lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/* Checks whether an SSH server answers: connects, reads its version line, sends nothing, and closes at once. */

/** Resolves with the result; never rejects. `namespace`: the namespace of the object to check. */
export type SshProbe = (target: SshEndpoint, namespace: string) => Promise<ProbeResult>;

/** Timeout for name look-up, connection and answer together (ms). */
export const PROBE_MS = 5_000;
/**
 * Further probes wait. The limit is half of the default number of workers, so that other work continues. The namespaces
 * share the places as they share the workers: in one common queue, the probes of other namespaces would wait for every
 * silent host of the busiest one.
 */
const PROBES_AT_ONCE = 16;

/** RFC 4253, 4.2: the version line has at most 255 characters including its end; other lines may come before it. */
const MAX_LINE = 255;
const MAX_BYTES = 4_096;
/** How many characters of the answer are shown. */
const SHOWN = 60;

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'the name is not known',
  EAI_AGAIN: 'the name cannot be looked up at present',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to its network',
  ETIMEDOUT: 'no answer to the connection',
};

/** Only tests pass options. */
export function createSshProbe({
  timeoutMs = PROBE_MS,
  atOnce = PROBES_AT_ONCE,
  lookup = createLookUp(),
} = {}): SshProbe {
  const line = new FairPlaces<() => void>(atOnce);
  const admit = (): void => {
    for (let next = line.take(); next !== undefined; next = line.take()) next.item();
  };
  return async (target, namespace) => {
    await new Promise<void>((resolve) => {
      line.join(namespace, resolve);
      admit();
    });
    try {
      return await ask(target, timeoutMs, lookup);
    } finally {
      line.release(namespace);
      admit();
    }
  };
}

function ask({ host, port }: SshEndpoint, timeoutMs: number, lookup: LookupFunction): Promise<ProbeResult> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, lookup });
    let connected = false;
    let received = Buffer.alloc(0);
    const end = (probed: ProbeResult): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(probed);
    };
    const fail = (why: string): void => end({ ok: false, why });
    const timer = setTimeout(() => {
      const within = `within ${timeoutMs / 1000} s`;
      if (!connected) fail(`no connection ${within}`);
      else if (received.length === 0) fail(`it accepts the connection and sends nothing ${within}`);
      else fail(`it sends no SSH version line ${within}, but ${show(received)}`);
    }, timeoutMs);
    socket.once('connect', () => (connected = true));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk.subarray(0, MAX_BYTES - received.length)]);
      const probed = judge(received);
      if (probed !== undefined) end(probed);
    });
    socket.once('end', () => {
      const said = received.length === 0 ? 'sends nothing' : `sends ${show(received)}`;
      fail(`it accepts the connection, ${said} and closes it`);
    });
    // A late error of a finished socket must not end the process.
    socket.on('error', ({ code = 'failed' }: NodeJS.ErrnoException) => fail(WORDS[code] ?? `error ${code}`));
  });
}

/** Undefined if not enough data has arrived yet. */
function judge(received: Buffer): ProbeResult | undefined {
  let from = 0;
  for (;;) {
    const end = received.indexOf('\n', from);
    const line = received.subarray(from, end === -1 ? undefined : end);
    const isVersion = line.subarray(0, 4).equals(Buffer.from('SSH-'));
    // The line feed counts too.
    if (line.length >= MAX_LINE) {
      const what = isVersion ? 'an SSH version line' : 'a line';
      return { ok: false, why: `it sends ${what} without an end: ${show(line)}` };
    }
    if (end === -1) break;
    if (isVersion) return { ok: true, banner: printable(line) };
    from = end + 1;
  }
  if (received.length < MAX_BYTES) return undefined;
  return { ok: false, why: `it sends no SSH version line in ${MAX_BYTES} bytes, but ${show(received)}` };
}

/** The first line, in quotes. */
function show(received: Buffer): string {
  const end = received.indexOf('\n');
  return JSON.stringify(printable(received.subarray(0, end === -1 ? undefined : end)));
}

function printable(line: Buffer): string {
  const text = line
    .toString('latin1')
    .trim()
    .replace(/[^\x20-\x7e]/g, '?');
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}

/* Looks up names without a thread, for connections to hosts that others choose. */

/** Timeout of the first try (ms); the second takes twice as long. */
const TRY_MS = 1_000;
const TRIES = 2;

/**
 * For `net.connect`. `dns.lookup` blocks a thread while a silent name server makes it wait, and all look-ups of the
 * process share two such threads: those of the provider and of the API server would queue behind it. So this asks the
 * name servers directly first, which needs no thread. A name that they do not know may be in the hosts file or be short
 * for a name in a search domain. Then `dns.lookup` is quick too, and also if there is no name server. Only tests pass
 * `servers`.
 */
export function createLookUp(servers?: readonly string[]): LookupFunction {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return (hostname, options, callback) => {
    void Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]).then(([v4, v6]) => {
      const found = [...addresses(v4, 4), ...addresses(v6, 6)];
      const [first] = found;
      if (first === undefined && isAnswered(v4) && isAnswered(v6)) lookup(hostname, options, callback);
      else if (first === undefined) callback(unanswered(hostname), '');
      else if (options.all === true) callback(null, found);
      else callback(null, first.address, first.family);
    });
  };
}

type Answered = PromiseSettledResult<string[]>;

function addresses(answered: Answered, family: 4 | 6) {
  return answered.status === 'fulfilled' ? answered.value.map((address) => ({ address, family })) : [];
}

/** A failure such as SERVFAIL is no answer: the name server that reports it has itself waited for another one. */
function isAnswered(answered: Answered): boolean {
  const { code = '' } = answered.status === 'rejected' ? (answered.reason as NodeJS.ErrnoException) : {};
  return ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'].includes(code);
}

/** The error that `dns.lookup` would report. */
function unanswered(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no name server has an answer for ${hostname}`), { code: 'EAI_AGAIN' });
}
