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
    const why = 'the answer is one page of a list with more pages, and the operator can read no further one';
    super('PROVIDER_PROTOCOL', failureMessage('listServers', why));
    this.identifiers = identifiers;
    this.servers = servers;
  }
}

/** What a server shows of itself, and a field about pages does not. */
const OF_SERVER = ['identifier', 'product', 'status', 'dormant', 'specs', 'zone'];
/** What surely is a server: what tells about pages may have a status too. */
const SURELY = ['identifier', 'product'];

/** Objects that tell about pages, at any depth. */
const CONTAINER = /^_?(links?|meta|pagination|paging|pages|cursors?)$/i;
const MORE = /next|more/i;
const PAGES = /^(last_?page|(total_?)?pages?(_?count)?)$/i;
const TOTAL = /^total(_?(count|items|records|results|entries))?$/i;
const CURSOR = /^cursor$/i;
/** They tell nothing about how many there are. */
const OTHERS = /^(per_?page|page_?size|limit|offset)$/i;

const has = (value: unknown, fields: readonly string[]): boolean =>
  isObject(value) && fields.some((field) => Object.hasOwn(value, field));

const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', 0, false, 'false', '0']);
const isSomething = (value: unknown): boolean => {
  if (typeof value === 'string') return !NOTHING.has(value.trim());
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : !NOTHING.has(value);
};

const isNumber = (value: unknown): boolean => value === null || Number.isFinite(Number(value));
/** `{value: 3}` is a number too. */
const numberIn = (value: unknown): number => Number(isObject(value) ? value['value'] : value);

/** Whether `value`, called `key`, says that there are more entries than these, whose number is `count`. In doubt, it does. */
function saysMore(key: string, value: unknown, count: number): boolean {
  if ((MORE.test(key) || CURSOR.test(key)) && isSomething(value)) return true;
  if (PAGES.test(key) && numberIn(value) > 1) return true;
  if (TOTAL.test(key) && numberIn(value) > count) return true;
  if (Array.isArray(value))
    return value.some((each: unknown) => isObject(each) && (each['rel'] === 'next' || saysMore('', each, count)));
  return isObject(value) && Object.entries(value).some(([inner, each]) => saysMore(inner, each, count));
}

/** A field that APIs have beside the entries of a list. A server may have such an identifier, and the value tells. */
function isAboutPages(key: string, value: unknown): boolean {
  if (CONTAINER.test(key) && typeof value === 'object')
    return !has(value, SURELY) && (!has(value, OF_SERVER) || saysMore('', value, 0));
  if (has(value, OF_SERVER)) return false;
  if (/^(next|next_?(page|link|url|token|cursor)|cursor)$/i.test(key)) return !isObject(value) || leadsOn(value);
  if (/^has_?(more|next)$/i.test(key)) return !isObject(value);
  if (TOTAL.test(key)) return isNumber(value) || (isObject(value) && isNumber(value['value']));
  return (PAGES.test(key) || OTHERS.test(key)) && isNumber(value);
}

const LINK = /^(href|ur[il]|link|cursor|token|page|offset)$/i;
const leadsOn = (value: Record<string, unknown>): boolean =>
  Object.entries(value).some(([key, target]) => LINK.test(key) && isSomething(target));

/** The servers of an object without what it says about pages. */
export function withoutPaging(list: unknown): unknown {
  if (!isObject(list)) return list;
  return Object.fromEntries(Object.entries(list).filter(([key, value]) => !isAboutPages(key, value)));
}

/** Whether the list says that it has more servers than these, whose number is `count`. */
export function goesOn(list: unknown, count: number): boolean {
  if (!isObject(list)) return false;
  return Object.entries(list).some(([key, value]) => isAboutPages(key, value) && saysMore(key, value, count));
}

/** Whether a Link header names a next page (RFC 8288). */
export const hasNextLink = (link: string | string[] | undefined): boolean =>
  /\brel\s*=\s*"?[^",;]*\bnext\b/i.test(String(link ?? ''));
