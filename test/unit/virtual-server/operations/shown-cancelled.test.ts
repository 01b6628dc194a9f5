/** A server that the provider shows as cancelled belongs to no object, whatever tells which one it belonged to. */
import { describe, expect, it } from 'vitest';
import type { ServerRecord } from '../../../../src/api/record.ts';
import type { VirtualServer } from '../../../../src/api/virtual-server.ts';
import { FINALIZER, SERVER_GONE_ANNOTATION } from '../../../../src/api/names.ts';
import { ProviderError, ResponseError } from '../../../../src/provider/error.ts';
import { PagedList } from '../../../../src/provider/paged-list.ts';
import { knownRecord } from '../../../../src/virtual-server/decision/known-record.ts';
import { ELSEWHERE, HELD, KNOWN, NOW, SERVER, UID, adopting, web, webWith } from '../../../fixtures/decision.ts';
import { DENIED, shownBy, visit, type Answers, type Given, type Visited } from '../../../fixtures/visits.ts';

const RUNNING = { identifier: 'srv1', serverStatus: 'running' };
/** A cancelled server without anything that identifies it. */
const BARE = { ...SERVER, status: 'cancelled', macs: [], ipv6: [], ipv4: [] };
const STRANGER = { ...BARE, macs: ['00:00:5e:00:53:ff'] };
const HOUR_MS = 3_600_000;

interface Course {
  answers: (count: number) => Answers;
  given?: Given;
  hours?: number;
}

/** Visits the object until it is gone or the time has passed. */
async function after(object: VirtualServer, { answers, given = {}, hours = 3 }: Course): Promise<Visited[]> {
  const visits: Visited[] = [];
  let now = NOW;
  for (let last: Visited | undefined; now - NOW < hours * HOUR_MS;) {
    const before = last && { memo: last.memo };
    last = await visit(last?.object ?? object, {
      definition: 'kept',
      ...given,
      ...before,
      now,
      answers: answers(visits.length),
    });
    visits.push(last);
    if (last.object === undefined) break;
    now += Math.max(1000, last.requeueAfterMs ?? HOUR_MS / 60);
  }
  return visits;
}

const doomed = (own = KNOWN): VirtualServer => webWith(own, { deleting: true, status: RUNNING });
function lastOf(visits: readonly Visited[]): Visited {
  const last = visits.at(-1);
  if (last === undefined) throw new Error('no visit');
  return last;
}
const heldBy = ({ object }: Visited): ServerRecord | undefined => object && knownRecord(object);
const all = (visits: readonly Visited[], call: string): number =>
  visits.flatMap(({ calls }) => calls).filter((each) => each === call).length;

describe('a deleted object whose server is shown as cancelled, without its addresses', () => {
  it.each([
    { what: 'the answer to the DELETE was lost', removed: new ProviderError('PROVIDER_TIMEOUT', 'x') },
    { what: 'the read after the DELETE still showed it', removed: 'ok' },
  ])('goes if $what', async ({ removed }) => {
    const visits = await after(doomed(), {
      answers: (count) => ({ server: count === 0 ? SERVER : BARE, removed, after: SERVER, servers: [] }),
      given: { listsServers: true },
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(visits.at(-1)?.events).toMatchObject([{ reason: 'ServerCancelled' }]);
    expect(all(visits, 'delete')).toBe(1);
  });

  it.each([
    { what: 'with a list', answers: { servers: [] }, given: { listsServers: true as const } },
    { what: 'without a list', answers: {}, given: {} },
    {
      what: 'with a page that lacks it',
      answers: { servers: new PagedList(new Set(['srv0']), []) },
      given: { listsServers: true as const },
    },
    { what: 'with other addresses', answers: { server: STRANGER }, given: {} },
  ])('goes without a DELETE once the word has lasted as long as a 404 ($what)', async ({ answers, given }) => {
    const visits = await after(doomed(), { answers: () => ({ server: BARE, ...answers }), given });
    expect(visits[0]?.object).toBeDefined();
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(all(visits, 'delete')).toBe(0);
    expect(visits.length).toBeGreaterThan(2);
    expect(shownBy(visits[0] ?? lastOf(visits))).toMatchObject({
      reason: 'AbsenceUnproven',
      message: expect.stringContaining('The provider answers that server srv1 is cancelled, which may') as string,
    });
  });

  it.each([
    { what: 'the list has the server', answers: { servers: ['srv1'] }, reason: 'ServerNotVisible' },
    {
      what: 'a page of the list has the server',
      answers: { servers: new PagedList(new Set(['srv1']), []) },
      reason: 'ServerNotVisible',
    },
    { what: 'the list fails', answers: { servers: new ResponseError(503, 'down') }, reason: 'ProviderUnavailable' },
    { what: 'no products are shown', answers: { products: [] }, reason: 'ServerNotVisible' },
    { what: 'it was read under another account', given: { account: ELSEWHERE }, reason: 'ServerNotVisible' },
    {
      what: 'its status says that it runs',
      answers: { server: { ...BARE, status: 'running' } },
      reason: 'IdentityUnproven',
    },
    {
      what: 'its status is an unknown word',
      answers: { server: { ...BARE, status: 'unprovisioned' } },
      reason: 'IdentityUnproven',
    },
  ])('stays if $what', async ({ answers, given, reason }) => {
    const visits = await after(doomed(), { answers: () => ({ server: BARE, ...answers }), given: given ?? {} });
    expect(visits.at(-1)?.object).toBeDefined();
    expect(all(visits, 'delete')).toBe(0);
    expect(shownBy(lastOf(visits)).reason).toBe(reason);
  });

  it('is cancelled when the provider shows that it lives before the word has lasted', async () => {
    const visits = await after(doomed(), {
      answers: (count) => ({ server: count < 2 ? BARE : SERVER, removed: 'ok', after: DENIED }),
    });
    expect(visits.at(-1)?.object).toBeUndefined();
    expect(visits.map(({ calls }) => calls.includes('delete'))).toEqual([false, false, true]);
  });
});

describe('a living object', () => {
  it('counts its server as gone if there was doubt about it, and gets no other one', async () => {
    const visits = await after(webWith(KNOWN, { status: RUNNING }), {
      answers: (count) => ({ server: count === 0 ? DENIED : BARE }),
    });
    expect(shownBy(lastOf(visits)).reason).toBe('ServerMissing');
    expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
  });

  it('keeps a server that is recognized, whatever the word means', async () => {
    const visits = await after(webWith(KNOWN, { status: RUNNING }), {
      answers: () => ({ server: { ...SERVER, status: 'removed' }, servers: [] }),
      given: { listsServers: true },
    });
    expect(shownBy(lastOf(visits)).reason).toBe('ServerNotRunning');
    expect(heldBy(lastOf(visits))).toMatchObject({ identifier: 'srv1' });
    expect(heldBy(lastOf(visits))).not.toHaveProperty('missingAt');
  });

  it.each([
    { status: 'removed', reason: 'ServerMissing' },
    { status: 'running', reason: 'Available' },
  ])(
    'is $reason if you say that its server is gone, which the provider shows as $status',
    async ({ status, reason }) => {
      const said = webWith(KNOWN, { status: RUNNING, annotations: { [SERVER_GONE_ANNOTATION]: 'srv1' } });
      const visits = await after(said, {
        answers: () => ({ server: { ...SERVER, status }, servers: [] }),
        given: { listsServers: true },
      });
      expect(shownBy(lastOf(visits)).reason).toBe(reason);
      expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
    },
  );
});

describe('an order that fails, whose server is shown as cancelled', () => {
  const said = 'Out of stock';
  const failing: Answers = {
    task: new ResponseError(500, said, { said }),
    server: { ...SERVER, status: 'cancelled' },
    order: { kind: 'created', task: 8 },
  };

  it('is followed by another one, where the list confirms it', async () => {
    const visits = await after(webWith({ ...HELD, attempt: 'a0' }), {
      answers: () => ({ ...failing, servers: ['srv9'] }),
      given: { listsCreating: true, listsServers: true },
      hours: 1,
    });
    expect(visits.flatMap(({ requests }) => requests).length).toBeGreaterThan(0);
    expect(visits.map((each) => shownBy(each).reason)).not.toContain('ServerNotRunning');
  });

  it.each([
    { what: 'the list has the server', servers: ['srv1'] },
    { what: 'there is no list', servers: undefined },
  ])('is followed by none, if $what', async ({ servers }) => {
    const visits = await after(webWith({ ...HELD, attempt: 'a0' }), {
      answers: () => ({ ...failing, ...(servers && { servers }) }),
      given: servers === undefined ? {} : { listsCreating: true, listsServers: true },
    });
    expect(visits.flatMap(({ requests }) => requests)).toEqual([]);
    expect(shownBy(lastOf(visits))).toMatchObject({
      reason: 'CreateFailed',
      message: expect.stringContaining(
        servers === undefined ? 'shows server srv1 as cancelled' : 'still has it',
      ) as string,
    });
  });
});

describe('a cancelled server that no object holds', () => {
  it('is not held under an identifier that you chose, and nothing is ordered beside it', async () => {
    const server = { ...SERVER, identifier: 'shop', name: `default/web (${UID.slice(0, 8)})`, status: 'cancelled' };
    const object = web({ spec: { ...web().spec, identifier: 'shop' } });
    const named = { kind: 'created', task: 8 } as const;
    const visited = await visit(object, {
      ordersNamed: true,
      listsServers: true,
      answers: { server, servers: [], named, task: { state: 'pending' } },
    });
    expect(visited.requests).toEqual([]);
    expect(shownBy(visited)).toMatchObject({
      reason: 'IdentifierTaken',
      message: expect.stringContaining('shows a cancelled server with the identifier shop') as string,
    });
    const free = await visit(visited.object ?? object, {
      ordersNamed: true,
      listsServers: true,
      now: NOW + HOUR_MS,
      answers: { server: DENIED, servers: [], named, task: { state: 'pending' } },
    });
    expect(free.requests).toHaveLength(1);
  });

  it('is not adopted', async () => {
    const visited = await visit(web(adopting('srv1')), {
      answers: { server: { ...SERVER, status: 'Cancelled ' } },
    });
    expect(heldBy(visited)).not.toMatchObject({ identifier: 'srv1' });
    expect(shownBy(visited)).toMatchObject({
      reason: 'ServerNotVisible',
      message: expect.stringContaining('srv1') as string,
    });
    expect(visited.requests).toEqual([]);
  });

  it.each([
    {
      what: 'refuses to cancel it again',
      removed: new ResponseError(409, 'x', { said: 'cancelled already' }),
      server: SERVER,
    },
    { what: 'denies it then', removed: DENIED, server: BARE },
  ])(
    'keeps no object that is being deleted and names it for adoption, if the provider $what',
    async ({ removed, server }) => {
      const base = web(adopting('srv1'));
      const metadata = { ...base.metadata, finalizers: [FINALIZER], deletionTimestamp: '2026-01-02T00:00:10Z' };
      const visits = await after(
        { ...base, metadata },
        { answers: () => ({ server: { ...server, status: 'cancelled' }, removed, servers: [] }) },
      );
      expect(lastOf(visits).object).toBeUndefined();
      expect(all(visits, 'delete')).toBe(1);
    },
  );
});
