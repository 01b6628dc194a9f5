import { describe, expect, it } from 'vitest';

import { CREATE, inProcess } from './client.ts';

const SERVERS = '/beta/vps/servers';

describe('lists', () => {
  it('show products, images and disk sizes in the documented form', async () => {
    const { call, login } = inProcess();
    const token = await login();
    const products = (await call('/beta/vps/products', { token })).json;
    expect(products).toContainEqual({ code: 'VPSX8', specs: { ram: 2048 } });
    const images = (await call('/beta/vps/images', { token })).json;
    expect(images).toContainEqual({ name: 'cloudinit-debian-trixie.raw.gz', description: 'Debian 13 (trixie)' });
    expect((await call('/beta/vps/disk-sizes', { token })).json).toEqual({
      ssd: [5120, 10240, 20480, 40960],
      hdd: [20480, 40960, 81920, 163840],
    });
  });

  it('follow a change of the catalog', async () => {
    const { call, login, simulation } = inProcess();
    simulation.provider.setCatalog({ diskSizes: { ssd: [7] } });
    expect((await call('/beta/vps/disk-sizes', { token: await login() })).json).toEqual({ ssd: [7] });
  });
});

describe('a creation', () => {
  it('numbers tasks beyond 2^53 with every digit, as JSON numbers', async () => {
    const { call, login, clock, simulation } = inProcess({ firstTask: 2n ** 53n - 1n });
    const token = await login();
    const create = () => call(SERVERS, { method: 'POST', token, json: CREATE });
    const answers = [await create(), await create(), await create()];
    const numbers = ['9007199254740991', '9007199254740992', '9007199254740993'];
    expect(answers.map(({ text }) => text)).toEqual(numbers.map((number) => `{"task":${number}}`));
    const urls = answers.map(({ headers }) => headers.get('location') ?? '');
    expect(urls).toEqual(numbers.map((number) => `${simulation.baseUrl}/beta/queue/vps/${number}`));
    expect(simulation.ledger.creates().map(({ task }) => task)).toEqual([Number(numbers[0]), numbers[1], numbers[2]]);
    clock.advance(60_000);
    const polled = await Promise.all(urls.map((url) => call(url, { token })));
    const identifiers = simulation.ledger.creates().map(({ identifier }) => ({ identifier }));
    expect(polled.map(({ json }) => json)).toEqual(identifiers);
  });

  it('goes from 202 through both forms of status to 303 and a running server', async () => {
    const { call, login, clock, simulation } = inProcess({ taskDurationMs: 90_000, basePrefix: '/prefix' });
    const token = await login();
    const accepted = await call(SERVERS, { method: 'POST', token, json: CREATE });
    expect(accepted).toMatchObject({ status: 202, json: { task: 1001 } });
    const taskUrl = accepted.headers.get('location') ?? '';
    expect(taskUrl).toBe(`${simulation.baseUrl}/beta/queue/vps/1001`);
    const [created] = simulation.ledger.creates();
    expect(created).toMatchObject({ task: 1001, account: 'default', body: CREATE });
    const identifier = created?.identifier ?? '';

    clock.advance(10_000);
    const waiting = { identifier, status: 'Waiting for DNS and DHCP updates, 20 seconds remaining' };
    expect(await call(taskUrl, { token })).toMatchObject({ status: 200, json: waiting });
    clock.advance(50_000);
    const installing = { identifier, status: 'Installing OS, 50% complete' };
    expect(await call(taskUrl, { token })).toMatchObject({ status: 200, json: installing });
    expect((await call(`${SERVERS}/${identifier}`, { token })).status).toBe(404);
    expect(simulation.aliveServers()).toMatchObject([
      { serial: 1, identifier, account: 'default', task: 1001, state: 'creating' },
    ]);

    clock.advance(30_000);
    const done = await call(taskUrl, { token });
    expect(done).toMatchObject({ status: 303, json: { identifier } });
    const serverUrl = done.headers.get('location') ?? '';
    expect(serverUrl).toBe(`${simulation.baseUrl}/beta/vps/servers/${identifier}`);
    expect(simulation.ledger.taskCompletions()).toMatchObject([{ task: 1001, identifier, completedAt: clock.now() }]);

    const server = (await call(serverUrl, { token })).json;
    expect(server).toMatchObject({
      identifier,
      name: null,
      status: 'running',
      product: 'VPSX8',
      specs: { cores: 1, disk_size: 10240, ram: 2048, disk_type: 'ssd' },
      ipv4: [],
      admin_console: { username: identifier },
    });
    expect(Object.keys(server as object).sort()).toEqual(
      // The fields in the documentation of the provider.
      (
        'identifier name status product price zone host_server specs boot_device net_device disk_bus cpu_mode ' +
        'iso_image ipv4 ipv6 macs vnc admin_console ssh_proxy'
      )
        .split(' ')
        .sort(),
    );
  });

  it.each([
    ['an unknown product', { ...CREATE, product: 'VPSX0' }],
    ['an unknown image', { ...CREATE, image: 'no/such' }],
    ['a size that is not in the list', { ...CREATE, disk_size: 11 }],
    ['a size that is a text', { ...CREATE, disk_size: '10240' }],
    ['no key', { ...CREATE, ssh_keys: '' }],
    ['a list of keys', { ...CREATE, ssh_keys: ['ssh-ed25519 AAAA'] }],
    ['a missing field', { product: CREATE.product, image: CREATE.image, ssh_keys: CREATE.ssh_keys }],
    ['a field that is not documented', { ...CREATE, ipv4: true }],
    ['a list', [CREATE]],
  ])('is refused with 400 for %s', async (_what, json) => {
    const { call, login, simulation } = inProcess();
    expect((await call(SERVERS, { method: 'POST', token: await login(), json })).status).toBe(400);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('is refused with 400 for another Content-Type and for broken JSON', async () => {
    const { call, login } = inProcess();
    const token = await login();
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await call(SERVERS, { method: 'POST', token, json: CREATE, headers: form })).status).toBe(400);
    const json = { 'content-type': 'application/json' };
    expect((await call(SERVERS, { method: 'POST', token, body: '{', headers: json })).status).toBe(400);
  });
});

describe('a server', () => {
  it('is cancelled once and then unknown', async () => {
    const { call, login, create, clock, simulation } = inProcess();
    const token = await login();
    await create(token);
    clock.advance(60_000);
    const { identifier = '' } = simulation.aliveServers()[0] ?? {};
    const cancelled = await call(`${SERVERS}/${identifier}`, { method: 'DELETE', token });
    expect(cancelled).toMatchObject({ status: 200, json: { message: expect.any(String) as string } });
    expect((await call(`${SERVERS}/${identifier}`, { token })).status).toBe(404);
    expect((await call(`${SERVERS}/${identifier}`, { method: 'DELETE', token })).status).toBe(404);
    expect(simulation.ledger.cancels()).toMatchObject([{ identifier }]);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('and its task are visible only to their account', async () => {
    const { call, login, create, clock, simulation } = inProcess();
    const other = { keyId: 'o', secret: 'o' };
    simulation.accounts.addKey('other', other);
    const [mine, theirs] = [await login(), await login(other)];
    const task = await create(mine);
    clock.advance(60_000);
    const { identifier = '' } = simulation.aliveServers('default')[0] ?? {};
    expect((await call(`/beta/queue/vps/${task}`, { token: theirs })).status).toBe(404);
    expect((await call(`${SERVERS}/${identifier}`, { token: theirs })).status).toBe(404);
    expect((await call(`${SERVERS}/${identifier}`, { token: theirs, method: 'DELETE' })).status).toBe(404);
    expect((await call(`${SERVERS}/${identifier}`, { token: mine })).status).toBe(200);
    expect(simulation.aliveServers('other')).toEqual([]);
  });

  it('can be added, changed and removed without a request', async () => {
    const { call, login, simulation } = inProcess();
    const token = await login();
    const { identifier } = simulation.fleet.addServer('default', { identifier: 'by-hand', product: 'VPSX32' });
    expect((await call(`${SERVERS}/by-hand`, { token })).json).toMatchObject({ identifier, specs: { ram: 8192 } });
    simulation.fleet.updateServer('by-hand', { status: 'stopped' });
    expect((await call(`${SERVERS}/by-hand`, { token })).json).toMatchObject({ status: 'stopped' });
    simulation.fleet.removeServer('by-hand');
    expect((await call(`${SERVERS}/by-hand`, { token })).status).toBe(404);
    expect(simulation.ledger.cancels()).toEqual([]);
  });

  it('may have an identifier that needs encoding', async () => {
    const { call, login, create, clock } = inProcess({ newIdentifier: () => 'a/b c?ü' });
    const token = await login();
    const task = await create(token);
    clock.advance(60_000);
    const location = (await call(`/beta/queue/vps/${task}`, { token })).headers.get('location') ?? '';
    expect(location).toContain('/a%2Fb%20c%3F%C3%BC');
    expect((await call(location, { token })).json).toMatchObject({ identifier: 'a/b c?ü' });
  });

  it('with an identifier that was assigned before is an error', async () => {
    const { create, login } = inProcess({ newIdentifier: () => 'same' });
    const token = await login();
    await create(token);
    await expect(create(token)).rejects.toThrow('same');
  });

  it('can be read and cancelled during its task with that option, which removes the task', async () => {
    const { call, login, create, simulation } = inProcess({ variants: { readDuringTask: 200, deleteDuringTask: 200 } });
    const token = await login();
    const task = await create(token);
    const { identifier = '' } = simulation.aliveServers()[0] ?? {};
    expect((await call(`${SERVERS}/${identifier}`, { token })).json).toMatchObject({ status: 'installing' });
    expect((await call(`${SERVERS}/${identifier}`, { method: 'DELETE', token })).status).toBe(200);
    expect((await call(`/beta/queue/vps/${task}`, { token })).status).toBe(404);
    expect(simulation.aliveServers()).toEqual([]);
  });

  it.each([404, 409] as const)('answers %i to a DELETE during its task if the options say so', async (status) => {
    const { call, login, create, simulation } = inProcess({ variants: { deleteDuringTask: status } });
    const token = await login();
    await create(token);
    const { identifier = '' } = simulation.aliveServers()[0] ?? {};
    expect((await call(`${SERVERS}/${identifier}`, { method: 'DELETE', token })).status).toBe(status);
    expect(simulation.aliveServers()).toHaveLength(1);
  });
});

describe('a task', () => {
  it('can vanish while its server remains', async () => {
    const { call, login, create, clock, simulation } = inProcess();
    const token = await login();
    const task = await create(token);
    simulation.fleet.vanishTask(task);
    expect((await call(`/beta/queue/vps/${task}`, { token })).status).toBe(404);
    clock.advance(60_000);
    expect(simulation.aliveServers()).toMatchObject([{ state: 'running' }]);
  });

  it('can stall, with or without the server, and complete later', async () => {
    const { call, login, create, clock, simulation } = inProcess();
    const token = await login();
    const [without, with_] = [await create(token), await create(token)];
    simulation.fleet.stallTask(without, { text: 'Stuck' });
    simulation.fleet.stallTask(with_, { serverAppears: true });
    clock.advance(120_000);
    expect((await call(`/beta/queue/vps/${without}`, { token })).json).toMatchObject({ status: 'Stuck' });
    expect((await call(`/beta/queue/vps/${with_}`, { token })).status).toBe(200);
    expect(simulation.aliveServers().map(({ state }) => state)).toEqual(['creating', 'running']);
    simulation.fleet.completeTask(without);
    expect((await call(`/beta/queue/vps/${without}`, { token })).status).toBe(303);
    expect(simulation.aliveServers()[0]).toMatchObject({ state: 'running' });
  });

  it('can fail without creating a server', async () => {
    const { call, login, create, clock, simulation } = inProcess();
    const token = await login();
    const task = await create(token);
    simulation.fleet.failTask(task);
    clock.advance(60_000);
    const answer = await call(`/beta/queue/vps/${task}`, { token });
    expect(answer).toMatchObject({ status: 200, json: { status: 'Installation failed' } });
    expect(simulation.aliveServers()).toEqual([]);
  });

  it('takes the duration that was set before its creation', async () => {
    const { call, login, create, clock, simulation } = inProcess({ taskDurationMs: Infinity });
    const token = await login();
    const endless = await create(token);
    simulation.fleet.setTaskDuration(1_000);
    const short = await create(token);
    clock.advance(1_000);
    expect((await call(`/beta/queue/vps/${endless}`, { token })).status).toBe(200);
    expect((await call(`/beta/queue/vps/${short}`, { token })).status).toBe(303);
  });

  it('is unknown if its number is unassigned or invalid', async () => {
    const { call, login } = inProcess();
    const token = await login();
    for (const task of ['999', '-1', '1e3', 'x']) {
      expect((await call(`/beta/queue/vps/${task}`, { token })).status).toBe(404);
    }
  });
});
