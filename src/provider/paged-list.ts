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

/** APIs write `next_page`, `next-page`, `nextPage` or `@odata.nextLink`. */
const plain = (key: string): string => key.replaceAll(/[-_.@]/g, '').toLowerCase();

/** Objects that tell about pages, at any depth. */
const CONTAINER = /^(links?|meta|metadata|pagination|paging|pageinfo|pages|cursors?)$/;
const MORE = /next|more|truncated|^(cursor|marker|continue|continuationtoken)$/;
/** With `false`, there is more. */
const LAST = /^(is)?last(page)?$/;
/** Which page this is. The first one may be full, so it does not tell the end. */
const PAGE = /^(current)?page(number)?$/;
/** How many pages there are. */
const PAGES = /^(lastpage|(total|num)pages?|(total|num)?pages?count|pages)$/;
const TOTAL = /^(total(count|items|records|results|entries|elements|servers)?|count)$/;
/** Fields beside the entries of a list, with a value that is no object. */
const NEXT =
  /^((odata)?(next|more)(page|link|ur[il]|href|token|cursor|marker|offset|key)*|has(more|next)(pages?|items|results)?|(is)?truncated|cursor|marker|continue|continuationtoken)$/;
const SIZE = /^((items|results|entries)?perpage|(page)?(size|limit)|max(items|results))$/;
const OFFSET = /^(offset|skip)$/;
const OTHER_LINKS = /^(prev(ious)?|(prev(ious)?|first|last)(page)?(ur[il]|link|token|cursor))$/;

const has = (value: unknown, fields: readonly string[]): boolean =>
  isObject(value) && fields.some((field) => Object.hasOwn(value, field));

const NOTHING: ReadonlySet<unknown> = new Set([undefined, null, '', 0, false, 'false', '0', 'null']);
const LINK = /^(href|ur[il]|link|cursor|token|page|offset)$/i;

/** A link that leads nowhere is nothing, whatever else is told of it. */
function isSomething(value: unknown): boolean {
  if (typeof value === 'string') return !NOTHING.has(value.trim());
  if (Array.isArray(value)) return value.some(isSomething);
  if (!isObject(value)) return !NOTHING.has(value);
  const links = Object.entries(value).filter(([key]) => LINK.test(key));
  return links.length > 0 ? links.some(([, target]) => isSomething(target)) : Object.keys(value).length > 0;
}

const isNumber = (value: unknown): boolean => value === null || Number.isFinite(Number(value));
/** `{value: 3}` is a number too. */
const numberIn = (value: unknown): number => Number(isObject(value) ? value['value'] : value);

type Says = (key: string, value: unknown) => boolean;

/** Whether this holds for `value`, called `name`, or for anything inside of it. */
function anywhere(name: string, value: unknown, says: Says): boolean {
  if (says(plain(name), value)) return true;
  if (Array.isArray(value)) return value.some((each: unknown) => anywhere('', each, says));
  return isObject(value) && Object.entries(value).some(([inner, each]) => anywhere(inner, each, says));
}

/** Whether a field says that there are more entries than these, whose number is `count`. In doubt, it does. */
const saysMore =
  (count: number): Says =>
  (key, value) =>
    (MORE.test(key) && isSomething(value)) ||
    (LAST.test(key) && value === false) ||
    ((PAGE.test(key) || PAGES.test(key)) && numberIn(value) > 1) ||
    (TOTAL.test(key) && numberIn(value) > count) ||
    (OFFSET.test(key) && numberIn(value) > 0) ||
    isNextLink(value);

const isNextLink = (value: unknown): boolean => isObject(value) && value['rel'] === 'next' && isSomething(value);

/** A page that is full may not be the last one, unless another field tells. */
const isFull =
  (count: number): Says =>
  (key, value) =>
    SIZE.test(key) && numberIn(value) > 0 && numberIn(value) <= count;

/** Whether a field says that nothing follows. `count` may count the page alone. A number that is missing or impossible does not count. */
const tellsEnd =
  (count: number): Says =>
  (key, value) =>
    MORE.test(key) ||
    (LAST.test(key) && value === true) ||
    (PAGES.test(key) && numberIn(value) === 1) ||
    (TOTAL.test(key) && key !== 'count' && numberIn(value) === count);

/** A field that APIs have beside the entries of a list. A server may have such an identifier, and the value tells. */
function isAboutPages(name: string, value: unknown): boolean {
  const key = plain(name);
  if (CONTAINER.test(key) && typeof value === 'object')
    return !has(value, SURELY) && (!has(value, OF_SERVER) || anywhere('', value, saysMore(0)));
  if (has(value, OF_SERVER)) return false;
  if (TOTAL.test(key)) return isNumber(value) || (isObject(value) && isNumber(value['value']));
  if ([PAGE, PAGES, SIZE, OFFSET].some((names) => names.test(key))) return isNumber(value);
  if (NEXT.test(key)) return !isObject(value) || Object.keys(value).some((inner) => LINK.test(inner));
  if (LAST.test(key)) return typeof value === 'boolean';
  return OTHER_LINKS.test(key) && !isObject(value);
}

/** The servers of an object without what it says about pages. */
export function withoutPaging(list: unknown): unknown {
  if (!isObject(list)) return list;
  return Object.fromEntries(Object.entries(list).filter(([key, value]) => !isAboutPages(key, value)));
}

/** Whether the list says that it has more servers than these, whose number is `count`. */
export function goesOn(list: unknown, count: number): boolean {
  if (!isObject(list)) return false;
  const about = Object.entries(list).filter(([key, value]) => isAboutPages(key, value));
  const says = (test: Says): boolean => about.some(([key, value]) => anywhere(key, value, test));
  return says(saysMore(count)) || (says(isFull(count)) && !says(tellsEnd(count)));
}

/**
 * Whether a header says that there are more entries than these, whose number is `count`: Link (RFC 8288), X-Next-Page, which is empty at the
 * last page, Content-Range with a total (RFC 9110), or one of the usual totals.
 */
export function toldByHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  count: number,
): boolean {
  const { link = '', 'x-next-page': next, 'content-range': range = '' } = headers;
  const totals = ['x-total-count', 'x-total', 'total-count'].map((name) => Number(headers[name]));
  const total = Number(/\/\s*(\d+)\s*$/.exec(String(range))?.[1]);
  return (
    /\brel\s*=\s*"?[^",;]*\bnext\b/i.test(String(link)) ||
    isSomething(next) ||
    Number(headers['x-total-pages']) > 1 ||
    [...totals, total].some((each) => each > count)
  );
}
