import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { loadCluster } from '../../../src/kube/config.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vps-operator-config-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

async function kubeconfig(user: object, changes: object = {}): Promise<string> {
  const path = join(folder, 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443/', 'certificate-authority-data': 'Y2E=' } }],
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'home' } }],
    users: [{ name: 'u', user }],
    ...changes,
  };
  await writeFile(path, stringify(config));
  return path;
}

/** A user whose credentials come from a plugin that runs this JavaScript. */
const plugin = (script: string) => ({
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', script] },
});

describe('loadCluster', () => {
  it('gives server, namespace and TLS material of the current context', async () => {
    const cluster = loadCluster(await kubeconfig({ 'client-certificate-data': 'Y2VydA==', 'client-key-data': 'a2V5' }));
    expect(cluster).toMatchObject({ server: 'https://127.0.0.1:6443', namespace: 'home' });
    const { headers, tls } = await cluster.credentials();
    expect(headers).toEqual({});
    expect(Object.entries(tls).map(([name, value]) => [name, String(value)])).toEqual([
      ['ca', 'ca'],
      ['cert', 'cert'],
      ['key', 'key'],
    ]);
  });

  it('follows $KUBECONFIG when no path is given', async () => {
    vi.stubEnv('KUBECONFIG', await kubeconfig({ token: 't' }));
    expect(loadCluster().namespace).toBe('home');
  });

  it.each([
    ['no file', undefined, 'ENOENT'],
    ['no current context', { 'current-context': '' }, 'no current-context'],
    ['an unknown context', { 'current-context': 'there' }, 'no context "there"'],
    ['an unknown cluster', { clusters: [] }, 'no cluster "c"'],
    ['an unknown user', { users: [] }, 'no user "u"'],
    ['no server', { clusters: [{ name: 'c', cluster: { server: 'nowhere' } }] }, 'no valid server: "nowhere"'],
  ])('says what is wrong with %s', async (_, changes, message) => {
    const path = changes === undefined ? join(folder, 'absent') : await kubeconfig({ token: 't' }, changes);
    expect(() => loadCluster(path)).toThrow(message);
    expect(() => loadCluster(path)).toThrow(`--kubeconfig ${path} `);
  });

  it.each(['http://127.0.0.1:8001', 'http://localhost:8001/', 'http://[::1]:8001'])(
    'takes %s, as kubectl does, for a proxy on this machine',
    async (server) => {
      const cluster = loadCluster(await kubeconfig({ token: 't' }, { clusters: [{ name: 'c', cluster: { server } }] }));
      expect(cluster.server).toBe(server.replace(/\/$/, ''));
      expect((await cluster.credentials()).headers).toEqual({ authorization: 'Bearer t' });
    },
  );

  it('refuses to send a token to another machine without encryption, and says what to do', async () => {
    const clusters = [{ name: 'c', cluster: { server: 'http://127.example.com:8080' } }];
    const path = await kubeconfig({ token: 't' }, { clusters });
    expect(() => loadCluster(path)).toThrow(`--kubeconfig ${path} names a server without TLS`);
    expect(() => loadCluster(path)).toThrow('give its https:// address');
  });

  it('says where a file is no YAML, and nothing of what stands in it', async () => {
    const path = join(folder, 'torn');
    await writeFile(path, 'users:\n  - user: {token: "s3cr3t\ncontexts: s3cr3t: x\n');
    const error: unknown = await Promise.resolve()
      .then(() => loadCluster(path))
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: `--kubeconfig ${path} cannot be loaded: it is no valid YAML at line 3, column 1`,
    });
    expect(inspect(error, { depth: null })).not.toContain('s3cr3t');
  });
});

describe('credentials', () => {
  it('come from a token, a name and password, or an impersonation', async () => {
    const headersOf = async (user: object) => (await loadCluster(await kubeconfig(user)).credentials()).headers;
    expect(await headersOf({ token: 'abc' })).toEqual({ authorization: 'Bearer abc' });
    expect(await headersOf({ username: 'u', password: 'p' })).toEqual({ authorization: 'Basic dTpw' });
    expect(await headersOf({ token: 'abc', as: 'jane' })).toEqual({
      authorization: 'Bearer abc',
      'impersonate-user': 'jane',
    });
  });

  it('come from a token file, without the newline at its end', async () => {
    const tokenFile = join(folder, 'token');
    await writeFile(tokenFile, 'abc\n');
    const path = await kubeconfig({ 'auth-provider': { name: 'tokenFile', config: { tokenFile } } });
    expect((await loadCluster(path).credentials()).headers).toEqual({ authorization: 'Bearer abc' });
  });

  it('come from a plugin', async () => {
    const answer = JSON.stringify({ kind: 'ExecCredential', status: { token: 'from-plugin' } });
    const path = await kubeconfig(plugin(`console.log(${JSON.stringify(answer)})`));
    expect((await loadCluster(path).credentials()).headers).toEqual({ authorization: 'Bearer from-plugin' });
  });

  it('that cannot be had are an error with the words of the plugin', async () => {
    const path = await kubeconfig(plugin('console.error("log in first"); process.exit(1)'));
    await expect(loadCluster(path).credentials()).rejects.toMatchObject({
      code: 'Unreachable',
      message: expect.stringContaining('log in first') as string,
    });
  });

  it('never appear in the error when the plugin writes them in a wrong form', async () => {
    const path = await kubeconfig(plugin('console.log("s3cr3t-token")'));
    const error: unknown = await loadCluster(path)
      .credentials()
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'Unreachable' });
    expect(inspect(error, { depth: null })).not.toContain('s3cr3t');
  });
});
