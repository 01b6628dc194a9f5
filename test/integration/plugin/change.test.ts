/** What the plugin says of a server that its provider cannot change in place. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { condition, createWorld } from '../support/world.ts';

const folder = usePlugin();

it('shows the change that the provider does not make, refuses to plan another one, and names the way out', async () => {
  // A plan looks at all namespaces, and two worlds with the same identifier would seem to hold one server.
  const world = await createWorld({ simulator: { newIdentifier: () => `change-${process.pid}` } });
  const online = withSpec({ changePolicy: 'Online' });
  await readyServer(world, 'web', online);
  await world.patch('web', { spec: { product: 'VPSX8' } });
  await world.waitFor('web', (object) => condition(object, 'ChangePending')?.reason === 'ChangeUnavailable');
  const plugin = await createPlugin(folder(), world.namespace);
  const list = (await plugin.kubectl(['vps', 'list'])).stdout;
  expect(list).toMatch(/^web +Ready, ChangeUnavailable +VPSX4 → VPSX8 +1018\.00/m);
  expect(list).toMatch(/^web: Server \S+ differs from spec: product from VPSX4 to VPSX8\. The provider has no call/m);
  const wait = await plugin.kubectl(['vps', 'wait', 'web']);
  expect([wait.code, wait.stdout]).toEqual([0, 'web is ready\n']);
  expect(wait.stderr).toContain('web is to change: ChangeUnavailable: Server ');
  const doctor = await plugin.kubectl(['vps', 'doctor']);
  expect(doctor.stdout).toMatch(/✗ objects +1 server, 0 sets; 1 need you: web \(ChangeUnavailable\)/);
  const status = await plugin.kubectl(['vps', 'status', 'web']);
  expect(status.stdout).toContain('  kubectl vps replace web   # to order a new server as spec says');
  const file = join(world.journalDir, 'web.yaml');
  await writeFile(file, JSON.stringify(virtualServer('web', online, withSpec({ product: 'VPSX16' }))));
  const plan = await plugin.kubectl(['vps', 'plan', '-f', file]);
  expect([plan.code, plan.stdout]).toEqual([
    1,
    expect.stringMatching(/^refuse .*ChangeUnavailable: .* replace web -f/m),
  ]);
  await writeFile(file, JSON.stringify(virtualServer('web', online)));
  const back = await plugin.kubectl(['vps', 'plan', '-f', file]);
  expect([back.code, back.stdout]).toEqual([0, expect.stringMatching(/^change .* spec\.product \(VPSX8 → VPSX4\)$/m)]);
});
