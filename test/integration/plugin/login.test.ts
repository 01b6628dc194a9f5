/** `kubectl vps login` and `logout`, as real processes: the operator checks the key at the simulated provider. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, noTerminal, usePlugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

describe('kubectl vps login', () => {
  it('stores a key from standard input, has it checked, and says what it made; logout removes that', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const first = await plugin.shell(`printf '%s\\n%s\\n' '${keyId}' '${secret}' | kubectl vps login --secret mine`);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toMatch(/^the provider accepts the key: \d+ products, \d+ images\nkubectl vps catalog/);
    expect(first.stderr).toMatch(/^Secret mine is created\nServerCatalog mine is created\n/);
    expect(first.stdout + first.stderr).not.toContain(secret);
    await world.create(virtualServer('web', withSpec({ apiKeySecretRef: { name: 'mine' } })));
    await world.waitForReason('web', 'Available', 'Ready');

    const refused = await plugin.kubectl(['vps', 'logout', '--secret', 'mine', '--yes']);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/web use Secret mine: without the key, the operator could not cancel their servers/);
    await world.delete('web');
    await world.waitGone('web');
    const removed = await plugin.kubectl(['vps', 'logout', '--secret', 'mine', '--yes']);
    expect([removed.code, removed.stdout]).toEqual([0, 'Secret mine is deleted\n']);
    expect(removed.stderr).toBe('ServerCatalog mine is deleted\n');
  });

  it('says that the provider refuses a key, also one that replaces a good one', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const login = (typed: string, flags = '') =>
      plugin.shell(`printf '%s\\n' '${typed}' | kubectl vps login --secret mine --key-id '${keyId}' ${flags}`);
    expect((await login('wrong')).stderr).toMatch(/the key is stored, but not accepted\. InvalidCredentials: /);
    expect(await login(secret)).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') as string });
    expect(await login(secret, '--yes')).toMatchObject({ code: 0 });
    const worse = await login('wrong', '--yes');
    expect([worse.code, worse.stdout]).toEqual([4, '']);
    expect(worse.stderr).toContain('InvalidCredentials');
  });

  it('changes no catalog that uses another Secret', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const catalog = `{apiVersion: vps-operator.dev/v1alpha1, kind: ServerCatalog, metadata: {name: mine}, spec: {apiKeySecretRef: {name: theirs}}}`;
    await plugin.shell(`echo '${catalog}' | kubectl apply -f -`);
    const { code, stderr } = await plugin.shell("printf 'a\\nb\\n' | kubectl vps login --secret mine");
    expect([code, stderr]).toEqual([1, expect.stringContaining('ServerCatalog mine uses another Secret')]);
    const shown = await plugin.shell("kubectl get vpscat mine -o jsonpath='{.spec.apiKeySecretRef.name}'");
    expect(shown.stdout).toBe('theirs');
  });

  it('needs a key', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const { code, stderr } = await plugin.shell('kubectl vps login --secret mine < /dev/null');
    expect([code, stderr]).toEqual([
      2,
      'kubectl vps: standard input is not a terminal, and does not have the key ID and the secret, a line each\n',
    ]);
  });

  it.skipIf(noTerminal !== undefined)('asks on a terminal, and does not show the secret', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const session = plugin.terminal('kubectl vps login --secret mine');
    await session.shows(/Key ID/);
    session.type(`${keyId}\r`);
    await session.shows(/Secret \(not shown\)/);
    session.type(`${secret}\r`);
    await session.shows(/the provider accepts the key/);
    expect(await session.ended).toBe(0);
    expect(session.text()).not.toContain(secret);
  });
});
