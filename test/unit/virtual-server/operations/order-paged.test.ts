/** The list of servers has pages, no order goes under an identifier, and etcd was restored to a time before the order. */
import { expect, it } from 'vitest';
import { createListing } from '../../../../src/provider/account.ts';
import { PagedList } from '../../../../src/provider/paged-list.ts';
import { markedName } from '../../../../src/virtual-server/decision/named.ts';
import { web } from '../../../fixtures/decision.ts';
import { visit } from '../../../fixtures/visits.ts';

it.each(['one page', 'whole'])('orders no second server that the first page of the list shows (%s)', async (shape) => {
  const object = web();
  const name = markedName(object);
  const own = { identifier: 'srv7', alias: undefined, name, product: 'VPSX4' };
  const page = new PagedList(new Set(['srv7']), [own]);
  // What the session of account.ts answers in that case.
  const listing = createListing(() => 0);
  await listing
    .read(() => (shape === 'whole' ? Promise.resolve(page.identifiers) : Promise.reject(page)))
    .catch(() => undefined);
  listing.refusesNamed();
  const after = await visit(object, {
    ordersNamed: listing.takesNamed() ?? true,
    ...(listing.exists() && { listsServers: true as const }),
    answers: {
      listed: shape === 'whole' ? [own] : page,
      servers: ['srv7'],
      order: { kind: 'created', task: 7 },
      task: { state: 'pending' },
      server: { identifier: 'srv7', name, status: 'running', macs: [], ipv4: [], ipv6: [] } as never,
    },
  });
  expect(after.requests).toEqual([]);
});
