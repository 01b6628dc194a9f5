import { describe, expect, it } from 'vitest';

import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { CREATE, inProcess, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';
const SERVERS = '/beta/vps/servers';

async function world() {
  const parts = inProcess();
  const token = await parts.login();
  const { identifier } = parts.simulation.fleet.addServer('default');
  const path = `${SERVERS}/${identifier}`;
  const status = async (of: string, method = 'GET') => (await parts.call(of, { token, method })).status;
  return { ...parts, token, status, path, accounts: parts.simulation.accounts };
}

describe('a suspended account', () => {
  it('with `login` keeps its tokens, and its servers after it resumes', async () => {
    const { send, accounts, status, path, simulation, login } = await world();
    accounts.suspend('default', 'login');
    const refused = await send(loginRequest(simulation.authUrl));
    expect(refused).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    expect(simulation.ledger.logins({ ok: false })).toMatchObject([{ account: 'default' }]);
    expect(await status(path)).toBe(200);
    accounts.resume('default');
    expect(await login()).toMatch(/^simulated-token/);
    expect(simulation.aliveServers()).toHaveLength(1);
  });

  it.each([401, 403] as const)('with `calls` gets %i for each call, and its servers stay alive', async (refusal) => {
    const { accounts, status, path, login, simulation } = await world();
    accounts.suspend('default', 'calls', refusal);
    expect(await login()).toMatch(/^simulated-token/);
    for (const of of [PRODUCTS, path, '/beta/queue/vps/1001']) expect(await status(of)).toBe(refusal);
    expect(await status(path, 'DELETE')).toBe(refusal);
    expect(simulation.aliveServers()).toHaveLength(1);
    accounts.resume('default');
    expect(await status(path)).toBe(200);
  });

  it('with `empty` has empty lists, knows no server and cannot order', async () => {
    const { accounts, status, path, call, token, create, simulation } = await world();
    const task = await create(token);
    accounts.suspend('default', 'empty');
    expect((await call(PRODUCTS, { token })).json).toEqual([]);
    expect((await call('/beta/vps/images', { token })).json).toEqual([]);
    expect((await call('/beta/vps/disk-sizes', { token })).json).toEqual({});
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE })).status).toBe(404);
    for (const of of [path, `/beta/queue/vps/${task}`]) expect(await status(of)).toBe(404);
    expect(await status(path, 'DELETE')).toBe(404);
    expect(simulation.aliveServers()).toHaveLength(2);
    accounts.resume('default');
    expect([await status(path), await status(`/beta/queue/vps/${task}`)]).toEqual([200, 200]);
  });

  it('must exist, and does not affect other accounts', async () => {
    const { accounts, login, call } = await world();
    const other = { keyId: 'o', secret: 'o' };
    accounts.addKey('other', other);
    accounts.suspend('default', 'empty');
    expect((await call(PRODUCTS, { token: await login(other) })).json).not.toEqual([]);
    expect(() => accounts.suspend('unknown', 'login')).toThrow('no account unknown');
    expect(() => accounts.resume('unknown')).toThrow('no account unknown');
  });
});

describe('a key that moves to another account', () => {
  it.each([false, true])('logs in to that account; its tokens move too: %s', async (moveTokens) => {
    const { accounts, login, call, token, path, simulation } = await world();
    accounts.moveKey(DEFAULT_KEY.keyId, 'other', { moveTokens });
    expect((await call(path, { token })).status).toBe(moveTokens ? 404 : 200);
    expect((await call(path, { token: await login() })).status).toBe(404);
    expect(simulation.ledger.logins().map(({ account }) => account)).toEqual(['default', 'other']);
    expect(simulation.aliveServers('default')).toHaveLength(1);
    accounts.moveKey(DEFAULT_KEY.keyId, 'default');
    expect((await call(path, { token: await login() })).status).toBe(200);
    expect(() => accounts.moveKey('none', 'other')).toThrow('no key none');
  });
});
