/** A request that may not be sent any more is not sent, however late that is found out. */
import { describe, expect, it } from 'vitest';
import { REQUEST, sessionFor, startService } from './service.ts';

describe('leave to send', () => {
  it('is asked when the connection of a create stands, and a refusal leaves the create unsent', async () => {
    const service = await startService();
    const session = sessionFor(service);
    let asked = 0;
    const outcome = await session.createServer(REQUEST, () => ++asked > 1);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(asked).toBe(1);
    expect(service.seen.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /auth/login']);
  });

  it('is asked again before a create is repeated after a 401', async () => {
    const service = await startService();
    service.on('POST /beta/vps/servers', { status: 401 });
    let asked = 0;
    const outcome = await sessionFor(service).createServer(REQUEST, () => ++asked === 1);
    expect(outcome).toMatchObject({ kind: 'notCreated', error: { code: 'PROVIDER_WITHHELD' } });
    expect(service.seen.filter(({ path }) => path === '/beta/vps/servers')).toHaveLength(1);
  });

  it('is asked before a DELETE, and a refusal leaves it unsent', async () => {
    const service = await startService();
    await expect(sessionFor(service).deleteServer('vs1', () => false)).rejects.toMatchObject({
      code: 'PROVIDER_WITHHELD',
    });
    expect(service.seen.some(({ method }) => method === 'DELETE')).toBe(false);
  });
});
