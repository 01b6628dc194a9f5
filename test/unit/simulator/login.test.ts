import { describe, expect, it } from 'vitest';

import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { basic, inProcess, loginRequest } from './client.ts';

const PRODUCTS = '/beta/vps/products';

describe('login', () => {
  it('returns a token, its lifetime and its type', async () => {
    const { send, simulation } = inProcess({ tokenLifetimeSeconds: 120 });
    const answer = await send(loginRequest(simulation.authUrl));
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ access_token: expect.any(String) as string, expires_in: 120, token_type: 'bearer' });
    expect(simulation.ledger.logins({ ok: true })).toMatchObject([{ keyId: DEFAULT_KEY.keyId, account: 'default' }]);
  });

  it('refuses a wrong secret and an unknown key with invalid_client', async () => {
    const { send, simulation } = inProcess();
    for (const key of [
      { ...DEFAULT_KEY, secret: 'no' },
      { keyId: 'unknown', secret: 'no' },
    ]) {
      const answer = await send(loginRequest(simulation.authUrl, key));
      expect(answer.status).toBe(401);
      expect(answer.json).toEqual({ error: 'invalid_client', error_description: expect.any(String) as string });
    }
    expect(simulation.ledger.logins({ ok: false })).toHaveLength(2);
  });

  it('refuses with the chosen status', async () => {
    const { send, simulation } = inProcess({ loginFailureStatus: 400 });
    const answer = await send(loginRequest(simulation.authUrl, { keyId: 'unknown', secret: 'no' }));
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  });

  it('requires a form with grant_type client_credentials', async () => {
    const { call, simulation } = inProcess();
    const login = `${simulation.authUrl}/login`;
    const form = { authorization: basic(DEFAULT_KEY), 'content-type': 'application/x-www-form-urlencoded' };
    const wrongGrant = await call(login, { method: 'POST', headers: form, body: 'grant_type=password' });
    expect(wrongGrant).toMatchObject({ status: 400, json: { error: 'unsupported_grant_type' } });
    const asJson = { ...form, 'content-type': 'application/json' };
    const wrongType = await call(login, { method: 'POST', headers: asJson, body: '{}' });
    expect(wrongType).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  it('accepts secrets with colons and non-ASCII letters', async () => {
    const key = { keyId: 'schlüssel', secret: 'a:b:ü%2F' };
    const { login, call } = inProcess({ accounts: [{ name: 'a', keys: [key] }] });
    expect((await call(PRODUCTS, { token: await login(key) })).status).toBe(200);
  });

  it('accepts added keys and rotated secrets, and rejects revoked keys', async () => {
    const { send, login, call, simulation } = inProcess();
    const added = { keyId: 'second', secret: 'one' };
    simulation.accounts.addKey('other', added);
    const token = await login(added);
    simulation.accounts.rotateKey('second', 'two');
    expect((await send(loginRequest(simulation.authUrl, added))).status).toBe(401);
    expect((await call(PRODUCTS, { token })).status).toBe(200);
    simulation.accounts.revokeKey('second');
    expect((await call(PRODUCTS, { token })).status).toBe(401);
    expect((await send(loginRequest(simulation.authUrl, { keyId: 'second', secret: 'two' }))).status).toBe(401);
  });

  it('can keep the tokens of a revoked key valid', async () => {
    const { login, call, simulation } = inProcess();
    const token = await login();
    simulation.accounts.revokeKey(DEFAULT_KEY.keyId, { keepTokens: true });
    expect((await call(PRODUCTS, { token })).status).toBe(200);
  });
});

describe('tokens', () => {
  it('are required by every endpoint of the provisioning API', async () => {
    const { call } = inProcess();
    for (const path of [
      PRODUCTS,
      '/beta/vps/images',
      '/beta/vps/disk-sizes',
      '/beta/queue/vps/1',
      '/beta/vps/servers/x',
    ]) {
      expect((await call(path)).status).toBe(401);
      expect((await call(path, { token: 'made-up' })).status).toBe(401);
    }
    expect((await call('/beta/vps/servers', { method: 'POST', json: {} })).status).toBe(401);
    expect((await call('/beta/vps/servers/x', { method: 'DELETE' })).status).toBe(401);
  });

  it('work only from the address that obtained them, and use from elsewhere does not extend them', async () => {
    const { call, login, clock } = inProcess({ tokenLifetimeSeconds: 10 });
    const token = await login(DEFAULT_KEY, '192.0.2.1');
    clock.advance(9_999);
    expect((await call(PRODUCTS, { token, address: '192.0.2.2' })).status).toBe(401);
    clock.advance(1);
    expect((await call(PRODUCTS, { token, address: '192.0.2.1' })).status).toBe(401);
  });

  it('slide: they expire after their lifetime without use', async () => {
    const { call, login, clock } = inProcess({ tokenLifetimeSeconds: 10 });
    const token = await login();
    for (let use = 0; use < 5; use += 1) {
      clock.advance(9_999);
      expect((await call(PRODUCTS, { token })).status).toBe(200);
    }
    clock.advance(10_000);
    expect((await call(PRODUCTS, { token })).status).toBe(401);
  });

  it('expire after their lifetime from issue with tokenExpiry `issue`, used or not', async () => {
    const { call, login, clock } = inProcess({ tokenLifetimeSeconds: 10, tokenExpiry: 'issue' });
    const token = await login();
    clock.advance(9_999);
    expect((await call(PRODUCTS, { token })).status).toBe(200);
    clock.advance(1);
    expect((await call(PRODUCTS, { token })).status).toBe(401);
  });

  it('can be invalidated, all or those of one account', async () => {
    const other = { keyId: 'o', secret: 'o' };
    const { call, login, simulation } = inProcess();
    simulation.accounts.addKey('other', other);
    const [mine, theirs] = [await login(), await login(other)];
    simulation.accounts.forgetTokens('other');
    expect((await call(PRODUCTS, { token: theirs })).status).toBe(401);
    expect((await call(PRODUCTS, { token: mine })).status).toBe(200);
    simulation.accounts.forgetTokens();
    expect((await call(PRODUCTS, { token: mine })).status).toBe(401);
  });
});
