/** `kubectl vps catalog` and `new`. */
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ServerCatalogStatus } from '../../../src/api/server-catalog.ts';
import type { VirtualServer } from '../../../src/api/virtual-server.ts';
import type { VirtualServerSet } from '../../../src/api/virtual-server-set.ts';
import { quoted } from '../../../src/base/text.ts';
import { DEFAULT_KEY } from '../../../src/simulator/index.ts';
import { SSH_KEY } from '../../fixtures/virtual-server.ts';
import { LISTS, putCatalog } from '../support/catalog.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { readyServer } from '../support/records.ts';
import { createWorld, type World } from '../support/world.ts';

const folder = usePlugin();
let world: World;
let plugin: Plugin;

const ERASE = '\u007f';
const COMPLETE = ['--product', 'VPSX4', '--image', 'cloudinit-debian-trixie.raw.gz', '--disk-size', '10240'];

beforeEach(async () => {
  world = await createWorld({ operator: false });
  plugin = await createPlugin(folder(), world.namespace);
});

describe('kubectl vps catalog', () => {
  it('shows what can be ordered', async () => {
    await putCatalog(world);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'catalog']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^VPSX8 +2048$/m);
    expect(stdout).toMatch(/^cloudinit-debian-trixie\.raw\.gz +Debian 13 \(trixie\)$/m);
    expect(stdout).toMatch(/^ssd +5120, 10240, 20480, 40960$/m);
    expect(stderr).toContain("RAM and disk sizes in the provider's units\n");
    expect(stderr).toMatch(/^unchanged for \d+d$/m);
    const data = await plugin.kubectl(['vps', 'catalog', '-o', 'yaml']);
    expect(parse(data.stdout)).toMatchObject({ products: LISTS.products, images: LISTS.images });
  });

  it('shows the zones, if the provider lists them', async () => {
    const zones = [{ code: 'lon', description: 'London' }, { code: 'cam' }];
    await putCatalog(world, { ...LISTS, zones });
    expect((await plugin.kubectl(['vps', 'catalog'])).stdout).toMatch(/^Zones\nCODE +DESCRIPTION\nlon +London\ncam/m);
  });

  it('prints the commands that create a catalog, or a second one for another Secret', async () => {
    await world.startOperator();
    await world.putSecret('other', DEFAULT_KEY);
    for (const flags of ['', ' --secret other']) {
      const none = await plugin.shell(`kubectl vps catalog${flags}`);
      expect([none.code, none.stdout]).toEqual([3, '']);
      const [, ...commands] = none.stderr.split('\n');
      const pasted = await plugin.shell(`set -e\n${commands.join('\n')}`);
      expect([pasted.code, pasted.stderr]).toEqual([0, '']);
      expect((await plugin.shell(`kubectl vps catalog${flags}`)).stdout).toMatch(/^VPSX8 +2048$/m);
    }
    const { stdout } = await plugin.kubectl(['get', 'vpscat', '-o', 'jsonpath={.items[*].spec.apiKeySecretRef.name}']);
    expect(stdout.split(' ').sort()).toEqual(['other', 'vps-api-key']);
  });
});

describe('kubectl vps catalog of a catalog that is not ready', () => {
  const [ready] = LISTS.conditions ?? [];
  const refused = [{ ...ready, status: 'False', reason: 'SecretNotFound', message: 'There is no \u001b[2J Secret' }];
  const conditions = refused as ServerCatalogStatus['conditions'];

  it.each([
    ['a condition', { conditions }, /catalog is not ready: SecretNotFound\. There is no {2}\[2J Secret$/m],
    ['empty lists and a condition', { products: [], images: [], diskSizes: [], conditions }, /: SecretNotFound\. /],
    ['nothing', {}, /catalog is not ready: NotReported\. The operator has not reported on this catalog yet$/m],
  ])('reports the reason without empty tables: %s', async (_what, status, said) => {
    await putCatalog(world, status);
    for (const flags of [[], ['-o', 'json']]) {
      const { code, stdout, stderr } = await plugin.kubectl(['vps', 'catalog', ...flags]);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(said)]);
    }
  });

  it('still shows lists that the operator read before', async () => {
    await putCatalog(world, { ...LISTS, conditions });
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'catalog']);
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(/^VPSX8 +2048$/m),
      expect.stringMatching(/catalog is not ready: SecretNotFound/),
    ]);
  });
});

describe('kubectl vps new', () => {
  it('refuses what the catalog does not have, if there is a catalog with whole lists', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const run = (...words: string[]) =>
      plugin.kubectl(['vps', 'new', 'web', ...COMPLETE, '--ssh-key', SSH_KEY, ...words]);
    expect((await run('--product', 'VPSX5')).code).toBe(0);
    await putCatalog(world);
    expect((await run()).code).toBe(0);
    const refused = await run('--product', 'VPSX5');
    expect([refused.code, refused.stdout]).toEqual([2, '']);
    expect(refused.stderr).toBe(
      'kubectl vps: --product "VPSX5" is not in the catalog catalog, which has VPSX4, VPSX8, VPSX16, VPSX32\n' +
        '  did you mean --product VPSX4?\n' +
        '  kubectl vps catalog   # shows what you can order\n',
    );
    for (const [flag = '', value = '', valid] of [
      ['--image', 'debian', 'cloudinit-debian-trixie.raw.gz, '],
      // Of the other type of disk.
      ['--disk-size', '81920', '5120, 10240, 20480, 40960'],
    ]) {
      const { code, stderr } = await run(flag, value, '--apply');
      expect([code, stderr]).toEqual([2, expect.stringMatching(`^kubectl vps: ${flag} .* which has ${valid}`)]);
    }
    expect(await world.get('web')).toBeUndefined();
    // A server that exists may have a product that is no longer sold.
    expect((await run('--product', 'VPSX5', '--adopt', 'vs1')).code).toBe(0);
    // Another Secret may be of another provider account.
    expect((await run('--product', 'VPSX5', '--secret', 'other')).code).toBe(0);
  });

  it('takes what a list that was cut may lack', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    await putCatalog(world, { ...LISTS, counts: { products: 5, images: 4, diskSizes: 9 } });
    const words = ['--product=VPSX5', '--image=debian', '--disk-size=1', '--ssh-key', SSH_KEY];
    expect((await plugin.kubectl(['vps', 'new', 'web', ...words])).code).toBe(0);
  });

  it('writes a manifest that the API server accepts, and applies nothing', async () => {
    const flags = [
      ...COMPLETE,
      '--ssh-key',
      SSH_KEY,
      '--ttl',
      '72h',
      '--protect',
      '--connection-secret',
      'web-connection',
    ];
    const { code, stdout } = await plugin.kubectl(['vps', 'new', 'web', ...flags]);
    expect(code).toBe(0);
    expect(await world.get('web')).toBeUndefined();
    const object = await world.create(parse(stdout) as Parameters<World['create']>[0]);
    expect(object.spec).toMatchObject({
      product: 'VPSX4',
      ttl: '72h',
      deletionProtection: true,
      connectionSecretName: 'web-connection',
      sshKeys: [SSH_KEY],
    });
  });

  it('writes expiry and SSH check so that kubectl reads them unchanged', async () => {
    const flags = [...COMPLETE, '--expires-at', '2099-01-31T18:00:00Z', '--ssh-check', 'Proxy', '--ssh-key', SSH_KEY];
    const line = ['kubectl', 'vps', 'new', 'web', ...flags].map(quoted).join(' ');
    const { code, stdout } = await plugin.shell(`${line} | kubectl create --dry-run=server -o json -f -`);
    const { spec } = JSON.parse(stdout) as VirtualServer;
    expect([code, spec]).toEqual([
      0,
      expect.objectContaining({ expiresAt: '2099-01-31T18:00:00Z', sshCheck: 'Proxy' }),
    ]);
  });

  it.each(['on', 'y', '0b11', '1_000', '1:30'])(
    'writes the product %j so that kubectl reads it unchanged',
    async (product) => {
      const flags = ['--product', product, ...COMPLETE.slice(2), '--ssh-key', SSH_KEY];
      const line = ['kubectl', 'vps', 'new', 'web', ...flags].map(quoted).join(' ');
      const { code, stdout } = await plugin.shell(`${line} | kubectl create --dry-run=client -o json -f -`);
      expect([code, (JSON.parse(stdout) as VirtualServer).spec.product]).toEqual([0, product]);
    },
  );

  it('shows what the server will cost, or that no server like it tells', async () => {
    await world.startOperator();
    await readyServer(world, 'db');
    const run = (...words: string[]) => plugin.kubectl(['vps', 'new', 'web', '--ssh-key', SSH_KEY, ...words]);
    const { code, stderr } = await run(...COMPLETE);
    expect([code, stderr]).toEqual([0, "price: 1018.00, as a server like it (in the provider's unit)\n"]);
    const unknown =
      'price of each server: unknown, because you see no server like it, and no catalog has a list of prices\n';
    expect(await run(...COMPLETE, '--disk-size', '20480', '--set')).toMatchObject({ code: 0, stderr: unknown });
    expect(await run(...COMPLETE, '--adopt', 'vs1')).toMatchObject({ code: 0, stderr: '' });
  });

  it('creates the object with --apply, and changes no existing one', async () => {
    const run = (...words: string[]) => plugin.kubectl(['vps', 'new', ...words]);
    const flags = [...COMPLETE, '--ssh-key', SSH_KEY, '--label', 'tier=front', '--annotation', 'example.org/url=a=b'];
    const made = await run('web', ...flags, '--apply');
    expect(made).toMatchObject({
      code: 0,
      stdout: 'virtualserver.vps-operator.dev/web created\nfollow the progress: kubectl vps wait web\n',
    });
    const { metadata, spec } = (await world.get('web')) ?? {};
    expect(spec).toMatchObject({ product: 'VPSX4', diskSize: 10240 });
    expect(metadata).toMatchObject({ labels: { tier: 'front' }, annotations: { 'example.org/url': 'a=b' } });
    const again = await run('web', ...flags, '--product', 'VPSX8', '--apply');
    expect([again.code, again.stdout, again.stderr]).toEqual([
      1,
      '',
      expect.stringContaining('there is already a VirtualServer "web"'),
    ]);
    expect((await world.get('web'))?.metadata.resourceVersion).toBe(metadata?.resourceVersion);
    expect((await run('db', ...flags, '--apply', '-o', 'json')).code).toBe(2);
    expect((await run('db', ...COMPLETE, '--apply')).code).toBe(2);
    expect(await world.get('db')).toBeUndefined();
  });

  it('writes each field of a set', async () => {
    const run = (...words: string[]) =>
      plugin.kubectl(['vps', 'new', 'web', ...COMPLETE, '--ssh-key', SSH_KEY, ...words]);
    const flags = ['--replicas', '3', '--max-surge', '50%', '--max-unavailable', '1', '--strategy', 'OnDelete'];
    const more = ['--min-ready-seconds', '5', '--progress-deadline-seconds', '60', '--scale-down-order', 'Oldest'];
    const made = await run('--set', ...flags, ...more, '--paused', '--label', 'tier=front', '--apply');
    expect([made.code, made.stdout]).toEqual([
      0,
      expect.stringMatching(/^virtualserverset\.vps-operator\.dev\/web created\n.*kubectl vps wait set\/web\n$/),
    ]);
    const { stdout } = await plugin.kubectl(['get', 'vpsset', 'web', '-o', 'json']);
    const { template, ...spec } = (JSON.parse(stdout) as VirtualServerSet).spec;
    expect(spec).toEqual({
      replicas: 3,
      minReadySeconds: 5,
      strategy: { type: 'OnDelete', rollingUpdate: { maxSurge: '50%', maxUnavailable: 1 } },
      scaleDown: { order: 'Oldest' },
      paused: true,
      progressDeadlineSeconds: 60,
    });
    expect(template).toMatchObject({ metadata: { labels: { tier: 'front' } }, spec: { product: 'VPSX4' } });
    for (const [words, says] of [
      [['--paused'], '--paused is for a set: pass --set too'],
      [['--max-surge', '1'], '--max-surge is for a set: pass --set too'],
      [['--set', '--max-surge', 'some'], '--max-surge'],
      [['--set', '--max-surge', '101%'], '--max-surge: '],
      [['--set', '--label', 'vps-operator.dev/set=x'], 'spec.template.metadata.labels: '],
      [['--label', 'front'], 'Use KEY=VALUE.'],
    ] as const)
      expect(await run(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) as string });
  });

  it('refuses invalid values, and missing values without a terminal', async () => {
    const run = (...words: string[]) => plugin.kubectl(['vps', 'new', ...words]);
    const codes = async (...words: string[]): Promise<[number, string]> => {
      const { code, stdout } = await run(...words);
      return [code, stdout];
    };
    const key = ['--ssh-key', SSH_KEY];
    expect(await codes('web', ...key)).toEqual([2, '']);
    expect(await codes('Web_1', ...COMPLETE, ...key)).toEqual([2, '']);
    expect(await codes('web', ...COMPLETE, '--ssh-key', '/nowhere')).toEqual([2, '']);
    expect(await codes('web', ...COMPLETE, ...key, '--disk-size', '-1')).toEqual([2, '']);
    expect(await codes('web', ...COMPLETE, ...key, '--adopt', 'two words')).toEqual([2, '']);
    expect(await codes('web', ...COMPLETE, '--ssh-key-from', 'nonsense')).toEqual([2, '']);
    for (const [words, field] of [
      [['--ttl', 'banana'], /--ttl.*such as 72h, 4d or 1h30m/],
      [['--expires-at', 'tomorrow'], /--expires-at: .*such as 2027-01-31T18:00:00Z/],
      [['--expires-at', '2099-01-31T18:00:00Z', '--ttl', '72h'], /--expires-at, --ttl: set expiresAt or ttl, not both/],
      [['--ssh-check', 'direct'], /--ssh-check.* choices are None, Proxy, Direct/],
      [['--image', ''], /--image: /],
      [['--retain', '--ttl', '72h'], /--retain, --ttl: .*ttl require deletionPolicy: Delete/],
    ] as const) {
      const { code, stdout, stderr } = await run('web', ...COMPLETE, ...key, ...words);
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(field)]);
    }
  });

  it('refuses a file with several keys, since it would use only one', async () => {
    await plugin.shell(`echo '# mine\n${SSH_KEY}' > one; cat one one > two`);
    const { code, stdout, stderr } = await plugin.kubectl(['vps', 'new', 'web', ...COMPLETE, '--ssh-key', 'two']);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining('--ssh-key')]);
    expect((await plugin.kubectl(['vps', 'new', 'web', ...COMPLETE, '--ssh-key', 'one'])).stdout).toContain(SSH_KEY);
  });
});

describe.skipIf(noTerminal !== undefined)('kubectl vps new on a terminal', () => {
  it('asks for values that no flag sets, with choices from the catalog', async () => {
    await putCatalog(world);
    const session = plugin.terminal(`mkdir .ssh && echo '${SSH_KEY}' > .ssh/id.pub && kubectl vps new web > web.yaml`);
    await session.shows(/Product[\s\S]*VPSX4 +1 GB RAM[\s\S]*VPSX8/);
    session.type('X8');
    await session.shows(/Product[^\n]*X8/);
    session.type('\r');
    await session.shows(/Image[\s\S]*Debian 13 \(trixie\)/);
    session.type('\r');
    await session.shows(/Disk size[\s\S]*20480/);
    session.type('\u001b[B\r');
    await session.shows(/SSH public key[\s\S]*id\.pub/);
    session.type('\r');
    expect(await session.ended).toBe(0);
    const { stdout } = await plugin.shell('cat web.yaml');
    expect((parse(stdout) as VirtualServer).spec).toEqual({
      product: 'VPSX8',
      image: 'cloudinit-debian-trixie.raw.gz',
      diskSize: 10240,
      sshKeys: [SSH_KEY],
    });
  });

  it('shows what servers of a product cost, and creates the object from the answers', async () => {
    await world.startOperator();
    await readyServer(world, 'db');
    await putCatalog(world);
    const session = plugin.terminal(
      `kubectl vps new web --image cloudinit-debian-trixie.raw.gz --ssh-key '${SSH_KEY}' --apply`,
    );
    await session.shows(/Product \(prices: of your servers, in the provider's unit\)[^]*VPSX4 +1 GB RAM, 1018\.00/);
    session.type('\r');
    await session.shows(/Disk size \(in the provider's unit\)[^]*10240/);
    session.type('\r');
    await session.shows(/web created/);
    expect(await session.ended).toBe(0);
    expect((await world.get('web'))?.spec).toMatchObject({ product: 'VPSX4', diskSize: 5120 });
  });

  it('asks again after an invalid answer, and explains what is valid', async () => {
    const session = plugin.terminal(`stty cols 400; kubectl vps new web > web.yaml`);
    await session.shows(/Product/);
    session.type('VPSX4\r');
    await session.shows(/Image/);
    session.type('\r');
    await session.shows(/You must provide a value/);
    session.type('cloudinit-debian-trixie.raw.gz\r');
    await session.shows(/Disk size/);
    session.type('large\r');
    await session.shows(/enter a whole number, such as 10240/);
    session.type(`${ERASE.repeat(5)}10240\r`);
    await session.shows(/SSH public key/);
    session.type('/nowhere\r');
    await session.shows(/is neither an SSH public key nor a readable file/);
    session.type(`${ERASE.repeat(8)}${SSH_KEY}\r`);
    expect(await session.ended).toBe(0);
    const { stdout } = await plugin.shell('cat web.yaml');
    expect((parse(stdout) as VirtualServer).spec).toEqual({
      product: 'VPSX4',
      image: 'cloudinit-debian-trixie.raw.gz',
      diskSize: 10240,
      sshKeys: [SSH_KEY],
    });
  });

  it('lists what the catalog offers if nothing matches, and offers only files that contain a key', async () => {
    await putCatalog(world);
    const session = plugin.terminal(
      `stty cols 400; mkdir .ssh; echo broken > .ssh/a.pub; kubectl vps new web > web.yaml`,
    );
    await session.shows(/Product[\s\S]*VPSX8/);
    session.type('VPSX9');
    await session.shows(/no match; choose from VPSX4, VPSX8, VPSX16, VPSX32/);
    session.type(`\r${ERASE}8`);
    await session.shows(/Product[^\n]* VPSX8/);
    session.type('\r');
    await session.shows(/Image[\s\S]*Debian 13 \(trixie\)/);
    session.type('\r');
    await session.shows(/Disk size[\s\S]*20480/);
    session.type('\r');
    await session.shows(/SSH public key \(text or file\)/);
    session.type(`${SSH_KEY}\r`);
    expect(await session.ended).toBe(0);
    const { stdout } = await plugin.shell('cat web.yaml');
    expect((parse(stdout) as VirtualServer).spec).toMatchObject({ product: 'VPSX8', sshKeys: [SSH_KEY] });
  });

  it('refuses an invalid flag before it asks', async () => {
    const session = plugin.terminal('kubectl vps new web --ttl banana');
    expect([await session.ended, session.text()]).toEqual([2, expect.not.stringContaining('Product')]);
    expect(session.text()).toMatch(/--ttl.*such as 72h/);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('exits with 130 at %s and writes nothing', async (_name, keys) => {
    await putCatalog(world);
    const session = plugin.terminal('kubectl vps new web > web.yaml');
    await session.shows(/Product[\s\S]*VPSX8/);
    session.type(keys);
    expect(await session.ended).toBe(130);
    expect((await plugin.shell('cat web.yaml')).stdout).toBe('');
  });
});
