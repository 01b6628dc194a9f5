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
    ['pages as an object', { srv1, pages: { next: 'https://x/servers?page=2' } }],
    ['total as an object', { srv1, total: { value: 30 } }],
  ])('%s', (_what, body) => {
    expect(isPage(body)).toBe(true);
  });
});
