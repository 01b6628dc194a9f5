/** Looks up names without a thread, for connections to hosts that others choose. */
import type { LookupFunction } from 'node:net';
import { lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';

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
