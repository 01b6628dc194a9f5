/** Servers of the simulated provider that are changed. */
import { describe, expect, it } from 'vitest';
import { CHOICES, type SimulationOptions } from '../../../src/simulator/index.ts';
import { inProcess } from './client.ts';

async function world(options: SimulationOptions = {}) {
  const parts = inProcess({ api: 'public', ...options });
  const { call, simulation } = parts;
  const { identifier } = simulation.fleet.addServer('default');
  const token = await parts.login();
  const path = `/beta/vps/servers/${identifier}`;
  const change = (json: unknown) => call(path, { method: 'PATCH', token, json });
  const shown = async () => (await call(path, { token })).json as Record<string, unknown>;
  return { ...parts, identifier, change, shown };
}

const BIGGER = { product: 'VPSX8', specs: { disk_size: 20480 } };

describe('a change', () => {
  it('takes effect at once, and changes the price', async () => {
    const { change, shown, simulation } = await world();
    expect(await change({ ...BIGGER, name: 'shop' })).toMatchObject({
      status: 200,
      json: { message: 'Operation successful' },
    });
    expect(await shown()).toMatchObject({
      product: 'VPSX8',
      name: 'shop',
      price: 1631,
      specs: { disk_size: 20480, ram: 2048 },
    });
    expect(simulation.ledger.changes()).toMatchObject([{ body: { ...BIGGER, name: 'shop' } }]);
  });

  it('is cut in its name, or refused with an unusual status', async () => {
    const { change, shown } = await world({ variants: { names: 'cut', refusedStatus: 451 } });
    expect((await change({ name: 'a-shop-for-our-blog' })).status).toBe(200);
    expect(await shown()).toMatchObject({ name: 'a-shop-for-o' });
    expect((await change({ product: 'unknown' })).status).toBe(451);
  });

  it('takes effect later', async () => {
    const { change, shown, clock } = await world({ variants: { changeTakesMs: 1_000 } });
    await change(BIGGER);
    expect(await shown()).toMatchObject({ product: 'VPSX4' });
    clock.advance(1_000);
    expect(await shown()).toMatchObject({ product: 'VPSX8' });
  });

  it('is never seen, although it is accepted', async () => {
    const { change, shown } = await world({ variants: { changes: 'unseen' } });
    const before = await shown();
    expect(await change({ ...BIGGER, name: 'shop' })).toMatchObject({ status: 200 });
    expect(await shown()).toEqual(before);
  });

  it('takes the one before back, of two that exclude each other', async () => {
    const { change, shown, simulation, identifier } = await world({ variants: { changes: 'excluding' } });
    simulation.fleet.switch('default', identifier, 'power-off');
    await change({ tablet: false });
    await change({ cpu_mode: 'compatibility' });
    expect(await shown()).toMatchObject({ tablet: true, cpu_mode: 'compatibility' });
    await change({ tablet: false });
    expect(await shown()).toMatchObject({ tablet: false, cpu_mode: 'performance' });
  });

  it('waits for the next start', async () => {
    const { change, shown, simulation, identifier } = await world({ variants: { changes: 'at-restart' } });
    await change(BIGGER);
    expect(await shown()).toMatchObject({ product: 'VPSX4', upgrade_specs: { disk_size: 20480, ram: 2048 } });
    simulation.fleet.switch('default', identifier, 'reboot');
    expect(await shown()).toMatchObject({ product: 'VPSX8', upgrade_specs: null });
  });

  it.each<[string, object, string]>([
    ['an unknown product', { product: 'huge' }, 'Invalid product'],
    ['a size that is not listed', { specs: { disk_size: 20481 } }, 'Invalid disk size'],
    ['a smaller disk', { specs: { disk_size: 1 } }, 'A disk cannot be made smaller'],
    ['a field that cannot change', { zone: 'lon' }, 'Unknown parameter zone'],
    ['a device while the server runs', { tablet: false }, 'The server must be shut down'],
  ])('to %s is refused', async (_what, body, error) => {
    const { change, shown } = await world();
    const before = await shown();
    expect(await change(body)).toMatchObject({ status: 400, json: { error } });
    expect(await shown()).toEqual(before);
  });

  it('of a device needs the server off', async () => {
    const { change, shown, simulation, identifier } = await world();
    simulation.fleet.switch('default', identifier, 'power-off');
    expect((await change({ tablet: false, cpu_mode: 'compatibility' })).status).toBe(200);
    expect(await shown()).toMatchObject({ tablet: false, cpu_mode: 'compatibility' });
  });

  it.each(CHOICES.missingCall)('is answered with %s where there is no such call', async (missingCall) => {
    for (const options of [{ api: 'documented' }, { variants: { changes: 'missing' } }] as const) {
      const { change } = await world({
        ...options,
        variants: { missingCall, ...('variants' in options && options.variants) },
      });
      expect((await change(BIGGER)).status).toBe(missingCall);
    }
  });
});
