/** Fields of an order that the specification does not show: a provider takes them, refuses them, or ignores them. */
import { expect, it, vi } from 'vitest';
import type { VirtualServerSpec } from '../../../src/api/virtual-server.ts';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { stalled } from '../support/creates.ts';
import { publicWorld, totals, WAYS } from '../support/public-service.ts';
import { condition, createWorld } from '../support/world.ts';

// The tests mostly wait.
vi.setConfig({ maxConcurrency: 12 });

const FIELDS: Partial<VirtualServerSpec> = {
  ipv4: true,
  zone: 'cam',
  hostname: 'web.example.org',
  serverName: 'Shop',
  diskType: 'hdd',
  diskSize: 20480,
  forwardDNS: true,
  reverseDNS: true,
  advanced: {
    hostServer: 'host1',
    extraCores: 2,
    extraMemory: 1024,
    cpuMode: 'Compatibility',
    netDevice: 'e1000',
    diskBus: 'sata',
    tablet: false,
  },
  storedUserData: 'base',
};

it.concurrent.for(WAYS)('%s: the provider gets each field that is set, and no other', async (orders, context) => {
  const world = await publicWorld(context, { orders });
  await world.create(virtualServer('web', withSpec(FIELDS)));
  const { status } = await world.waitForReason('web', 'Available', 'Ready');
  const [order] = world.simulator.ledger.creates();
  expect(order?.body).toEqual({
    product: 'VPSX4',
    image: 'cloudinit-debian-trixie.raw.gz',
    ssh_keys: expect.stringContaining('ssh-ed25519 ') as string,
    disk_size: 20480,
    disk_type: 'hdd',
    ipv4: true,
    zone: 'cam',
    hostname: 'web.example.org',
    name: 'Shop',
    set_forward_dns: true,
    set_reverse_dns: true,
    ...{ host_server: 'host1', extra_cores: 2, extra_ram: 1024, cpu_mode: 'compatibility' },
    ...{ net_device: 'e1000', disk_bus: 'sata', tablet: false },
    user_data: 'base',
  });
  expect(status).toMatchObject({ ipv4: [expect.any(String)], name: 'Shop', zone: { code: 'cam' } });
  expect(status?.specs?.diskType).toBe('hdd');
  await expect(world.patch('web', { spec: { zone: 'lon' } })).rejects.toThrow('spec.zone, which the order sent');

  const plain = virtualServer('plain');
  await world.create(plain);
  await world.waitForReason('plain', 'Available', 'Ready');
  const sent = Object.keys(world.simulator.ledger.creates()[1]?.body ?? {});
  expect(sent.filter((field) => field !== 'name')).toEqual(['product', 'image', 'disk_size', 'ssh_keys']);
  // What the provider does anyway may be written down, and is no other order.
  await world.patch('plain', { spec: { ipv4: false, diskType: 'ssd' } });
  await expect(world.patch('plain', { spec: { ipv4: true } })).rejects.toThrow('spec.ipv4, which the order sent');
});

it.concurrent(
  'a provider that refuses a field is quoted, and gets the order without the field',
  async ({ onTestFinished }) => {
    const world = await createWorld({ onTestFinished });
    await world.create(virtualServer('web', withSpec({ zone: 'cam' })));
    const parked = await world.waitForReason('web', 'CreateRejected', 'Stalled');
    expect(stalled(parked).message).toContain('Unknown parameter zone (the provider answered 400 to the order)');
    await world.patch('web', { spec: { zone: null } });
    await world.waitForReason('web', 'Available', 'Ready');
    expect(totals(world)).toEqual({ ordered: 1, cancelled: 0, alive: 1 });
  },
);

it.concurrent('a server without the IPv4 address that was ordered is reported', async (context) => {
  const world = await publicWorld(context, { variants: { furtherFields: 'ignored' } });
  await world.create(virtualServer('web', withSpec({ ipv4: true })));
  const ready = await world.waitFor('web', (object) => condition(object, 'Drifted')?.status === 'True');
  expect(condition(ready, 'Drifted')?.message).toContain('it has no IPv4 address');
});

it.concurrent('an adopted server shows what it has, and its fields can be changed', async (context) => {
  const world = await publicWorld(context);
  const { identifier } = world.simulator.fleet.addServer('default');
  const adopting = virtualServer('web', withSpec({ diskSize: 5120, zone: 'cam', serverName: 'Shop' }));
  adopting.metadata.annotations = { 'vps-operator.dev/adopt': identifier };
  await world.create(adopting);
  const ready = await world.waitForReason('web', 'Available', 'Ready');
  expect(ready.status?.zone?.code).not.toBe('cam');
  expect(ready.status?.name).toBeUndefined();
  expect(condition(ready, 'Drifted')).toBeUndefined();
  expect((await world.patch('web', { spec: { zone: 'lon' } })).spec.zone).toBe('lon');
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 1 });
});

it.concurrent('a zone that the provider does not list is refused before the order', async (context) => {
  const world = await publicWorld(context);
  await world.create(virtualServer('web', withSpec({ zone: 'lno' })));
  const parked = await world.waitForReason('web', 'InvalidSpec', 'Stalled');
  expect(stalled(parked).message).toContain('spec.zone "lno" is not offered; nearest valid values: lon, cam, uk');
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
  await world.patch('web', { spec: { zone: 'uk' } });
  await world.waitForReason('web', 'Available', 'Ready');
  expect(world.simulator.ledger.creates()[0]?.body['zone']).toBe('uk');
});

it.concurrent('a provider that does not list its zones decides about them', async (context) => {
  const world = await publicWorld(context, { variants: { listsZones: false } });
  await world.create(virtualServer('web', withSpec({ zone: 'lno' })));
  const parked = await world.waitForReason('web', 'CreateRejected', 'Stalled');
  expect(stalled(parked).message).toContain('Invalid zone');
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
});

it.concurrent('a host that the provider does not list is refused before the order', async (context) => {
  const world = await publicWorld(context);
  await world.create(virtualServer('web', withSpec({ advanced: { hostServer: 'host9' } })));
  const parked = await world.waitForReason('web', 'InvalidSpec', 'Stalled');
  expect(stalled(parked).message).toContain(
    'spec.advanced.hostServer "host9" is not offered; nearest valid values: host1,',
  );
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
  await world.patch('web', { spec: { advanced: { hostServer: 'host2' } } });
  await world.waitForReason('web', 'Available', 'Ready');
});

it.concurrent('a provider that does not list its hosts decides about them', async (context) => {
  const world = await publicWorld(context, { variants: { listsHosts: false } });
  await world.create(virtualServer('web', withSpec({ advanced: { hostServer: 'host9' } })));
  const parked = await world.waitForReason('web', 'CreateRejected', 'Stalled');
  expect(stalled(parked).message).toContain('Invalid host');
  expect(totals(world)).toEqual({ ordered: 0, cancelled: 0, alive: 0 });
});
