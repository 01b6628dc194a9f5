/** A request whose permission is withdrawn is not sent, however late that happens. */
import { describe, expect, it } from 'vitest';
import { realTimers } from '../../../src/base/timers.ts';
import { sessionFor, startStub, order } from './stub-provider.ts';

describe('permission to send', () => {
  it('is checked once an order has a connection, and a refusal leaves the order unsent', async () => {
    const stub = await startStub();
    const session = sessionFor(stub);
    let asked = 0;
    const outcome = await order(session, { maySend: () => ++asked > 1 });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(asked).toBe(1);
    expect(stub.seen.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /auth/login']);
  });

  it('is checked again before an order is retried after a 401', async () => {
    const stub = await startStub();
    stub.on('POST /beta/vps/servers', { status: 401 });
    let asked = 0;
    const outcome = await order(sessionFor(stub), { maySend: () => ++asked === 1 });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(stub.seen.filter(({ path }) => path === '/beta/vps/servers')).toHaveLength(1);
  });

  it.each([
    ['both clocks', { monotonic: 10_000, wall: 10_000 }],
    ['the wall clock, as of a machine that is suspended', { monotonic: 0, wall: 10_000 }],
    ['the monotonic clock, while the time is set back', { monotonic: 10_000, wall: -3_600_000 }],
  ])('does not count if to ask for it takes ten seconds by %s', async (_clock, took) => {
    const stub = await startStub();
    const late = { monotonic: 0, wall: 0 };
    const timers = {
      ...realTimers,
      now: () => realTimers.now() + late.wall,
      monotonic: () => realTimers.monotonic() + late.monotonic,
    };
    let asked = 0;
    const outcome = await order(sessionFor(stub, { timers }), {
      maySend: () => {
        asked += 1;
        Object.assign(late, took);
        return true;
      },
    });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(stub.count('POST', '/beta/vps/servers')).toBe(0);
    expect(asked).toBe(1);
  });

  it('is not asked for a machine that was suspended since the connection was opened', async () => {
    const stub = await startStub();
    let suspendedMs = 0;
    let asked = 0;
    const timers = { ...realTimers, now: () => realTimers.now() + suspendedMs };
    const outcome = await order(sessionFor(stub, { timers }), {
      sending: () => {
        suspendedMs = 3_600_000;
        return Promise.resolve();
      },
      maySend: () => ++asked > 0,
    });
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect([asked, stub.count('POST', '/beta/vps/servers')]).toEqual([0, 0]);
  });

  it('is checked before a DELETE, and a refusal leaves it unsent', async () => {
    const stub = await startStub();
    await expect(sessionFor(stub).deleteServer('vs1', () => false)).rejects.toMatchObject({
      code: 'PROVIDER_WITHHELD',
    });
    expect(stub.seen.some(({ method }) => method === 'DELETE')).toBe(false);
  });
});
