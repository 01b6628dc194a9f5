/**
 * Ways in which a provider can fail for a while, one of each kind, and what objects report. Others differ from one of these
 * only in a number or a shape, which the unit tests of the provider client cover.
 */
import type { FaultAction } from '../../../src/simulator/index.ts';
import type { Outage } from './outage.ts';

type Failure = Omit<Outage, 'at' | 'name'>;

const answered = (status: number, headers?: Record<string, string>): (() => FaultAction) => {
  return () => ({ kind: 'status', status, ...(headers && { headers }), body: { message: 'words of the provider' } });
};
const unavailable = (words: RegExp) => ({ reason: 'ProviderUnavailable', words });
const limited = { reason: 'ProviderRateLimited', words: /answered 429: words of the provider/ };
const nonsense = (words: RegExp) => ({ reason: 'ProviderProtocolError', words });

const SOON_MS = 2_000;

/** An HTTP date has whole seconds, so the time is at least two seconds ahead. */
function rateLimitedUntil(): Failure {
  let until = 0;
  const action = (): FaultAction => {
    until ||= Math.ceil(Date.now() / 1000) * 1000 + SOON_MS;
    return answered(429, { 'retry-after': new Date(until).toUTCString() })();
  };
  return { action, says: limited, retryAfter: { at: () => until } };
}

const UNANSWERED: Failure = {
  action: () => ({ kind: 'hang' }),
  says: unavailable(/no complete answer within 0\.7 s/),
  flags: ['--provider-timeout=700ms'],
};

const FAILURES: Record<Outage['at'], Record<string, Failure>> = {
  calls: {
    '500': {
      action: answered(500),
      says: unavailable(/answered 500: words of the provider/),
      // A task that answers 500 may have failed, unless the list of products fails too.
      listReaders: 2,
    },
    '429 with Retry-After in seconds': {
      action: answered(429, { 'retry-after': '2' }),
      says: limited,
      retryAfter: { ms: SOON_MS },
    },
    'a page of HTML': { action: () => ({ kind: 'garbage', form: 'html' }), says: nonsense(/is not JSON/) },
    'half of a body': {
      action: () => ({ kind: 'garbage', form: 'truncated' }),
      says: unavailable(/cannot be reached/),
    },
    'no answer at all': UNANSWERED,
    'a connection that is reset': {
      action: () => ({ kind: 'reset' }),
      says: unavailable(/cannot be reached/),
      repeatsFirst: true,
    },
    '302 to another host': {
      action: (port) => ({
        kind: 'status',
        status: 302,
        headers: { location: `http://127.0.0.1:${port}/beta/vps/products` },
      }),
      says: nonsense(/answered 302, a redirect that the operator does not follow/),
    },
    '401 for every token': {
      action: answered(401),
      says: { reason: 'Unauthorized', words: /refuses a token that it has just issued/ },
      callsPerTry: 2,
    },
    '404 for everything': {
      action: answered(404),
      says: { reason: 'ServerNotVisible', words: /shows HTTP status 404 instead of its products/ },
      // Each 404 is checked against the list of products: twice for the object whose task and then server are asked for,
      // and twice for the deleted one if it is read again between the fault and its deletion.
      listReaders: 6,
      differs: {
        making: { reason: 'ServerNotVisible', words: /Task \d+ is not visible/ },
        late: unavailable(/answered 404/),
      },
    },
  },
  login: {
    '504': { action: answered(504), says: unavailable(/Logging in failed: the provider answered 504/) },
    '429 until a date': rateLimitedUntil(),
    'no answer at all': UNANSWERED,
  },
};

export const outages = (at: Outage['at']): Outage[] =>
  Object.entries(FAILURES[at]).map(([name, failure]) => ({ ...failure, at, name: `${name}, at ${at}` }));
