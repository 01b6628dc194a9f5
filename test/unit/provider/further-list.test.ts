/** The lists that only some providers have: their failures, how long an answer is kept, and that nothing depends on them. */
import { describe, expect, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import { KEY, providerFor, sessionFor, startStub, type Reply, type StubProvider } from './stub-provider.ts';

describe.each([
  { name: 'zones', path: '/beta/vps/zones', body: { lon: {} }, list: [{ code: 'lon' }] },
  { name: 'hosts', path: '/beta/vps/hosts', body: { host1: { name: 'host1' }, host2: {} }, list: ['host1', 'host2'] },
  {
    name: 'prices',
    path: '/beta/vps/pricing',
    body: { products: { a: 1018 } },
    list: { products: { a: 1018 }, disks: {} },
  },
] as const)('the list of $name', ({ name, path, body, list }) => {
  const answering = async (reply: Reply): Promise<StubProvider> => {
    const stub = await startStub();
    stub.on(`GET ${path}`, reply);
    return stub;
  };

  it.each([
    [404, 'Unavailable'],
    [405, 'Unavailable'],
    [501, 'Unavailable'],
    [403, 'Forbidden'],
    [401, 'Unknown'],
    [303, 'Unknown'],
    [429, 'Unknown'],
    [500, 'Unknown'],
  ])('is, after a %i, %s, and no reason to refuse the key or to log in again', async (status, state) => {
    const stub = await answering({ status, body: { error: 'no' } });
    const account = providerFor(stub).account(KEY);
    expect(await account.session('')[name](0)).toEqual({ state });
    expect(account.isRefused()).toBe(false);
    expect([stub.count('GET', path), stub.count('POST', '/auth/login')]).toEqual([1, 1]);
  });

  it.each([{}, [], name, { error: { message: 'no' } }])('is unknown after %j', async (odd) => {
    expect(await sessionFor(await answering({ status: 200, body: odd }))[name](0)).toEqual({ state: 'Unknown' });
  });

  it('is read once by those that ask at once, and again once it is too old', async () => {
    let now = 0;
    const stub = await answering({ status: 200, body });
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    await Promise.all([session[name](1000), session[name](1000)]);
    now += 1000;
    await session[name](1000);
    expect(stub.count('GET', path)).toBe(1);
    now += 1;
    await session[name](1000);
    expect(stub.count('GET', path)).toBe(2);
  });

  it('keeps a failure as long, and the last list while it cannot be read', async () => {
    let now = 0;
    const stub = await answering({ status: 200, body });
    const session = sessionFor(stub, { timers: { ...realTimers, monotonic: () => now } });
    expect(await session[name](1000)).toEqual({ state: 'Available', list });
    stub.on(`GET ${path}`, { status: 500 });
    now += 1001;
    expect(await session[name](1000)).toEqual({ state: 'Unknown', list });
    expect(await session[name](1000)).toEqual({ state: 'Unknown', list });
    expect(stub.count('GET', path)).toBe(2);
    stub.on(`GET ${path}`, { status: 404 });
    now += 1001;
    expect(await session[name](1000)).toEqual({ state: 'Unavailable' });
    expect(await session[name](1000)).toEqual({ state: 'Unavailable' });
    expect(stub.count('GET', path)).toBe(3);
  });
});
