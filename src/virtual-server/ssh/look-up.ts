/** Looks names up without a thread, for whoever connects to hosts that somebody else names. */
import { lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';

/** Of the first try (ms); the second takes twice as long. */
const TRY_MS = 1_000;
const TRIES = 2;

/**
 * For `net.connect`. `dns.lookup` keeps a thread for as long as a silent name server makes it wait, of two that all
 * look-ups of the process share: those of the provider and of the API server would queue behind. So the name servers are
 * asked first, which takes none. What they do not know may stand in the hosts file or be short for a name in a search
 * domain: then `dns.lookup` is quick too, as it is where there is no name server. `servers` is given by tests only.
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

/** Not so is an answer of failure: who gives it has waited for somebody else. */
function isAnswered(answered: Answered): boolean {
  const { code = '' } = answered.status === 'rejected' ? (answered.reason as NodeJS.ErrnoException) : {};
  return ['ENOTFOUND', 'ENODATA', 'ECONNREFUSED'].includes(code);
}

/** As `dns.lookup` would say it. */
function unanswered(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no name server has an answer for ${hostname}`), { code: 'EAI_AGAIN' });
}
