/** A gateway denies every server, and the list that the provider has shown before. */
import { expect, it } from 'vitest';
import { createListing } from '../../../../src/provider/account.ts';
import { PagedList } from '../../../../src/provider/paged-list.ts';
import { readServer } from '../../../../src/virtual-server/operations/reads.ts';
import { ACCOUNT, CATALOG, KNOWN, webWith } from '../../../fixtures/decision.ts';
import { fakeSession } from '../../../fixtures/doubles.ts';
import { DENIED } from '../../../fixtures/visits.ts';

it.each([
  ['whole', () => Promise.resolve(new Set(['srv1']))],
  ['one page', () => Promise.reject(new PagedList(new Set(['srv1']), []))],
])('proves no absence if the list was shown before (%s)', async (_, first) => {
  const listing = createListing(() => 0);
  await listing.read(first).catch(() => undefined);
  const session = fakeSession({
    account: ACCOUNT,
    readServer: () => Promise.reject(DENIED),
    products: () => Promise.resolve(CATALOG.products),
    // 404, as for a provider without a list.
    servers: () => listing.read(() => Promise.resolve(undefined)),
    listsServers: () => listing.exists(),
    listsCreating: () => false,
  });
  const answer = await readServer('srv1', ACCOUNT, session, webWith(KNOWN));
  expect(answer).not.toMatchObject({ type: 'serverNotFound', counts: true });
});
