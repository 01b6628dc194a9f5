import { describe, expect, it } from 'vitest';

import { inProcess } from './client.ts';

const PRODUCTS = '/beta/vps/products';

describe('in process', () => {
  it('a lost connection rejects, a truncated body breaks off, a hang waits', async () => {
    const { handler, simulation, login, call } = inProcess();
    const token = await login();
    simulation.faults.inject({ action: { kind: 'reset' } });
    await expect(call(PRODUCTS, { token })).rejects.toMatchObject({ name: 'ConnectionLostError', code: 'ECONNRESET' });
    simulation.faults.inject({ action: { kind: 'garbage', form: 'truncated' } });
    await expect(call(PRODUCTS, { token })).rejects.toThrow('breaks off');
    const hang = simulation.faults.inject({ action: { kind: 'hang' } });
    const abort = new AbortController();
    const request = new Request(simulation.baseUrl + PRODUCTS, { signal: abort.signal });
    const pending = handler(request, { sourceAddress: '192.0.2.1' });
    await hang.met;
    abort.abort();
    await expect(pending).rejects.toThrow('aborted');
  });
});
