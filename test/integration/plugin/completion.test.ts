/** Shell completion for the words typed so far. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { LISTS, putCatalog } from '../support/catalog.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
let world: World;
let plugin: Plugin;

beforeEach(async () => {
  world = await createWorld({ operator: false });
  plugin = await createPlugin(folder(), world.namespace);
});

describe('completion', () => {
  /** Candidates, then cobra's directive. */
  const offered = async (...words: string[]): Promise<string[]> =>
    (await plugin.kubectl(['__complete', 'vps', ...words])).stdout.trim().split('\n');

  it('offers the zones, if the provider lists them', async () => {
    await putCatalog(world, { ...LISTS, zones: [{ code: 'lon', description: 'London' }, { code: 'cam' }] });
    expect(await offered('new', 'db', '--zone', '')).toEqual(['lon\tLondon', 'cam', ':4']);
  });

  it('offers commands, flags, names of servers and values from the catalog', async () => {
    await putCatalog(world);
    await world.startOperator();
    await readyServer(world, 'web');
    expect(await offered('sta')).toEqual([
      'status\tshow one server or one set on one screen; without a name, list all',
      'start\tswitch servers on (spec.power), or wake them',
      'start-over\torder new servers for copied or restored objects, and leave the old servers alone',
      ':4',
    ]);
    expect(await offered('rollout', 'h')).toEqual(['history\tlist the revisions of a set', ':4']);
    expect(await offered('status', '')).toEqual(['web\tAvailable', ':4']);
    expect(await offered('status', 'web', '')).toEqual([':4']);
    expect(await offered('wait', '--for', '')).toEqual(['ready', 'deleted', 'delete', ':4']);
    expect(await offered('new', 'db', '--product', '')).toEqual([
      'VPSX4\t1 GB RAM',
      'VPSX8\t2 GB RAM',
      'VPSX16\t4 GB RAM',
      'VPSX32\t8 GB RAM',
      ':4',
    ]);
    expect(await offered('new', 'db', '--product=VPSX8')).toEqual(['--product=VPSX8\t2 GB RAM', ':4']);
    expect(await offered('new', 'db', '--image', 'cloudinit-d')).toEqual([
      'cloudinit-debian-trixie.raw.gz\tDebian 13 (trixie)',
      ':4',
    ]);
    expect(await offered('new', 'db', '--disk-size', '4')).toEqual(['40960', ':4']);
    expect(await offered('resolve', 'web', '--n')).toEqual([
      '--namespace\tnamespace (default: the namespace of the context)',
      '--not-created\tyou checked: the order created no server',
      ':4',
    ]);
    expect(await offered('ssh', 'web', '-i', '')).toEqual([':0']);
    expect(await offered('status', '--context', 'none', '')).toEqual([':4']);
    expect(await offered('list', '-o', '')).toEqual(['table', 'wide', 'name', 'json', 'yaml', ':4']);
    expect(await offered('status', 'web', '-o', 'j')).toEqual(['json', ':4']);
    expect(await offered('status', '--namespace', world.namespace.slice(0, -1))).toContain(world.namespace);
    expect(await offered('status', '--context', '')).toHaveLength(2);
    expect(await offered('wait', 'web', '')).toEqual([':4']);
    expect(await offered('wait', 'other', '')).toEqual(['web\tAvailable', ':4']);
    expect(await offered('scp', 'notes.txt', 'w')).toEqual(['web:\tAvailable', ':2']);
    expect(await offered('replace', 'web', '-f', '')).toEqual([':0']);
  });

  it('offers bare words to a shell that asks for no descriptions', async () => {
    const { stdout } = await plugin.kubectl(['__completeNoDesc', 'vps', 'sta']);
    expect(stdout.trim().split('\n')).toEqual(['status', 'start', 'start-over', ':4']);
  });

  it('shows no control characters or shell syntax in a description of the provider', async () => {
    const images = [{ name: 'i', description: 'Debian\t13\n`touch code` $(touch code) \u001b[31m \u202e "x"' }];
    await putCatalog(world, { ...LISTS, images });
    expect(await offered('new', 'db', '--image', '')).toEqual(['i\tDebian 13 touch code (touch code) 31m x', ':4']);
  });

  it('offers no text of the provider that the completion scripts of older kubectl versions would expand', async () => {
    const hostile = ['$(touch code)', '`touch code`', '${x:=$(touch code)}', 'VPSX4\ntouch code', "a'b", '~', '*'];
    const products = [...hostile, 'VPSX9'].map((code) => ({ code }));
    const images = [...hostile, 'cloudinit-debian-trixie.raw.gz'].map((name) => ({ name }));
    await putCatalog(world, { ...LISTS, products, images });
    for (const [flag, only] of [
      ['--product', 'VPSX9'],
      ['--image', 'cloudinit-debian-trixie.raw.gz'],
    ]) {
      const completed = await plugin.shell(`kubectl __completeNoDesc vps new db ${flag} '' | sed '$d' > words
        bash -c 'compgen -W "$(cat words)"'`);
      expect([completed.code, completed.stdout.trim()]).toEqual([0, only]);
    }
    expect((await plugin.shell('ls')).stdout).toBe('kubeconfig\nwords\n');
  });

  it('does not wait for a slow credential plugin', async () => {
    const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as { users: { user: object }[] };
    const args = ['-c', 'echo $$ > started; sleep 30; touch ended'];
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args, interactiveMode: 'Never' };
    for (const entry of config.users) entry.user = { exec };
    const slow = join(world.journalDir, 'slow');
    await writeFile(slow, stringify(config));
    plugin = await createPlugin(folder(), world.namespace, slow);
    expect(await offered('status', '')).toEqual([':4']);
    expect((await plugin.shell('ls; kill $(cat started)')).stdout).toBe('kubeconfig\nstarted\n');
  });
});
