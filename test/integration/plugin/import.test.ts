/** `kubectl vps import`, with the list of servers of the public service. */
import { expect, it } from 'vitest';
import { ADOPT_ANNOTATION, PAUSED_ANNOTATION } from '../../../src/api/names.ts';
import { virtualServer, withAnnotations } from '../../fixtures/virtual-server.ts';
import { createListing, readAgain } from '../support/listing.ts';
import { publicWorld, totals } from '../support/public-service.ts';
import { createPlugin, usePlugin } from '../support/plugin.ts';

const folder = usePlugin();

it('writes manifests that adopt servers, which order nothing', async (context) => {
  const world = await publicWorld(context);
  const plugin = await createPlugin(folder(), world.namespace);
  await createListing(world);
  const identifiers: Record<string, string> = {};
  for (const name of ['web', 'db']) {
    await world.create(virtualServer(name));
    identifiers[name] = (await world.waitForReason(name, 'Available', 'Ready')).status?.identifier ?? '';
  }
  for (const name of ['web', 'db']) {
    await world.patch(name, { spec: { deletionPolicy: 'Retain' } });
    await world.delete(name);
    await world.waitGone(name);
  }
  // Its name is taken, and its server is another one.
  await world.create(virtualServer('web'));
  await world.waitForReason('web', 'Available', 'Ready');
  await readAgain(world, 'released');

  const { code, stdout, stderr } = await plugin.shell('kubectl vps import --all > servers.yaml; cat servers.yaml');
  expect([code, stderr]).toEqual([0, expect.stringContaining('nothing is applied')]);
  expect(stdout.match(/^ {2}name: .*$/gm)?.sort()).toEqual(['  name: db', '  name: web-2']);
  expect(stdout).not.toContain((await world.get('web'))?.status?.identifier);
  const unfilled = await plugin.shell('kubectl apply -f servers.yaml');
  expect([unfilled.code, unfilled.stderr]).toEqual([1, expect.stringContaining('Required value')]);
  expect(await world.get('db')).toBeUndefined();

  const { image, diskSize, sshKeys } = virtualServer('web').spec;
  const filled = { image, diskSize, sshKeys: JSON.stringify(sshKeys) };
  const edits = Object.entries(filled).map(([field, value]) => `-e 's|^  ${field}:$|  ${field}: ${value}|'`);
  const applied = await plugin.shell(`sed -i ${edits.join(' ')} servers.yaml; kubectl apply -f servers.yaml`);
  expect(applied).toMatchObject({ code: 0 });
  for (const [name, old] of [
    ['db', 'db'],
    ['web-2', 'web'],
  ] as const) {
    const { spec, status, metadata } = await world.waitForReason(name, 'Available', 'Ready');
    expect(status?.identifier).toBe(identifiers[old]);
    expect(metadata.annotations?.[ADOPT_ANNOTATION]).toBe(identifiers[old]);
    expect(spec.deletionPolicy).toBe('Retain');
  }
  expect(totals(world)).toEqual({ ordered: 3, cancelled: 0, alive: 3 });

  const again = await plugin.kubectl(['vps', 'import', '--all']);
  expect(again).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('no server to import') as string,
  });
});

it('takes identifiers, and refuses what an object may hold', async (context) => {
  const world = await publicWorld(context);
  const plugin = await createPlugin(folder(), world.namespace);
  const imported = (...words: string[]) => plugin.kubectl(['vps', 'import', ...words]);
  expect((await imported()).code).toBe(2);
  expect((await imported('vs1', '--all')).code).toBe(2);
  const unlisted = await imported('--all');
  expect([unlisted.code, unlisted.stdout]).toEqual([1, '']);
  expect(unlisted.stderr).toContain('none has spec.listServers: true');

  for (const name of ['web', 'left']) await world.create(virtualServer(name));
  const held = (await world.waitForReason('web', 'Available', 'Ready')).status?.identifier ?? '';
  const left = (await world.waitForReason('left', 'Available', 'Ready')).status?.identifier ?? '';
  await world.patch('left', { spec: { deletionPolicy: 'Retain' } });
  await world.delete('left');
  await world.waitGone('left');
  await createListing(world);
  const found = await imported(left, left.toUpperCase());
  expect(found.code).toBe(0);
  expect(found.stdout.match(/^ {4}vps-operator.dev\/adopt: .*$/gm)).toEqual([`    vps-operator.dev/adopt: ${left}`]);
  expect(await imported(left, '--secret', 'other')).toMatchObject({ code: 1, stdout: '' });
  expect(await imported(left, held)).toMatchObject({ code: 1, stdout: '' });
  expect((await plugin.kubectl(['__complete', 'vps', 'import', ''])).stdout).toContain(`${left}\t`);

  const adopts = withAnnotations({ [ADOPT_ANNOTATION]: left, [PAUSED_ANNOTATION]: 'true' });
  await world.create(virtualServer('copy', adopts));
  expect(await imported(left)).toMatchObject({ code: 1, stdout: '' });
  const others = await imported('--all');
  expect(others).toMatchObject({ code: 0, stdout: '' });
  expect(others.stderr).toContain('1 server left out that an object may hold');
  await world.annotate('copy', { paused: null });
  await world.waitForReason('copy', 'Available', 'Ready');
  expect(await imported(left)).toMatchObject({ code: 1, stdout: '' });
});
