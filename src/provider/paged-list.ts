/**
 * A list of servers of which the answer is one page: the operator reads no second one. The page proves that its servers are there, and
 * no absence. A field that APIs have for pages does not make a whole list one: only one that says that there is more.
 */
import { isObject } from '../base/deep-equal.ts';
import { ProviderError, failureMessage } from './error.ts';
import type { AccountServer } from './types.ts';

/** `identifiers`: keys of a map. */
export class PagedList extends ProviderError {
  readonly identifiers: ReadonlySet<string>;
  readonly servers: readonly AccountServer[];

  constructor(identifiers: ReadonlySet<string>, servers: readonly AccountServer[]) {
    const why = 'the answer is one page of a list that goes on, and the operator can read no further one';
    super('PROVIDER_PROTOCOL', failureMessage('listServers', why));
    this.identifiers = identifiers;
    this.servers = servers;
  }
}

/** What a server shows of itself, and a field about pages does not. */
const OF_SERVER = ['identifier', 'product', 'status', 'dormant', 'specs', 'zone'];

/** A field that APIs have beside the entries of a list. A server may have such an identifier: `is` tells by the value. */
interface Field {
  key: RegExp;
  is: (value: unknown) => boolean;
  /** Whether there are more entries than these, whose number is `count`. */
  saysMore: (value: unknown, count: number) => boolean;
}

const isFilled = (value: unknown): boolean =>
  typeof value === 'string' ? value.trim() !== '' : value === true || (typeof value === 'number' && value > 0);

const isNumber = (value: unknown): boolean => value === null || Number.isFinite(Number(value));

const LINK = /^(href|ur[il]|link|cursor|token|page|offset)$/i;
const leadsOn = (value: Record<string, unknown>): boolean =>
  Object.entries(value).some(([key, target]) => LINK.test(key) && isFilled(target));

const FIELDS: readonly Field[] = [
  {
    key: /^_?(links?|meta|pagination|paging)$/i,
    is: (value) => typeof value === 'object',
    saysMore: (value, count) =>
      Array.isArray(value)
        ? value.some((link: unknown) => isObject(link) && link['rel'] === 'next')
        : goesOn(value, count),
  },
  {
    key: /^(next|next_?(page|link|url|token|cursor)|cursor)$/i,
    is: (value) => !isObject(value) || leadsOn(value),
    saysMore: (value) => isObject(value) || isFilled(value),
  },
  {
    key: /^has_?(more|next)$/i,
    is: (value) => !isObject(value),
    saysMore: (value) => value === true || value === 'true',
  },
  { key: /^(total_?)?pages?(_?count)?$/i, is: isNumber, saysMore: (value) => Number(value) > 1 },
  { key: /^total(_?(count|items|results))?$/i, is: isNumber, saysMore: (value, count) => Number(value) > count },
];

function fieldOf(key: string, value: unknown): Field | undefined {
  if (isObject(value) && OF_SERVER.some((shown) => Object.hasOwn(value, shown))) return undefined;
  return FIELDS.find((field) => field.key.test(key) && field.is(value));
}

/** The servers of an object without what it says about pages. */
export function withoutPaging(list: unknown): unknown {
  if (!isObject(list)) return list;
  return Object.fromEntries(Object.entries(list).filter(([key, value]) => fieldOf(key, value) === undefined));
}

/** Whether the list says that it has more servers than these, whose number is `count`. */
export const goesOn = (list: unknown, count: number): boolean =>
  isObject(list) && Object.entries(list).some(([key, value]) => fieldOf(key, value)?.saysMore(value, count) === true);

/** Whether a Link header names a next page (RFC 8288). */
export const hasNextLink = (link: string | string[] | undefined): boolean =>
  /\brel\s*=\s*"?[^",;]*\bnext\b/i.test(String(link ?? ''));
