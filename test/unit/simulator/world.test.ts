import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import type { Simulation } from '../../../src/simulator/index.ts';
import { startPanel } from '../../../src/simulator/panel.ts';
import type { Panel, PanelState } from '../../../src/simulator/panel.ts';
import { CREATE, inProcess } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const SERVERS = '/beta/vps/servers';

let world: ReturnType<typeof inProcess>;
let simulation: Simulation;
let panel: Panel;
let token: string;
beforeEach(async () => {
  world = inProcess();
  simulation = world.simulation;
  panel = await startPanel(simulation, 0);
  token = await world.login();
});
afterEach(() => panel.close());

async function post(path: string, body: unknown): Promise<{ status: number; error?: string }> {
  const response = await fetch(panel.url + path, { method: 'POST', body: JSON.stringify(body) });
  return { status: response.status, ...((await response.json()) as object) };
}

async function order(body: object): Promise<void> {
  expect(await post('/world', body)).toEqual({ status: 200 });
}

const status = async (path: string, method = 'GET') => (await world.call(path, { token, method })).status;
const poll = async (task: number) => (await world.call(`/beta/queue/vps/${task}`, { token })).json;
const add = (identifier: string) => simulation.fleet.addServer('default', { identifier });

describe('POST /world', () => {
  it('makes reads lag, forever with null, and catch up', async () => {
    add('vs1');
    await order({ lag: { cancelMs: null, cancelAgain: 200 } });
    expect(await status(`${SERVERS}/vs1`, 'DELETE')).toBe(200);
    expect([await status(`${SERVERS}/vs1`), await status(`${SERVERS}/vs1`, 'DELETE')]).toEqual([200, 200]);
    await order({ lag: { cancelMs: 0 } });
    expect(await status(`${SERVERS}/vs1`)).toBe(404);
  });

  it('lets servers live on after a DELETE, forever with null, until a later DELETE ends them', async () => {
    add('vs1');
    await order({ cancelTakes: { ms: null } });
    expect(await status(`${SERVERS}/vs1`, 'DELETE')).toBe(200);
    world.clock.advance(1e9);
    token = await world.login();
    expect(await status(`${SERVERS}/vs1`)).toBe(200);
    await order({ cancelTakes: { ms: 0 } });
    expect(simulation.aliveServers()).toHaveLength(1);
    expect(await status(`${SERVERS}/vs1`, 'DELETE')).toBe(200);
    expect(await status(`${SERVERS}/vs1`)).toBe(404);
  });

  it('starts false answers and short lists for a time, and ends them', async () => {
    await order({ falsify: { route: PRODUCTS, status: 403, forMs: 1_000 } });
    expect(await status(PRODUCTS)).toBe(403);
    world.clock.advance(1_000);
    expect(await status(PRODUCTS)).toBe(200);
    await order({ shorten: { list: 'products', keep: 1 } });
    expect((await world.call(PRODUCTS, { token })).json).toHaveLength(1);
    await order({ falsify: { route: PRODUCTS, status: 500, fromMs: world.clock.now() + 5, method: 'GET' } });
    expect(await status(PRODUCTS)).toBe(200);
    world.clock.advance(5);
    expect(await status(PRODUCTS)).toBe(500);
    await order({ endLies: {} });
    expect((await world.call(PRODUCTS, { token })).json).toHaveLength(4);
  });

  it('answers a DELETE with 200 and cancels nothing until the lies end', async () => {
    const { identifier } = simulation.fleet.addServer('default');
    await order({ cancelAnswer: { body: 'message', param: identifier, forMs: 1_000 } });
    const remove = () => world.call(`/beta/vps/servers/${identifier}`, { method: 'DELETE', token });
    expect((await remove()).status).toBe(200);
    expect(simulation.aliveServers()).toHaveLength(1);
    await order({ endLies: {} });
    await remove();
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('numbers tasks per account, restarts counters, and completes the newest task of an account', async () => {
    await order({ taskNumbering: { mode: 'account' }, addKey: { keyId: 'o', secret: 'o', account: 'other' } });
    await world.create(token);
    await world.create(await world.login({ keyId: 'o', secret: 'o' }));
    await order({ restartTaskCounter: { account: 'default' } });
    await world.create(token);
    expect(await post('/tasks/1001/complete', { account: 'default' })).toEqual({ status: 200 });
    expect(simulation.aliveServers().map(({ task, state }) => [task, state])).toEqual([
      [1001, 'creating'],
      [1001, 'creating'],
      [1001, 'running'],
    ]);
  });

  it('fails a task without its identifier, and hides identifiers until the end', async () => {
    const [failed, pending] = [await world.create(token), await world.create(token)];
    await order({ failTask: { task: failed, text: 'Failed', identifier: false }, identifierFrom: { mode: 'end' } });
    expect(await poll(failed)).toEqual({ status: 'Failed' });
    expect(await poll(pending)).not.toHaveProperty('identifier');
  });

  it('completes and fails tasks beyond 2^53', async () => {
    const long = inProcess({ firstTask: 2n ** 53n });
    const token = await long.login();
    await long.create(token);
    await long.create(token);
    const own = await startPanel(long.simulation, 0);
    const act = (path: string, body: object) => fetch(own.url + path, { method: 'POST', body: JSON.stringify(body) });
    expect((await act('/tasks/9007199254740992/complete', {})).status).toBe(200);
    expect((await act('/world', { failTask: { task: '9007199254740993', text: 'Failed' } })).status).toBe(200);
    await own.close();
    expect(long.simulation.aliveServers().map(({ task, state }) => [task, state])).toEqual([
      ['9007199254740992', 'running'],
    ]);
  });

  it('reuses an identifier, and changes its case', async () => {
    for (const identifier of ['vs1', 'vs2']) {
      add(identifier);
      simulation.fleet.removeServer(identifier);
    }
    await order({ reuseIdentifier: { identifier: 'vs1', account: 'other' }, identifierCase: { mode: 'echo' } });
    expect(simulation.aliveServers()).toMatchObject([{ identifier: 'vs1', account: 'other', serial: 3 }]);
    await order({ reuseIdentifier: { identifier: 'vs2', atNextCreate: true } });
    simulation.fleet.completeTask(await world.create(token));
    expect((await world.call(`${SERVERS}/VS2`, { token })).json).toMatchObject({ identifier: 'VS2' });
  });

  it('hides and changes addresses', async () => {
    const [{ macs, ipv6 }] = [add('vs1'), add('vs2')];
    await order({ addresses: { show: 'none', identifier: 'vs2' }, renumber: { identifier: 'vs1' } });
    const [first, second] = [`${SERVERS}/vs1`, `${SERVERS}/vs2`];
    expect((await world.call(first, { token })).json).toMatchObject({ macs });
    expect((await world.call(first, { token })).json).not.toMatchObject({ ipv6 });
    expect((await world.call(second, { token })).json).toMatchObject({ macs: [], ipv6: [] });
    await order({ addresses: { show: 'no-macs' } });
    add('vs3');
    expect((await world.call(`${SERVERS}/vs3`, { token })).json).toMatchObject({ macs: [] });
  });

  it('suspends and resumes an account, and moves a key', async () => {
    await order({ suspend: { account: 'default', how: 'calls', status: 403 } });
    expect(await status(PRODUCTS)).toBe(403);
    await order({ resume: { account: 'default' } });
    add('vs1');
    expect(await status(`${SERVERS}/vs1`)).toBe(200);
    await order({ moveKey: { keyId: DEFAULT_KEY.keyId, account: 'other', moveTokens: true } });
    expect(await status(`${SERVERS}/vs1`)).toBe(404);
  });

  it('changes the API, and variants that were never chosen with it', async () => {
    await order({ variants: { deleteDenied: 403 } });
    const denied = async () => [await status(`${SERVERS}/none`), await status(`${SERVERS}/none`, 'DELETE')];
    expect(await denied()).toEqual([404, 403]);
    await order({ api: { mode: 'public' } });
    expect(await denied()).toEqual([403, 403]);
    expect((await world.call(SERVERS, { token })).json).toEqual({});
    await order({ variants: { readDenied: 404, taskRememberedMs: null } });
    expect(await denied()).toEqual([404, 403]);
    await order({ api: { mode: 'documented' } });
    expect(await denied()).toEqual([404, 403]);
    expect(await status(SERVERS)).toBe(404);
  });

  it('takes rights from an account or a key, and returns them', async () => {
    await order({ restrict: { account: 'default', from: 'servers' } });
    expect([await status(PRODUCTS), await status(`${SERVERS}/none`)]).toEqual([200, 403]);
    await order({ restrict: { keyId: DEFAULT_KEY.keyId } });
    expect(await status(PRODUCTS)).toBe(403);
    await order({ permit: { keyId: DEFAULT_KEY.keyId } });
    expect([await status(PRODUCTS), await status(`${SERVERS}/none`)]).toEqual([200, 403]);
    await order({ permit: { account: 'default' } });
    expect(await status(`${SERVERS}/none`)).toBe(404);
  });

  it('takes a product out of stock, and lets a task fail later', async () => {
    await order({ stock: { product: CREATE.product, inStock: false }, variants: { outOfStock: 400 } });
    expect((await world.call(SERVERS, { method: 'POST', token, json: CREATE })).status).toBe(400);
    await order({ stock: { product: CREATE.product, inStock: true } });
    const task = await world.create(token);
    await order({ failTask: { task, text: 'Failed', as: 'error', afterMs: 1_000 } });
    expect(await status(`/beta/queue/vps/${task}`)).toBe(200);
    world.clock.advance(1_000);
    expect(await poll(task)).toEqual({ message: 'Failed' });
  });

  it('changes a server', async () => {
    add('vs1');
    await order({ updateServer: { identifier: 'vs1', status: 'shut down', dormant: true, name: 'shop' } });
    const changed = { status: 'shut down', dormant: true, name: 'shop' };
    expect((await world.call(`${SERVERS}/vs1`, { token })).json).toMatchObject(changed);
  });

  it('changes the answer to creates', async () => {
    await order({ createAnswer: { status: 201, location: false } });
    const answer = await world.call(SERVERS, { method: 'POST', token, json: CREATE });
    expect([answer.status, answer.headers.has('location')]).toEqual([201, false]);
  });

  it.each<[string, unknown]>([
    ['the body', []],
    ['weather', { weather: {} }],
    ['toString', { toString: {} }],
    ['lag', { lag: 5 }],
    ['lag.taskMs', { lag: { taskMs: '5s' } }],
    ['lag.serverMs', { lag: { serverMs: -1 } }],
    ['lag.cancelAgain', { lag: { cancelAgain: 500 } }],
    ['lag: Unrecognized key: "ms"', { lag: { ms: 5 } }],
    ['falsify.route', { falsify: { route: '/servers', status: 404 } }],
    ['falsify.status', { falsify: { route: PRODUCTS } }],
    ['falsify.forMs', { falsify: { route: PRODUCTS, status: 404, forMs: 1, untilMs: 2 } }],
    ['shorten.keep', { shorten: { list: 'images', keep: 0.5 } }],
    ['taskNumbering.mode: Invalid option: expected one of "global"|"account"', { taskNumbering: { mode: 'local' } }],
    ['restartTaskCounter', { restartTaskCounter: { account: 'default' } }],
    ['failTask.task', { failTask: { task: '7' } }],
    ['failTask: There is no task 7', { failTask: { task: 7 } }],
    ['identifierCase.mode', { identifierCase: { mode: 'lower' } }],
    ['reuseIdentifier.account', { reuseIdentifier: { identifier: 'vs1', account: 'a', atNextCreate: true } }],
    ['reuseIdentifier: There was no server vs1', { reuseIdentifier: { identifier: 'vs1' } }],
    ['renumber.identifier', { renumber: {} }],
    ['suspend.how', { suspend: { account: 'default', how: 'slowly' } }],
    ['suspend: There is no account a', { suspend: { account: 'a', how: 'empty' } }],
    ['api.mode', { api: { mode: 'private' } }],
    ['variants.readDenied', { variants: { readDenied: 410 } }],
    ['variants: Unrecognized key: "colour"', { variants: { colour: 'red' } }],
    ['falsify.says', { falsify: { route: PRODUCTS, status: 403, says: 'no' } }],
    ['restrict.from', { restrict: { account: 'default', from: 'some' } }],
    ['restrict: Name either an account or a key', { restrict: {} }],
    ['updateServer: There is no server vs1', { updateServer: { identifier: 'vs1', status: 'off' } }],
    ['createAnswer.body', { createAnswer: { body: 'no' } }],
    ['moveKey.account', { moveKey: { keyId: 'k' } }],
  ])('refuses an invalid order and names the error: %s', async (named, body) => {
    const refused = await post('/world', body);
    expect(refused.status).toBe(400);
    expect(refused.error).toContain(named);
  });

  it('does nothing if one of several orders is invalid', async () => {
    const orders = { suspend: { account: 'default', how: 'calls' }, createAnswer: { status: 204 } };
    expect((await post('/world', orders)).status).toBe(400);
    expect(await status(PRODUCTS)).toBe(200);
  });
});

describe('GET /state', () => {
  it('includes servers that are gone', async () => {
    add('vs1');
    await status(`${SERVERS}/vs1`, 'DELETE');
    const state = (await (await fetch(`${panel.url}/state`)).json()) as PanelState;
    expect(state.alive).toEqual([]);
    expect(state.servers).toMatchObject([{ serial: 1, identifier: 'vs1', state: 'cancelled', cancelledBy: 'default' }]);
  });
});
