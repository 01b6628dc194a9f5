/** Servers of the simulated provider that are switched off and on, restarted and made dormant. */
import { describe, expect, it } from 'vitest';
import { CHOICES, type SimulationOptions } from '../../../src/simulator/index.ts';
import { inProcess } from './client.ts';

async function world(options: SimulationOptions = {}) {
  const parts = inProcess({ api: 'public', ...options });
  const { call, clock, simulation } = parts;
  const { identifier } = simulation.fleet.addServer('default');
  const token = await parts.login();
  const path = `/beta/vps/servers/${identifier}`;
  const put = (what: string, json: unknown) => call(`${path}/${what}`, { method: 'PUT', token, json });
  const power = (power: string) => put('power', { power });
  const dormant = (json: object) => put('dormant', json);
  const reboot = () => call(`${path}/reboot`, { method: 'POST', token });
  /** What a read and the list show. */
  const shown = async () => {
    const read = (await call(path, { token })).json as { status: string; dormant: boolean };
    const listed = (await call('/beta/vps/servers', { token })).json as Record<string, { dormant: boolean }>;
    return [read.status, read.dormant, listed[identifier]?.dormant];
  };
  const calls = () => simulation.ledger.power({ identifier }).map(({ call }) => call);
  return { ...parts, token, identifier, path, power, dormant, reboot, shown, calls, clock };
}

const RUNNING = ['running', false, false];
const OFF = ['shut down', false, false];
const DORMANT = ['shut down', true, true];

describe('a server', () => {
  it('shuts down, and is paused before it runs again', async () => {
    const { power, shown, calls, clock } = await world({ variants: { shutdownMs: 20_000, pausedMs: 2_000 } });
    expect((await power('shutdown')).json).toEqual({ message: 'Server shutdown initiated' });
    expect(await shown()).toEqual(['shutting down', false, false]);
    clock.advance(20_000);
    expect(await shown()).toEqual(OFF);
    expect((await power('power-on')).status).toBe(200);
    expect(await shown()).toEqual(['paused', false, false]);
    clock.advance(2_000);
    expect(await shown()).toEqual(RUNNING);
    expect(calls()).toEqual(['shutdown', 'power-on']);
  });

  it.each([
    ['ignored', 'running'],
    ['unfinished', 'shutting down'],
  ] as const)('of which shutdown is %s stays %s, until it is switched off by force', async (shutdown, status) => {
    const { power, shown, clock } = await world({ variants: { shutdown } });
    expect((await power('shutdown')).status).toBe(200);
    clock.advance(200_000);
    expect(await shown()).toEqual([status, false, false]);
    expect((await power('power-off')).json).toEqual({ message: 'Server powered off' });
    expect(await shown()).toEqual(OFF);
  });

  it.each(['obeyed', 'queued'] as const)('lives on after a DELETE during a shutdown that is %s', async (shutdown) => {
    const variants = { shutdown, shutdownMs: 20_000, cancelWhileSwitching: 'ignored' } as const;
    const { call, path, token, power, clock, simulation } = await world({ variants });
    const del = async (): Promise<unknown> => (await call(path, { method: 'DELETE', token })).json;
    await power('shutdown');
    expect(await del()).toEqual({ message: 'Server is locked' });
    expect(simulation.aliveServers()).toHaveLength(1);
    clock.advance(20_000);
    expect(await del()).not.toEqual({ message: 'Server is locked' });
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('shuts down once for each queued request, also after it was started', async () => {
    const { power, shown, clock } = await world({ variants: { shutdown: 'queued', shutdownMs: 60_000 } });
    await power('shutdown');
    clock.advance(30_000);
    await power('shutdown');
    expect(await shown()).toEqual(RUNNING);
    clock.advance(30_000);
    expect(await shown()).toEqual(OFF);
    await power('power-on');
    expect(await shown()).toEqual(RUNNING);
    clock.advance(30_000);
    expect(await shown()).toEqual(OFF);
    await power('power-on');
    clock.advance(120_000);
    expect(await shown()).toEqual(RUNNING);
  });

  it('starts on its own after a shutdown, unless it was switched since', async () => {
    const { power, shown, clock } = await world({ variants: { shutdownMs: 20_000, startsAfterMs: 60_000 } });
    await power('shutdown');
    clock.advance(79_999);
    expect(await shown()).toEqual(OFF);
    clock.advance(1);
    expect(await shown()).toEqual(RUNNING);
    await power('shutdown');
    await power('power-off');
    clock.advance(200_000);
    expect(await shown()).toEqual(OFF);
  });

  it('is not changed by a call that the provider refuses with an unusual status', async () => {
    const { power, shown } = await world({ variants: { refusedStatus: 418 } });
    expect((await power('power-on')).status).toBe(418);
    expect(await shown()).toEqual(RUNNING);
  });

  it.each([
    ['off', OFF],
    ['running', RUNNING],
  ] as const)('is dormant, and %s after it wakes', async (wakes, after) => {
    const { dormant, power, shown, calls, simulation, identifier } = await world({ variants: { wakes } });
    const { ipv6 } = simulation.fleet.find('default', identifier)?.object ?? {};
    expect((await dormant({ dormant: true })).status).toBe(200);
    expect(await shown()).toEqual(DORMANT);
    expect((await dormant({ dormant: true })).json).toEqual({ error: 'Server is already dormant' });
    expect((await power('power-on')).status).toBe(400);
    expect((await dormant({ dormant: false })).json).toEqual({ error: 'Invalid product' });
    expect((await dormant({ dormant: false, product: 'VPSX8' })).status).toBe(200);
    expect(await shown()).toEqual(after);
    expect(simulation.fleet.find('default', identifier)?.object).toMatchObject({ product: 'VPSX8', ipv6 });
    expect(calls()).toEqual(['dormant', 'wake']);
  });

  it('restarts, unless it is off', async () => {
    const { reboot, power, shown, calls } = await world();
    expect((await reboot()).json).toEqual({ message: 'Reboot initiated' });
    expect(await shown()).toEqual(RUNNING);
    await power('shutdown');
    expect((await reboot()).status).toBe(400);
    expect((await power('shutdown')).status).toBe(400);
    expect(calls()).toEqual(['reboot', 'shutdown']);
  });

  it('is cancelled while it is off', async () => {
    const { power, call, path, token, simulation } = await world();
    await power('power-off');
    expect((await call(path, { method: 'DELETE', token })).status).toBe(200);
    expect(simulation.aliveServers()).toEqual([]);
    expect((await power('power-on')).status).toBe(403);
  });
});

it('refuses what it does not know', async () => {
  const { power, dormant, calls } = await world();
  expect([(await power('restart')).status, (await dormant({ dormant: 'yes' })).status]).toEqual([400, 400]);
  expect(calls()).toEqual([]);
});

it('switches no server of another account, and none that is being created', async () => {
  const { call, create, token, simulation } = await world();
  const { identifier } = simulation.fleet.addServer('other');
  await create(token);
  const created = simulation.ledger.creates()[0]?.identifier ?? '';
  for (const of of [identifier, created]) {
    const answer = await call(`/beta/vps/servers/${of}/reboot`, { method: 'POST', token });
    expect(answer.json).toEqual({ error: 'Server does not exist or access denied' });
  }
  expect(simulation.ledger.power()).toEqual([]);
});

describe('the calls are missing', () => {
  it.each(CHOICES.missingCall)('in the documented API, with %i, whatever the key may do', async (missingCall) => {
    const { power, dormant, reboot, simulation } = await world({ api: 'documented', variants: { missingCall } });
    for (const restrict of [false, true]) {
      if (restrict) simulation.accounts.restrict({ account: 'default' });
      const answers = [await power('shutdown'), await dormant({ dormant: true }), await reboot()];
      expect(answers.map(({ status }) => status)).toEqual([missingCall, missingCall, missingCall]);
    }
  });

  it('where the public API lacks some of them', async () => {
    const { power, dormant, simulation } = await world({ variants: { power: 'without-dormant' } });
    expect([(await power('shutdown')).status, (await dormant({ dormant: true })).status]).toEqual([200, 404]);
    simulation.provider.setVariants({ power: 'missing' });
    expect((await power('power-on')).status).toBe(404);
  });
});

it('a server that is off shows no addresses if told so, and the same ones when it runs again', async () => {
  const { power, call, path, token } = await world({ variants: { offAddresses: 'dropped' } });
  const addresses = async () => {
    const { macs, ipv6 } = (await call(path, { token })).json as { macs: unknown[]; ipv6: unknown[] };
    return { macs, ipv6 };
  };
  const before = await addresses();
  expect(before.macs).toHaveLength(1);
  await power('power-off');
  expect(await addresses()).toEqual({ macs: [], ipv6: [] });
  await power('power-on');
  expect(await addresses()).toEqual(before);
});
