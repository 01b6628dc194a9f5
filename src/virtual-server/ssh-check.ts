/**
 * Checks whether an SSH server answers, and which host keys it has: connects, reads its version line, completes the key
 * exchange, and closes. It logs in nowhere and has nothing to log in with.
 */
import { connect, isIP, type LookupFunction } from 'node:net';
import type { ConnectConfig } from 'ssh2';
import { FairPlaces } from '../base/fair-line.ts';
import { notPublic } from '../base/ip-address.ts';
import { KEY_TYPES, type KeyType, type ShownKey } from './decision/key-types.ts';
import type { ProbeResult, SshEndpoint } from './decision/reach.ts';
import { createLookUp } from './look-up.ts';
import { shownKey } from './shown-key.ts';
import { err, ok, type Result } from '../base/result.ts';

/**
 * Resolves with the result; never rejects. `namespace`: the namespace of the object to check. `known`: the types of the
 * trusted host keys, which the probe prefers.
 */
export type SshProbe = (target: SshEndpoint, namespace: string, known: readonly KeyType[]) => Promise<ProbeResult>;

/** Timeout for name look-up, connections and answers together (ms). */
export const PROBE_MS = 5_000;
/** How long one address of a host may take to connect before the next one is tried (ms). Node's default is 250 ms. */
const ADDRESS_MS = 1_000;
/**
 * Further probes wait. The limit is half of the default number of workers, so that other work continues. The namespaces
 * share the places as they share the workers: in one common queue, the probes of other namespaces would wait for every
 * silent host of the busiest one.
 */
const PROBES_AT_ONCE = 16;

/** RFC 4253, 4.2: the version line has at most 255 characters including its end; other lines may come before it. */
const MAX_LINE = 255;
const MAX_BYTES = 4_096;
/** Limit of what a host may send until its key is proven. A key exchange takes about 2 kB. */
const MAX_EXCHANGE_BYTES = 256 * 1024;
/** How many characters of the answer are shown. */
const SHOWN = 60;

const WORDS: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  ENOTFOUND: 'DNS lookup failed: no such host',
  EAI_AGAIN: 'DNS lookup failed: no answer',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to its network',
  ETIMEDOUT: 'no answer to the connection',
};

/**
 * Methods with fixed parameters only: in a group exchange, the host chooses the size of the numbers, and the operator would
 * compute with them.
 */
const KEX: NonNullable<ConnectConfig['algorithms']>['kex'] = [
  'curve25519-sha256',
  'curve25519-sha256@libssh.org',
  'ecdh-sha2-nistp256',
  'ecdh-sha2-nistp384',
  'ecdh-sha2-nistp521',
  'diffie-hellman-group14-sha256',
];

interface SshProbeOptions {
  /**
   * Also connects to addresses that are not public: of this machine, its network and its cloud's
   * metadata service. The provider chooses the address.
   */
  privateAddresses: boolean;
  /** The fields below are for tests. */
  timeoutMs?: number;
  atOnce?: number;
  lookup?: LookupFunction;
}

export function createSshProbe({
  privateAddresses,
  timeoutMs = PROBE_MS,
  atOnce = PROBES_AT_ONCE,
  lookup = createLookUp(),
}: SshProbeOptions): SshProbe {
  const line = new FairPlaces<() => void>(atOnce);
  const admit = (): void => {
    for (let next = line.take(); next !== undefined; next = line.take()) next.item();
  };
  const limited = privateAddresses ? lookup : publicLookUp(lookup);
  return async (target, namespace, known) => {
    // No name is looked up for an address.
    const problem = privateAddresses || isIP(target.host) === 0 ? undefined : notPublic(target.host);
    if (problem !== undefined) return err(refusal(target.host, problem));
    await new Promise<void>((resolve) => {
      line.join(namespace, resolve);
      admit();
    });
    try {
      return await probed(target, known, { timeoutMs, endsAt: performance.now() + timeoutMs, lookup: limited });
    } finally {
      line.release(namespace);
      admit();
    }
  };
}

interface Limits {
  timeoutMs: number;
  /** On the clock of `performance.now()`. */
  endsAt: number;
  lookup: LookupFunction;
}

/** The answer on one connection. */
type Asked = Result<{ banner: string; key: ShownKey | undefined; noKey: string }>;

/**
 * On one connection, for one key: nothing proves that the same machine answers another one. It prefers the types of the known
 * keys, so a host with one of those keys shows it, and any other key is a change.
 */
async function probed(target: SshEndpoint, known: readonly KeyType[], limits: Limits): Promise<ProbeResult> {
  const asked = await ask(target, [...known, ...KEY_TYPES], limits);
  if (!asked.ok) return asked;
  const { banner, key, noKey } = asked.value;
  return ok({ banner, ...(key === undefined ? { noKey } : { key }) });
}

/** The signatures of a type. RSA keys sign with SHA-2 only. */
const signaturesOf = (type: KeyType) => (type === 'ssh-rsa' ? (['rsa-sha2-512', 'rsa-sha2-256'] as const) : [type]);

async function ask({ host, port }: SshEndpoint, types: readonly KeyType[], limits: Limits): Promise<Asked> {
  const { timeoutMs, endsAt, lookup } = limits;
  // Takes memory and time, so only when a first object uses sshCheck.
  const { Client } = (await import('ssh2')).default;
  return new Promise((resolve) => {
    const attempts = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_MS };
    const socket = connect({ host, port, lookup, ...attempts });
    let connected = false;
    let received = Buffer.alloc(0);
    let banner: string | undefined;
    const end = (asked: Asked): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(asked);
    };
    const fail = (why: string): void =>
      end(banner === undefined ? err(why) : ok({ banner, key: undefined, noKey: why }));
    const timer = setTimeout(
      () => {
        const within = `within ${timeoutMs / 1000} s`;
        if (banner !== undefined) fail(`the key exchange did not end ${within}`);
        else if (!connected) fail(`no connection ${within}`);
        else if (received.length === 0) fail(`it accepts the connection and sends nothing ${within}`);
        else fail(`it sends no SSH version line ${within}, but ${show(received)}`);
      },
      Math.max(0, endsAt - performance.now()),
    );
    socket.once('connect', () => (connected = true));
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      const read = judge(received.subarray(0, MAX_BYTES));
      if (read === undefined) return;
      if (!read.ok) {
        end(read);
        return;
      }
      banner = read.value;
      socket.off('data', onData).pause();
      socket.unshift(received);
      try {
        exchange();
      } catch (error) {
        // Nothing that a package throws here may end the process.
        fail(printable(Buffer.from(String(error))));
      }
    };
    const exchange = (): void => {
      let key: ShownKey | undefined;
      let bytes = 0;
      socket.on('data', ({ length }) => {
        if ((bytes += length) > MAX_EXCHANGE_BYTES) fail('it sends too much before its key');
      });
      const client = new Client();
      // A late error of a finished client must not end the process.
      client.on('error', ({ message }) => fail(printable(Buffer.from(message))));
      // The library verifies the signature of the key before this, and asks for a login after it: the socket is gone then.
      client.on('handshake', () => {
        if (key === undefined) fail('its host key is of an unknown type or too long');
        else end(ok({ banner: banner ?? '', key, noKey: '' }));
      });
      client.connect({
        sock: socket,
        ident: 'vps-operator',
        username: '-',
        readyTimeout: 0,
        algorithms: { kex: KEX, serverHostKey: [...new Set(types.flatMap(signaturesOf))], compress: ['none'] },
        hostVerifier: (blob: Buffer) => {
          key = shownKey(blob);
          return true;
        },
      });
    };
    socket.on('data', onData);
    socket.once('end', () => {
      const said = received.length === 0 ? 'sends nothing' : `sends ${show(received)}`;
      if (banner === undefined) fail(`it accepts the connection, ${said} and closes it`);
      else fail('it closes the connection during the key exchange');
    });
    // A late error of a finished socket must not end the process.
    socket.on('error', ({ code = 'failed', message }: NodeJS.ErrnoException) =>
      fail(code === NOT_PUBLIC ? message : (WORDS[code] ?? `error ${code}`)),
    );
  });
}

/** Undefined if not enough data has arrived yet. */
function judge(received: Buffer): Result<string> | undefined {
  let from = 0;
  for (;;) {
    const end = received.indexOf('\n', from);
    const line = received.subarray(from, end === -1 ? undefined : end);
    const isVersion = line.subarray(0, 4).equals(Buffer.from('SSH-'));
    // The line feed counts too.
    if (line.length >= MAX_LINE) {
      const what = isVersion ? 'an SSH version line' : 'a line';
      return err(`it sends ${what} without an end: ${show(line)}`);
    }
    if (end === -1) break;
    if (isVersion) return ok(printable(line));
    from = end + 1;
  }
  if (received.length < MAX_BYTES) return undefined;
  return err(`it sends no SSH version line in ${MAX_BYTES} bytes, but ${show(received)}`);
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

const NOT_PUBLIC = 'ENOTPUBLIC';

const refusal = (address: string, problem: string): string =>
  `the operator does not connect to ${address}, because this address is ${problem}; --ssh-check-private-addresses allows it`;

/** Leaves out addresses that are not public, however the name is spelled: 127.1 and 2130706433 are names too. */
function publicLookUp(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '');
        return;
      }
      const all = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const left = all.filter(({ address }) => notPublic(address) === undefined);
      const [first] = left;
      const address = all[0]?.address ?? hostname;
      if (first === undefined) {
        const why = refusal(address, notPublic(address) ?? 'unknown');
        callback(Object.assign(new Error(why), { code: NOT_PUBLIC }), '');
      } else if (options.all === true) callback(null, left);
      else callback(null, first.address, first.family);
    });
  };
}
