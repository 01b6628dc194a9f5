/** Every way in which a provider can fail for a while, at login and at every other call, and what objects report. */
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

const STATUSES: Record<string, Failure> = {
  ...Object.fromEntries(
    [500, 502, 503, 504].map((status) => [
      String(status),
      { action: answered(status), says: unavailable(new RegExp(`answered ${status}: words of the provider`)) },
    ]),
  ),
  '503 with Retry-After in seconds': {
    action: answered(503, { 'retry-after': '2' }),
    says: unavailable(/answered 503/),
    retryAfter: { ms: SOON_MS },
  },
  429: { action: answered(429), says: limited },
  '429 with Retry-After in seconds': {
    action: answered(429, { 'retry-after': '2' }),
    says: limited,
    retryAfter: { ms: SOON_MS },
  },
  '429 with a Retry-After that is no time': { action: answered(429, { 'retry-after': '-5' }), says: limited },
};

/** An HTTP date has whole seconds, so the time is at least two seconds ahead. */
function rateLimitedUntil(): Failure {
  let until = 0;
  const action = (): FaultAction => {
    until ||= Math.ceil(Date.now() / 1000) * 1000 + SOON_MS;
    return answered(429, { 'retry-after': new Date(until).toUTCString() })();
  };
  return { action, says: limited, retryAfter: { at: () => until } };
}

/** The deletion is complete once a DELETE was answered with 200, whatever follows. */
const HASTY = ['--provider-timeout=700ms'];

const BODIES: Record<string, Failure> = {
  'a page of HTML': {
    action: () => ({ kind: 'garbage', form: 'html' }),
    says: nonsense(/is not JSON/),
  },
  'half of a body': {
    action: () => ({ kind: 'garbage', form: 'truncated' }),
    says: unavailable(/cannot be reached/),
  },
  'a body over all bounds': {
    action: () => ({ kind: 'garbage', form: 'oversized', megabytes: 9 }),
    says: nonsense(/larger than/),
  },
  'a body that drips past the deadline': {
    action: () => ({ kind: 'garbage', form: 'slow', msPerByte: 200 }),
    says: unavailable(/no complete answer within 0\.7 s/),
    flags: HASTY,
  },
  'JSON of another type': {
    action: () => ({ kind: 'body', body: 7 }),
    says: nonsense(/is not a (JSON (object|array)|server)/),
  },
  'no answer at all': {
    action: () => ({ kind: 'hang' }),
    says: unavailable(/no complete answer within 0\.7 s/),
    flags: HASTY,
  },
  'a connection that ends': { action: () => ({ kind: 'drop' }), says: unavailable(/cannot be reached/) },
  'a connection that is reset': { action: () => ({ kind: 'reset' }), says: unavailable(/cannot be reached/) },
};

const REDIRECTS: Record<string, Failure> = Object.fromEntries(
  [301, 302, 307, 308].map((status) => [
    `${status} to another host`,
    {
      action: (port: number): FaultAction => ({
        kind: 'status',
        status,
        headers: { location: `${status === 301 ? 'https' : 'http'}://127.0.0.1:${port}/beta/vps/products` },
      }),
      says: nonsense(new RegExp(`answered ${status}, a redirect that the operator does not follow`)),
    },
  ]),
);

const EVERYWHERE: Record<string, Failure> = {
  ...STATUSES,
  '429 until a date': rateLimitedUntil(),
  ...BODIES,
  ...REDIRECTS,
};
/** test/integration/credentials/tokens.test.ts has more login failures, for a single object. */
const AT_THE_LOGIN: Record<string, Failure> = {
  '404': { action: answered(404), says: unavailable(/Logging in failed: the provider answered 404/) },
  504: { action: answered(504), says: unavailable(/Logging in failed: the provider answered 504/) },
  '429 until a date': rateLimitedUntil(),
  ...REDIRECTS,
  ...Object.fromEntries(
    ['503 with Retry-After in seconds', 'half of a body', 'a body over all bounds', 'no answer at all'].map((name) => {
      // While the login fails, no DELETE is sent.
      const { differs: _differs, ...failure } = EVERYWHERE[name] ?? fail(name);
      return [name, failure];
    }),
  ),
};

function fail(name: string): never {
  throw new Error(`there is no failure "${name}"`);
}

const CALLS_ONLY: Record<string, Failure> = {
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
};

const FAILURES = { calls: { ...EVERYWHERE, ...CALLS_ONLY }, login: AT_THE_LOGIN };

/** The failures that are handled differently; the others differ from one of them only in a number or a shape. */
const TELLING: Record<Outage['at'], readonly string[]> = {
  calls: [
    '500',
    '429 with Retry-After in seconds',
    'a page of HTML',
    'half of a body',
    'no answer at all',
    'a connection that is reset',
    '302 to another host',
    '401 for every token',
    '404 for everything',
  ],
  login: ['504', '429 until a date', 'no answer at all'],
};

const named = (at: Outage['at'], name: string): Outage => ({
  ...((FAILURES[at] as Record<string, Failure>)[name] ?? fail(name)),
  at,
  name: `${name}, at ${at}`,
});

export const tellingOutages = (at: Outage['at']): Outage[] => TELLING[at].map((name) => named(at, name));
export const otherOutages = (at: Outage['at']): Outage[] =>
  Object.keys(FAILURES[at])
    .filter((name) => !TELLING[at].includes(name))
    .map((name) => named(at, name));
