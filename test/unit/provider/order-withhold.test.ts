/** A request whose permission is withdrawn is not sent, however late that happens. */
import { describe, expect, it } from 'vitest';
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

  it('is checked before a DELETE, and a refusal leaves it unsent', async () => {
    const stub = await startStub();
    await expect(sessionFor(stub).deleteServer('vs1', () => false)).rejects.toMatchObject({
      code: 'PROVIDER_WITHHELD',
    });
    expect(stub.seen.some(({ method }) => method === 'DELETE')).toBe(false);
  });
});
