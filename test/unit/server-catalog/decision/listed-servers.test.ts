import { describe, expect, it } from 'vitest';
import type { CatalogServer, ServerCatalogStatus } from '../../../../src/api/server-catalog.ts';
import type { ServerClaims } from '../../../../src/api/server-state.ts';
import type { AccountServer } from '../../../../src/provider/types.ts';
import { catalogStatus, type Reading } from '../../../../src/server-catalog/decision/catalog-status.ts';
import { serversOf } from '../../../../src/server-catalog/decision/listed-servers.ts';
import { storedCatalog } from '../../../fixtures/server-catalog.ts';
import { ok } from '../../../../src/base/result.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const SEEN = '2026-01-01T12:00:00Z';

const claim = (name: string, changes: Partial<ServerClaims> = {}): ServerClaims => ({
  namespace: 'default',
  name,
  holds: [],
  mayHold: [],
  ...changes,
});

const of = (listed: AccountServer[], claims: ServerClaims[], before?: CatalogServer[]): CatalogServer[] =>
  serversOf({ listed, claims }, { namespace: 'default', before, now: NOW }).servers;

describe('a listed server', () => {
  it.each<[string, ServerClaims[], Partial<CatalogServer>]>([
    ['no object is about is orphaned', [claim('db', { holds: ['vs2'] })], { state: 'Orphaned', unheldSince: SEEN }],
    ['an object holds names it', [claim('web', { holds: ['vs1'] })], { state: 'Held', heldBy: 'web' }],
    [
      'an object holds in another spelling is held',
      [claim('web', { holds: ['VS1'] })],
      { state: 'Held', heldBy: 'web' },
    ],
    [
      'an object of another namespace holds does not name it',
      [claim('web', { namespace: 'other', holds: ['vs1'] })],
      { state: 'Held' },
    ],
    [
      'two objects hold names the own one',
      [claim('a', { namespace: 'other', holds: ['vs1'] }), claim('b', { holds: ['vs1'] })],
      { state: 'Held', heldBy: 'b' },
    ],
    ['a record mentions is unclear', [claim('web', { mayHold: ['vs1'] })], { state: 'Unclear', unheldSince: SEEN }],
    [
      'an open order may have created is unclear',
      [claim('web', { namespace: 'other', orderedAt: '2026-01-01T11:59:00Z' })],
      { state: 'Unclear', unheldSince: SEEN },
    ],
    [
      'an order of the same second may have created is unclear',
      [claim('web', { orderedAt: SEEN })],
      { state: 'Unclear', unheldSince: SEEN },
    ],
    [
      'an object with an unreadable record may hold is unclear',
      [claim('a', { orderedAt: '2026-01-01T12:00:01Z' }), claim('b', { orderedAt: '' })],
      { state: 'Unclear', unheldSince: SEEN },
    ],
  ])('that %s', (_what, claims, expected) => {
    expect(of([{ identifier: 'vs1' }], claims)).toEqual([{ identifier: 'vs1', ...expected }]);
  });

  it('that was unheld before an order began is not the server of that order', () => {
    const before: CatalogServer[] = [{ identifier: 'VS1', state: 'Orphaned', unheldSince: '2026-01-01T10:00:00Z' }];
    const claims = [claim('web', { orderedAt: '2026-01-01T11:00:00Z' })];
    expect(of([{ identifier: 'vs1' }, { identifier: 'vs2' }], claims, before)).toEqual([
      { identifier: 'vs1', state: 'Orphaned', unheldSince: '2026-01-01T10:00:00Z' },
      { identifier: 'vs2', state: 'Unclear', unheldSince: SEEN },
    ]);
  });

  it('that was held until now is unheld from now on', () => {
    const before: CatalogServer[] = [{ identifier: 'vs1', state: 'Held', heldBy: 'web' }];
    expect(of([{ identifier: 'vs1' }], [], before)).toEqual([
      { identifier: 'vs1', state: 'Orphaned', unheldSince: SEEN },
    ]);
  });

  it('with two identifiers is held under either', () => {
    const listed = [{ identifier: 'web1', alias: '7' }];
    expect(of(listed, [claim('web', { holds: ['7'] })])).toMatchObject([{ identifier: 'web1', state: 'Held' }]);
  });

  it('comes with what the provider says of it, cut to what the object can store', () => {
    const name = `default/web (uid-of-w)${'x'.repeat(300)}`;
    expect(of([{ identifier: 'vs1', name, product: 'VPSX4' }], [])).toEqual([
      { identifier: 'vs1', name: name.slice(0, 256), product: 'VPSX4', state: 'Orphaned', unheldSince: SEEN },
    ]);
  });
});

describe('too many servers', () => {
  it('leave those in the list that no object holds, and all in the counts', () => {
    const listed = Array.from({ length: 700 }, (_, index) => ({ identifier: `vs${String(index).padStart(3, '0')}` }));
    const claims = [
      claim('set', { holds: listed.slice(0, 650).map(({ identifier }) => identifier) }),
      claim('lost', { mayHold: ['vs660'] }),
    ];
    const { servers, serverCounts } = serversOf({ listed, claims }, { namespace: 'default', now: NOW });
    expect(serverCounts).toEqual({ all: 700, orphaned: 49, unclear: 1 });
    expect(servers).toHaveLength(500);
    expect(servers.slice(0, 50).map(({ state }) => state)).toEqual([...Array<string>(49).fill('Orphaned'), 'Unclear']);
  });
});

describe('the status of a catalog', () => {
  const shapes = { products: 'Array', images: 'Array' } as const;
  const catalog = { products: [], images: [], diskSizes: {}, shapes };
  const none = { state: 'Unavailable' } as const;
  const further = { zones: none, prices: none, ordersGo: 'named' } as const;
  const reading = (changes: object): Reading => ok({ catalog, serverList: 'Available', ...further, ...changes });
  const servers = { listed: [{ identifier: 'vs1' }], claims: [] };
  const after = (changes: object, status?: ServerCatalogStatus, shape = {}): ServerCatalogStatus =>
    catalogStatus(
      storedCatalog('c', { listServers: true, ...shape, ...(status && { status }) }),
      reading(changes),
      NOW,
    );

  it.each([
    ['Unknown', true],
    ['Forbidden', false],
    ['Unavailable', false],
  ])('keeps the last servers if the list is %s: %s', (serverList, isKept) => {
    const first = after({ servers });
    expect(first.servers).toHaveLength(1);
    expect(after({ serverList }, first).servers).toEqual(isKept ? first.servers : undefined);
    expect(after({ serverList }, first).serverCounts).toEqual(isKept ? first.serverCounts : undefined);
  });

  it('drops them with the spec that they were read for', () => {
    const first = after({ servers });
    expect(after({ serverList: 'Unknown' }, first, { generation: 2 })).not.toHaveProperty('servers');
    expect(after({ servers }, first, { listServers: false })).not.toHaveProperty('servers');
  });
});
