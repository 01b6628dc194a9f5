/** `kubectl vps orphans`, with the list of servers of the public service. */
import { expect, it } from 'vitest';
import { virtualServer } from '../../fixtures/virtual-server.ts';
import { createListing, readAgain } from '../support/listing.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';

const folder = usePlugin();

it('lists the servers that no object holds, and says with its exit code whether it can tell', async (context) => {
  const world = await publicWorld(context, { flags: ['--orders=named'] });
  const plugin = await createPlugin(folder(), world.namespace);
  const orphans = async (flags: string[] = []) => plugin.kubectl(['vps', 'orphans', ...flags]);

  for (const name of ['web', 'left']) await world.create(virtualServer(name));
  await world.waitForReason('web', 'Available', 'Ready');
  const left = await world.waitForReason('left', 'Available', 'Ready');
  const { identifier = '' } = left.status ?? {};
  expect(await orphans()).toMatchObject({ code: 2, stdout: '' });
  await createListing(world, {});
  expect((await orphans()).stderr).toMatch(
    /none has spec\.listServers: true\n.*kubectl patch vpscat NAME .* -p '\{"spec":\{"listServers":true\}\}'/,
  );

  await readAgain(world, 'listing', { listServers: true });
  const age = `the list of ServerCatalog ${world.namespace}/catalog may be 1h old, or older if the operator does not run\n`;
  const none = `no server without an object, by the last read of the list\n${age}`;
  const noneYet = { code: 0, stdout: '', stderr: expect.stringContaining(none) as string };
  expect(await orphans()).toMatchObject(noneYet);

  await world.patch('left', { spec: { deletionPolicy: 'Retain' } });
  await world.delete('left');
  await world.waitGone('left');
  const tooEarly = await orphans();
  expect(tooEarly).toMatchObject(noneYet);
  const [again = ''] = /^kubectl annotate .*$/m.exec(tooEarly.stderr) ?? [];
  expect((await plugin.shell(again)).code).toBe(0);
  await world.until(async () => (await orphans()).code === 1, 'the operator reads the list again');
  const found = await orphans();
  expect(found.stderr).toContain(age);
  expect(found.code).toBe(1);
  const mark = left.metadata.uid.slice(0, 8);
  expect(found.stdout).toMatch(
    new RegExp(`^${identifier} +${world.namespace}/left \\(${mark}\\) +VPSX4 +Orphaned +\\d+s$`, 'm'),
  );
  const data = await orphans(['-o', 'json']);
  expect(data.code).toBe(1);
  expect(JSON.parse(data.stdout)).toMatchObject({ servers: [{ identifier, state: 'Orphaned' }], unknown: [] });

  world.simulator.provider.falsify({ route: '/beta/vps/servers', status: 500 });
  await readAgain(world, 'failing');
  expect((await orphans()).stderr).toContain('the last read of the list of servers failed');
  expect(totals(world)).toMatchObject({ ordered: 2, alive: 2 });
  expect((await orphans(['--nonsense'])).code).toBe(2);
});
