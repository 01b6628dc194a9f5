/** The faults that `--fault`, the control panel and the demo inject by name. */
import * as z from 'zod';
import type { FaultAction, FaultInput, FaultMatch } from './faults.ts';
import { ROUTES } from './wire.ts';

const ORDER: FaultMatch = { method: 'POST', route: ['/beta/vps/servers', '/beta/vps/servers/{identifier}'] };
const LOGIN: FaultMatch = { route: '/login' };
const EXCEPT_LOGIN: FaultMatch = { route: ROUTES.filter((route) => route !== '/login') };

interface NamedFault {
  help: string;
  match?: FaultMatch;
  action: FaultAction;
}

const answer = (status: number, text: string, headers: Record<string, string> = {}): FaultAction => ({
  kind: 'error',
  status,
  headers,
  text,
});

export const NAMED_FAULTS = {
  'lost-answer': {
    help: 'the order creates a server, and the connection closes before the answer',
    match: ORDER,
    action: { kind: 'drop', after: true },
  },
  'lost-order': {
    help: 'the connection closes before the provider acts on the order',
    match: ORDER,
    action: { kind: 'drop' },
  },
  'rejected-order': { help: 'the order gets 422', match: ORDER, action: answer(422, 'the order is not valid') },
  'out-of-stock': {
    help: 'the order gets 503: the product is out of stock',
    match: ORDER,
    action: answer(503, 'no host has room for this product'),
  },
  'failed-task': {
    help: 'the order is accepted, and its task fails',
    match: ORDER,
    action: { kind: 'failTask', text: 'Failed: no host has room for this product' },
  },
  'no-rights': {
    help: 'a request other than a login gets 403: the key lacks the right',
    match: EXCEPT_LOGIN,
    action: { kind: 'error', status: 403 },
  },
  'refused-key': { help: 'the login gets 401', match: LOGIN, action: answer(401, 'the key is not valid') },
  unavailable: { help: 'a request gets 503', action: answer(503, 'maintenance') },
  'rate-limited': {
    help: 'a request gets 429, to be repeated after 5 s',
    action: answer(429, 'too many requests', { 'retry-after': '5' }),
  },
  garbage: { help: 'the answer is a page of HTML', action: { kind: 'garbage', form: 'html' } },
  hanging: { help: 'a request gets no answer', action: { kind: 'hang' } },
} as const satisfies Record<string, NamedFault>;

export type FaultName = keyof typeof NAMED_FAULTS;
const NAMES = Object.keys(NAMED_FAULTS) as FaultName[];
/** How often a fault strikes, as a word. */
const FOREVER = 'forever';

/** The fault, which strikes this many requests, 1 by default. */
export function namedFault(name: FaultName, times = 1): FaultInput {
  const { action, ...fault }: NamedFault = NAMED_FAULTS[name];
  return { ...(fault.match && { match: fault.match }), action, times };
}

/** `NAME`, `NAME=TIMES` or `NAME=forever`. */
export const faultSchema = z.string().transform((text, context) => {
  const [, name = '', times = '1'] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const known = NAMES.find((one) => one === name);
  if (known === undefined) {
    context.addIssue(`must be one of ${NAMES.join(', ')}`);
    return z.NEVER;
  }
  if (times === FOREVER) return namedFault(known, Infinity);
  if (/^[1-9]\d*$/.test(times)) return namedFault(known, Number(times));
  context.addIssue(`must be ${name}, ${name}=N with a number of requests above 0, or ${name}=${FOREVER}`);
  return z.NEVER;
});

/** One line for each fault. */
export function faultsHelp(): string {
  const width = Math.max(...NAMES.map((name) => name.length));
  return NAMES.map((name) => `  ${name.padEnd(width)}  ${NAMED_FAULTS[name].help}\n`).join('');
}
