/** `kubectl vps login` and `logout`, as real processes: the operator checks the key at the simulated provider. */
import { describe, expect, it } from 'vitest';
import { virtualServer, withSpec } from '../../fixtures/virtual-server.ts';
import { createPlugin, noTerminal, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

/** The names of the Secrets and catalogs in the namespace. */
async function stored(plugin: Plugin): Promise<{ secrets: string[]; catalogs: string[] }> {
  const names = async (kind: string): Promise<string[]> => {
    const { stdout } = await plugin.shell(`kubectl get ${kind} -o name`);
    return stdout
      .split('\n')
      .flatMap((line) => line.split('/')[1] ?? [])
      .sort();
  };
  return { secrets: await names('secrets'), catalogs: await names('servercatalogs') };
}

async function keyIn(plugin: Plugin): Promise<unknown> {
  return JSON.parse((await plugin.shell("kubectl get secret mine -o jsonpath='{.data}'")).stdout);
}

describe('kubectl vps login', () => {
  it('stores a key from standard input, checks it, and reports what it created; logout removes that', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const first = await plugin.shell(`printf '%s\\n%s\\n' '${keyId}' '${secret}' | kubectl vps login --secret mine`);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stdout).toMatch(/^the provider accepts the key: \d+ products, \d+ images\nkubectl vps catalog/);
    expect(first.stderr).toMatch(/^Secret mine is created\nServerCatalog mine is created\n/m);
    expect(first.stdout + first.stderr).not.toContain(secret);
    await world.create(virtualServer('web', withSpec({ apiKeySecretRef: { name: 'mine' } })));
    await world.waitForReason('web', 'Available', 'Ready');

    const refused = await plugin.kubectl(['vps', 'logout', '--secret', 'mine', '--yes']);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/web uses Secret mine: without the key, the operator could cancel no server of it/);
    await world.delete('web');
    await world.waitGone('web');
    const removed = await plugin.kubectl(['vps', 'logout', '--secret', 'mine', '--yes']);
    expect([removed.code, removed.stdout]).toEqual([0, 'Secret mine is deleted\n']);
    expect(removed.stderr).toBe('ServerCatalog mine is deleted\n');
  });

  it('names the Secret that helps in a namespace that is being deleted, with a command that creates it', async () => {
    const world = await createWorld();
    const { keyId, secret } = world.simulator;
    const plugin = await createPlugin(folder(), world.namespace);
    const operator = `${world.namespace}-operator`;
    const metadata = { name: operator };
    await world.http.call({ method: 'POST', path: '/api/v1/namespaces', body: { metadata } });
    await world.http.call({ method: 'DELETE', path: `/api/v1/namespaces/${world.namespace}` });
    for (const flag of ['', '--skip-check']) {
      const { code, stderr } = await plugin.shell(
        `printf '%s\\n' '${keyId}' '${secret}' | kubectl vps login --secret mine ${flag}`,
      );
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining(`takes the key from Secret ${world.namespace}.mine in its own namespace`),
      ]);
      const [command = ''] = /^ {2}kubectl create secret .*$/m.exec(stderr) ?? [];
      const inOwn = command.trim().replace(' -n vps-operator-system ', ` -n ${operator} `);
      const created = await plugin.shell(`printf %s '${keyId}' > keyId; printf %s '${secret}' > secret; ${inOwn}`);
      expect(created.stdout).toBe(`secret/${world.namespace}.mine created\n`);
      await plugin.shell(`kubectl delete secret -n ${operator} ${world.namespace}.mine`);
    }
  });

  it('changes nothing for a key that the provider refuses, with or without a stored one', async () => {
    const world = await createWorld();
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const login = (typed: string, flags = '') =>
      plugin.shell(`printf '%s\\n' '${typed}' | kubectl vps login --secret mine --key-id '${keyId}' ${flags}`);
    const first = await login('wrong');
    expect([first.code, first.stdout]).toEqual([4, '']);
    expect(first.stderr).toMatch(
      /the provider does not accept the key, so nothing was changed\. InvalidCredentials: The provider refuses the API key: [^.]*\n {2}# compare the key ID and the secret .*\n {2}kubectl vps login --secret mine {3}# to try again\n$/,
    );
    expect(await stored(plugin)).toEqual({ secrets: ['vps-api-key'], catalogs: [] });

    expect(await login(secret)).toMatchObject({ code: 0 });
    expect(await login(secret)).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') as string });
    const kept = await keyIn(plugin);
    const worse = await login('wrong', '--yes');
    expect([worse.code, worse.stdout]).toEqual([4, '']);
    expect(worse.stderr).toMatch(/so nothing was changed\. InvalidCredentials: /);
    expect(await keyIn(plugin)).toEqual(kept);
    expect(await stored(plugin)).toEqual({ secrets: ['mine', 'vps-api-key'], catalogs: ['mine'] });
    const right = await plugin.shell(
      'kubectl get vpscat mine -o jsonpath=\'{.status.conditions[?(@.type=="Ready")].status}\'',
    );
    expect(right.stdout).toBe('True');
  });

  it('changes nothing for a key that cannot be checked, except with --skip-check', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const { keyId, secret } = world.simulator;
    const login = (typed: string, flags = '') =>
      plugin.shell(`printf '%s\\n' '${typed}' | kubectl vps login --secret mine --key-id '${keyId}' ${flags}`);
    const late = await login(secret, '--timeout 1s');
    expect([late.code, late.stdout]).toEqual([5, '']);
    expect(late.stderr).toMatch(/timed out after 1s[^]*nothing was changed[^]*kubectl vps login .*--skip-check/);
    expect(await stored(plugin)).toEqual({ secrets: ['vps-api-key'], catalogs: [] });

    const skipped = await login(secret, '--skip-check');
    expect([skipped.code, skipped.stdout]).toEqual([0, expect.stringContaining('the key is not checked') as string]);
    expect(await stored(plugin)).toEqual({ secrets: ['mine', 'vps-api-key'], catalogs: ['mine'] });

    await world.startOperator();
    world.simulator.faults.inject({ times: Infinity, action: { kind: 'status', status: 503 } });
    const unreachable = await login(secret, '--yes');
    expect([unreachable.code, unreachable.stdout]).toEqual([1, '']);
    expect(unreachable.stderr).toMatch(/the key could not be checked, so nothing was changed\. ProviderUnavailable: /);
    expect(await stored(plugin)).toEqual({ secrets: ['mine', 'vps-api-key'], catalogs: ['mine'] });
  });

  it('leaves nothing behind when it is interrupted during the check, and removes what a killed one has left', async () => {
    const world = await createWorld({ operator: false });
    const plugin = await createPlugin(folder(), world.namespace);
    const begun = (signal: string) =>
      plugin.shell(
        `printf 'a\\nb\\n' > key; kubectl-vps login --secret mine --timeout 5m < key & pid=$!;
         until kubectl get vpscat -o name | grep -q mine-login-; do sleep 0.1; done; kill -${signal} $pid; wait $pid`,
      );
    const interrupted = await begun('INT');
    expect([interrupted.code, interrupted.stderr]).toEqual([
      130,
      expect.stringContaining('nothing was changed') as string,
    ]);
    expect(await stored(plugin)).toEqual({ secrets: ['vps-api-key'], catalogs: [] });

    await begun('KILL');
    expect((await stored(plugin)).secrets).toEqual([expect.stringMatching(/^mine-login-/), 'vps-api-key']);
    const bystander = 'kubectl create secret generic mine-login-1 --from-literal=a=b';
    await plugin.shell(bystander);
    await plugin.shell('kubectl-vps login --secret mine --timeout 1s < key');
    expect(await stored(plugin)).toEqual({ secrets: ['mine-login-1', 'vps-api-key'], catalogs: [] });
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
    expect((await stored(plugin)).secrets).toEqual(['vps-api-key']);
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
