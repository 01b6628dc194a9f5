/** What an answer says of further pages, as APIs of other providers say it: one page of a list proves no absence. */
import { describe, expect, it } from 'vitest';
import { parseServerList } from '../../../src/provider/wire.ts';
import { PagedList } from '../../../src/provider/paged-list.ts';

const srv1 = { identifier: 'srv1', product: 'VPSX4', status: 'running' };
const isPage = (body: unknown): boolean => {
  try {
    parseServerList(body);
    return false;
  } catch (error) {
    return error instanceof PagedList;
  }
};

/** Each with a value that says that there are more servers than one, and one that says that there are not. */
const FIELDS: [field: string, more: unknown, none: unknown][] = [
  ['next', '/servers?page=2', null],
  ['nextPage', 2, null],
  ['next_page_url', 'https://x/servers?page=2', null],
  ['next-page-link', '/servers?page=2', ''],
  ['nextPageToken', 'abc', ''],
  ['next_token', 'abc', null],
  ['nextCursor', 'abc', null],
  ['NextMarker', 'abc', null],
  ['has_next_page', true, false],
  ['hasNextPage', 'true', 'false'],
  ['hasMore', true, false],
  ['has_more_items', 1, 0],
  ['more', true, false],
  ['isTruncated', true, false],
  ['truncated', true, false],
  ['cursor', 'abc', null],
  ['continue', 'abc', ''],
  ['count', 2, 1],
  ['total_count', 2, 1],
  ['totalElements', 2, 1],
  ['last_page', 3, 1],
  ['totalPages', 3, 1],
  ['isLastPage', false, true],
  ['@odata.nextLink', 'https://x/servers?page=2', null],
  ['per_page', 1, 2],
  ['itemsPerPage', 1, 2],
  ['max-results', 1, 2],
  ['size', 1, 2],
  ['page', 2, 1],
  ['pageNumber', 2, 0],
  ['limit', '1', 50],
  ['offset', 50, 0],
  ['current_page', 2, 1],
];

describe('an answer is one page if it says', () => {
  it.each<[string, object]>([
    [
      'links.pages.next, as at DigitalOcean',
      { srv1, links: { pages: { next: 'https://x/servers?page=2', last: 'https://x/servers?page=9' } } },
    ],
    ['meta with its own status', { srv1, meta: { status: 200, next: 'https://x/servers?page=2' } }],
    ['meta with a status and a total', { srv1, meta: { status: 'ok', total: 30 } }],
    ['pagination with the status', { srv1, pagination: { status: 'partial', has_more: true } }],
    ['HAL with an array of links', { srv1, _links: { next: [{ href: '/servers?page=2' }] } }],
    ['has_more: 1', { srv1, has_more: 1 }],
    ['hasNextPage, as in GraphQL', { srv1, meta: { hasNextPage: true } }],
    ['last_page', { srv1, meta: { current_page: 1, last_page: 3 } }],
    ['nextPageToken', { srv1, meta: { nextPageToken: 'abc' } }],
    ['next_page_url', { srv1, meta: { next_page_url: 'https://x/servers?page=2' } }],
    ['total beside the size of a page', { srv1, per_page: 1, total: 2 }],
    ['a full page beside which page it is', { srv1, page: 1, per_page: 1 }],
    ['a full page beside which page it is, in meta', { srv1, meta: { current_page: 1, page_size: 1 } }],
    ['a full page beside the first offset', { srv1, offset: 0, limit: 1 }],
    ['a full page beside how many it has', { srv1, count: 1, limit: 1 }],
    ['a full page beside a total that is missing', { srv1, per_page: 1, total: null, pages: null }],
    ['a full page beside a total that cannot be', { srv1, per_page: 1, total: 0, total_pages: 0 }],
    ['a full page beside last: null', { srv1, per_page: 1, is_last_page: null }],
    ['pages as an object', { srv1, pages: { next: 'https://x/servers?page=2' } }],
    ['total as an object', { srv1, total: { value: 30 } }],
    ['is_last_page: false', { srv1, meta: { is_last_page: false } }],
    ['next as an object with a page', { srv1, next: { page: 2 } }],
    ['next as an array of links', { srv1, links: { next: ['/servers?page=2'] } }],
    ...FIELDS.map(([field, more]): [string, object] => [`${field} beside the servers`, { srv1, [field]: more }]),
    ...FIELDS.map(([field, more]): [string, object] => [`meta.${field}`, { srv1, meta: { [field]: more } }]),
  ])('%s', (_what, body) => {
    expect(isPage(body)).toBe(true);
  });
});

describe('an answer is the whole list, and has one server, if it says', () => {
  it.each<[string, object]>([
    ['next: {href: null}', { srv1, next: { href: null } }],
    ['next: {href: ""} with a title', { srv1, _links: { next: { href: '', title: 'Next page' } } }],
    ['a link to the next page that leads nowhere', { srv1, links: [{ rel: 'next', href: null }] }],
    ['next: [] and next: [null]', { srv1, links: { next: [], nextPage: [null] } }],
    ['next: "null"', { srv1, next: 'null' }],
    ['that it is the last page', { srv1, is_last_page: true, last: true }],
    [
      'where it is among the pages',
      { srv1, current_page: 1, per_page: 50, 'page-size': 50, last_page: 1, pageCount: 1 },
    ],
    ['how many there are, as many as a page has', { srv1, per_page: 1, total: 1 }],
    ['that there is one page, and it is full', { srv1, page: 1, per_page: 1, total_pages: 1 }],
    ['that a full page is the last one', { srv1, page: 1, per_page: 1, is_last_page: true }],
    ['that nothing follows a full page', { srv1, meta: { limit: 1, next: null } }],
    [
      'other links',
      { srv1, previous: null, prev_page_url: null, first_page_url: '/servers', last_page_url: '/servers' },
    ],
    ...FIELDS.map(([field, , none]): [string, object] => [`${field}: ${String(none)}`, { srv1, [field]: none }]),
    ...FIELDS.map(([field, , none]): [string, object] => [
      `meta.${field}: ${String(none)}`,
      { srv1, meta: { [field]: none } },
    ]),
  ])('%s', (_what, body) => {
    expect(parseServerList(body)).toEqual(new Set(['srv1']));
  });

  it.each(['next', 'more', 'count', 'total', 'last', 'cursor', 'marker', 'metadata'])(
    'nothing, although a server is called %s',
    (identifier) => {
      const server = { ...srv1, identifier, url: '/servers/1' };
      expect(parseServerList({ srv1, [identifier]: server })).toEqual(new Set(['srv1', identifier]));
    },
  );
});
