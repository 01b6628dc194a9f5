/** The plugin reaches an API server behind a proxy as kubectl does: both run as processes, with one environment. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { startConnectProxy } from '../../fixtures/connect-proxy.ts';
import { startSocksProxy } from '../../fixtures/socks-proxy.ts';
import { selfSigned } from '../support/certificate.ts';
import { createPlugin, usePlugin, type Plugin } from '../support/plugin.ts';
import { createWorld } from '../support/world.ts';

const folder = usePlugin();

/** Only a proxy can look it up: a loopback address gets none from the environment. */
const HOST = 'api.cluster.test';
const NAMES = { [HOST]: '127.0.0.1' };

/** A plugin whose API server has the name HOST, with these fields in its cluster. */
async function pluginOf(fields: object = {}): Promise<{ plugin: Plugin; authority: string }> {
  const world = await createWorld({ operator: false });
  const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  let authority = '';
  for (const { cluster } of config.clusters) {
    authority = `${HOST}:${new URL(cluster.server).port}`;
    Object.assign(cluster, { server: `https://${authority}`, 'tls-server-name': '127.0.0.1', ...fields });
  }
  const file = join(world.journalDir, 'behind-a-proxy');
  await writeFile(file, stringify(config), { mode: 0o600 });
  return { plugin: await createPlugin(folder(), world.namespace, file), authority };
}

/** Both print an empty list and no warning, or both cannot reach the API server. */
async function expectBoth(plugin: Plugin, variables: string, reached: boolean): Promise<void> {
  const kubectl = await plugin.shell(`${variables} kubectl get vps`);
  const own = await plugin.shell(`${variables} kubectl vps list`);
  expect([kubectl.code === 0, own.code === 0], kubectl.stderr + own.stderr).toEqual([reached, reached]);
  if (reached) expect(own.stderr).toMatch(/^no servers or sets in namespace \S+\n$/);
}

describe('a proxy of the environment', () => {
  it.each([
    ['HTTPS_PROXY', true],
    ['https_proxy', true],
    ['HTTP_PROXY', false],
  ])('in %s: the statement that it is used is %s', async (variable, reached) => {
    const proxy = await startConnectProxy(undefined, NAMES);
    onTestFinished(() => proxy.close());
    const { plugin, authority } = await pluginOf();
    await expectBoth(plugin, `${variable}=${proxy.origin.replace('//', '//us%20er:pa%40ss@')}`, reached);
    const login = `Basic ${Buffer.from('us er:pa@ss').toString('base64')}`;
    for (const tunnel of proxy.tunnels) expect(tunnel).toEqual({ authority, authorization: login });
    expect(proxy.tunnels.length > 1).toBe(reached);
  });

  it('is not used for a host in NO_PROXY, and not for this machine', async () => {
    const proxy = await startConnectProxy(undefined, NAMES);
    onTestFinished(() => proxy.close());
    const { plugin } = await pluginOf();
    await expectBoth(plugin, `HTTPS_PROXY=${proxy.origin} no_proxy=.cluster.test`, false);
    const local = await createPlugin(folder(), 'default');
    await expectBoth(local, `HTTPS_PROXY=${proxy.origin}`, true);
    expect(proxy.tunnels).toEqual([]);
  });

  it('uses TLS for an https URL, with the TLS options of the cluster', async () => {
    const proxy = await startConnectProxy(selfSigned(), NAMES);
    onTestFinished(() => proxy.close());
    const { plugin } = await pluginOf();
    await expectBoth(plugin, `HTTPS_PROXY=${proxy.origin}`, false);
    const { plugin: trusting } = await pluginOf({
      'insecure-skip-tls-verify': true,
      'certificate-authority-data': undefined,
    });
    await expectBoth(trusting, `HTTPS_PROXY=${proxy.origin}`, true);
  });

  it('may be a SOCKS proxy, which looks up the name and prints no warning', async () => {
    const proxy = await startSocksProxy(NAMES, 'us er:pa@ss');
    onTestFinished(() => proxy.close());
    const { plugin, authority } = await pluginOf();
    await expectBoth(plugin, `HTTPS_PROXY=socks5://us%20er:pa%40ss@127.0.0.1:${proxy.port}`, true);
    expect(new Set(proxy.asked)).toEqual(new Set([authority]));
    const wrong = await plugin.shell(`HTTPS_PROXY=socks5://a:wr0ng@127.0.0.1:${proxy.port} kubectl vps list`);
    expect([wrong.code, wrong.stdout]).toEqual([1, '']);
    expect(wrong.stderr).toMatch(/cannot reach the API server: the SOCKS proxy: /);
    expect(wrong.stderr).not.toContain('wr0ng');
  });

  it('of another kind gets an error that does not quote it', async () => {
    const { plugin } = await pluginOf();
    const { code, stderr } = await plugin.shell('HTTPS_PROXY=ftp://user:pa55@proxy kubectl vps list');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^kubectl vps: HTTPS_PROXY is not valid: give an http/)]);
    expect(stderr).not.toContain('pa55');
  });
});

describe('the proxy-url of the kubeconfig', () => {
  it('takes precedence over the environment, for every host', async () => {
    const [proxy, other] = [await startConnectProxy(undefined, NAMES), await startConnectProxy()];
    onTestFinished(() => proxy.close());
    onTestFinished(() => other.close());
    const { plugin } = await pluginOf({ 'proxy-url': proxy.origin });
    await expectBoth(plugin, `HTTPS_PROXY=${other.origin} NO_PROXY=*`, true);
    expect(proxy.tunnels.length).toBeGreaterThan(1);
    expect(other.tunnels).toEqual([]);
  });

  it('may name a SOCKS proxy', async () => {
    const proxy = await startSocksProxy(NAMES);
    onTestFinished(() => proxy.close());
    const { plugin } = await pluginOf({ 'proxy-url': `socks5://127.0.0.1:${proxy.port}` });
    await expectBoth(plugin, '', true);
  });
});

it('an API server whose authority is one of the system is trusted as kubectl trusts it', async () => {
  const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
  };
  const ca = Buffer.from(config.clusters[0]?.cluster['certificate-authority-data'] ?? '', 'base64');
  const world = await createWorld({ operator: false });
  const [authority, file] = ['ca.pem', 'kubeconfig'].map((name) => join(world.journalDir, name));
  await writeFile(authority ?? '', ca);
  for (const { cluster } of config.clusters) delete cluster['certificate-authority-data'];
  await writeFile(file ?? '', stringify(config), { mode: 0o600 });
  const plugin = await createPlugin(folder(), world.namespace, file);
  await expectBoth(plugin, '', false);
  await expectBoth(plugin, `SSL_CERT_FILE=${authority}`, true);
});

it('the flags of kubectl about the API server mean the same', async () => {
  const world = await createWorld({ operator: false });
  const config = parse(await readFile(inject('kubeconfigPath'), 'utf8')) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const [{ cluster } = { cluster: {} }] = config.clusters;
  const [{ user } = { user: {} }] = config.users;
  const plugin = await createPlugin(folder(), world.namespace);
  const file = async (name: string, data = ''): Promise<string> => {
    const path = join(world.journalDir, name);
    await writeFile(path, Buffer.from(data, 'base64'), { mode: 0o600 });
    return path;
  };
  const ca = await file('ca', cluster['certificate-authority-data']);
  const cert = await file('cert', user['client-certificate-data']);
  const key = await file('key', user['client-key-data']);
  const client = `--client-certificate=${cert} --client-key=${key} -n ${world.namespace}`;
  const both = async (flags: string, reached: boolean): Promise<string> => {
    const kubectl = await plugin.shell(`KUBECONFIG=/dev/null kubectl get vps ${flags}`);
    const own = await plugin.shell(`KUBECONFIG=/dev/null kubectl vps list ${flags}`);
    expect([kubectl.code === 0, own.code === 0], kubectl.stderr + own.stderr).toEqual([reached, reached]);
    return own.stderr;
  };
  const server = cluster['server'] ?? '';
  const named = server.replace('127.0.0.1', 'localhost');
  await both(`-s ${server} --certificate-authority=${ca} ${client}`, true);
  await both(`--server=${server} ${client}`, false);
  await both(`--server=${server} --insecure-skip-tls-verify ${client}`, true);
  await both(`--server=${server} --certificate-authority=${ca} --tls-server-name=other.example ${client}`, false);
  await both(`--server=${named} --certificate-authority=${ca} --tls-server-name=127.0.0.1 ${client}`, true);
  const refused = await both(`--server=${server} --certificate-authority=${ca} --token=s3cr3t -n default`, false);
  expect(refused).not.toContain('s3cr3t');
  const admin = `KUBECONFIG=${inject('kubeconfigPath')} kubectl vps list -n ${world.namespace}`;
  expect((await plugin.shell(`${admin} --user=nobody`)).stderr).toContain('has no user "nobody"');
  expect((await plugin.shell(`${admin} --cluster=nowhere`)).stderr).toContain('has no cluster "nowhere"');
});
