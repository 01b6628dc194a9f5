import { describe, expect, it } from 'vitest';

import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import type { ServerObject, SimulationOptions } from '../../../src/simulator/index.ts';
import { inProcess } from './client.ts';

const SERVERS = '/beta/vps/servers';
const OTHER = { keyId: 'o', secret: 'o' };

async function world(options: SimulationOptions = {}) {
  const parts = inProcess(options);
  const { simulation, call } = parts;
  simulation.accounts.addKey('other', OTHER);
  const [mine, theirs] = [await parts.login(DEFAULT_KEY), await parts.login(OTHER)];
  const poll = (token: string, task: number) => call(`/beta/queue/vps/${task}`, { token });
  const read = async (token: string, identifier: string) =>
    (await call(`${SERVERS}/${identifier}`, { token })).json as ServerObject;
  return { ...parts, fleet: simulation.fleet, mine, theirs, poll, read };
}

describe('task numbers', () => {
  it('are counted per account with taskNumbering `account`', async () => {
    const { create, poll, mine, theirs, fleet, simulation } = await world({ taskNumbering: 'account' });
    expect([await create(mine), await create(theirs), await create(mine)]).toEqual([1001, 1001, 1002]);
    const [first, second] = simulation.ledger.creates({ task: 1001 });
    expect([first?.account, second?.account]).toEqual(['default', 'other']);
    expect((await poll(mine, 1001)).json).toMatchObject({ identifier: first?.identifier });
    expect((await poll(theirs, 1001)).json).toMatchObject({ identifier: second?.identifier });
    fleet.completeTask(1001, 'default');
    expect((await poll(mine, 1001)).status).toBe(303);
    expect((await poll(theirs, 1001)).status).toBe(200);
    fleet.setTaskNumbering('global');
    expect((await poll(mine, 1001)).status).toBe(404);
  });

  it('do not tell which of two tasks creates a server, but its serial number does', async () => {
    const { create, read, mine, fleet, simulation } = await world();
    await create(mine);
    fleet.restartTaskCounter();
    await create(mine);
    const [first, second] = simulation.ledger.creates({ task: 1001 });
    fleet.completeServer(first?.serial ?? 0);
    expect(await read(mine, first?.identifier ?? '')).toMatchObject({ status: 'running' });
    expect(await read(mine, second?.identifier ?? '')).not.toHaveProperty('status');
  });

  it('are reused when the counter restarts, and name only the newest task', async () => {
    const { create, poll, mine, theirs, fleet, simulation } = await world();
    await create(mine);
    fleet.restartTaskCounter();
    expect(await create(mine)).toBe(1001);
    const [older, newer] = simulation.ledger.creates();
    expect((await poll(mine, 1001)).json).toMatchObject({ identifier: newer?.identifier });
    fleet.completeTask(1001);
    expect(simulation.aliveServers()).toMatchObject([
      { serial: older?.serial, state: 'creating' },
      { serial: newer?.serial, state: 'running' },
    ]);
    fleet.restartTaskCounter();
    await create(theirs);
    expect((await poll(mine, 1001)).status).toBe(404);
    expect(() => fleet.restartTaskCounter('other')).toThrow('global');
  });

  it('of one account are reused when its counter restarts', async () => {
    const { create, mine, theirs, fleet } = await world({ taskNumbering: 'account' });
    await create(mine);
    await create(theirs);
    fleet.restartTaskCounter('other');
    expect([await create(mine), await create(theirs)]).toEqual([1002, 1001]);
    expect(() => fleet.vanishTask(1002, 'other')).toThrow('1002 of account other');
  });

  it('may be reused, and cancelling the older server does not end the task of the newer one', async () => {
    const { create, poll, call, mine, fleet, simulation } = await world({ variants: { deleteDuringTask: 200 } });
    await create(mine);
    const [older] = simulation.aliveServers();
    fleet.restartTaskCounter();
    const task = await create(mine);
    await call(`${SERVERS}/${older?.identifier}`, { method: 'DELETE', token: mine });
    expect((await poll(mine, task)).status).toBe(200);
    expect(simulation.aliveServers()).toHaveLength(1);
  });
});

describe('a reused identifier', () => {
  it('names another server, even in another account, with other addresses', async () => {
    const { call, read, mine, theirs, fleet, simulation } = await world({ lag: { cancelMs: 1_000 } });
    const old = fleet.addServer('default', { identifier: 'vs1' });
    expect(() => fleet.reuseIdentifier('vs1')).toThrow('still alive');
    expect(() => fleet.reuseIdentifier('vs2')).toThrow('no server vs2');
    await call(`${SERVERS}/vs1`, { method: 'DELETE', token: mine });
    const renewed = fleet.reuseIdentifier('vs1', 'other');
    expect(renewed.identifier).toBe('vs1');
    expect(renewed.macs).not.toEqual(old.macs);
    expect(renewed.ipv6).not.toEqual(old.ipv6);
    expect(await read(mine, 'vs1')).toEqual(old);
    expect(await read(theirs, 'vs1')).toEqual(renewed);
    expect((await call(`${SERVERS}/vs1`, { method: 'DELETE', token: theirs })).status).toBe(200);
    expect(simulation.ledger.cancels()).toMatchObject([
      { serial: 1, identifier: 'vs1', account: 'default' },
      { serial: 2, identifier: 'vs1', account: 'other' },
    ]);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('stays in its account by default', async () => {
    const { read, theirs, fleet } = await world();
    fleet.addServer('other', { identifier: 'vs1', product: 'VPSX32' });
    fleet.removeServer('vs1');
    fleet.reuseIdentifier('vs1');
    expect(await read(theirs, 'vs1')).toMatchObject({ identifier: 'vs1', product: 'VPSX32' });
  });

  it('can go to the next create', async () => {
    const { create, mine, fleet, simulation } = await world();
    fleet.addServer('other', { identifier: 'old' });
    fleet.removeServer('old');
    fleet.reuseAtNextCreate('old');
    fleet.reuseAtNextCreate('old');
    await create(mine);
    await create(mine);
    expect(simulation.ledger.creates()).toMatchObject([{ identifier: 'old', serial: 2 }, { identifier: 'vs1001' }]);
  });
});

describe('the case of an identifier', () => {
  it.each([
    ['ignored', 'Vs1', 'Vs1'],
    ['echo', 'Vs1', 'vS1'],
    ['upper-in-server', 'vs1', 'VS1'],
    ['upper-in-task', 'VS1', 'vs1'],
  ] as const)('%s: a task shows %s and a server %s', async (identifierCase, inTask, inServer) => {
    const { create, poll, read, call, mine, fleet, simulation } = await world({ newIdentifier: () => 'Vs1' });
    const task = await create(mine);
    fleet.completeTask(task);
    expect((await call(`${SERVERS}/vS1`, { token: mine })).status).toBe(404);
    fleet.setIdentifierCase(identifierCase);
    const answer = await poll(mine, task);
    expect(answer.json).toEqual({ identifier: inTask });
    expect(answer.headers.get('location')).toBe(`${simulation.baseUrl}${SERVERS}/${inTask}`);
    expect(await read(mine, 'vS1')).toMatchObject({ identifier: inServer, admin_console: { username: inServer } });
    expect((await call(`${SERVERS}/vS1`, { method: 'DELETE', token: mine })).status).toBe(200);
    expect(simulation.ledger.cancels()).toMatchObject([{ identifier: 'Vs1' }]);
  });
});

describe('the addresses of a server', () => {
  it('are unique: no two servers share a MAC or an IPv6 address', async () => {
    const { fleet } = await world();
    const servers = Array.from({ length: 70_000 }, (_, n) => fleet.addServer('default', { identifier: `vs${n}` }));
    expect(new Set(servers.flatMap(({ macs }) => macs)).size).toBe(70_000);
    expect(new Set(servers.flatMap(({ ipv6 }) => ipv6)).size).toBe(70_000);
  });

  it('change by renumbering, except for the MAC', async () => {
    const { read, mine, fleet } = await world();
    const { identifier, macs, ipv6 } = fleet.addServer('default');
    fleet.renumber(identifier);
    const once = await read(mine, identifier);
    fleet.renumber(identifier);
    const twice = await read(mine, identifier);
    expect([once.macs, twice.macs]).toEqual([macs, macs]);
    expect(new Set([...ipv6, ...once.ipv6, ...twice.ipv6]).size).toBe(3);
  });

  it('can be hidden, all or only the MACs, and come back unchanged', async () => {
    const { read, mine, fleet } = await world({ addresses: 'no-macs' });
    const { identifier, ipv6, macs } = fleet.addServer('default');
    expect(await read(mine, identifier)).toMatchObject({ macs: [], ipv6 });
    fleet.setAddresses('none');
    const hidden = fleet.addServer('default').identifier;
    expect(await read(mine, hidden)).toMatchObject({ macs: [], ipv6: [] });
    expect(await read(mine, identifier)).toMatchObject({ macs: [], ipv6 });
    fleet.showAddresses(identifier, 'all');
    expect(await read(mine, identifier)).toMatchObject({ macs, ipv6 });
  });

  it.each([
    { addresses: 'zero-macs', shown: { macs: ['00:00:00:00:00:00'] } },
    { addresses: 'same-macs', shown: { macs: ['52:54:ff:ff:ff:ff'] } },
    { addresses: 'link-local', shown: { macs: [], ipv6: ['fe80::1'] } },
  ] as const)('can be the same for all servers: $addresses', async ({ addresses, shown }) => {
    const { read, mine, fleet } = await world({ addresses });
    for (const { identifier } of [fleet.addServer('default'), fleet.addServer('default')])
      expect(await read(mine, identifier)).toMatchObject(shown);
  });
});

describe('the history', () => {
  it('includes every server, even if its identifier and task number were reused', async () => {
    const { create, call, clock, mine, theirs, fleet, simulation } = await world();
    const at = clock.now();
    const [first] = [await create(mine), await create(mine), await create(theirs)];
    fleet.completeTask(first);
    fleet.failTask(first + 1);
    const { identifier = '' } = simulation.aliveServers()[0] ?? {};
    clock.advance(1_000);
    await call(`${SERVERS}/${identifier}`, { method: 'DELETE', token: mine });
    fleet.reuseIdentifier(identifier, 'other');
    fleet.removeServer(identifier);
    const lives = { identifier, endedAt: at + 1_000 };
    expect(fleet.history()).toMatchObject([
      { serial: 1, task: first, account: 'default', state: 'cancelled', cancelledBy: 'default', ...lives },
      { serial: 2, account: 'default', state: 'failed', endedAt: at, cancelledBy: undefined },
      { serial: 3, account: 'other', state: 'creating', endedAt: undefined, cancelledBy: undefined },
      { serial: 4, task: undefined, account: 'other', state: 'removed', cancelledBy: undefined, ...lives },
    ]);
  });
});
