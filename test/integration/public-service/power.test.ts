/** Servers that are switched off and on through their objects, at a provider whose API can do that. */
import { describe, expect, it, vi } from 'vitest';
import type { VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { spawnOperator } from '../support/process.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { readyServer, recordOf } from '../support/records.ts';
import { condition, createWorld, type World } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 6 });

const ALIVE = { ordered: 1, cancelled: 0, alive: 1 };
const REBOOT = '/beta/vps/servers/{identifier}/reboot';

const sent = ({ simulator }: World): string[] => simulator.ledger.power().map(({ call }) => call);
const setPower = (world: World, power: VirtualServerSpec['power'] | null): Promise<unknown> =>
  world.patch('web', { spec: { power } });
const now = (): string => new Date().toISOString();

it.concurrent(
  'a server is shut down and started as spec.power asks, and stays Ready while it is off',
  async (context) => {
    const world = await publicWorld(context, { variants: { shutdownMs: 300, pausedMs: 200 } });
    await readyServer(world, 'web');
    await setPower(world, 'Off');
    const off = await world.waitForReason('web', 'PoweredOff', 'Ready');
    expect(condition(off, 'Ready')).toMatchObject({ status: 'True' });
    expect(off.status?.serverStatus).toBe('shut down');
    await setPower(world, 'On');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toEqual(['shutdown', 'power-on']);
    await setPower(world, null);
    await world.visited('web');
    expect(sent(world)).toEqual(['shutdown', 'power-on']);
    expect(totals(world)).toEqual(ALIVE);
  },
);

it.concurrent('a server that is ordered with power: Off is shut down once it runs', async (context) => {
  const world = await publicWorld(context);
  await world.create(virtualServer('web', withSpec({ power: 'Off' })));
  const off = await world.waitForReason('web', 'PoweredOff', 'Ready');
  expect(off.status?.serverStatus).toBe('shut down');
  expect(sent(world)).toEqual(['shutdown']);
  expect(totals(world)).toEqual(ALIVE);
});

it.concurrent.for(['off', 'running'] as const)(
  'a server is made dormant, stays the same server, and runs again after it wakes: %s',
  async (wakes, context) => {
    const world = await publicWorld(context, { variants: { wakes } });
    const { status: before } = await readyServer(world, 'web');
    await setPower(world, 'Dormant');
    const dormant = await world.waitForReason('web', 'Dormant', 'Ready');
    expect(dormant.status).toMatchObject({ identifier: before?.identifier, ipv6: before?.ipv6 });
    await setPower(world, 'On');
    await world.waitForReason('web', 'Available', 'Ready');
    expect(sent(world)).toEqual(['dormant', 'wake', ...(wakes === 'off' ? ['power-on'] : [])]);
    expect(totals(world)).toEqual(ALIVE);
  },
);

it.concurrent('a server that wakes, is changed and then started needs no one to start it', async (context) => {
  const world = await publicWorld(context);
  await readyServer(world, 'web', withSpec({ changePolicy: 'AllowStop' }));
  await setPower(world, 'Dormant');
  await world.waitForReason('web', 'Dormant', 'Ready');
  await world.patch('web', { spec: { power: 'On', product: 'VPSX8' } });
  await world.waitFor('web', ({ status }) => status?.product === 'VPSX8' && status.serverStatus === 'running');
  const told = async () => (await world.events('web')).map(({ reason }) => reason);
  await world.until(async () => (await told()).includes('ServerChanged'), 'the Event of the change');
  expect(await told()).toContain('Starting');
  expect(await told()).not.toContain('ServerNotRunning');
});

it.concurrent('a dormant server is not read again while the list says the same', async (context) => {
  const world = await publicWorld(context, { flags: ['--resync-interval=100ms'] });
  await readyServer(world, 'web');
  await setPower(world, 'Dormant');
  await world.waitForReason('web', 'Dormant', 'Ready');
  const { ledger, fleet } = world.simulator;
  const lists = () => ledger.requests({ method: 'GET', route: '/beta/vps/servers' }).length;
  const before = lists();
  await world.until(() => lists() >= before + 5, 'reads of the list');
  const reads = ledger.requests({ method: 'GET', route: '/beta/vps/servers/{identifier}' }).length;
  expect(reads).toBeLessThan(lists() * 3);
  expect(condition(await world.waitFor('web', () => true), 'Ready')).toMatchObject({ reason: 'Dormant' });
  // Somebody has woken it in the control panel: the object asks for the opposite.
  const [server] = world.simulator.aliveServers();
  fleet.updateServer(server?.identifier ?? '', { status: 'running', dormant: false });
  await world.until(() => sent(world).length === 2, 'another call');
  expect(sent(world)).toEqual(['dormant', 'dormant']);
});

it.concurrent('a server whose system ignores the shutdown runs until you ask for force', async (context) => {
  const world = await publicWorld(context, { variants: { shutdown: 'ignored' } });
  await readyServer(world, 'web');
  await setPower(world, 'Off');
  await world.waitForReason('web', 'Stopping', 'Ready');
  await world.until(() => sent(world).length === 1, 'the shutdown');
  await world.passedBy('web');
  expect(sent(world)).toEqual(['shutdown']);
  await world.annotate('web', { 'force-off': now() });
  await world.waitForReason('web', 'PoweredOff', 'Ready');
  // By the clock of the API server, which has whole seconds, the annotation may come early: then the shutdown is asked for again.
  expect(sent(world).filter((call) => call !== 'shutdown')).toEqual(['power-off']);
});

describe.concurrent.for(['documented', 'missing'] as const)('a provider without such calls (%s)', (which) => {
  it('is asked once for each change, and the object shows it', async (context) => {
    const world =
      which === 'documented'
        ? await createWorld({ onTestFinished: context.onTestFinished })
        : await publicWorld(context, { variants: { power: 'missing' } });
    await readyServer(world, 'web');
    const asked = () =>
      world.simulator.ledger.requests({ method: 'PUT', route: '/beta/vps/servers/{identifier}/power' }).length;
    await setPower(world, 'Off');
    const told = await world.waitForReason('web', 'PowerUnavailable', 'Stalled');
    expect(condition(told, 'Ready')).toMatchObject({ status: 'False' });
    await world.passedBy('web');
    expect(asked()).toBe(1);
    await setPower(world, null);
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual(ALIVE);
  });
});

it.concurrent('a server is restarted once for each time', async (context) => {
  const world = await publicWorld(context);
  await readyServer(world, 'web');
  const first = now();
  await world.annotate('web', { reboot: first });
  await world.waitForReason('web', 'Rebooted', 'Rebooted');
  await world.stopOperator();
  await world.startOperator();
  await world.visited('web');
  expect(sent(world)).toEqual(['reboot']);
  await world.annotate('web', { reboot: now() });
  await world.until(() => sent(world).length === 2, 'another restart');
});

it('a restart whose answer is lost with the operator is not sent again', async (context) => {
  const world = await publicWorld(context, { operator: false });
  const operator = await spawnOperator(world);
  await readyServer(world, 'web');
  const hang = world.simulator.faults.inject({
    match: { method: 'POST', route: REBOOT },
    action: { kind: 'hang', after: true },
  });
  const asked = now();
  await world.annotate('web', { reboot: asked });
  await hang.met;
  await operator.kill('SIGKILL');
  const left = await world.waitFor('web', () => true);
  expect(recordOf(left).reboot).toEqual({ asked });
  await world.startOperator();
  const told = await world.waitForReason('web', 'RebootFailed', 'Rebooted');
  expect(condition(told, 'Rebooted')?.message).toContain('may have restarted');
  await world.visited('web');
  expect(sent(world)).toEqual(['reboot']);
});

it.concurrent.for(['Off', 'Dormant'] as const)(
  'a server that is %s is cancelled like any other',
  async (power, context) => {
    const world = await publicWorld(context);
    await readyServer(world, 'web');
    await setPower(world, power);
    await world.waitForReason('web', power === 'Off' ? 'PoweredOff' : 'Dormant', 'Ready');
    await world.delete('web');
    await world.waitGone('web');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 1, alive: 0 });
  },
);

it.concurrent('a server that is off is adopted, and started only if the object asks for that', async (context) => {
  const world = await publicWorld(context);
  const { identifier } = world.simulator.fleet.addServer('default', { status: 'shut down' });
  await world.create(
    virtualServer('web', (manifest) => ({
      ...manifest,
      metadata: { ...manifest.metadata, annotations: { 'vps-operator.dev/adopt': identifier } },
    })),
  );
  await world.waitForReason('web', 'ServerNotRunning', 'Ready');
  expect(sent(world)).toEqual([]);
  await setPower(world, 'On');
  await world.waitForReason('web', 'Available', 'Ready');
  expect(sent(world)).toEqual(['power-on']);
});
